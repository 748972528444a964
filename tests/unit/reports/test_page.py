"""The HTML report: what stands in it, that it is well formed, and that nothing else may run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest

import rag_eval
from rag_eval.errors import InputError, MissingExtraError
from rag_eval.gating.limits import pass_rate_outcome
from rag_eval.inputs.blocks import RowFault
from rag_eval.reports.figures import shown_name
from rag_eval.reports.page import templating
from rag_eval.reports.page.page import page_html, write_page
from rag_eval.reports.page.row_detail import without_score
from rag_eval.views.making import view_of_batch, view_of_file
from rag_eval.views.run_view import RunView
from tests.tables import every_row
from tests.unit.page_reading import Element, read_page

EXAMPLE = Path(__file__).parents[3] / "examples" / "handbook.jsonl"


def samples(n: int = 12) -> list[dict[str, Any]]:
    with EXAMPLE.open(encoding="utf-8") as lines:
        return [json.loads(line) for line, _ in zip(lines, range(n), strict=False)]


def page(view: RunView, **options: Any) -> Element:
    return read_page(page_html(view, **options))


@pytest.fixture(scope="module")
def view() -> RunView:
    """A run of the example against one with worse answers, by slices."""
    new = rag_eval.evaluate_batch(samples(), profile="grounded")
    worse = [{**row, "answer": "I do not know."} for row in samples()]
    old = rag_eval.evaluate_batch(worse, profile="grounded")
    gate = pass_rate_outcome(new.n_passed, new.n_rows, 1.0)
    return view_of_batch(
        new, source="handbook.jsonl", slice_by=["topic"], baseline=old, gates=[gate]
    )


@pytest.fixture(scope="module")
def html(view: RunView) -> str:
    return page_html(view)


@pytest.fixture(scope="module")
def root(html: str) -> Element:
    return read_page(html)


# ------------------------------------------------------------------------------------ structure


def test_ids_are_unique_and_every_link_leads_somewhere(root: Element) -> None:
    ids = [each.attributes["id"] for each in root.walk() if "id" in each.attributes]
    assert len(ids) == len(set(ids))
    links = [each.attributes["href"] for each in root.all("a")]
    assert len(links) > 20
    assert {link.removeprefix("#") for link in links if link != "#?show=failed"} <= set(ids)
    named = [
        each.attributes["aria-labelledby"]
        for each in root.walk()
        if "aria-labelledby" in each.attributes
    ]
    assert named
    assert set(named) <= set(ids)


def test_nothing_is_loaded_and_no_attribute_has_style_or_script(html: str, root: Element) -> None:
    for each in root.walk():
        assert "style" not in each.attributes, each
        assert not {"src", "srcset", "action", "formaction", "data", "poster"} & set(
            each.attributes
        )
        assert not [name for name in each.attributes if name.startswith("on")]
        assert each.tag not in {"img", "link", "iframe", "object", "embed", "base", "form"}
    without_texts = re.sub(r"<main.*</main>", "", html, flags=re.DOTALL)
    assert not re.search(r"https?:|//[a-z]|url\(|@import", without_texts.replace("// ", ""))


def test_the_policy_lets_run_this_style_and_this_script_and_nothing_else(root: Element) -> None:
    policy = root.one("meta", http_equiv="Content-Security-Policy").attributes["content"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    scripts = [each for each in root.all("script") if "type" not in each.attributes]
    assert rules == {
        "default-src": "'none'",
        "script-src": " ".join(hash_of(each) for each in scripts),
        "style-src": " ".join(hash_of(each) for each in root.all("style")),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    head = root.one("head")
    order = [each.tag for each in head.walk()]
    first = head.parts.index(root.one("meta", http_equiv="Content-Security-Policy"))
    assert all(head.parts.index(each) > first for each in chain(root.all("style"), scripts))
    assert order.count("style") == 1


def hash_of(element: Element) -> str:
    digest = hashlib.sha256(element.text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def test_drawings_are_well_formed_and_have_names(html: str) -> None:
    drawings = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    histograms = 0
    for text in drawings:
        drawing = ET.fromstring(text)
        if "histogram" in drawing.attrib["class"]:
            title = drawing.find("title")
            assert title is not None
            assert drawing.attrib["aria-labelledby"] == title.attrib["id"]
            histograms += 1
        else:
            assert drawing.attrib["aria-hidden"] == "true"
    assert histograms > 8
    assert len(drawings) > histograms


def test_headings_go_down_by_one_step(root: Element) -> None:
    levels = [int(each.tag[1]) for each in root.walk() if re.fullmatch("h[1-6]", each.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_the_page_without_its_rows_is_small(view: RunView) -> None:
    assert len(page_html(replace(view, rows=(), comparison=None, slices=())).encode()) < 60_000


# -------------------------------------------------------------------------------------- content


def test_the_verdict_is_said_once_with_its_reason(view: RunView, root: Element) -> None:
    verdict = root.by_id("verdict")
    assert verdict.attributes["data-passed"] == "false"
    assert verdict.one("h1").text == f"✗ FAIL {view.reason}"
    # The only gate is the reason.
    assert verdict.all("ul", cls="gates") == []
    assert root.by_id("report").text.count(view.reason) == 1
    assert f"{view.summary.n_rows} rows scored" in verdict.text
    passed = page(replace(view, passed=True))
    assert passed.by_id("verdict").attributes["data-passed"] == "true"
    assert passed.one("head").one("title").text.startswith("PASS")


def test_of_several_gates_each_is_said_once(view: RunView) -> None:
    held = replace(view.gates[0], held=True, message="composite mean 0.71 is at least 0.60")
    found = page(replace(view, gates=(held, *view.gates)))
    assert found.by_id("verdict").one("h1").text == "✗ FAIL 1 of 2 gates failed"
    listed = found.by_id("verdict").one("ul", cls="gates").all("li")
    assert [line.text for line in listed] == [
        f"✗ failed {view.gates[0].message}",
        f"✓ passed {held.message}",
    ]
    both = page(replace(view, passed=True, gates=(held, held)))
    assert both.by_id("verdict").one("h1").text == "✓ PASS all 2 gates passed"


def test_times_are_to_the_second(view: RunView, root: Element) -> None:
    moment = view.summary.evaluated_at
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z", moment)
    shown = f"{moment[:10]} {moment[11:19]} UTC"
    assert shown in root.by_id("verdict").text
    assert shown in root.by_id("reproduce").text
    assert moment not in root.by_id("report").text


def test_without_a_gate_there_is_no_verdict(view: RunView) -> None:
    none = page(replace(view, passed=None, gates=()))
    verdict = none.by_id("verdict")
    assert verdict.attributes["data-passed"] == "none"
    assert "NO VERDICT no gate set: add --min-mean" in verdict.one("h1").text
    assert verdict.all("ul", cls="gates") == []
    assert none.one("head").one("title").text.startswith("RAG evaluation")
    assert json.loads(none.by_id("rag-eval-result").text)["verdict"]["passed"] is None


def test_an_interrupted_run_with_skipped_rows_says_so(view: RunView) -> None:
    faults = (RowFault(3, "line 3", "answer must be a string, got int"),)
    verdict = page(replace(view, interrupted=True, n_skipped=7, faults=faults)).by_id("verdict")
    assert "Interrupted" in verdict.text
    assert "7 skipped as invalid" in verdict.text
    assert "1 of 7 skipped rows" in verdict.text
    assert "line 3: answer must be a string, got int" in verdict.text


def test_each_metric_has_its_mean_interval_denominator_and_histogram(
    view: RunView, root: Element
) -> None:
    cards = root.by_id("metrics").all("article", cls="metric")
    names = [card.attributes["data-metric"] for card in cards]
    assert names == [*view.summary.metrics, "composite"]
    recall = cards[names.index("context_recall")]
    aggregate = view.summary.aggregates["context_recall"]
    assert aggregate.n < aggregate.n_rows
    assert f"{aggregate.mean:.2f}" in recall.one(cls="figure").text
    assert aggregate.interval is not None
    assert f"{aggregate.interval.low:.2f} to {aggregate.interval.high:.2f}" in recall.text
    assert f"scored{aggregate.n} of {aggregate.n_rows}" in recall.text
    assert f"null{aggregate.n_rows - aggregate.n}" in recall.text
    # What it reads is that of the profile of the run.
    assert "Faithfulness of the ground truth, instead of the answer, to the contexts" in recall.text
    counts = [
        int(title.split(": ")[1].split()[0])
        for title in (bar.text for bar in recall.one("svg").all("rect"))
    ]
    assert sum(counts) == aggregate.n
    threshold = view.thresholds["context_recall"]
    assert threshold is not None
    line = recall.one("line", cls="threshold")
    assert float(line.attributes["x1"]) == pytest.approx(300 * threshold)


def test_a_metric_without_a_threshold_says_nothing_of_rows_that_pass(root: Element) -> None:
    """Regression: such a metric was said to be passed by 100 % of the rows."""
    cards = {card.attributes["data-metric"]: card for card in root.all("article", cls="metric")}
    assert cards["context_relevance"].one("p", cls="met").text == "no threshold"
    assert "%" not in cards["context_relevance"].one("p", cls="met").text
    met = cards["context_recall"].one("p", cls="met").text
    assert re.fullmatch(r"threshold 0\.60, [\d.]+\u00a0% of rows pass", met)


def test_a_metric_of_which_less_is_better_says_so() -> None:
    batch = rag_eval.evaluate_batch(samples(4), ["noise_sensitivity"], profile="grounded")
    card = page(view_of_batch(batch)).one("article", data_metric="noise_sensitivity")
    assert "lower is better" in card.text
    other = page(view_of_batch(batch)).one("article", data_metric="composite")
    assert "lower is better" not in other.text


def test_a_metric_named_for_a_fault_says_what_1_means_everywhere(root: Element) -> None:
    shown = "hallucination_rate (1\xa0=\xa0none)"
    assert root.one("article", data_metric="hallucination_rate").one("h3").text == shown
    assert shown in [head.text for head in root.by_id("row-table").all("button")]
    comparison = root.by_id("comparison")
    line = next(line for line in comparison.all("tr") if "hallucination" in line.text)
    assert line.one("th").text.startswith(shown)
    assert shown in root.by_id("slices").text


def test_arrow_colour_and_word_agree_with_the_direction() -> None:
    """Up is good for hallucination_rate, which is 1 where there is none."""
    bad = {"id": "a", "answer": "Bees hum at dawn.", "contexts": ["Lions roar at night."]}
    good = {**bad, "answer": "Lions roar at night."}
    pairs = [({**bad, "id": f"r{n}"}, {**good, "id": f"r{n}"}) for n in range(12)]
    old, new = zip(*pairs, strict=True)
    metrics = ["hallucination_rate"]
    before = rag_eval.evaluate_batch(list(old), metrics, profile="grounded")
    after = rag_eval.evaluate_batch(list(new), metrics, profile="grounded")
    for one, other, arrow, word, status in (
        (before, after, "▲", "better", "IMPROVED"),
        (after, before, "▼", "worse", "REGRESSED"),
    ):
        section = page(view_of_batch(other, baseline=one)).by_id("comparison")
        verdict = section.all("td", cls="verdict")[0]
        assert verdict.text == f"{arrow} {status}"
        assert status.lower() in verdict.classes
        moved = section.all("ul", cls="moved")[0].all("span")[0]
        assert moved.text == f"{arrow} {word}"
        assert moved.classes == {"good" if word == "better" else "bad"}


def test_the_comparison_has_every_change_and_links_to_the_rows_that_moved(
    view: RunView, root: Element
) -> None:
    section = root.by_id("comparison")
    assert view.comparison is not None
    change = view.comparison.change("faithfulness")
    line = section.all("tr")[1]
    assert line.one("th").text == "faithfulness"
    cells = [cell.text for cell in line.all("td")]
    assert cells[:3] == [
        f"{change.old.mean:.2f}",
        f"{change.new.mean:.2f}",
        f"{change.delta:+.3f}".replace("-", "−"),
    ]
    assert cells[-1].endswith(change.verdict)
    assert cells[-2] == str(change.n_pairs)
    moved = view.comparison.moved_rows("faithfulness", 10)
    listed = section.all("ul", cls="moved")[0]
    assert [link.text for link in listed.all("a")] == [row.id for row in moved]
    for link in listed.all("a"):
        target = root.by_id(link.attributes["href"].removeprefix("#"))
        assert target.attributes["data-id"] == link.text
    movement = section.all("article", cls="movement")[0]
    drawn = sum(int(bar.text.split(": ")[1].split()[0]) for bar in movement.one("svg").all("rect"))
    assert drawn == change.rows["improved"] + change.rows["regressed"]


def test_a_moved_row_that_is_not_listed_is_named_without_a_link(view: RunView) -> None:
    section = page(replace(view, rows=view.rows[:1])).by_id("comparison")
    listed = section.all("ul", cls="moved")[0]
    assert len(listed.all("a")) < len(listed.all("li"))


def test_worse_is_worse_for_metrics_of_which_less_is_better() -> None:
    metrics = ["noise_sensitivity"]
    row = {"id": "a", "question": "Q?", "answer": "Lions roar.", "ground_truth": "Lions roar."}
    carried = {**row, "contexts": ["Lions roar.", "Bees hum."]}
    noisy = {**carried, "answer": "Bees hum. Lions roar."}
    old = rag_eval.evaluate_batch([carried], metrics, profile="grounded")
    new = rag_eval.evaluate_batch([noisy], metrics, profile="grounded")
    assert new.scores[0, 0] > old.scores[0, 0]
    section = page(view_of_batch(new, baseline=old)).by_id("comparison")
    # It rose, and that is worse.
    assert "▲ worse" in section.all("ul", cls="moved")[0].text
    assert {"bad"} <= section.all("article")[0].one("rect").classes


def test_slices_have_means_over_the_rows_that_have_a_score(view: RunView, root: Element) -> None:
    table = root.by_id("slices").one("table")
    assert len(table.all("tr")) == len(view.slices) + 1
    for line, found in zip(table.all("tr")[1:], view.slices, strict=True):
        assert line.one("th").text == f"{found.field}: {found.value}"
        mean = found.means["composite"]
        assert line.all("td")[-1].text.startswith(f"{mean.estimate:.2f}")


def test_rows_are_listed_from_the_worst_on(view: RunView, root: Element) -> None:
    bodies = root.by_id("row-table").all("tbody", cls="sample")
    found = [(body.attributes["data-status"] != "failed", composite(body)) for body in bodies]
    assert found == sorted(found)
    assert len(bodies) == view.summary.n_rows


def composite(body: Element) -> float:
    return float(body.one("td", data_metric="composite").text)


def test_a_row_has_a_cell_for_each_metric_and_marks_failures_by_a_sign(
    view: RunView, root: Element
) -> None:
    for row in view.rows:
        body = root.one("tbody", data_number=str(row.number))
        for name, found in row.result.metrics.items():
            cell = body.one("td", data_metric=shown_name(name))
            if found.score is None:
                assert cell.text == found.null_reason.name.lower().replace("_", " ")
            else:
                assert cell.text == ("✗ " if found.passed is False else "") + f"{found.score:.2f}"
                assert ("failed" in cell.classes) == (found.passed is False)


def test_an_opened_row_has_all_texts_and_sentences_lead_to_their_windows(
    view: RunView, root: Element
) -> None:
    row = next(row for row in view.rows if row.id == "hb-002")
    detail = root.one("tbody", data_id="hb-002").one("details", cls="sample-detail")
    texts = [each.text for each in detail.one("div", cls="texts").all("div", cls="text")]
    assert texts[0] == row.result.sample["question"]
    sentences = detail.all("a", cls="sentence")
    support = row.result.metrics.faithfulness.sentence_scores
    assert support is not None
    assert [own_text(each) for each in sentences[:2]] == [
        "No, the shuttle does not carry bicycles.",
        "Bicycles may be left in the rack by the garage.",
    ]
    assert [each.one(cls="hidden").text for each in sentences[:2]] == [
        f" (supported {score:.2f}, best match in context 0)" for score in support
    ]
    evidence = row.result.metrics.faithfulness.evidence
    assert evidence is not None
    for sentence, found in zip(sentences, evidence, strict=False):
        target = root.by_id(sentence.attributes["href"].removeprefix("#"))
        assert target.tag == "mark"
        marks = [
            mark.text
            for mark in detail.all("mark", cls="window")
            if sentence.attributes["data-key"] in mark.attributes["data-keys"].split()
        ]
        assert found.window is not None
        assert "".join(marks) == row.result.sample["contexts"][0][slice(*found.window)]
    chunks = [chunk.one("div", cls="text").text for chunk in detail.all("div", cls="chunk")]
    assert chunks == row.result.sample["contexts"]
    assert "1 of 1 sentence covered" in detail.text
    assert "topic" in detail.text
    relevance = row.result.metrics.answer_relevance
    assert without_score(relevance.explanation, relevance.score) in detail.text


def own_text(element: Element) -> str:
    return "".join(part for part in element.parts if isinstance(part, str))


def opened(sample: dict[str, Any], *metrics: str) -> Element:
    batch = rag_eval.evaluate_batch([sample], metrics or ["faithfulness"], profile="grounded")
    return page(view_of_batch(batch)).one("details", cls="sample-detail")


def test_an_unsupported_sentence_stands_first_beside_the_nearest_passage() -> None:
    detail = opened(
        {
            "question": "Who led the trial?",
            "answer": "The trial was led by Ellen Marsh. It enrolled 1,300 patients in Ulm.",
            "contexts": [
                "Nothing of it.",
                "Ellen Marsh led the trial, said the paper of patients.",
            ],
        }
    )
    pair = detail.one("div", cls="pair")
    order = [each for each in detail.walk() if each.classes & {"failing", "pair", "texts"}]
    assert [sorted(each.classes)[0] for each in order] == ["failing", "pair", "texts"]
    claim, nearest = pair.one("div", cls="claim"), pair.one("div", cls="nearest")
    assert claim.one("div", cls="text").text == "It enrolled 1,300 patients in Ulm."
    assert "unsupported answer, sentence 2, support 0." in claim.text
    assert [mark.text for mark in claim.all("mark", cls="absent")] == ["1,300", "Ulm"]
    assert [mark.text for mark in claim.all("mark", cls="differs")] == ["enrolled"]
    assert nearest.one("p").text == "nearest passage: context 1"
    target = nearest.one("a").attributes["href"].removeprefix("#")
    assert [each.text for each in detail.walk() if each.attributes.get("id") == target]
    assert "patients" in nearest.one("mark", cls="window").text
    told = [line.text for line in pair.one("ul", cls="differences").all("li")]
    assert told == ["numbers in no context: 1300", "names in no context: ulm"]


def test_another_number_in_its_place_is_marked_on_both_sides() -> None:
    detail = opened(
        {
            "question": "What does a ticket cost?",
            "answer": "The ticket costs 50 crowns.",
            "contexts": ["A day ticket for the tram costs 40 crowns."],
        }
    )
    pair = detail.one("div", cls="pair")
    assert [mark.text for mark in pair.one(cls="claim").all("mark", cls="absent")] == ["50"]
    assert [mark.text for mark in pair.one(cls="nearest").all("mark", cls="other")] == ["40"]
    assert "the sentence says 50, the context 40" in pair.one("ul", cls="differences").text


def test_the_other_number_is_marked_beside_the_passage_too() -> None:
    detail = opened(
        {
            "question": "When are snow chains compulsory?",
            "answer": "The duke paid 977 crowns for it.",
            "contexts": [
                "The warden comes within minutes. Parking at the gate costs 5 crowns a day."
            ],
        }
    )
    nearest = detail.one("div", cls="pair").one("div", cls="nearest")
    assert [mark.text for mark in nearest.all("mark", cls="other")] == ["5"]


def test_of_a_whole_context_the_nearest_sentence_is_shown() -> None:
    """The overlap profile knows which context is nearest, and not where in it."""
    context = "Bees hum. " * 30 + "Lions roar at night by the river. " + "Bees hum. " * 30
    sample = {"answer": "Lions roar at noon in 1999.", "contexts": [context], "question": "Q?"}
    batch = rag_eval.evaluate_batch([sample], ["faithfulness"])
    pair = page(view_of_batch(batch)).one("div", cls="pair")
    nearest = pair.one("div", cls="nearest").one("div", cls="text")
    assert nearest.one("mark", cls="window").text.strip() == "Lions roar at night by the river."
    assert len(nearest.text) < 300
    claim = pair.one("div", cls="claim")
    assert [mark.text for mark in claim.all("mark", cls="differs")] == ["noon", "1999"]


def test_a_sentence_that_shares_no_word_with_a_context_says_so() -> None:
    detail = opened({"answer": "Bees hum.", "contexts": ["Lions roar at night."]})
    assert "No context shares its content words." in detail.one("div", cls="pair").text


def test_each_failing_metric_states_its_number_once(view: RunView) -> None:
    row = next(row for row in view.rows if not row.result.passed)
    detail = page(view).one("tbody", data_number=str(row.number)).one(cls="failing")
    failing = [one for one in row.result.metrics.values() if one.passed is False]
    assert failing
    reasons = detail.all("div", cls="reason")
    for one, shown in zip(failing, reasons, strict=True):
        numbers = re.findall(rf"(?<![\d.]){one.score:.2f}\d*", shown.text)
        assert numbers == [f"{one.score:.2f}"], shown.text


@every_row(
    ("text", "score", "expected"),
    [
        (
            "Support of 2 sentence(s): 0.250. A low score.",
            0.25,
            "Support of 2 sentence(s). A low score.",
        ),
        (
            "1/3 chunk(s) relevant (>= 0.30): score=0.333.",
            1 / 3,
            "1/3 chunk(s) relevant (>= 0.30).",
        ),
        ("A: 0.300, b: 0.200, average: 0.250.", 0.25, "A: 0.300, b: 0.200."),
        ("1/4 unsupported (rate=0.250, score=0.750).", 0.75, "1/4 unsupported (rate=0.250)."),
        ("Share of sentences: 0.500 (1 means none).", 0.5, "Share of sentences (1 means none)."),
        ("Answer correctness is low (score=0.120).", 0.12, "Answer correctness is low."),
        ("0.333 of the sentences have support. One more.", 1 / 3, "One more."),
        ("No question.", None, "No question."),
        ("It costs 10.250 crowns.", 0.25, "It costs 10.250 crowns."),
    ],
)
def test_explanations_leave_out_the_score_beside_them(
    text: str, score: float | None, expected: str
) -> None:
    assert without_score(text, score) == expected


def test_how_to_reproduce_names_the_command_and_the_whole_signature(view: RunView) -> None:
    section = page(replace(view, command="rag-eval run 'a b.jsonl'")).by_id("reproduce")
    assert section.one("code").text == "rag-eval run 'a b.jsonl'"
    signature = view.summary.signature
    assert signature is not None
    for name, value in {"profile": signature.profile, **signature.options}.items():
        assert f"{name}{value}" in section.text.replace("\n", "")


def test_notes_of_the_run_and_of_its_view_are_shown(view: RunView) -> None:
    summary = replace(view.summary, notes=["few rows"])
    verdict = page(replace(view, summary=summary, notes=("no ids",))).by_id("verdict")
    assert [each.text for each in verdict.one("ul", cls="notes").all("li")] == [
        "few rows",
        "no ids",
    ]


def test_a_part_of_the_rows_is_said_to_be_one(view: RunView, root: Element) -> None:
    assert "All 12 rows, worst first." in root.by_id("rows").text
    some = page(replace(view, rows=view.rows[:5]))
    assert "5 of 12 rows" in some.by_id("rows").text
    assert "5 of 12 rows are listed" in some.by_id("reproduce").text


def test_the_data_of_the_page_is_the_summary_without_rows(view: RunView, root: Element) -> None:
    data = json.loads(root.by_id("rag-eval-result").text)
    assert data["aggregates"] == json.loads(json.dumps(view.summary.summary_dict()))["aggregates"]
    assert data["verdict"]["gates"] == [gate.to_dict() for gate in view.gates]
    assert "results" not in data


def test_numbers_that_json_does_not_have_are_null(view: RunView) -> None:
    gate = replace(view.gates[0], found=float("nan"), wanted=float("inf"))
    data = json.loads(page(replace(view, gates=(gate,))).by_id("rag-eval-result").text)
    assert data["verdict"]["gates"][0]["found"] is None
    assert data["verdict"]["gates"][0]["wanted"] is None


# ------------------------------------------------------------------------------ what is not there


def test_a_page_of_the_least_there_can_be() -> None:
    batch = rag_eval.evaluate_batch([{}], ["faithfulness"], profile="grounded", allow_missing=True)
    root = page(view_of_batch(batch))
    assert root.by_id("row-0").attributes["data-status"] == "unmeasured"
    assert "missing field" in root.one("td", data_metric="faithfulness").text
    assert "The sample has no answer." in root.by_id("row-0").text
    assert "The sample has no contexts." in root.by_id("row-0").text
    assert not root.all("section", id="comparison")
    assert not root.all("section", id="slices")
    assert root.one("article", data_metric="faithfulness").all("svg") == []
    assert page(replace(view_of_batch(batch), gates=(), rows=())).all("tbody") == []


def test_a_run_without_rows_has_a_page() -> None:
    root = page(view_of_batch(rag_eval.evaluate_batch([])))
    assert "No rows are listed." in root.by_id("rows").text
    assert "0 rows scored" in root.by_id("verdict").text


def test_empty_texts_and_contexts_are_no_error() -> None:
    rows = [
        {"id": "a", "question": "", "answer": "", "contexts": []},
        {"id": "b", "question": "Q?", "answer": "A.", "contexts": ["", "   "]},
        {"id": "c", "answer": "A.", "contexts": ["A."], "ground_truth": ["A.", "Not A."]},
    ]
    for profile in ("overlap", "grounded"):
        view = view_of_batch(rag_eval.evaluate_batch(rows[:2], profile=profile))
        assert len(page(view).all("tbody", cls="sample")) == 2
    several = view_of_batch(rag_eval.evaluate_batch(rows, profile="grounded"))
    assert "or: Not A." in page(several).by_id("row-2").text


def test_scores_without_an_end_are_drawn_and_sorted() -> None:
    rows = [{"answer": "word" * 10**n, "ground_truth": "word", "contexts": []} for n in range(4)]
    root = page(view_of_batch(rag_eval.evaluate_batch(rows, ["omk.levenshtein"])))
    cells = root.all("td", data_metric="omk.levenshtein")
    assert {cell.text for cell in cells} == {"0.00", "36.00", "396.00", "3996.00"}
    card = root.one("article", data_metric="omk.levenshtein")
    assert "3996.00" in card.one("svg").all("title")[0].text
    assert len(card.one("svg").all("rect")) > 1


@every_row("details", [False, True])
def test_a_result_file_has_the_same_page_with_and_without_evidence(
    tmp_path: Path, details: bool
) -> None:
    batch = rag_eval.evaluate_batch(samples(3), profile="grounded")
    batch.to_json(tmp_path / "result.json", details=details)
    root = page(view_of_file(tmp_path / "result.json"))
    direct = page(view_of_batch(batch))
    for one, other in zip(root.all("tbody"), direct.all("tbody"), strict=True):
        assert [mark.text for mark in one.all("mark")] == [mark.text for mark in other.all("mark")]
        assert one.all(cls="sentence")


def test_checks_and_what_a_judge_said_are_shown(view: RunView) -> None:
    row = view.rows[0]
    found = row.result.metrics.faithfulness
    details = (
        {"check": "length", "passed": True, "expected": 3, "actual": 3},
        {"check": "format", "passed": False, "expected": ["a", "b"], "message": "no list"},
    )
    judged = judged_score()
    changed = replace(found, details=details, judged=judged)
    metrics = type(row.result.metrics)({**dict(row.result.metrics), "faithfulness": changed})
    result = replace(row.result, metrics=metrics)
    root = page(replace(view, rows=(replace(row, result=result),), comparison=None))
    reason = root.by_id(f"row-{row.number}").all("div", cls="reason")[0]
    failed, others = (each for each in reason.all("details") if "check" in each.one("summary").text)
    assert "open" in failed.attributes
    assert "open" not in others.attributes
    assert '["a", "b"]' in failed.text
    assert "no list" in failed.text
    assert "length" in others.text
    assert "judge 0.25, native 0.75" in reason.text
    assert "the judge said why" in reason.text


def judged_score() -> Any:
    from rag_eval.results.judged import JudgedScore
    from rag_eval.samples import NullReason

    return JudgedScore(
        score=0.25,
        null_reason=NullReason.MEASURED,
        mode="llm",
        judge_score=0.25,
        native_score=0.75,
        details=({"subject": "claim", "verdict": "no", "reason": "the judge said why"},),
    )


# ---------------------------------------------------------------------------------------- files


def test_a_page_is_written_as_a_whole(view: RunView, tmp_path: Path) -> None:
    write_page(view, tmp_path / "report.html", title="My run")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert text == page_html(view, title="My run")
    assert read_page(text).one("head").one("title").text == "FAIL – My run"
    with pytest.raises(InputError, match="cannot write"):
        write_page(view, tmp_path / "none" / "report.html")


def test_without_jinja2_the_error_names_the_extra(
    view: RunView, monkeypatch: pytest.MonkeyPatch
) -> None:
    templating.environment.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"rag-eval-native\[report\]"):
        page_html(view)
    monkeypatch.undo()
    templating.environment.cache_clear()
    assert "<!DOCTYPE html>" in page_html(replace(view, rows=()))
