"""What a release gives away, as numbers: each function takes a :class:`~sfumato.calibration.metrics.Trial`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.calibration.metrics import Trial
from sfumato.errors import RiskError
from sfumato.utility.marginals import ColumnSet, released_marginals

TRIALS = 200
"""Games of one attack unless said; each repeat of a point plays that many."""


def homogeneity(trial: Trial, view: Any) -> float:
    """Return the risk of the homogeneity attack: in closed form for noisy cross tables, measured for anything else."""
    from sfumato.risk.homogeneity.attack import attack
    from sfumato.risk.homogeneity.cells import Cells
    from sfumato.risk.homogeneity.checks import weighted_mean
    from sfumato.risk.homogeneity.local import local

    known, sensitive = _roles(trial)
    cells = trial.remembered("cells", lambda: Cells.of(trial.table, known, sensitive))
    law = _law(trial, (*known, sensitive))
    if law is not None:
        return weighted_mean(local(cells.counts, law, view), cells.counts, "cell")
    return float(getattr(attack(cells.counts, _released_cells(trial, cells)), view).rate)


def homogeneity_is_exact(trial: Trial) -> bool:
    """Whether the risk comes from a closed form, so that one computation is enough."""
    known, sensitive = _roles(trial)
    return _law(trial, (*known, sensitive)) is not None


def _roles(trial: Trial) -> tuple[ColumnSet, str]:
    """Return what a neighbour knows and what is to be read off: by the options, or by the roles of the schema."""
    schema = trial.table.schema
    known = trial.names("identifiers") or schema.with_role("quasi-identifier")
    sensitive = trial.names("sensitive") or schema.with_role("sensitive")
    if not known or len(sensitive) != 1 or sensitive[0] in known:
        raise RiskError(
            "this metric needs identifiers and one sensitive column",
            [f"identifiers: {', '.join(known) or 'none'}", f"sensitive: {', '.join(sensitive) or 'none'}"],
            "give the options identifiers=age,sex and sensitive=income, or roles in the schema",
        )
    return known, sensitive[0]


def _law(trial: Trial, names: ColumnSet) -> Any:
    """Return the noise of a plain cross table of exactly these columns; none where the release is something else."""
    from sfumato.methods.counts.contingency import Contingency
    from sfumato.risk.game.count_pair import law_of

    if not isinstance(trial.method, Contingency):
        return None
    parts = [(event.kind, part.scale) for event in trial.plan.events for part in event.parts]
    found = [law for columns, law in zip(trial.method.sets, parts, strict=True) if set(columns) == set(names)]
    return law_of(*found[0]) if found else None


def _released_cells(trial: Trial, cells: Any) -> NDArray[np.int64]:
    names = (*cells.identifiers, cells.sensitive)
    released = released_marginals(trial.tables, trial.method.makes, trial.table.schema, [names])[names]
    return released[tuple(cells.keys.T)]


def membership(trial: Trial, what: str) -> float:
    """Return how well the best known attack tells whether the most exposed person is in the table."""
    from sfumato.risk.game import CountPair, as_game
    from sfumato.risk.membership import Learnt, LikelihoodRatio

    who = trial.whole("person", 0, 0) if trial.options.get("person") is not None else None
    game = trial.remembered(f"game {trial.method}", lambda: as_game(trial.table, trial.method, who, trial.rows))
    attack: Any = LikelihoodRatio() if isinstance(game, CountPair) else Learnt()
    found = attack.run(game, trials=trial.whole("trials", TRIALS, 1), seed=trial.seed)
    return float(getattr(found, what))


def inference(trial: Trial, what: str) -> float:
    """Return how well a person's sensitive value is guessed from a release of half of the table."""
    from sfumato.risk.inference import MOST_TARGETS, AttributeInference

    known, sensitive = _roles(trial)
    trials = trial.whole("trials", MOST_TARGETS, 1)
    attack = AttributeInference(known, sensitive)
    found = attack.against(trial.table, trial.method, rows=trial.rows, trials=trials, seed=trial.seed)
    return float(getattr(found, what))


def stated_disclosure(trial: Trial) -> float:
    """Return the interval disclosure (LID) that the method itself measured.

    Released rows are shuffled, so that only the method knows which of them was made from which true row. Comparing
    row i with row i would find a verbatim copy of the table harmless.
    """
    stated = None if trial.made is not None else trial.output.confidential.get("lid")
    if stated is None:
        raise RiskError(
            f"{trial.method.name} does not say which released row was made from which true row, so that it has no lid",
            ["released rows are in no order: to compare row i with row i would measure nothing"],
            "measure membership_auc instead, or use a form that states its lid, such as two-stage with a blend",
        )
    return float(stated)
