"""Everything that rag_eval raises on purpose."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class RagEvalError(Exception):
    """Base of all errors raised by this package."""


class InputError(RagEvalError, ValueError):
    """A sample, an option or a file is not what it has to be; the message names where."""


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


class NotComputedError(RagEvalError, KeyError, AttributeError):
    """A metric was read from a result that does not hold it."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class TextsNotKeptError(RagEvalError, LookupError):
    """A row was opened whose texts were dropped after scoring."""


class SignatureMismatchError(InputError):
    """Two runs were scored under settings that make their numbers incomparable."""


class MissingExtraError(RagEvalError, ImportError):
    """An optional dependency is not installed; the message says which extra brings it."""


def suggestion(name: object, known: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` for the known name nearest to ``name``, else an empty string."""
    near = difflib.get_close_matches(str(name), list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""
