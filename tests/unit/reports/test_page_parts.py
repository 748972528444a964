"""The pieces of the HTML report: passages, drawings, numbers, sizes."""

from __future__ import annotations

import math
import random
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

import rag_eval
from rag_eval.metrics.ids import ALL_METRIC_IDS, METRIC_IDS
from rag_eval.reports.figures import (
    interval_text,
    p_value_text,
    score_text,
    share_text,
    signed_text,
)
from rag_eval.reports.page import row_list as sizes
from rag_eval.reports.page.charts import WIDTH, difference_chart, score_chart, spans
from rag_eval.reports.page.page import page_html
from rag_eval.reports.page.passages import Window, chunk_pieces, kept_ranges, sentence_pieces
from rag_eval.reports.page.row_data import number
from rag_eval.reports.page.row_detail import said_without_score, without_score
from rag_eval.reports.page.row_list import RowList, row_list, show_command
from rag_eval.reports.page.templating import rendered
from rag_eval.results.words_overlap import filled
from rag_eval.samples import Profile
from rag_eval.scoring.explaining import LazyMetrics
from rag_eval.stats.intervals import Interval
from rag_eval.views.making import view_of_batch
from rag_eval.views.run_view import Histogram, RunView
from rag_eval.views.sentences import SentenceView
from tests.unit.page_reading import read_page, unpack

TEXT = "abcdefghijklmnopqrstuvwxyz" * 4
DOOR = "The door is red. Ana Ortiz painted it in 1987, for 40 crowns."
EXAMPLES: list[dict[str, Any]] = [
    {"question": "Who painted it?", "answer": answer, "contexts": contexts, "groundTruth": truth}
    for answer in (DOOR, "It is blue. Bo Li painted 7.", "I cannot answer that.", "")
    for contexts in ([DOOR], [DOOR, "Rye grows here.", "Ana Ortiz is 40."], ["Rye."], [""], [])
    for truth in (DOOR, "Nobody.", "")
]


def sentence(begin: int, end: int, text: str = TEXT) -> SentenceView:
    return SentenceView(
        text=text[begin:end], span=(begin, end), support=0.5, level="weak", chunk=0, window=(0, 3)
    )


# ----------------------------------------------------------------------------------------- words


@pytest.mark.parametrize("profile", ["overlap", "grounded"])
def test_words_lose_their_score_before_and_after_their_values_are_in_them(profile: Profile) -> None:
    """Values with the same decimals as the score stay, wherever they stand."""
    draw, alike = random.Random(1), (0.0, 0.25, 0.2501, 1 / 3, 1.0)
    metrics = ALL_METRIC_IDS if profile == "grounded" else METRIC_IDS
    forms = {
        (words, values)
        for sample in EXAMPLES
        for said in facts_of(rag_eval.evaluate(sample, metrics, profile=profile)).said(metrics)
        for words, values in (said[:2], *((kind.message, values) for kind, values, *_ in said[2]))
    }
    assert len({words for words, _ in forms}) > 12
    for words, known in forms:
        for _ in range(40):
            values = tuple(draw.choice(alike) if isinstance(one, float) else one for one in known)
            for score in (*alike, None, *values[-1:]):
                if score is None or isinstance(score, float):
                    wanted = without_score(filled(words, values), score)
                    assert said_without_score(words, values, score) == wanted


def facts_of(result: rag_eval.EvalResult) -> Any:
    assert isinstance(result.metrics, LazyMetrics)
    return result.metrics.facts


# ------------------------------------------------------------------------------------ sentences


def test_text_between_sentences_is_kept() -> None:
    views = [sentence(2, 5), sentence(5, 9), sentence(12, 20)]
    pieces = sentence_pieces(TEXT, views, 1000, "a", {"a1": "there"})
    assert "".join(piece.text for piece in pieces) == TEXT
    found = [(piece.key, piece.text, piece.href) for piece in pieces if piece.view]
    assert found == [
        ("a0", TEXT[2:5], None),
        ("a1", TEXT[5:9], "there"),
        ("a2", TEXT[12:20], None),
    ]


def test_cutting_moves_no_sentence() -> None:
    views = [sentence(2, 5), sentence(8, 20), sentence(30, 40)]
    pieces = sentence_pieces(TEXT, views, 10, "a", {})
    assert [piece.text for piece in pieces] == ["ab", "cde", "fgh", "ij"]
    assert [piece.key for piece in pieces] == ["", "a0", "", "a1"]


def test_spans_that_are_no_places_of_the_text_are_passed_over() -> None:
    views = [sentence(0, 5), sentence(3, 8), sentence(9, 9), sentence(100, 999), sentence(-4, 2)]
    pieces = sentence_pieces(TEXT[:50], views, 1000, "a", {})
    assert "".join(piece.text for piece in pieces) == TEXT[:50]
    assert [piece.key for piece in pieces if piece.view] == ["a0"]


# --------------------------------------------------------------------------------------- chunks


def test_windows_that_overlap_or_nest_are_split_where_they_begin_and_end() -> None:
    windows = [
        Window("a0", 2, 10, "weak"),
        Window("a1", 5, 14, "supported"),
        Window("a2", 6, 8, "unsupported"),
        Window("a3", 2, 10, "unsupported"),
    ]
    pieces, anchors = chunk_pieces(TEXT[:20], windows, 1000, "c")
    found = [(piece.text, piece.level, piece.keys) for piece in pieces]
    assert found == [
        ("ab", None, ()),
        ("cde", "weak", ("a0", "a3")),
        ("f", "supported", ("a0", "a3", "a1")),
        ("gh", "supported", ("a0", "a3", "a1", "a2")),
        ("ij", "supported", ("a0", "a3", "a1")),
        ("klmn", "supported", ("a1",)),
        ("opqrst", None, ()),
    ]
    assert anchors["a0"] == anchors["a3"] == pieces[1].anchor
    assert (anchors["a1"], anchors["a2"]) == (pieces[2].anchor, pieces[3].anchor)
    assert [piece.anchor is None for piece in pieces] == [1, 0, 0, 0, 1, 1, 1]


SPANS = st.lists(
    st.tuples(st.integers(0, 100), st.integers(1, 60)).map(lambda s: (s[0], min(sum(s), 104))),
    max_size=12,
)


@given(SPANS, st.sampled_from([20, 40, 80, 1000]))
def test_pieces_hold_the_text_in_order_and_each_window_where_it_is(
    found: list[tuple[int, int]], limit: int
) -> None:
    windows = [Window(f"a{n}", *span, "weak") for n, span in enumerate(found)]
    pieces, anchors = chunk_pieces(TEXT, windows, limit, "c")
    place = 0
    for piece in pieces:
        assert bool(piece.text) != bool(piece.n_left_out)
        end = place + len(piece.text) + piece.n_left_out
        if piece.text:
            assert TEXT[place:end] == piece.text
            wanted = [w.key for w in windows if w.begin < end and w.end > place]
            assert sorted(piece.keys) == sorted(wanted)
            assert all(w.begin <= place and end <= w.end for w in windows if w.key in wanted)
        place = end
    assert place == len(TEXT)
    named = [piece.anchor for piece in pieces if piece.anchor]
    assert len(named) == len(set(named))
    assert set(anchors.values()) <= set(named)
    if limit == 1000:
        assert set(anchors) == {w.key for w in windows}


def test_windows_outside_of_the_chunk_are_passed_over() -> None:
    windows = [
        Window("a0", 5, 900, "weak"),
        Window("a1", -3, 4, "weak"),
        Window("a2", 7, 7, "weak"),
    ]
    pieces, anchors = chunk_pieces(TEXT, windows, 1000, "c")
    assert ([piece.text for piece in pieces], anchors) == ([TEXT], {})


def test_a_window_in_two_stretches_is_found_where_it_begins() -> None:
    long = "x" * 1000
    windows = [Window("a0", 0, 500, "weak"), Window("a1", 300, 310, "weak")]
    pieces, anchors = chunk_pieces(long, windows, 40, "c")
    assert [(len(piece.text), piece.n_left_out, piece.keys) for piece in pieces] == [
        (20, 0, ("a0",)),
        (0, 275, ()),
        (5, 0, ("a0",)),
        (10, 0, ("a0", "a1")),
        (5, 0, ("a0",)),
        (0, 685, ()),
    ]
    assert (anchors["a0"], anchors["a1"]) == (pieces[0].anchor, pieces[3].anchor)


def test_of_a_long_chunk_what_is_around_the_windows_is_kept() -> None:
    assert kept_ranges(100, [], 100) == [(0, 100)]
    assert kept_ranges(0, [], 100) == []
    assert kept_ranges(1000, [], 100) == [(0, 100)]
    assert kept_ranges(1000, [(500, 520)], 100) == [(460, 560)]
    assert kept_ranges(1000, [(0, 10), (990, 1000)], 100) == [(0, 30), (970, 1000)]
    assert kept_ranges(1000, [(200, 900)], 100) == [(200, 300)]
    assert kept_ranges(1000, [(500, 510), (505, 520)], 100) == [(480, 537)]
    many = [(n, n + 5) for n in range(0, 100_000, 50)]
    found = kept_ranges(100_000, many, 8000)
    assert sum(end - begin for begin, end in found) <= 8000 + 20 * len(found)
    assert all(before[1] < after[0] for before, after in pairwise(found))


# ------------------------------------------------------------------------------------- drawings


def test_bins_are_as_high_as_their_counts_and_bad_on_the_wrong_side() -> None:
    chart = score_chart(Histogram(0, 1, (4, 0, 2, 1)), 0.5, rises=True)
    assert [(bar.side, float(bar.height)) for bar in chart.bars] == [
        ("bad", 64.0),
        ("good", 32.0),
        ("good", 16.0),
    ]
    assert chart.line == "150"
    falling = score_chart(Histogram(0, 1, (4, 0, 2, 1)), 0.5, rises=False)
    assert [bar.side for bar in falling.bars] == ["good", "bad", "bad"]
    assert score_chart(Histogram(0, 1, (1,)), None, rises=True).line is None
    assert score_chart(Histogram(0, 1, (1,)), 7.0, rises=True).line is None


def test_a_threshold_between_two_bins_parts_them() -> None:
    for threshold, n_below in ((0.6, 12), (0.7, 14), (0.3, 6), (0.15, 3)):
        for rises in (True, False):
            bars = score_chart(Histogram(0, 1, (1,) * 20), threshold, rises=rises).bars
            sides = ["bad" if rises else "good"] * n_below
            sides += ["good" if rises else "bad"] * (20 - n_below)
            assert [bar.side for bar in bars] == sides


def test_every_bin_lies_within_the_drawing() -> None:
    counts = tuple([1] + [0] * 18 + [100_000])
    for bar in score_chart(Histogram(-3, 1e9, counts), 0.3, rises=True).bars:
        assert 0 <= float(bar.x) < float(bar.x) + float(bar.width) <= WIDTH
        assert float(bar.height) >= 1
        assert float(bar.y) + float(bar.height) == pytest.approx(64)


def test_a_histogram_of_one_value_can_be_drawn() -> None:
    chart = score_chart(Histogram(5, 5, (3,)), 5.0, rises=True)
    assert len(chart.bars) == 1
    assert chart.line is None


def test_differences_stand_on_both_sides_of_no_change() -> None:
    chart = difference_chart(np.array([-0.5, 0.1, 0.1, 0.0, np.nan]))
    assert chart is not None
    assert [bar.side for bar in chart.bars] == ["bad", "good"]
    assert [bar.title.split(": ")[1] for bar in chart.bars] == ["1 row", "2 rows"]
    assert chart.line == "150"
    assert difference_chart(np.array([0.0, np.nan])) is None


def interval(estimate: float, low: float | None, high: float | None) -> Interval:
    return Interval(estimate=estimate, low=low, high=high, level=0.95, n_resamples=0, n_groups=9)


def test_intervals_share_a_scale_with_nothing_in_its_middle() -> None:
    up, none, unknown = spans(
        [interval(0.2, 0.1, 0.4), interval(math.nan, None, None), interval(-0.4, None, None)]
    )
    assert none is None
    assert up is not None
    assert unknown is not None
    assert up.low is not None
    assert up.high is not None
    assert float(up.zero) == 150 < float(up.low) < float(up.x) < float(up.high) < WIDTH
    assert (unknown.low, unknown.high) == (None, None)
    assert 300 - float(unknown.x) == pytest.approx(float(up.high))


# -------------------------------------------------------------------------------------- numbers


def test_numbers_are_never_rounded_to_certainty() -> None:
    assert [share_text(x) for x in (0.0, 0.0004, 0.5, 0.99999, 1.0, math.nan)] == [
        "0 %",
        "< 0.1 %",
        "50 %",
        "> 99.9 %",
        "100 %",
        "–",
    ]
    assert [p_value_text(p) for p in (0.0004, 0.0006, 1.0)] == ["< 0.001", "0.001", "1.000"]
    assert [score_text(x) for x in (None, math.nan, 0.126, 1e9)] == ["–", "–", "0.13", "1e+09"]
    assert [signed_text(x) for x in (0.5, -0.5, None)] == ["+0.500", "−0.500", "–"]


def test_numbers_for_the_script_have_six_decimals_unless_they_would_be_shown_otherwise() -> None:
    # Fractions of up to seven binary digits have ties among them: 457 / 640 ends in 0.0000005.
    values = [a / b for b in range(1, 700) for a in range(0, b + 1, 3)]
    values += [12.3456789, 123_456.7890125, 1e300, -457 / 640, -1 / 3, 0.02499999, 0.0249999999]
    for value in values:
        found = number(value)
        assert score_text(found) == score_text(value)
        if abs(value * 100 % 1 - 0.5) > 1e-3:
            assert found == round(value, 6)
    assert number(1 / 3) == 0.333333
    assert number(457 / 640) == 0.714063
    assert number(0.0249999999) == 0.0249999999  # 0.02, and 0.03 with six decimals
    assert [number(value) for value in (None, math.nan, math.inf)] == [None, None, None]


def test_an_interval_of_too_few_rows_is_not_shown() -> None:
    assert interval_text(interval(0.5, 0.4, 0.6)) == "0.40 to 0.60"
    few = replace(interval(0.5, 0.4, 0.6), too_few=True)
    assert interval_text(few) == "too few differing scores"
    assert interval_text(None) == "no interval"


# ---------------------------------------------------------------------------------------- sizes


@pytest.fixture(scope="module")
def long_view() -> RunView:
    """Three hundred rows with texts that do not pack well, so that few rows are many bytes."""
    letters = random.Random(3)

    def text() -> str:
        return " ".join(f"w{letters.getrandbits(40):x}" for _ in range(60)) + "."

    rows = [
        {"id": f"r{number}", "question": "Who?", "answer": text(), "contexts": [text(), text()]}
        for number in range(300)
    ]
    return view_of_batch(rag_eval.evaluate_batch(rows, ["faithfulness"], profile="grounded"))


def listed(view: RunView, **options: Any) -> tuple[RowList, list[bool]]:
    """The rows, and which of them have details, in page order."""
    found = row_list(view.rows, view.summary.metrics, **options)
    closed = unpack(found.index)["closed"]
    return found, [str(place) not in closed for place in range(len(found.rows))]


def size_of(found: RowList) -> int:
    return sum(map(len, (*found.bodies, found.keys, found.index, *found.blocks)))


def test_every_row_has_details_where_there_is_room(long_view: RunView) -> None:
    found, have_details = listed(long_view)
    assert len(found.bodies) == 100
    assert have_details == [True] * 300
    assert found.n_closed == 0
    assert unpack(found.index)["blocks"] == [0, 50, 100, 150, 200, 250]
    assert [len(unpack(block)) for block in found.blocks] == [50] * 6
    contexts = [row[5] for block in found.blocks for row in unpack(block)]
    assert contexts == [row.result.sample["contexts"] for row in found.rows]


def test_details_are_shortened_and_then_dropped_from_the_end(long_view: RunView) -> None:
    whole, _ = listed(long_view)
    for share, shown in ((0.5, [str] * 4 + [list]), (0.3, [str, list]), (0.2, []), (0.0, [])):
        budget = int(size_of(whole) * share)
        some, have_details = listed(long_view, budget=budget)
        # Lines are there whatever they take.
        assert size_of(some) <= budget + len(some.keys) + len(some.index)
        assert len(have_details) == 300
        assert some.n_closed == have_details.count(False) > 0
        assert have_details[: have_details.index(False)] == [True] * have_details.index(False)
        closed = unpack(some.index)["closed"]["299"]
        assert closed == f"rag-eval show RESULT {some.rows[299].id}"
        # The last that fit are cut: parts of contexts in the place of texts.
        assert [type(unpack(block)[0][5][0]) for block in some.blocks] == shown
        # What is on the page for readers without scripts can be opened with scripts, too.
        assert len(some.bodies) <= 300 - some.n_closed
    assert have_details == [False] * 300


def test_rows_of_a_block_are_where_the_index_says(long_view: RunView) -> None:
    """Also behind rows that found no room, which are in no block."""
    whole, _ = listed(long_view)
    some, have_details = listed(long_view, budget=size_of(whole) // 2)
    starts = unpack(some.index)["blocks"]
    for n_before, begin in enumerate(starts):
        for place, detail in enumerate(unpack(some.blocks[n_before])):
            row = some.rows[begin + place]
            assert have_details[begin + place]
            (first, _), text = detail[5], row.result.sample["contexts"][0]
            assert (first if isinstance(first, str) else first[1][0][1]) in text
    assert sum(len(unpack(block)) for block in some.blocks) == have_details.count(True)


def test_one_very_large_row_is_shown_in_short(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"answer": "Lions roar. " * 600, "contexts": ["Lions roar. " * 100] * 40}
    view = view_of_batch(rag_eval.evaluate_batch([row], ["faithfulness"], profile="grounded"))
    whole = row_list(view.rows, ("faithfulness",)).bodies[0]
    assert "more characters" not in whole
    monkeypatch.setattr(sizes, "_LARGE_DETAIL", 40_000)
    short = row_list(view.rows, ("faithfulness",)).bodies[0]
    assert len(short) < len(whole) // 2
    assert "<details" in short
    assert "5,200 more characters" in short


def test_the_script_sorts_by_numbers_and_searches_all_texts() -> None:
    rows = [
        {"id": "q10", "question": "Über?", "answer": "Lions ROAR.", "contexts": ["Lions roar."]},
        {"id": "q9", "question": "about", "answer": "", "contexts": ["x"], "ground_truth": "Bees"},
    ]
    view = view_of_batch(rag_eval.evaluate_batch(rows, ["faithfulness"], profile="grounded"))
    keys = unpack(row_list(view.rows, ("faithfulness",)).keys)
    # The row without a score comes before one that passed.
    assert keys["columns"]["number"] == [1, 0]
    assert keys["columns"]["id"] == [0, 1]
    assert keys["columns"]["question"] == [0, 1]
    assert keys["columns"]["status"] == [1, 2]
    assert keys["columns"]["faithfulness"] == [None, 1.0]
    assert keys["ids"] == ["q9", "q10"]
    assert keys["texts"] == [["about", "", "Bees"], ["Über?", "Lions ROAR."]]
    assert "change" not in keys["columns"]


def test_rows_that_moved_come_first_where_that_is_asked_for() -> None:
    batch = rag_eval.evaluate_batch(
        [{"id": f"r{n}", "answer": "Lions roar.", "contexts": ["Lions roar."]} for n in range(4)],
        ["faithfulness"],
        profile="grounded",
    )
    view = view_of_batch(batch)
    old = {"r0": {"composite": 1.0}, "r1": {"composite": 0.5}, "r2": {"composite": 1.5}}
    found = row_list(view.rows, ("faithfulness",), old=old, moved_first=True)
    assert [row.id for row in found.rows] == ["r2", "r1", "r0", "r3"]
    assert unpack(found.keys)["columns"]["change"] == [-0.5, 0.5, 0.0, None]


def test_a_chunk_that_is_not_listed_is_no_target_of_a_link() -> None:
    row = {"answer": "Lions roar.", "contexts": ["Nothing."] * 150 + ["Lions roar at night."]}
    view = view_of_batch(rag_eval.evaluate_batch([row], ["faithfulness"], profile="grounded"))
    root = read_page(page_html(view))
    assert root.all("a", cls="sentence") == []
    assert (
        root.one("span", cls="sentence").one(cls="hidden").text
        == " (supported 1.00, best match in context 150)"
    )
    assert "51 more contexts" in root.by_id("row-0").text


def test_the_command_that_shows_a_row_is_quoted(long_view: RunView) -> None:
    row = long_view.rows[0]
    assert show_command(replace(row, id="it's; rm")) == "rag-eval show RESULT 'it'\"'\"'s; rm'"
    assert show_command(replace(row, id=None)) == "rag-eval show RESULT"
    assert show_command(replace(row, id="a\x1b")) == "rag-eval show RESULT"


def test_a_template_that_names_what_is_not_there_fails() -> None:
    with pytest.raises(UndefinedError):
        rendered("verdict.html.j2", view=None)


def test_drawings_of_a_page_parse_as_xml(long_view: RunView) -> None:
    html = page_html(replace(long_view, rows=()))
    begin = html.index("<svg")
    ET.fromstring(html[begin : html.index("</svg>", begin) + 6])
