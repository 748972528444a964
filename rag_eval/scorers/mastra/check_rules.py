"""Quick checks, their rules.  In: the text of an answer, or its calls of tools.  Out: pass or not.

Case is folded by lower-casing, with nothing trimmed or normalised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from rag_eval.errors import InputError, glance
from rag_eval.plumbing.checked_values import share, whole_from_zero
from rag_eval.scorers.safe_patterns import Pattern, compiled
from rag_eval.scorers.tool_calls import ToolCall

Passes: TypeAlias = Callable[[str], bool]

_FAILED_STATES: Final = ("call", "output-error")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOptions:
    """A text to look for.

    Attributes
    ----------
    text : str
    ignore_case : bool
    """

    text: str
    ignore_case: bool = True

    def __post_init__(self) -> None:
        _checked_text(self.text, "text")
        _checked_flag(self.ignore_case, "ignore_case")

    @property
    def wanted(self) -> str:
        """The text as it is looked for."""
        return folded(self.text, self.ignore_case)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityOptions:
    """A text to be like.

    Attributes
    ----------
    text : str
    ignore_case : bool
    threshold : float or None
        With one, from 0 to 1, the score is 1 where the similarity reaches it, else 0.
    """

    text: str
    ignore_case: bool = True
    threshold: float | None = None

    def __post_init__(self) -> None:
        _checked_text(self.text, "text")
        _checked_flag(self.ignore_case, "ignore_case")
        if self.threshold is not None:
            share(self.threshold, "threshold")


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternOptions:
    """A regular expression of JavaScript to look for.

    Attributes
    ----------
    pattern : str
    flags : str
        i, m, s, u, y; g and d change nothing.
    exact : bool
        The whole output, not a part of it, must be what the pattern describes.
    """

    pattern: str
    flags: str = ""
    exact: bool = False

    def __post_init__(self) -> None:
        _checked_flag(self.exact, "exact")
        self.ready()

    def ready(self) -> Pattern:
        """The pattern, ready to be searched for."""
        own = compiled(self.pattern, self.flags)
        if not self.exact:
            return own
        # The flag m holds within the pattern, not for the ends around it.
        inner = "m" if "m" in self.flags else ""
        return compiled(f"^(?{inner}:{self.pattern})$", self.flags.replace("m", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """A tool that is to be called.

    Attributes
    ----------
    name : str
    times : int
        At least so often.
    """

    name: str
    times: int = 1

    def __post_init__(self) -> None:
        _checked_text(self.name, "name")
        whole_from_zero(self.times, "times")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCallOptions:
    """A tool that is not to be called.

    Attributes
    ----------
    name : str
    """

    name: str

    def __post_init__(self) -> None:
        _checked_text(self.name, "name")


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderOptions:
    """Tools that are to be called in this order.

    Attributes
    ----------
    names : sequence of str
    """

    names: Sequence[str]

    def __post_init__(self) -> None:
        listed = isinstance(self.names, (list, tuple))
        if not listed or not all(isinstance(name, str) for name in self.names):
            raise InputError(f"names must be a list of names of tools, got {glance(self.names)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MostCallsOptions:
    """How many calls there may be.

    Attributes
    ----------
    most : int
    """

    most: int

    def __post_init__(self) -> None:
        whole_from_zero(self.most, "most")


def _checked_text(value: object, name: str) -> None:
    if not isinstance(value, str):
        raise InputError(f"{name} must be a text, got {type(value).__name__}")


def _checked_flag(value: object, name: str) -> None:
    if not isinstance(value, bool):
        raise InputError(f"{name} must be true or false, got {type(value).__name__}")


# -------------------------------------------------------------------------------------- texts


def folded(text: str, ignore_case: bool) -> str:
    """The text as it is compared."""
    return text.lower() if ignore_case else text


def similarity_score(output: str, text: str, options: SimilarityOptions) -> tuple[float, float]:
    """The score, and the similarity that it is or was decided by."""
    from rag_eval.kernels.similarity import dice_similarity

    found = dice_similarity(folded(output, options.ignore_case), folded(text, options.ignore_case))
    return decided(found, options), found


def decided(similarity: float, options: SimilarityOptions) -> float:
    """The similarity, or with a threshold whether it reaches it."""
    return similarity if options.threshold is None else float(similarity >= options.threshold)


# -------------------------------------------------------------------------------------- calls


def in_order(names: Sequence[str], called: Sequence[str]) -> bool:
    """Whether the names occur among the calls in their order, whatever is between."""
    left = iter(called)
    return all(name in left for name in names)


def failed_calls(calls: Sequence[ToolCall]) -> list[str]:
    """Names of the tools whose call failed, is marked as an error, or was never answered."""
    return [call.name for call in calls if _failed(call)]


def _failed(call: ToolCall) -> bool:
    if call.state in _FAILED_STATES or call.is_error:
        return True
    return isinstance(call.result, dict) and _is_true(call.result.get("error"))


def _is_true(value: Any) -> bool:
    """Whether JavaScript takes a JSON value for true: empty lists and mappings are."""
    return bool(value) or isinstance(value, (list, dict))
