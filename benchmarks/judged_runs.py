"""Whole runs with a judge that answers at once: rows in, rows and calls a second out.

Everything is timed that ``evaluate_batch`` does about a row and its calls: kernels, fields,
prompts, slots, reading, scores, results.
"""

from __future__ import annotations

import json
import time
from itertools import islice
from typing import Any, Final

from benchmarks import memory
from benchmarks.corpora import Sample
from benchmarks.judge_question import mark_in
from benchmarks.timing import Spread
from rag_eval import evaluate_batch
from rag_eval.metrics.contract import JUDGE_STYLES, JudgeStyle
from rag_eval.results.batch import BatchEvalResult

_N_CLAIMS: Final = 3
_N_CHUNKS: Final = 2
_REASON: Final = "The second chunk says the same in other words."


def _verdicts(n: int, of: str, **keys: object) -> list[dict[str, object]]:
    return [{of: number, "reason": _REASON, **keys} for number in range(n)]


# By how the task begins that a prompt ends with.
_REPLIES: Final[dict[str, dict[str, Any]]] = {
    "List every factual claim": {"claims": ["One is said.", "Two is said.", "Three is said."]},
    "Decide for every claim w": {
        "verdicts": _verdicts(_N_CLAIMS, "claim", chunk=1, verdict="supported")
    },
    "Compare what an answer c": {
        "answer_claims": _verdicts(_N_CLAIMS, "claim", verdict="yes"),
        "ground_truth_claims": _verdicts(_N_CLAIMS, "claim", verdict="yes"),
    },
    "Decide for every chunk w": {"verdicts": _verdicts(_N_CHUNKS, "chunk", verdict="yes")},
    "Decide how far the answe": {
        "refusal": False,
        "statements": [{"statement": "One is said.", "reason": _REASON, "verdict": "yes"}],
    },
}
_RATING: Final[dict[str, Any]] = {"reason": _REASON, "rating": 5}


def _cut(reply: dict[str, Any]) -> tuple[str, str]:
    before, _, after = json.dumps({"mark": "MARK", **reply}).partition("MARK")
    return before, after


_CUT: Final = {begin: _cut(reply) for begin, reply in _REPLIES.items()}
_CUT_RATING: Final = _cut(_RATING)


async def instant_judge(prompt: str) -> str:
    """Says at once that all is well, in the form that the prompt wants."""
    before, after = next((cut for task, cut in _CUT.items() if task in prompt), _CUT_RATING)
    return before + mark_in(prompt) + after


def generated_rows(n_rows: int) -> list[Sample]:
    """Rows of 1 KB."""
    return [json.loads(line) for line in islice(memory.lines(n_rows), n_rows)]


def judged_run(rows: list[Sample], style: JudgeStyle) -> BatchEvalResult:
    """All rows judged by all metrics, every reply read, every score the best."""
    return evaluate_batch(rows, mode="llm", judge=instant_judge, judge_style=style)


def run_rates(n_rows: int, rounds: int) -> dict[str, dict[str, Any]]:
    """By style: rows and calls a second by the clock, and microseconds of processor time a call."""
    rows = generated_rows(n_rows)
    n_calls = {style: _checked_calls(rows, style) for style in JUDGE_STYLES}
    seconds: dict[JudgeStyle, list[tuple[float, float]]] = {style: [] for style in JUDGE_STYLES}
    for _ in range(rounds):
        for style in JUDGE_STYLES:
            begin = time.perf_counter(), time.process_time()
            judged_run(rows, style)
            taken = time.perf_counter() - begin[0], time.process_time() - begin[1]
            seconds[style].append(taken)
    return {style: _rates(n_rows, n_calls[style], taken) for style, taken in seconds.items()}


def _rates(n_rows: int, n_calls: int, taken: list[tuple[float, float]]) -> dict[str, Any]:
    return {
        "rows_per_second": Spread.of([n_rows / clock for clock, _ in taken]).as_list(),
        "calls_per_second": Spread.of([n_calls / clock for clock, _ in taken]).as_list(),
        "processor_us": Spread.of([1e6 * cpu / n_calls for _, cpu in taken]).as_list(),
        "calls_a_row": n_calls / n_rows,
    }


def _checked_calls(rows: list[Sample], style: JudgeStyle) -> int:
    """Calls of a run, once it is known that nothing failed in it."""
    result = judged_run(rows, style)
    assert (result.scores == 1.0).all()
    assert result.judging is not None
    return result.judging.cost.llm_calls
