"""What a notebook shows of results: all that matters, nothing that runs, never too much."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_eval import BatchEvalResult, EvalSample, compare, evaluate, evaluate_batch
from rag_eval.gating import Guards, gate
from rag_eval.metrics.own import metric
from rag_eval.metrics.registry import unregister
from rag_eval.metrics.seven import GROUNDED_METRICS
from rag_eval.reports.figures import gap_text, shown_name
from rag_eval.reports.notebook_batch import summary_html
from rag_eval.reports.notebook_elements import RED
from rag_eval.reports.page.passages import joined_spans
from rag_eval.results.row import EvalSignal
from tests.tables import every_row

HANDBOOK = Path(__file__).parents[3] / "examples" / "handbook.jsonl"
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in HANDBOOK.read_text(encoding="utf-8").splitlines()
]
MOST_BYTES = 100_000
TAGS = {
    *("div", "span", "bdi", "sup", "mark", "ul", "li", "details", "summary"),
    *("table", "thead", "tbody", "tr", "th", "td", "svg", "rect", "line"),
}
ATTRIBUTES = {
    *("style", "dir", "title", "scope", "role", "aria-label", "xmlns", "viewbox"),
    *("width", "height", "x", "y", "x1", "x2", "y1", "y2"),
    *("fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray"),
}
EVIL = (
    "<script>alert(1)</script></textarea></svg>&lt; \" onload='x' javascript:alert(1) "
    "\x1b[31mred\x00\x9b \u202egnp.exe\u2066 \ud800 \ufeff\u200b\u2028 [x](http://evil.example) "
)


class Page(HTMLParser):
    """Reads HTML and refuses what a notebook should not be given."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.styles: list[tuple[str, str]] = []
        self.titles: list[str] = []
        self.cells: list[list[str]] = []
        self._open: list[tuple[str, str]] = []
        assert len(html.encode()) < MOST_BYTES
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        assert tag in TAGS, tag
        assert found.keys() <= ATTRIBUTES, found
        assert "url(" not in found.get("style", "")
        assert found.get("xmlns", "http://www.w3.org/2000/svg") == "http://www.w3.org/2000/svg"
        self.titles += [found["title"]] if "title" in found else []
        self._open.append((tag, found.get("style", "")))
        if tag == "tr":
            self.cells.append([])
        if tag in {"td", "th"}:
            self.cells[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        self.styles.append((data, self._open[-1][1]))
        if any(tag in {"td", "th"} for tag, _ in self._open):
            self.cells[-1][-1] += data

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def row(self, name: str) -> list[str]:
        return next(row for row in self.cells if row[0] == name)


def page(shown: Any) -> Page:
    return Page(shown._repr_html_())


@pytest.fixture(scope="module")
def batch() -> BatchEvalResult:
    return evaluate_batch(ROWS, profile="grounded")


# ------------------------------------------------------------------------------------------ results


def test_a_result_shows_verdict_scores_thresholds_and_findings() -> None:
    result = evaluate(ROWS[19], profile="grounded")
    found = page(result)
    assert found.text.startswith(f"FAILED composite {result.composite_score:.2f}")
    assert "grounded profile" in found.text
    for name, one in result.metrics.items():
        row = found.row(name)
        assert row[1] == f"{one.score:.2f}"
        assert row[3] == ("–" if one.threshold is None else f"≥ {one.threshold:.2f}")
        assert row[4] == ("" if one.passed is None else "passed" if one.passed else "FAILED")
    assert ROWS[19]["question"] in found.text
    assert "critical hallucination_rate: Low support (" in found.text
    assert all(context in found.text for context in ROWS[19]["contexts"] if len(context) < 300)


def test_each_sentence_has_the_tint_of_its_support_and_names_its_context() -> None:
    sample = {
        "question": "What is it?",
        "answer": "The old mill burns at night.\n\nZebras juggle 77 turquoise umbrellas.",
        "contexts": ["Nothing here.", "The old mill burns at night, they say."],
    }
    found = page(evaluate(sample, ["faithfulness"], profile="grounded"))
    styles = dict(found.styles)
    good = styles["The old mill burns at night."]
    bad = styles["Zebras juggle 77 turquoise umbrellas."]
    assert good == dict(found.styles)["supported"].removesuffix(";padding:0 4px")
    assert bad == dict(found.styles)["unsupported"].removesuffix(";padding:0 4px")
    assert "dashed" in bad
    assert "dashed" not in good
    assert found.titles[0] == "supported, support 1.00, best match in context 1"
    assert found.titles[1].startswith("unsupported, support 0.12")
    assert "in no context: 77" in found.titles[1]
    assert "\n\n" in found.text  # between them, as it was written
    assert "color:inherit" in styles["old mill burns at night"]  # the window


def test_the_gravest_findings_come_first() -> None:
    result = evaluate(ROWS[19], ["faithfulness"], profile="grounded")
    signals = tuple(
        EvalSignal(id=kind, metric_id="faithfulness", severity=kind, message=f"a {kind} one")
        for kind in ("info", "warning", "critical")
    )
    metric = replace(result.metrics.faithfulness, signals=signals)
    shown = page(replace(result, metrics=type(result.metrics)({"faithfulness": metric}))).text
    places = [shown.index(f"a {kind} one") for kind in ("critical", "warning", "info")]
    assert places == sorted(places)


def test_contexts_that_carry_something_are_shown_though_they_are_the_last() -> None:
    sample = {
        "question": "What?",
        "answer": "The old mill burns at night.",
        "contexts": [*(f"Nothing {n}." for n in range(7)), "The old mill burns at night."],
    }
    found = page(evaluate(sample, ["faithfulness"], profile="grounded"))
    shown = [text for text in found.texts if text.startswith("context ")]
    assert shown == ["context 0", "context 1", "context 2", "context 3", "context 7"]
    assert "… and 3 more contexts" in found.text


def test_a_bar_is_as_long_as_its_score_and_marked_at_its_threshold() -> None:
    result = evaluate(ROWS[0], ["faithfulness"], profile="grounded")
    metric = replace(result.metrics.faithfulness, score=0.25, threshold=0.5)
    html = replace(result, metrics=type(result.metrics)({"faithfulness": metric}))._repr_html_()
    assert '<rect x="0" y="1" width="22.5" height="8"' in html
    assert '<line x1="45" y1="-1" x2="45" y2="10"' in html


def test_lower_is_better_is_said_by_the_sign_of_its_threshold() -> None:
    result = evaluate(
        ROWS[0], ["unsupported_numbers"], profile="grounded", thresholds={"unsupported_numbers": 0}
    )
    assert page(result).row("unsupported_numbers")[3] == "≤ 0.00"


def test_a_score_that_is_null_is_a_dash_with_its_reason() -> None:
    result = evaluate({"question": "q", "answer": "a", "contexts": ["c"]}, ["context_recall"])
    row = page(result).row("context_recall")
    assert (row[1], row[4]) == ("–", "")
    assert "groundTruth is required" in row[5]


def test_a_sample_object_and_a_sample_without_texts_are_shown_too() -> None:
    given = EvalSample(question="What now?", answer="That.", contexts=["This."])
    assert "What now?" in page(evaluate(given)).text
    bare = replace(evaluate(given), sample={})
    assert "faithfulness" in page(bare).text
    assert "What now?" not in page(bare).text


# ------------------------------------------------------------------------------------------ batches


def test_a_batch_shows_its_statistics_and_its_worst_rows(batch: BatchEvalResult) -> None:
    found = page(batch)
    assert found.text.startswith(f"no verdict {batch.n_passed} of 66 samples passed")
    for name, aggregate in batch.aggregates.items():
        row = found.row(shown_name(name).replace("\N{NO-BREAK SPACE}", " "))
        interval = aggregate.interval
        assert interval is not None
        gap = gap_text(aggregate.n, aggregate.n_rows)
        mean = f"{aggregate.mean:.2f} [{interval.low:.2f}, {interval.high:.2f}]"
        assert row[2] == mean + (f" ({gap})" if gap else "")
        assert row[3] == f"{aggregate.n}/66"
        threshold = GROUNDED_METRICS[name].threshold
        assert row[5] == ("–" if threshold is None else f"≥ {threshold:.2f}")
    listed = [row for row in found.cells if len(row) == 5 and row[0].isdigit()]
    failed = np.flatnonzero(~batch.sample_passed)
    worst = failed[np.argsort(batch.composite_scores[failed], kind="stable")][:10]
    assert [int(row[0]) for row in listed] == worst.tolist()
    assert [row[1] for row in listed] == [ROWS[number]["id"] for number in worst]
    assert [row[2] for row in listed] == [ROWS[number]["question"] for number in worst]
    assert listed[0][4].startswith("faithfulness 0.42, context_recall 0.25")


def test_rows_that_failed_come_before_lower_scores_that_passed() -> None:
    rows = [
        {"question": "q", "answer": "one two three four", "contexts": [text], "id": text}
        for text in ("one two three four", "one", "one two three")
    ]
    batch = evaluate_batch(rows, ["faithfulness"], thresholds={"faithfulness": 0.5})
    batch = replace(batch, sample_passed=np.array([False, True, True]))
    listed = [row for row in page(batch).cells if len(row) == 5 and row[0].isdigit()]
    assert [row[1] for row in listed] == ["one two three four", "one", "one two three"]


def test_what_failed_where_lower_is_better_is_what_scored_above_its_threshold() -> None:
    rows = [
        {"id": name, "question": "q", "answer": f"It has {n} doors.", "contexts": ["It has 7."]}
        for name, n in (("good", 7), ("bad", 42))
    ]
    options: dict[str, Any] = {"profile": "grounded", "thresholds": {"unsupported_numbers": 0.4}}
    batch = evaluate_batch(rows, ["unsupported_numbers"], **options)
    found = page(batch)
    listed = {row[1]: row[4] for row in found.cells if len(row) == 5 and row[0].isdigit()}
    assert listed == {"bad": "unsupported_numbers 1.00", "good": ""}
    html = batch._repr_html_()
    assert html.count(f'<span style="background:{RED};padding:0 4px">') == 1, "nothing is not red"


def test_the_highest_bin_is_as_high_as_its_drawing(batch: BatchEvalResult) -> None:
    (drawing, *_) = re.findall(r'<svg .*?aria-label="distribution.*?</svg>', batch._repr_html_())
    heights = [float(height) for height in re.findall(r'height="([\d.]+)" fill=', drawing)]
    assert len(heights) > 2
    assert max(heights) == 23
    assert min(heights) >= 1.5


def test_a_batch_without_texts_says_so_and_shows_the_rest(batch: BatchEvalResult) -> None:
    bare = page(evaluate_batch(ROWS, profile="grounded", keep_texts=False))
    assert "Lowest scores (texts were not kept)" in bare.text
    assert bare.row("faithfulness") == page(batch).row("faithfulness")
    assert "(texts were not kept)" not in page(batch).text


def test_a_batch_read_from_its_file_is_shown_as_it_was(
    batch: BatchEvalResult, tmp_path: Path
) -> None:
    batch.to_json(tmp_path / "result.json")
    read = BatchEvalResult.from_json(tmp_path / "result.json")
    assert read._repr_html_() == batch._repr_html_()


@every_row("name", ["overlap", "grounded"])
def test_batches_with_nothing_in_them_are_shown(name: Any) -> None:
    empty = page(evaluate_batch([], profile=name))
    assert "0 of 0 samples passed" in empty.text
    assert empty.row("composite")[2] == "–"
    null = evaluate_batch([{"question": "", "answer": "", "contexts": []}] * 3, profile=name)
    assert "of 3 samples passed" in page(null).text


@pytest.fixture
def length() -> Iterator[str]:
    @metric("answer_length", threshold=5, range=(0, math.inf))
    def found(answer: str) -> float:
        return float(len(answer))

    yield "answer_length"
    unregister("answer_length")


def test_a_metric_without_ends_has_a_distribution_and_no_bar(length: str) -> None:
    batch = evaluate_batch(ROWS, [length])
    html = batch._repr_html_()
    shortest, longest = min(batch.scores[:, 0]), max(batch.scores[:, 0])
    assert f'aria-label="distribution from {shortest:.2f} to {longest:.2f}"' in html
    assert Page(html).row(length)[2].startswith(f"{batch.aggregates[length].mean:.2f} [")
    assert "<svg" not in batch.results[0]._repr_html_()


def test_a_summary_without_rows_has_statistics_alone(batch: BatchEvalResult) -> None:
    from rag_eval.results.batch import BatchSummary

    names = BatchSummary.__dataclass_fields__
    found = Page(summary_html(BatchSummary(**{name: getattr(batch, name) for name in names})))
    assert found.row("faithfulness")[2] == page(batch).row("faithfulness")[2]
    assert "Lowest scores" not in found.text


# ------------------------------------------------------------------------- runs, gates, comparisons


def test_two_runs_are_shown_side_by_side(batch: BatchEvalResult) -> None:
    worse = [{**row, "answer": "I do not know that."} for row in ROWS]
    comparison = compare(batch, evaluate_batch(worse, profile="grounded"))
    found = page(comparison)
    row = found.row("faithfulness")
    change = comparison.change("faithfulness")
    assert row[1:3] == [f"{change.old.mean:.2f}", f"{change.new.mean:.2f}"]
    assert row[5] == change.verdict == "REGRESSED"
    assert row[3].startswith(f"{change.delta:+.3f}".replace("-", "−"))
    assert found.text.startswith("REGRESSED ")
    (drawing, *_) = re.findall(r'<svg .*?aria-label="difference.*?</svg>', comparison._repr_html_())
    (zero,) = re.findall(r'<line x1="([\d.]+)" y1="0"', drawing)
    (place,) = re.findall(r'<rect x="([\d.]+)"', drawing)
    assert float(place) + 3 < float(zero), "what fell stands to the left of nothing"
    assert page(compare(batch, batch)).text.startswith("no regression found ")
    refused = [{**ROWS[0], "answer": "The context does not say."}, *ROWS[1:]]
    found = page(compare(batch, evaluate_batch(refused, profile="grounded")))
    assert found.text.startswith("MISSING SCORES ")
    assert "rows lost its score (refusal: 1)" in found.text


def test_a_gate_is_shown_with_its_reason_and_what_failed_first(tmp_path: Path) -> None:
    result = evaluate_batch(ROWS, profile="grounded")
    result.to_json(tmp_path / "old.json")
    worse = [{**row, "answer": "I do not know that."} for row in ROWS]
    report = gate(
        evaluate_batch(worse, profile="grounded"),
        [tmp_path / "old.json"],
        guards=Guards(min_mean={"faithfulness": 0.99}),
    )
    found = page(report)
    assert found.text.startswith(f"FAILED {report.status}. ")
    assert "Against " in found.text
    assert "FAILED faithfulness mean" in found.text
    assert found.row("faithfulness")[3] == "REGRESSED"


def test_the_notes_of_a_batch_are_shown(batch: BatchEvalResult) -> None:
    noted = replace(batch, notes=["mind the gap", *(f"note {n}" for n in range(30))])
    assert "note: mind the gap" in page(noted).text
    assert "… and 11 more notes" in page(noted).text


# ----------------------------------------------------------------------------------- hostile texts


def hostile(long: str = "") -> dict[str, Any]:
    text = EVIL + long
    return {
        "id": text,
        "question": f"What is {text}?",
        "answer": f"It is {EVIL}. " * 60 + long,
        "contexts": [text, f"It is {EVIL}. " * 60, long],
        "groundTruth": text,
        "metadata": {"kind": text},
    }


HOSTILE_ROWS = [hostile(), hostile("&" * 1_000_000), hostile("\U000e0041" * 9_000), hostile("\"<'")]


@every_row("profile", ["overlap", "grounded"])
def test_hostile_texts_are_shown_as_texts_and_bounded(profile: Any) -> None:
    batch = evaluate_batch(HOSTILE_ROWS, profile=profile)
    batch = replace(batch, notes=[EVIL] * 100)
    for shown in (batch, *batch.results):
        found = page(shown)
        everything = "".join([found.text, *found.titles])
        assert "<script>alert(1)</script>" in everything
        for hidden in "\x00\x1b\x9b\u202e\u2066\ud800\ufeff\u200b\u2028\U000e0041":
            assert hidden not in everything
        assert "\\u202e" in everything
        assert "\\ud800" in everything


def test_texts_are_cut_where_they_are_too_long_and_not_before() -> None:
    sample = {"question": "q" * 300, "answer": "a" * 2_500, "contexts": ["c" * 500]}
    found = page(evaluate(sample))
    for text in sample.values():
        assert any(text == shown for shown in found.texts) or text[0] in found.texts
    longer = {"question": "q" * 301, "answer": "a" * 2_501, "contexts": ["c" * 501]}
    shown = page(evaluate(longer)).texts
    assert {"q" * 300 + "…", "a" * 2_500 + "…"} <= set(shown)
    assert "c" * 500 + "…" in shown


def test_right_to_left_texts_have_their_own_direction() -> None:
    html = evaluate(ROWS[0])._repr_html_()
    assert html.count('dir="auto"') == 2 + len(ROWS[0]["contexts"])


@pytest.fixture
def many_metrics() -> Iterator[list[str]]:
    names = [f"crowd_{n}" for n in range(60)]
    for name in names:
        metric(name, threshold=0.5, summary="A crowd", range=(0, 2))(lambda answer: 0.1)
    yield names
    for name in names:
        unregister(name)


def test_of_many_metrics_the_first_are_shown_and_the_rest_counted(many_metrics: list[str]) -> None:
    batch = evaluate_batch([hostile()] * 12, many_metrics)
    for shown in (batch, batch.results[0]):
        found = page(shown)
        assert found.row("crowd_19")
        assert "crowd_20" not in [row[0] for row in found.cells]
        assert "… and 40 more metrics" in found.text
    assert "and 55 more" in page(batch).text


def test_windows_that_overlap_are_marked_once() -> None:
    context = "The old mill burns at night near the wide river. " * 3
    sample = {
        "question": "What?",
        "answer": "The old mill burns at night. The mill burns near the wide river.",
        "contexts": [context],
    }
    result = evaluate(sample, ["faithfulness"], profile="grounded")
    found = page(result)
    marks = [text for text, style in found.styles if "color:inherit" in style]
    assert marks
    assert all(text in context for text in marks)
    body = "".join(found.texts[found.texts.index("context 0") + 1 :])
    assert body == context


def test_windows_inside_of_others_do_not_end_them() -> None:
    assert joined_spans([(20, 30), (2, 5), (0, 10), (10, 12)]) == [(0, 12), (20, 30)]
