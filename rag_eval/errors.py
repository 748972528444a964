"""Everything that rag_eval raises on purpose."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from itertools import islice
from typing import Any, Final

# Looking for the nearest name takes the square of the length.
_LONGEST_NAME: Final = 200
# Each takes microseconds, and an object of someone else may have a million.
_MOST_NAMES: Final = 1000


class RagEvalError(Exception):
    """Base of all errors raised by this package."""


class InputError(RagEvalError, ValueError):
    """A sample, an option or a file is invalid; the message says where."""


class InputChangedError(InputError):
    """A file changed after it was opened: what was read may be of the old and of the new content.

    Attributes
    ----------
    report : object
        The report of the complete run: that of :func:`rag_eval.run_file`,
        :func:`rag_eval.score_file` or the validation, whose files are written; None where nothing
        did.
    """

    def __init__(self, changes: list[str], report: Any = None) -> None:
        kept = "" if report is None else "the results are complete, but may mix old and new rows; "
        super().__init__(
            f"{'; '.join(changes)}; {kept}run the command again, or accept such changes with "
            "--allow-changed-input (in Python: allow_changed_input=True)"
        )
        self.report = report


class NotMeasuredError(InputError):
    """A metric that was asked for is null in every row, because the data lacks what it reads.

    Attributes
    ----------
    report : object
        The rows that were scored: the report of :func:`rag_eval.run_file` or
        :func:`rag_eval.score_file`, whose files are written, or the result of a batch.
    """

    def __init__(self, message: str, report: Any = None) -> None:
        super().__init__(message)
        self.report = report


class Interrupted(KeyboardInterrupt):
    """Ctrl-C came while a judge was being asked.

    Attributes
    ----------
    partial : BatchEvalResult or None
        What was scored by then; rows that were not judged any more are null with that reason.
    """

    def __init__(self, message: str, partial: Any = None) -> None:
        super().__init__(message)
        self.partial = partial


class UnsupportedModeError(InputError):
    """An evaluation mode that needs a judge was asked for and none can be used."""


class CustomMetricError(RagEvalError):
    """A custom metric raised an exception or returned something that is not a score.

    The message names the metric, the sample and the line; ``__cause__`` is the exception.
    """


class NotComputedError(RagEvalError, KeyError, AttributeError):
    """A metric was read from a result that does not hold it."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class TextsNotKeptError(RagEvalError, LookupError):
    """A row was opened whose texts were dropped after scoring."""


class SignatureMismatchError(InputError):
    """Two runs were scored under settings that make their numbers incomparable."""


class MissingExtraError(RagEvalError, ImportError):
    """An optional dependency is not installed; the message names the extra to install."""


def near_name(name: object, known: Iterable[str]) -> str | None:
    """The name nearest to ``name`` among the first thousand known ones; None if none is near."""
    if not isinstance(name, str) or len(name) > _LONGEST_NAME:
        return None
    # Imported where a name is wrong: every command imports this module.
    import difflib

    near = difflib.get_close_matches(name, list(islice(known, _MOST_NAMES)), n=1, cutoff=0.6)
    return near[0] if near else None


def suggestion(name: object, known: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` for the known name nearest to ``name``, else an empty string."""
    near = near_name(name, known)
    return "" if near is None else f"; did you mean {near!r}?"


class _Glance(reprlib.Repr):
    """Values as Python writes them, of large ones a part: takes no time, and fails for none."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdeque = 20
        self.maxdict = 10
        self.maxstring = self.maxother = 200

    def repr_int(self, x: int, level: int) -> str:
        # Python refuses to write out a whole number of more than 4300 digits.
        return repr(x) if x.bit_length() <= 1024 else f"<int of {x.bit_length()} bits>"


_GLANCE: Final = _Glance()


def kind_of(value: object) -> str:
    """What a value is, for a message: ``int``, ``a list of dicts``."""
    name = type(value).__name__
    if not isinstance(value, (list, tuple)) or not value:
        return name
    kinds = {type(item).__name__ for item in value[:_MOST_NAMES]}
    return f"a {name} of {kinds.pop()}s" if len(kinds) == 1 else f"a {name} of different types"


def glance(value: object, most: int = 80) -> str:
    """Any value for a message, with a limited number of characters."""
    try:
        return _GLANCE.repr(value)[:most]
    except Exception:
        return f"<{type(value).__name__}>"
