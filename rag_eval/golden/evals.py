"""Items, a target and scorers -> the mean of each scorer, as Mastra's ``runEvals`` has it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

from rag_eval.errors import InputError, Interrupted, RagEvalError, glance
from rag_eval.golden.calling import CallFailedError, Calls, ItemRun
from rag_eval.golden.eval_items import run_of_item, sample_of_run
from rag_eval.golden.metric_signals import metric_and_spec
from rag_eval.golden.results import weighted_mean
from rag_eval.plumbing.checked_values import is_number

Target: TypeAlias = Callable[[Any], Any]
"""Takes the input of an item and gives an output: a text, messages, or a mapping of them."""


@runtime_checkable
class RunScorer(Protocol):
    """What scores a run and has an id, such as a scorer of :mod:`rag_eval.scorers.mastra`."""

    @property
    def id(self) -> str:
        """Its name in the result."""

    @property
    def run(self) -> Callable[[Mapping[str, Any]], Any]:
        """Takes a run, gives something with a ``score``."""


EvalScorer: TypeAlias = str | RunScorer | Callable[[Mapping[str, Any]], Any]
"""The id of a scorer of this library, a function of a run, or a scorer with a judge."""


@dataclass(frozen=True, slots=True)
class EvalsSummary:
    """Number of items.

    Attributes
    ----------
    total_items : int
    scored_items : mapping
        Number of items with a score, by scorer; the other items had nothing to score.
    """

    total_items: int
    scored_items: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class EvalsResult:
    """Means of scorers.

    Attributes
    ----------
    scores : mapping
        Mean score by scorer id; None if no item has a score.
    summary : EvalsSummary
    items : tuple of mapping
        ``input``, ``output``, and ``scores`` by scorer of each item, in the order of the items.
    """

    scores: Mapping[str, float | None]
    summary: EvalsSummary
    items: tuple[Mapping[str, Any], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """``{"scores": ..., "summary": {"totalItems": ...}}`` as in Mastra, with the counts."""
        summary = {
            "totalItems": self.summary.total_items,
            "scoredItems": dict(self.summary.scored_items),
        }
        return {"scores": dict(self.scores), "summary": summary}


def run_evals(
    data: Sequence[Mapping[str, Any]],
    scorers: Sequence[EvalScorer],
    target: Target,
    on_item_complete: Callable[[Mapping[str, Any]], Any] | None = None,
    concurrency: int = 1,
) -> EvalsResult:
    """Run a target on items, score each output, and average the scores.

    Parameters
    ----------
    data : sequence of mapping
        ``input`` is required; ``groundTruth``, ``expectedTrajectory`` and ``additionalContext``
        (also in snake_case) are passed on to the scorers.
    scorers : sequence
        Ids such as ``mastra.completeness``; functions of a run (``{"input", "output",
        "groundTruth", ...}``) that return a number, None, or something with a ``score``; objects
        with an ``id`` and a method ``run``. The name of a function is its id.
    target : callable
        A function or coroutine function that takes the input of an item.
    on_item_complete : callable, optional
        Called with each finished item, in the form of ``items`` of the result.
    concurrency : int, default 1
        Number of items to run at once.

    Returns
    -------
    EvalsResult
        The mean of a scorer excludes items without a score, which are counted.

    Raises
    ------
    InputError
        For invalid items and scorers; the message names the item.
    RagEvalError
        If the target or a scorer raises; the message names the item, and later items are not run.
    Interrupted
        On Ctrl-C; its ``partial`` is the result of the finished items.
    """
    run = _Evals(data, scorers, target, on_item_complete)
    run.run(concurrency)
    return run.result()


async def arun_evals(
    data: Sequence[Mapping[str, Any]],
    scorers: Sequence[EvalScorer],
    target: Target,
    on_item_complete: Callable[[Mapping[str, Any]], Any] | None = None,
    concurrency: int = 1,
) -> EvalsResult:
    """Like :func:`run_evals`, but coroutines run in the caller's event loop."""
    run = _Evals(data, scorers, target, on_item_complete)
    await run.arun(concurrency)
    return run.result()


class _Evals(ItemRun[Mapping[str, Any]]):
    """One call: its items and scorers, checked, and the results so far."""

    def __init__(
        self, data: Any, scorers: Any, target: object, on_item: Callable[..., Any] | None
    ) -> None:
        self._data = _items(data)
        self._scorers = _named(scorers)
        if not callable(target):
            raise InputError(f"the target must be callable, got {type(target).__name__}")
        self._target = target
        super().__init__(len(self._data), on_item)

    def interrupted(self) -> Interrupted:
        found = self.result()
        n_done = found.summary.total_items
        return Interrupted(f"{n_done:,} of {len(self._data):,} items were run", found)

    def result(self) -> EvalsResult:
        items = tuple(item for item in self.found if item is not None)
        scores: dict[str, float | None] = {}
        counts: dict[str, int] = {}
        for name in self._scorers:
            found = [item["scores"][name] for item in items]
            pairs = [(score, 1.0) for score in found if score is not None]
            scores[name] = weighted_mean(pairs) if pairs else None
            counts[name] = len(pairs)
        return EvalsResult(scores, EvalsSummary(len(items), counts), items)

    async def one(self, calls: Calls, index: int) -> Mapping[str, Any]:
        item = self._data[index]
        try:
            output = await calls.call(self._target, item["input"])
        except CallFailedError as error:
            raise RagEvalError(f"item {index}: the target failed: {error}") from error
        run = run_of_item(item, output)
        scores = {name: await self._score(calls, name, run, index) for name in self._scorers}
        return {"input": item["input"], "output": output, "scores": scores}

    async def _score(
        self, calls: Calls, name: str, run: Mapping[str, Any], index: int
    ) -> float | None:
        try:
            found = await calls.call(self._scorers[name], run)
        except CallFailedError as error:
            kind = InputError if isinstance(error.__cause__, InputError) else RagEvalError
            raise kind(f"item {index}: scorer {name}: {error}") from error
        return _number(found, f"item {index}: scorer {name}")


def _number(found: Any, where: str) -> float | None:
    if isinstance(found, Mapping):
        found = found.get("score")
    elif not isinstance(found, (int, float)):
        found = getattr(found, "score", found)
    if found is None or (isinstance(found, float) and math.isnan(found)):
        return None
    if not is_number(found):
        raise InputError(f"{where} must return a number or None, got {type(found).__name__}")
    return float(found)


def _items(data: Any) -> Sequence[Mapping[str, Any]]:
    if isinstance(data, (str, bytes, Mapping)) or not isinstance(data, Sequence):
        raise InputError(f"data must be a list of mappings, got {type(data).__name__}")
    if not data:
        raise InputError("data must have at least one item")
    for index, item in enumerate(data):
        if not isinstance(item, Mapping):
            raise InputError(f"item {index} must be a mapping, got {type(item).__name__}")
        if item.get("input") is None:
            raise InputError(f"item {index} has no input")
    return data


def _named(scorers: Any) -> dict[str, Callable[[Mapping[str, Any]], Any]]:
    if isinstance(scorers, str) or not isinstance(scorers, Sequence) or not scorers:
        raise InputError("scorers must be a list of at least one scorer")
    found: dict[str, Callable[[Mapping[str, Any]], Any]] = {}
    for scorer in scorers:
        name, score = _scorer(scorer)
        if name in found:
            raise InputError(f"two scorers have the name {name}")
        found[name] = score
    return found


def _scorer(scorer: Any) -> tuple[str, Callable[[Mapping[str, Any]], Any]]:
    if isinstance(scorer, str):
        return _library_scorer(scorer)
    if isinstance(scorer, RunScorer) and callable(scorer.run):
        # A coroutine where there is one: the plain form would wait for the loop that it runs in.
        run: Callable[[Mapping[str, Any]], Any] = getattr(scorer, "arun", scorer.run)
        return scorer.id, run
    if callable(scorer):
        name = getattr(scorer, "__name__", None) or type(scorer).__name__
        return str(name), scorer
    raise InputError(
        f"a scorer must be an id, a function or an object with id and run, got {glance(scorer)}"
    )


def _library_scorer(name: str) -> tuple[str, Callable[[Mapping[str, Any]], Any]]:
    metric, spec = metric_and_spec(name)
    if spec is None:
        raise InputError(f"{metric} needs a judge; give it as an object or a function")
    created = spec.scorer()

    def score(run: Mapping[str, Any]) -> float | None:
        sample = sample_of_run(run)
        if any(field not in sample for field in spec.fields):
            return None
        return created.score(spec.read(sample)).score

    return metric, score
