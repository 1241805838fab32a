"""Names: objects that are named by a string exist, and modules and variables bear names that say what they are.

Read from the source, so that a module which moved is found without importing the whole package.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

import pytest

import sfumato
from sfumato.core.registry import REGISTRY
from sfumato.lazy import HOOKS, load_object
from sfumato.schema.dialect import FILE_FORMATS
from source_tree import MODULES, SOURCE, defined, is_text, lazy_homes, tree_of

pytestmark = pytest.mark.xdist_group("source")  # parsed once, for all tests that read it
ADDRESS = re.compile(r"sfumato(\.\w+)+:\w+")


def exists(module: str, name: str) -> bool:
    path = MODULES.get(module)
    return path is not None and name in defined(tree_of(path).body) | set(lazy_homes(tree_of(path)))


def missing_objects(tree: ast.Module) -> list[str]:
    """Return the addresses and lazy names in a module that lead nowhere."""
    texts = [node.value for node in ast.walk(tree) if is_text(node)]
    addresses = [text.split(":") for text in texts if ADDRESS.fullmatch(text)]
    lazy = [(home, name) for name, home in lazy_homes(tree).items()]
    return [f"{module}:{name}" for module, name in (*addresses, *lazy) if not exists(module, name)]


def test_every_address_in_the_source_leads_to_an_object():
    missing = {name: missing_objects(tree_of(path)) for name, path in MODULES.items()}
    assert {name: addresses for name, addresses in missing.items() if addresses} == {}


@pytest.mark.parametrize(
    "mutant",
    [
        'VERB = Verb("sfumato.core.plan:absent")',
        'HOOKS = {"Release.save": "sfumato.absent:save_bundle"}',
        "if TYPE_CHECKING:\n    from sfumato.core.plan import absent\nf = lazy_names(__name__)",
    ],
)
def test_an_address_that_leads_nowhere_is_reported(mutant):
    assert missing_objects(ast.parse(mutant))


def test_public_names_hooks_and_methods_can_be_imported():
    assert all(getattr(sfumato, name) is not None for name in sfumato.__all__)
    assert all(load_object(home) is getattr(sfumato, home.split(":")[1]) for home in REGISTRY.values())
    assert all(callable(load_object(home)) for home in HOOKS.values())
    homes = [home for each in FILE_FORMATS.values() for home in (each.reader, each.writer) if home]
    assert all(callable(load_object(home)) for home in homes)


GLOSSARY = SOURCE.parent.parent / "docs" / "glossary.md"
FIELD = """
accountant accounting adjacency aim algorithm association associations attack attacker attacks attribute auc audit
auditing binning calibrate calibration canonical categorical cdf cell cells clipped clique cluster clusters coarsened
composition confidence contingency copula cover coverage curve curves delta deniability density dependence detection
diffusion dirichlet disclosure discrete distances distribution distributions domain domains dp encode engine engines
ensemble entropy epsilon equal errata estimate event events exact exponential families family filter fit fitted
forecast functional gan gaussian geometry graph graphical grid guarantee guessing hierarchical histogram histograms
homogeneity identifiers inference interval inversion joint junction kernel kernels kmeans laplace lattice learners
level levels likelihood linear linkage log loss marginal marginals matrix mean measured measurement mechanism
mechanisms membership message metric metrics mirror mixture model models mst nearest neighbouring neighbours networks
noise noisy normal normalise nuts objective parameter parameters pass passing plausible posterior prediction predictor
predictors principal privacy private probabilities provenance pseudo purchase purchases quality radial random
randomness ratio regression regressors release released releases reproduction ridge risk risks sample sampled sampler
samples sampling selection sensitivity signature simulated simulation singling smooth solver solvers stability
statistic statistics structural sufficient synthesis synthesize synthetic target tree tvd uncertainty uniqueness
utility variational way weighted weights workload zcdp zeros
"""
"""Terms of statistics, differential privacy and databases."""
PROGRAMS = """
226 800 argument article29 atomic buffer cli compiled compression compute console croissant csvw databases datacard
datapackage dialect dpia duckdb export files format formats frames frictionless heatmap ibis images importing interrupt
jax jit jobs json layout lazy lexicon lines literals loading loops metadata nist numba numpy opendp parser pool process
processes progress readme reaedp registry repair reproduce reprs routes sas scan schema script scripts server spark
spreadsheets spss stata store svg sweep system templates text texts toml transcript type verify version views widgets
workbench worker
"""
"""Formats, programs and parts of programs."""
ORDINARY = """
access account address and answers arrays assessment assumptions attack attempt audience aware axis backends base bits
blend blending blocks bounded bounds box budget build bundle bundles buy by candidates cards catalogue category causes
ceilings chain charts check checks child clauses closest code column columns compare comparison components confirm
constraints contact contradictions copies copy core cost count counting counts criteria custodian custom data declared
deep definitions delimited demo deployments descent description design dimensions disk distances doctor document draft
drafting draw error errors evaluate evaluation example expected explain expressions extremes facts fields figure
figures file fine first folder form formatting forms from game generated generators glossary group groups headline
hints image impact incomplete init input integer interface judged key kinds large ledger limitations limits line lines
list lists location lower main maintain maps marks measures method methods names network number numbers objects on one
options order out outcome outcomes output page pages pair pairs paper papers part parts people person persons plan
plane planning plots points pre predicates price prices print profile project propose proved public published queries
questions range ranges rate rates read reader reads real record recorder reference relations repeated replacement
report rerun reruns research restriction result results role roles round row rows rule rules run runs safeguards saved
scales scores scratch screen search second self sfumato shared size sizes source sources space spend stage stages
standards statement statements step steps strength summary sums table tables targets task tasks test testing text the
threshold time train training trial two values verb verbs verdict verify view way weakened window within word write
writer writing written
"""
"""Ordinary words in their ordinary sense."""
QUESTION = re.compile(r"(What|How|Whose|Whether|Who|Which|Do|Does|Can|Is|Where)\b")
EMPTY_NAMES = frozenset({"found", "made", "told", "said", "given", "seen", "wish"})
"""Names of variables that say nothing about what they hold."""
MOST_EMPTY_NAMES = 470
"""Assignments of such names that are left; this number only falls."""


def defined_names() -> set[str]:
    """Return the names of modules that docs/glossary.md defines."""
    table = GLOSSARY.read_text(encoding="utf-8").partition("\n## Names of modules\n")[2]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| ")]
    return {name.strip() for cell in cells for name in cell.split(",")} - {"name"}


def unknown_names(modules: Iterable[str], known: set[str]) -> list[str]:
    """Return the names of modules and folders with a word that is no field term, no ordinary word and not defined."""
    names = sorted({part for module in modules for part in module.split(".")} - {"__init__", "__main__"} - known)
    plain = {*FIELD.split(), *PROGRAMS.split(), *ORDINARY.split()}
    return [name for name in names if not set(name.split("_")) <= plain]


def empty_names(tree: ast.Module) -> int:
    """Return how often a name without meaning is assigned, or is a parameter."""
    stored = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    parameters = [node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)]
    return sum(name in EMPTY_NAMES for name in (*stored, *parameters))


def test_every_module_bears_a_term_of_the_field_ordinary_words_or_a_defined_name():
    assert unknown_names(MODULES, defined_names()) == []


def test_a_riddle_as_name_of_a_module_is_reported():
    assert unknown_names(["sfumato.risk.alone_told"], set()) == ["alone_told"]


def test_every_defined_name_is_one_of_a_module():
    parts = {part for module in MODULES for part in module.split(".")}
    assert sorted(defined_names() - parts) == []


def test_docstrings_of_modules_begin_with_a_statement():
    docstrings = {name: ast.get_docstring(tree_of(path)) or "" for name, path in MODULES.items()}
    assert [name for name, text in docstrings.items() if QUESTION.match(text)] == []


def test_nobody_writes_unless_said():
    assert [name for name, path in MODULES.items() if "unless said" in path.read_text(encoding="utf-8")] == []


def test_variables_without_meaning_become_no_more():
    assert sum(empty_names(tree_of(path)) for path in MODULES.values()) <= MOST_EMPTY_NAMES
    assert empty_names(ast.parse("def f(told):\n    found = told\n    for seen in found: ...")) == 3
