"""Views of small runs, some of hostile texts, for tests of what is written for people and CI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rag_eval.gating.limits import pass_rate_outcome
from rag_eval.scoring.evaluator import evaluate_batch
from rag_eval.views.making import view_of_batch
from rag_eval.views.run_view import RunView
from tests.hostile_samples import TEXTS

GOOD: dict[str, Any] = {
    "id": "good",
    "question": "red fox",
    "answer": "red fox.",
    "contexts": ["red fox."],
}
BAD: dict[str, Any] = {
    "id": "bad",
    "question": "red fox",
    "answer": "A blue whale sings. It is 50 years old.",
    "contexts": ["red fox."],
}

HOSTILE_TEXTS: tuple[str, ...] = (
    "@team please merge #12 GH-12 owner/repo#12 user@example.com",
    "deadbeefdeadbeefdeadbeefdeadbeefdeadbeef abcdef1 u@abcdef1234",
    "http://evil.example www.evil.example _www.evil.example ftp://evil.example mailto:a@b.example",
    "[click](javascript:alert(1)) ![image](http://evil.example/x.png) <https://evil.example>",
    "<script>alert(1)</script><img src=x onerror=alert(1)></details></summary><!-- ",
    "!12 $12 ~bug %3 &4 [vulnerability:5] [[wiki]] *iteration:6 ^alert#7 ~\"two words\" %\"v 1\"",
    ":x: :+1: &lt;b&gt; &#64;team &commat;team | a | b |\n|---|---|",
    "# heading\n\n- item\n\n1. item\n\n> quote\n\n```\ncode\n```\n\ntext\n===\n\n    indented",
    "- - item", "1) # item", "+ x", "=== x", "```text", "~~~", "***", "[^1]: note", "[x]: http://e",
    "::error::pwned\n::set-output name=a::b\n##[add-mask]secret ::add-mask::x",
    "]]> <![CDATA[ \x00\x01\x0b\x1b[31m \x7f\x85\x9b \ufffe\uffff \ud800 \udfff \u202e \u2028 end",
    "word" * 5000,
    *TEXTS.values(),
)  # fmt: skip


# Their names in a log are their places: they would be written there as they are.
HOSTILE_IDS = [f"text {number}" for number in range(len(HOSTILE_TEXTS))]


def view_of(
    samples: Sequence[dict[str, Any]] = (GOOD, BAD),
    metrics: Sequence[str] | None = ("faithfulness", "hallucination_rate"),
    path: str | None = "data/samples.jsonl",
    **options: Any,
) -> RunView:
    """The view of a run of these samples, one a line of a file where it has a path.

    Its gate is that every sample passes.
    """
    batch = evaluate_batch(list(samples), metrics and list(metrics), **options)
    gate = pass_rate_outcome(batch.n_passed, batch.n_rows, 1.0)
    view = view_of_batch(batch, source=path or "", gates=[gate])
    if path is None:
        return view
    rows = [
        replace(row, path=path, line=row.number + 1, name=f'line {row.number + 1} ("{row.id}")')
        for row in view.rows
    ]
    return replace(view, rows=tuple(rows), command=f"rag-eval run {path}")


def hostile_view(path: str | None = "data/samples.jsonl") -> RunView:
    """A run of which every text is hostile, and every row fails."""
    samples = [
        {"id": text, "question": text, "answer": f"{text} whales", "contexts": [f"fox {text[:3]}"]}
        for text in HOSTILE_TEXTS
    ]
    view = view_of(samples, path=path, thresholds={"faithfulness": 1.0}, composite_threshold=1.0)
    shown = replace(view, source=HOSTILE_TEXTS[0], command=f"rag-eval run {HOSTILE_TEXTS[7]} ```")
    return replace(shown, notes=HOSTILE_TEXTS)
