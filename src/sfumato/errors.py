"""All errors and warnings of the package, each with a headline, its problems and a next step.

An error speaks about the user's table: what was found, what is needed and what to do next. Where several
things are wrong they are all listed at once. The CLI prints the message without a traceback and exits with 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any


class SfumatoError(Exception):
    """Base of all named errors: one headline, any number of problems, one next step.

    >>> print(TableError("2 problems in table 'people'", ["age: 3 values outside 0 to 110"], "correct the table"))
    2 problems in table 'people'
      - age: 3 values outside 0 to 110
    Next step: correct the table
    """

    def __init__(self, headline: str, problems: Sequence[str] = (), next_step: str = "") -> None:
        self.headline = headline
        self.problems = tuple(problems)
        self.next_step = next_step
        lines = [headline, *(f"  - {problem}" for problem in self.problems)]
        if next_step:
            lines.append(f"Next step: {next_step}")
        super().__init__("\n".join(lines))

    def to_dict(self) -> dict[str, object]:
        """Return the error in the form that ``--json`` prints."""
        return {
            "error": type(self).__name__,
            "message": self.headline,
            "problems": list(self.problems),
            "next_step": self.next_step,
        }


def place_of(error: BaseException) -> str:
    """Return the class of an exception and the line that raised it: its message may hold a private value.

    >>> place_of(ValueError("income 4711"))
    'ValueError'
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" at {Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}"
    return type(error).__name__ + where


class ArgumentError(SfumatoError, TypeError):
    """Something was called with arguments that it does not have, or without one that it needs."""


class SchemaError(SfumatoError):
    """The schema is malformed, contradictory, or does not name what is asked of it."""


class DraftSchemaError(SchemaError):
    """A method with a formal guarantee met a schema whose facts were proposed from private data."""


class TooLittleSeenError(SchemaError):
    """Facts were bought, and so few of the columns rose above the noise that rows of them would be of no use.

    ``schema`` holds what was seen, which is paid for; it is None where nothing was.
    """

    schema: Any = None


class UnchangedDraftError(DraftSchemaError):
    """Facts of a draft still stand exactly as drafted from the rows; nobody vouched for them or accepted them."""


class UnansweredQuestionError(DraftSchemaError):
    """A draft asks something that only a person can answer, such as whose rows these are."""


class UnansweredDraftError(UnchangedDraftError, UnansweredQuestionError):
    """Both at once: facts stand as drafted from the rows, and a question of the draft is open."""


class RuleError(SchemaError):
    """A rule between columns cannot be read or names unknown columns."""


class TableError(SfumatoError):
    """The table cannot be read, or its values do not fit the schema."""


class UndeclaredColumnsError(TableError):
    """The names of the columns come from the rows, so somebody must say which of them are public."""


class PlanError(SfumatoError):
    """A method's parameters are wrong, or what it needs does not fit this machine."""


class WeakGuaranteeError(PlanError):
    """Epsilon or delta is so large that the promise would protect nobody, and nobody allowed that by name."""


class TooSmallToBuyError(PlanError):
    """A table is foreseeably too small for a purchase: nothing of it would rise above the noise."""


class OverwhelmedError(PlanError):
    """The noise is comparable to the rows: what would come out is noise; ``--anyway`` takes it all the same."""


class AccountingError(SfumatoError):
    """Events cannot be composed: an unknown event, or formal and informal kinds mixed."""


class BudgetExceeded(SfumatoError):
    """The release would cost more than the cap leaves. Nothing was spent."""


class LedgerError(SfumatoError):
    """The ledger cannot be opened, or the table has no account in it."""


class LedgerTampered(LedgerError):
    """The ledger's hash chain does not hold: a row was changed, removed or added by hand."""


class MissingEntryError(LedgerError):
    """A recorded spend is no longer in its ledger: what was paid for there is not counted any more."""


class NoLedgerError(LedgerError):
    """A bundle was asked for without a ledger, and nobody said that none is wanted."""


class NoLedgerWarning(UserWarning):
    """A release was made without a ledger: no cap protects its table. ``ledger=False`` says that this is meant."""


class UnmarkedBundleWarning(UserWarning):
    """A bundle is in its place, but the ledger could not be told so."""


class UnwrittenCopyWarning(UserWarning):
    """A bundle is complete, but a copy could not be written: its rows in the table's format, or the custodian's."""


class UndrawnPageWarning(UserWarning):
    """A bundle is complete but for one of its pages, which could not be drawn."""


class NoExpectedErrorsWarning(UserWarning):
    """The method could not be run again on the released rows; the bundle is complete without expected errors."""


class UndecodedTextWarning(UserWarning):
    """Bytes of a text are no UTF-8 and nobody said what they are, so their values count as unreadable."""


class SlowCountingWarning(UserWarning):
    """The workers of an engine lack this package: it counts by grouping, with the same result, more slowly."""


class BundleError(SfumatoError):
    """A bundle cannot be written, or does not verify."""


class SigningError(SfumatoError):
    """A key cannot be made, read or used, or a bundle cannot be signed."""


class NoSpaceError(BundleError):
    """A disk has less free space than a release may need; nothing was spent."""


class KeptElsewhereError(BundleError):
    """A bundle could not be written to its folder, and lies whole in a private one: ``folder``."""

    folder: Path


class StampedFrameError(SfumatoError):
    """A seeded run was asked for a kind of frame that cannot carry the stamp "not for release"."""


class ModelError(SfumatoError):
    """A fitted model, or rows drawn from it, cannot be written, or its file cannot be read or is damaged."""


class RiskError(SfumatoError):
    """A measure of risk was asked about counts, parameters or targets that make no sense."""


class ResourceError(SfumatoError):
    """The machine ran out of memory, or something is nested deeper than it can follow."""


class WorkbenchError(SfumatoError):
    """The workbench cannot start, keep its project, or do what was asked of it."""


class MissingExtra(SfumatoError):
    """An optional dependency is not installed."""
