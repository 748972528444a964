"""Options of a scorer, in camelCase or snake_case -> its settings, each value checked.

Texts to look for are options, and so is where a context comes from: a list, a callable, or the run.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Any, Final, Literal, TypeAlias, TypeVar

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.plumbing.checked_values import flag, share
from rag_eval.plumbing.spelling import camel_case
from rag_eval.scorers.mastra.runs import Run, RunError, json_text, listed_texts, tool_results
from rag_eval.scorers.safe_patterns import Pattern, compiled

Settings = TypeVar("Settings")


@dataclass(frozen=True, slots=True)
class NoOptions:
    """The options of a scorer that has none."""


def settings_of(
    kind: type[Settings],
    owner: str,
    options: Mapping[str, Any] | None,
    more: Mapping[str, Any] | None = None,
) -> Settings:
    """The settings that some options make; what is not given keeps its default.

    Parameters
    ----------
    kind : type
        A dataclass, whose fields that are dataclasses take mappings.
    options, more : mapping
        ``more`` are those given as keywords.

    Raises
    ------
    TypeError
        For a name that is not an option; the message suggests the nearest one.
    InputError
        For two spellings of one option, or a value that cannot be.
    """
    if options is not None and not isinstance(options, Mapping):
        raise InputError(f"{owner}: options must be a mapping, got {type(options).__name__}")
    known: dict[str, Field[Any]] = {each.name: each for each in fields(kind)}  # type: ignore[arg-type]
    spellings = {spelling: name for name in known for spelling in (name, camel_case(name))}
    found: dict[str, Any] = {}
    for given, value in [*(options or {}).items(), *(more or {}).items()]:
        name = spellings.get(given)
        if name is None:
            raise TypeError(f"{owner} has no option {given!r}{suggestion(given, spellings)}")
        if name in found:
            raise InputError(f"{owner}: option {name!r} is given twice")
        found[name] = _nested(known[name], f"{owner}: {name}", value)
    missing = [name for name, each in known.items() if is_required(each) and name not in found]
    if missing:
        raise InputError(f"{owner} needs the option {missing[0]!r}")
    return kind(**found)


def settings_of_values(kind: type[Settings], owner: str, given: Mapping[str, Any]) -> Settings:
    """The same from the values of options; a name that is unknown within one makes it a bad one."""
    try:
        return settings_of(kind, owner, given)
    except TypeError as error:
        raise InputError(str(error)) from None


def is_required(each: Field[Any]) -> bool:
    """Whether a setting has no default."""
    return each.default is MISSING and each.default_factory is MISSING


def default_of(each: Field[Any]) -> Any:
    """The default of a setting; None if it has none."""
    if each.default_factory is not MISSING:
        return each.default_factory()
    return None if each.default is MISSING else each.default


def _nested(each: Field[Any], owner: str, value: Any) -> Any:
    kind = each.default_factory
    if isinstance(kind, type) and is_dataclass(kind) and not isinstance(value, kind):
        return settings_of(kind, owner, value)
    return value


def checked_number(value: object, name: str) -> float:
    """A finite number of at least 0, or an InputError that names it."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{name} must be a number, got {type(value).__name__}")
    # Not by isfinite, which fails for a whole number that no float can hold.
    if not 0 <= value <= sys.float_info.max:
        raise InputError(f"{name} must be a finite number of at least 0, got {glance(value)}")
    return float(value)


def checked_scale(value: object) -> float:
    """A scale: a finite number above 0."""
    scale = checked_number(value, "scale")
    if scale == 0:
        raise InputError("scale must be above 0")
    return scale


def check_numbers(settings: object, *names: str) -> None:
    """Check that these settings are finite numbers of at least 0."""
    for name in names:
        checked_number(getattr(settings, name), name)


def check_flags(settings: object, *names: str) -> None:
    """Check that these settings are true or false."""
    for name in names:
        flag(getattr(settings, name), name)


def check_text(value: object, name: str) -> None:
    """Check that a value is a text."""
    if not isinstance(value, str):
        raise InputError(f"{name} must be a text, got {type(value).__name__}")


def checked_text(value: object, name: str) -> str:
    """A text that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{name} must be a non-empty text, got {glance(value)}")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleOption:
    """The highest score."""

    scale: float = 1.0

    def __post_init__(self) -> None:
        checked_scale(self.scale)


# ----------------------------------------------------------------------------- checks of texts


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
        check_text(self.text, "text")
        check_flags(self, "ignore_case")

    @property
    def wanted(self) -> str:
        """The text as it is looked for."""
        return self.folded(self.text)

    def folded(self, text: str) -> str:
        """A text as it is compared."""
        return text.lower() if self.ignore_case else text


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityOptions(TextOptions):
    """A text to be like.

    Attributes
    ----------
    threshold : float or None
        With one, from 0 to 1, the score is 1 if the similarity reaches it, else 0.
    """

    threshold: float | None = None

    def __post_init__(self) -> None:
        TextOptions.__post_init__(self)
        if self.threshold is not None:
            share(self.threshold, "threshold")

    def decided(self, similarity: float) -> float:
        """The similarity, or with a threshold whether it reaches it."""
        return similarity if self.threshold is None else float(similarity >= self.threshold)


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
        check_flags(self, "exact")
        self.ready()

    def ready(self) -> Pattern:
        """The compiled pattern."""
        own = compiled(self.pattern, self.flags)
        if not self.exact:
            return own
        # The flag m holds within the pattern, not for the ends around it.
        inner = "m" if "m" in self.flags else ""
        return compiled(f"^(?{inner}:{self.pattern})$", self.flags.replace("m", ""))


# ------------------------------------------------------------------------------------------ context


OF_THE_RUN: Final = "run"

Context: TypeAlias = Sequence[str] | Literal["run"] | None
"""Chunks for every run alike, or ``"run"``: those that each run has under ``contexts``."""

ContextExtractor: TypeAlias = Callable[[Any, Any], Sequence[str] | Awaitable[Sequence[str]]]
"""From a run's ``input`` and ``output``, as they were given, to chunks."""


def check_context(context: object, *, may_be_empty: bool = True) -> None:
    """Check that a context is a list of strings, ``"run"``, or None."""
    if context is None or context == OF_THE_RUN:
        return
    listed_texts(context, "context")
    if not context and not may_be_empty:
        raise InputError("context must not be an empty list")


def check_callable(value: object, name: str) -> None:
    """Check that an optional callable is one."""
    if value is not None and not callable(value):
        raise InputError(f"{name} must be callable, got {type(value).__name__}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextOptions:
    """The context, or a callable that extracts it from a run, and the highest score."""

    context: Context = None
    context_extractor: ContextExtractor | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_has_context(self.context, self.context_extractor)
        checked_scale(self.scale)


def check_has_context(context: Context, extractor: ContextExtractor | None) -> None:
    """Check that there is one source of context at least."""
    if context is None and extractor is None:
        raise InputError("either context or context_extractor must be given")
    check_context(context, may_be_empty=False)
    check_callable(extractor, "context_extractor")


async def extracted(context: Context, extractor: ContextExtractor | None, run: Run) -> list[str]:
    """The chunks for a run; the extractor goes first."""
    if extractor is not None:
        return await awaited(extractor(run.source.get("input"), run.source.get("output")))
    return static(context, run) or []


async def awaited(value: Any) -> list[str]:
    """The chunks that a callable returned, which may have to be waited for."""
    return listed_texts(await value if inspect.isawaitable(value) else value, "extracted context")


def static(context: Context, run: Run) -> list[str] | None:
    """Chunks of the settings or of the run; None if neither is asked for."""
    if context is None:
        return None
    if context == OF_THE_RUN:
        if run.contexts is None:
            raise RunError("the run has no contexts")
        return list(run.contexts)
    return list(context)


def context_or_tools(context: Context, run: Run) -> list[str]:
    """Chunks of the settings, else of the run, else what its tools returned, as JSON."""
    found = static(context, run)
    if found is not None:
        return found
    if run.contexts is not None:
        return list(run.contexts)
    return [json_text(call.result) for call in tool_results(run)]
