"""docs/judge.md says what the judge does."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from rag_eval.judge.failures import JUDGE_FAILURES
from rag_eval.judge.metrics.catalogue import JUDGED_METRICS, steps_of
from rag_eval.judge.steps import Step
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.metrics.registry import all_metrics
from rag_eval.samples import NullReason
from tests.docs_pages import ROOT

PAGE = ROOT / "docs" / "judge.md"

SCORING = {
    "faithfulness": "Mean over the answer's claims of their support by the contexts: 1, partly "
    "0.5, else 0",
    "answer_relevance": "Mean over the answer's statements: answers the question 1, partly 0.5, "
    "not 0; a refusal 0",
    "context_precision": "Average precision of the contexts' order, by their use for arriving at "
    "the ground truth",
    "context_recall": "Mean over the ground truth's claims of their support by the contexts; the "
    "best of several",
    "context_relevance": "Share of the contexts that are relevant to the question",
    "answer_correctness": "F1 of the claims of answer and ground truth, each looked up in the "
    "other; best of several",
    "hallucination_rate": "1 - share of the answer's claims that the contexts lack or contradict",
}

NULLS = {
    NullReason.JUDGE_FAILED: "the function raised an exception, the server rejected the call, or "
    "the reply was longer than 4 MB",
    NullReason.JUDGE_UNPARSED: "two replies had no JSON of the expected form, or lacked the mark",
    NullReason.JUDGE_INCOMPLETE: "two replies lacked verdicts, repeated some, or gave some "
    "that were not requested",
    NullReason.JUDGE_REFUSED: "the model declined",
    NullReason.JUDGE_TRUNCATED: "the reply was cut at its token limit, and at twice the limit",
    NullReason.JUDGE_PROMPT_CUT: "the server reported far fewer tokens than the prompt has words: "
    "it cuts long prompts",
    NullReason.JUDGE_TIMED_OUT: "no reply within `call_timeout_s`, twice; or `run_timeout_s` "
    "was reached",
    NullReason.JUDGE_UNREACHABLE: "the server failed or limited the rate until the last retry",
    NullReason.JUDGE_BUDGET: "not asked: `max_calls` or `budget_usd` was reached",
    NullReason.JUDGE_INTERRUPTED: "not asked: the run was interrupted, or the judge is unavailable",
}


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def calls_table() -> str:
    """What each of the seven asks of a judge."""
    rows = []
    for metric in METRIC_IDS:
        spec, rating = (JUDGED_METRICS[style][metric] for style in ("claims", "rating"))
        fields = [*spec.fields, *(f"({name})" for name in spec.optional)]
        thresholds = f"{spec.threshold:g}, {rating.threshold:g}"
        words = (SCORING[metric], spec.cost)
        rows.append([f"`{metric}`", ", ".join(fields), *words, thresholds])
    head = ["metric", "reads (if there)", "score, claims", "calls, claims"]
    head += ["passes from, claims and rating"]
    return table(head, rows)


def nulls_table() -> str:
    """Why judged scores are null."""
    rows = [[f"`{reason.name}`", NULLS[reason]] for reason in sorted(JUDGE_FAILURES)]
    return table(["reason", "when"], rows)


def _steps(steps: Sequence[Step[object]]) -> str:  # type: ignore[type-var]
    shown = []
    for step in steps:
        variables = " ".join(f"`${name}`" for name in sorted(step.template.variables))
        shown.append(f"`{step.name.rpartition('/')[2]}` {variables}")
    return "; ".join(shown)


def steps_table() -> str:
    """The steps of each metric, with their variables."""
    rows = [
        [f"`{metric}`", *(_steps(steps_of(metric, style)) for style in ("claims", "rating"))]
        for metric in METRIC_IDS
    ]
    return table(["metric", "steps, claims", "step, rating"], rows)


def scorers_table() -> str:
    """The scorers of other tools."""
    rows = []
    for spec in all_metrics():
        if not spec.needs_judge:
            continue
        summary = spec.summary + ("" if spec.higher_is_better else "; lower is better")
        needs = ", ".join(f"`{name}`" for name in spec.required_options) or "–"
        calls = spec.cost.partition(" ")[0]
        beside = [f"({name})" for name in spec.optional if name in ("contexts", "ground_truth")]
        reads = ", ".join([*spec.fields, *beside])
        rows.append([f"`{spec.id}`", summary, reads, calls, needs])
    return table(["scorer", "measures", "reads", "calls", "required options"], rows)


TABLES: dict[str, Callable[[], str]] = {
    "calls": calls_table,
    "nulls": nulls_table,
    "steps": steps_table,
    "scorers": scorers_table,
}


def updated(text: str) -> str:
    """The page with its tables as they are now."""
    for name, make in TABLES.items():
        opening, closing = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        before, _, rest = text.partition(opening)
        _, _, after = rest.partition(closing)
        text = before + opening + make() + closing + after
    return text


def test_tables_are_up_to_date() -> None:
    text = PAGE.read_text("utf-8")
    now = updated(text)
    if os.environ.get("RAG_EVAL_UPDATE_DOCS"):
        PAGE.write_text(now, "utf-8")
        return
    assert text == now, "run this test with RAG_EVAL_UPDATE_DOCS=1, and look at what it changed"


def test_every_way_to_fail_is_explained() -> None:
    assert set(NULLS) == set(JUDGE_FAILURES)
