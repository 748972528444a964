"""Where a scorer's context comes from: its settings, a callable, or the run itself."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Literal, TypeAlias

from rag_eval.errors import InputError, glance
from rag_eval.scorers.mastra.runs import Run, RunError, json_text, tool_results

OF_THE_RUN: Final = "run"

Context: TypeAlias = "Sequence[str] | Literal['run'] | None"
"""Chunks for every run alike, or ``"run"``: those that each run has under ``contexts``."""

ContextExtractor: TypeAlias = Callable[[Any, Any], "Sequence[str] | Awaitable[Sequence[str]]"]
"""From a run's ``input`` and ``output``, as they were given, to chunks."""


def check_context(context: object, *, may_be_empty: bool = True) -> None:
    """Check that a context is a list of strings, ``"run"``, or None."""
    if context is None or context == OF_THE_RUN:
        return
    _listed(context, "context")
    if not context and not may_be_empty:
        raise InputError("context must not be an empty list")


def check_has_context(context: Context, extractor: ContextExtractor | None) -> None:
    """Check that there is one source of context at least."""
    if context is None and extractor is None:
        raise InputError("either context or context_extractor must be given")
    check_context(context, may_be_empty=False)
    check_callable(extractor, "context_extractor")


def check_callable(value: object, name: str) -> None:
    """Check that an optional callable is one."""
    if value is not None and not callable(value):
        raise InputError(f"{name} must be callable, got {type(value).__name__}")


async def extracted(context: Context, extractor: ContextExtractor | None, run: Run) -> list[str]:
    """The chunks for a run; the extractor goes first."""
    if extractor is not None:
        return await awaited(extractor(run.source.get("input"), run.source.get("output")))
    return static(context, run) or []


async def awaited(value: Any) -> list[str]:
    """The chunks that a callable returned, which may have to be waited for."""
    return _listed(await value if inspect.isawaitable(value) else value, "extracted context")


def static(context: Context, run: Run) -> list[str] | None:
    """Chunks of the settings or of the run; None where neither is asked for."""
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


def _listed(value: object, name: str) -> list[str]:
    listed = isinstance(value, (list, tuple))
    if not listed or not all(isinstance(text, str) for text in value):  # type: ignore[attr-defined]
        raise InputError(f"{name} must be a list of strings, got {glance(value)}")
    return list(value)  # type: ignore[call-overload,no-any-return]
