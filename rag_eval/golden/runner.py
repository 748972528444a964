"""A golden dataset and a runner -> the result of a run.

Errors are kept with their cases: if the runner raises, returns an invalid value or times out, the
case scores 0 and fails the run, and the other cases continue.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from rag_eval.errors import InputError, Interrupted, glance
from rag_eval.golden.calling import CallFailedError, Calls, ItemRun
from rag_eval.golden.case_scores import failed_case, scored_case
from rag_eval.golden.datasets import GoldenCase, GoldenDataset
from rag_eval.golden.loading import load_golden_dataset
from rag_eval.golden.metric_signals import ScorerOptions, checked_options
from rag_eval.golden.outputs import CaseOutput, output_of
from rag_eval.golden.results import CaseResult, EvalRunResult, run_result
from rag_eval.plumbing.checked_values import is_number

CaseRunner: TypeAlias = Callable[[Mapping[str, Any]], Any]
"""Takes ``{"id", "input", "metadata", "contexts", "system_prompt", "tags"}``, returns an output.

A plain function or a coroutine function. The output is a text, or a mapping with ``output``,
``tool_calls`` and ``retrieved_ids`` (or in camelCase).
"""

Dataset: TypeAlias = GoldenDataset | Mapping[str, Any] | str | Path

MIN_AVERAGE_SCORE: Final = 0.7

# Characters and list items; searched in some ten microseconds.
_QUICK: Final = 10_000


def run_golden_dataset(
    dataset: Dataset,
    runner: CaseRunner,
    *,
    concurrency: int = 1,
    min_average_score: float = MIN_AVERAGE_SCORE,
    timeout_s: float | None = None,
    scorer_options: ScorerOptions | None = None,
    on_case_complete: Callable[[CaseResult], Any] | None = None,
) -> EvalRunResult:
    """Run every case of a dataset and score the outputs.

    Also works inside a running event loop and in notebooks. Plain functions run on threads.

    Parameters
    ----------
    dataset : GoldenDataset, mapping or path
    runner : callable
        See :data:`CaseRunner`. It is not given the expected values.
    concurrency : int, default 1
        Number of cases to run at once.
    min_average_score : float, default 0.7
        Threshold for each case and for the average, from 0 to 1.
    timeout_s : float, optional
        Time limit for one case. A plain function that takes longer continues on its thread, and its
        output is ignored.
    scorer_options : mapping, optional
        Options of scorers that cases name as metrics: ``{"regtrace.format": {...}}``.
    on_case_complete : callable, optional
        Called with each finished CaseResult, one at a time and not on the caller's thread. An
        exception in it ends the run.

    Returns
    -------
    EvalRunResult
        Results in the order of the cases. The rules follow the documentation of HazelJS: an
        expected output scores 1 if the output contains it or equals it apart from case, else 0;
        tool calls are scored by ``trajectory_score``, and retrieved ids by precision at 5. The
        score of a case is the mean over its expectations, or 1 if it has none. The run passes if
        there is at least one case, no case has an error, and every case and the average reach the
        threshold.

    Raises
    ------
    InputError
        For invalid options and datasets.
    Interrupted
        On Ctrl-C; its ``partial`` is the result, in which cases that did not run are errors.
    """
    run = _Run(dataset, runner, min_average_score, timeout_s, scorer_options, on_case_complete)
    run.run(concurrency)
    return run.result()


async def arun_golden_dataset(
    dataset: Dataset,
    runner: CaseRunner,
    *,
    concurrency: int = 1,
    min_average_score: float = MIN_AVERAGE_SCORE,
    timeout_s: float | None = None,
    scorer_options: ScorerOptions | None = None,
    on_case_complete: Callable[[CaseResult], Any] | None = None,
) -> EvalRunResult:
    """Like :func:`run_golden_dataset`, but coroutines run in the caller's event loop."""
    run = _Run(dataset, runner, min_average_score, timeout_s, scorer_options, on_case_complete)
    await run.arun(concurrency)
    return run.result()


class _Run(ItemRun[CaseResult]):
    """One run: its options, checked, and the results of its cases so far."""

    def __init__(
        self,
        dataset: Dataset,
        runner: CaseRunner,
        min_score: float,
        timeout_s: float | None,
        scorer_options: ScorerOptions | None,
        on_case: Callable[[CaseResult], Any] | None,
    ) -> None:
        self.dataset: GoldenDataset = (
            dataset if isinstance(dataset, GoldenDataset) else load_golden_dataset(dataset)
        )
        _check(runner, min_score, timeout_s, on_case)
        super().__init__(len(self.dataset), on_case, timeout_s)
        self._runner = runner
        self._min_score = float(min_score)
        self._options = checked_options(scorer_options)

    def result(self, why_not: str = "not run") -> EvalRunResult:
        found = zip(self.dataset, self.found, strict=True)
        results = [failed_case(case, why_not) if r is None else r for case, r in found]
        return run_result(self.dataset.name, self.dataset.version, results, self._min_score)

    def interrupted(self) -> Interrupted:
        n_done = sum(result is not None for result in self.found)
        message = f"{n_done:,} of {len(self.dataset):,} cases were run"
        return Interrupted(message, self.result("interrupted before it was run"))

    async def one(self, calls: Calls, index: int) -> CaseResult:
        case = self.dataset.cases[index]
        began = time.perf_counter()
        try:
            output = output_of(await calls.call(self._runner, _given(case)))
        except (CallFailedError, InputError) as error:
            return failed_case(case, str(error))
        output = _timed(output, time.perf_counter() - began)
        arguments = (case, output, self._min_score, self._options)
        if _is_quick(case, output):
            return scored_case(*arguments)
        # Off the loop: others go on meanwhile.
        return await asyncio.to_thread(scored_case, *arguments)


def _is_quick(case: GoldenCase, output: CaseOutput) -> bool:
    """Whether scoring takes less time than switching to another thread."""
    if case.metrics or case.assertions:
        return False
    return len(output.output) + len(output.tool_calls) + len(output.retrieved_ids) < _QUICK


def _given(case: GoldenCase) -> dict[str, Any]:
    """The fields of a case that a runner gets: all except the expectations."""
    return {
        "id": case.id,
        "input": case.input,
        "metadata": dict(case.metadata),
        "contexts": None if case.contexts is None else list(case.contexts),
        "system_prompt": case.system_prompt,
        "tags": list(case.tags),
    }


def _timed(output: CaseOutput, seconds: float) -> CaseOutput:
    """The output with its duration, unless the runner gave one."""
    return replace(output, fields={"latency_ms": seconds * 1000.0, **output.fields})


def _check(runner: object, min_score: object, timeout_s: object, on_case: object) -> None:
    if not callable(runner):
        raise InputError(f"the runner must be callable, got {type(runner).__name__}")
    if on_case is not None and not callable(on_case):
        raise InputError(f"on_case_complete must be callable, got {type(on_case).__name__}")
    if not is_number(min_score) or not 0 <= min_score <= 1:
        raise InputError(f"min_average_score must be a number from 0 to 1, got {glance(min_score)}")
    if timeout_s is not None and (not is_number(timeout_s) or timeout_s <= 0):
        raise InputError(f"timeout_s must be a number above 0 or None, got {glance(timeout_s)}")
