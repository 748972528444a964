"""The sentences of a result's answer, or ground truth, in; what carries each of them, out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from rag_eval.results import EvalResult

Level: TypeAlias = Literal["supported", "weak", "unsupported"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceView:
    """One sentence and how far the contexts carry it.

    Attributes
    ----------
    text : str
    span : (int, int)
        Its place in the answer, or the ground truth, in code points.
    support : float
        From 0 to 1, by the profile of the result.
    level : {"supported", "weak", "unsupported"}
    chunk : int or None
        The context that carries it best; None where none does.
    window : (int, int) or None
        The best passage of that context, in code points; None where the whole context counts.
    missing_numbers, missing_names : tuple of str
        Those that no context has.
    """

    text: str
    span: tuple[int, int]
    support: float
    level: Level
    chunk: int | None = None
    window: tuple[int, int] | None = None
    missing_numbers: tuple[str, ...] = ()
    missing_names: tuple[str, ...] = ()
