"""Rows of result files are put together as Python would format and encode them."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_eval._native.filled_rows import RowWriter
from rag_eval.calibration.applied import planned
from rag_eval.inputs.row_texts import read_rows
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.kernels.scoring import explained_batch, metric_numbers
from rag_eval.metrics.ids import ALL_METRIC_IDS, METRIC_IDS
from rag_eval.options.plan import Plan
from rag_eval.plumbing import json_text
from rag_eval.plumbing.javascript_numbers import three_decimals
from rag_eval.results.files import row_json
from rag_eval.results.row_lines import RowLines, sample_json
from rag_eval.scoring.explaining import explained_rows, scored_rows
from tests import strategies
from tests.grounded_samples import plain_corpus

RELEVANCE: Final = ALL_METRIC_IDS.index("answer_relevance")
RATE: Final = ALL_METRIC_IDS.index("hallucination_rate")


def never(*_: Any) -> Any:
    raise AssertionError("nothing is written")


# ------------------------------------------------------------------------ rows as Python has them


def written(
    samples: Sequence[Any], plan: Plan, *, details: bool
) -> tuple[list[bytes], list[bytes]]:
    """The rows by the kernel, and by the results that Python makes of them."""
    batch = read_rows(samples, 0, FieldNeeds.of(plan.native_columns, plan.settings.profile)).pack()
    (scores, reasons), kept = explained_batch(
        batch, plan.settings, metric_numbers(plan.native_columns)
    )
    n = len(samples)
    found = scored_rows(samples, batch, plan, [{}] * n, [None] * n, kept)
    wanted = [row_json(one, 0, details) for one in explained_rows(found, "now")]
    lines = RowLines(plan, "now", details, b"\n")
    lines.fill([*map(sample_json, samples)], kept, batch, scores, reasons, wanted.__getitem__)
    return lines.rows, wanted


def plans() -> list[Plan]:
    asked = {"overlap": METRIC_IDS, "grounded": ALL_METRIC_IDS}
    found = [planned(asked[profile], {"profile": profile})[0] for profile in asked]
    few = planned(["hallucination_rate", "faithfulness"], {"profile": "grounded"})[0]
    return [*found, few, planned(["context_recall"], {"profile": "overlap"})[0]]


PLANS: Final = plans()
REFUSALS: Final = ["I don't know.", "The context does not say.", "", "...", "[1]", "These are:"]


@given(st.lists(strategies.samples(), min_size=1, max_size=4), st.booleans())
def test_rows_have_the_bytes_of_results(samples: list[dict[str, Any]], details: bool) -> None:
    for plan in PLANS:
        rows, wanted = written(samples, plan, details=details)
        assert rows == wanted


def test_rows_of_plain_texts_have_the_bytes_of_results() -> None:
    """Texts that share words: windows, names and numbers that are missing, refusals."""
    samples = plain_corpus(150, 11)
    odd = [{**row, "answer": REFUSALS[at % 6]} for at, row in enumerate(samples[:24])]
    bare = [{**row, "contexts": row["contexts"][: at % 2]} for at, row in enumerate(samples[:8])]
    several = [{**row, "ground_truth": ["No.", row["answer"], "Yes."]} for row in samples[:8]]
    lists = [*samples, *odd, *bare, *several]
    texts = [{**row, "ground_truth": " ".join(row.get("ground_truth") or [])} for row in lists]
    said = b""
    for plan in PLANS:
        rows_of = texts if plan.settings.profile == "overlap" else lists
        rows, wanted = written(rows_of, plan, details=True)
        assert rows == wanted
        said += b"".join(rows)
    for words in (
        *(b"the sentence says", b"numbers in no context", b"names in no context", b"best match"),
        *(b"names far from each other", b"no context shares", b"counted from 0", b"best of 3"),
        *(b"Refused although", b"contexts are relevant", b"context is relevant", b"indices [0"),
    ):
        assert words in said, words


@pytest.mark.parametrize("details", [False, True])
def test_tiny_numbers_have_exponents(details: bool) -> None:
    """A score of 0.000099 was written without one where the composite score was larger."""
    truth = "a. " + " ".join(f"t{number}" for number in range(0, 1_009, 7))
    tiny = {"question": "a.", "answer": "a.", "contexts": ["a."], "ground_truth": truth}
    others = [{**tiny, "ground_truth": "a."}] * 2
    plain_tiny = [*others, tiny, *others]
    said = b""
    for plan in PLANS:
        rows, wanted = written(plain_tiny, plan, details=details)
        assert rows == wanted
        said += rows[2]
    assert re.search(rb'"score":\d[.\d]*e-05', said)


# Values of samples that are written in one way by all, and some that are not.
_SCALARS = st.none() | st.booleans() | st.text(max_size=4) | st.integers() | st.floats()
_VALUES = st.recursive(
    _SCALARS, lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=3), each)
)


@given(st.dictionaries(st.text(max_size=3), _VALUES, max_size=4))
@example({"a": {"b": [1, "x", None, True, {"c": "\u2028\x7f\x00</"}]}})
@example({"a": 1 << 80, "b": -(1 << 63)})
@example({"a": [{1: "number as a name"}]})
@example({"a": 1e-7})
@example({"a": "\ud800"})
def test_samples_are_echoed_as_python_writes_them(sample: dict[str, Any]) -> None:
    sample.pop("ground_truth", None)
    try:
        wanted = json_text.readable(sample).encode()
    except (ValueError, TypeError):
        wanted = None
    assert sample_json(sample) == wanted


def test_deep_samples_are_echoed() -> None:
    deep: Any = "x"
    for _ in range(200):
        deep = {"a": [deep]}
    assert sample_json({"a": deep}) == json_text.readable({"a": deep}).encode()


def test_a_row_without_its_sample_is_written_alone() -> None:
    plan = PLANS[0]
    samples = [{"question": "a", "answer": "b", "contexts": ["c"]}] * 4
    batch = read_rows(samples, 0, FieldNeeds.of(plan.native_columns, "overlap")).pack()
    scored, kept = explained_batch(batch, plan.settings, metric_numbers(plan.native_columns))
    lines = RowLines(plan, "now", details=False, between=b"\n")
    for _ in range(2):
        lines.clear()
        lines.fill([b"{}", None, b"{}", None], kept, batch, *scored, lambda row: b"%d" % row)
        assert [row[:12] for row in lines.rows] == [b'{"sample":{}', b"1", b'{"sample":{}', b"3"]
        found: list[bytes] = []
        lines.write_to(lambda rows, found=found: found.append(bytes(rows)))
        assert found == [b"\n".join(lines.rows)]
    with pytest.raises(ZeroDivisionError):
        lines.fill([b"{}", None], kept[:2], batch, *(one[:2] for one in scored), lambda _: 1 // 0)


# --------------------------------------------------------------------------- what kernels may keep


def row_writer(
    metric: int, form: Sequence[str], signal: Sequence[str] = (), between: bytes = b"\n"
) -> RowWriter:
    """One that writes words of one metric of the overlap profile."""
    words, about = tuple(map(str.encode, form)), tuple(map(str.encode, signal))
    return RowWriter(
        *(False, [metric], [0.3, 0.3, 0.0, 0.5, 0.5, 0.5]),
        *(lambda *_: words, lambda *_: about),
        *([(b", ",)], [(b"<", b"|", b"", b"", b">")] * 3, [], [], False, between),
    )


def fill(
    writer: RowWriter,
    parts: Sequence[Sequence[float]],
    answers: Sequence[bytes] = (),
    lost: int = 0,
) -> list[str]:
    """Rows with these parts, of which each answer is a sentence without support."""
    n = len(parts)
    answers = answers or [b""] * n
    numbers: list[int] = []
    values: list[float] = []
    places = []
    for row, answer in zip(parts, answers, strict=True):
        places.append((len(numbers), len(values), 0))
        spans = [1, 0, len(answer)] if answer else [0]
        numbers += [*[0] * 7, *spans, 0, bool(answer), 0, 0, 0, 0]
        values += [*[row[0]] * 7, *([0.0] if answer else []), row[1], row[2], 0.0, 0.0]
    offsets = np.cumsum([0, *map(len, answers)])
    arrays = (
        *(np.array(numbers, np.int64), np.array(values), b"", np.array(places, np.int64)),
        *(b",".join([b"S"] * n), b",".join([b"C"] * n), b""),
        *(bytes(n), bytes(n), bytes(n - lost), bytes(n), bytes(1)),
        *(b"".join(answers), offsets, b"", np.zeros(n + 1, np.int64)),
        *(np.arange(n + 1), np.arange(n + 1)),
    )
    writer.fill([b"{}"] * n, arrays, never)
    return [row.decode() for row in writer.rows()]


def test_numbers_have_the_decimals_of_results() -> None:
    draws = random.Random(3)
    steps = [place / 16384 for place in range(0, 16385, 7)]
    near = [math.nextafter(place / 2000, end) for place in range(2001) for end in (0, 1)]
    numbers = [*steps, *near, *(place / 2000 for place in range(2001))]
    numbers += [draws.random() for _ in range(3000)]
    numbers += [0.0, -0.0, 1.0, 1e-9, 0.0005, 0.9995, 1.5, -0.25, -0.0005, 1000.0625, 1e9, math.nan]
    numbers += [0.0] * (-len(numbers) % 3)
    rows = [numbers[at : at + 3] for at in range(0, len(numbers), 3)]
    writer = row_writer(RELEVANCE, ["", "", " ", " ", " ", "", ""], ["", ""])
    for row, text in zip(rows, fill(writer, rows), strict=True):
        score, *shown = map(three_decimals, row)
        low = score + "}" if row[0] < 0 or math.isnan(row[0]) else ""
        assert text == f"<{{}}|Sfalse {' '.join([*shown, score])}{low}}}Cfalse>"


def evidence(answer: str) -> str:
    """The answer as a signal quotes it."""
    words = ["", "", " ", "/", " ", " ", "[", "]"]
    (text,) = fill(row_writer(RATE, words, ["", ":", ""]), [(0, 0, 0)], [answer.encode()])
    return text.removeprefix('<{}|Sfalse 1/1 1.000 0.000[0:0.000,"evidence":').removesuffix(
        "}]}Cfalse>"
    )


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_texts_of_the_data_are_escaped_as_json_does(text: str) -> None:
    assert evidence(text) == json.dumps(text, ensure_ascii=False)


def test_every_character_is_escaped_as_json_does() -> None:
    for text in ("".join(map(chr, range(0x100))), *map(chr, range(0x100)), "\u2028" * 40 + '"'):
        assert evidence(text) == json.dumps(text, ensure_ascii=False)


def test_values_without_a_place_are_refused() -> None:
    for n_pieces in (5, 6, 8):
        with pytest.raises(ValueError, match="as many places"):
            fill(row_writer(RELEVANCE, [""] * n_pieces, ["", ""]), [(1, 1, 1)])
    with pytest.raises(ValueError, match="as many places"):
        fill(row_writer(RELEVANCE, [""] * 7, ["", "", ""]), [(-1, 1, 1)])
    with pytest.raises(ValueError, match="not of its rows"):
        fill(row_writer(RELEVANCE, [""] * 7), [(1, 1, 1)], lost=1)
    with pytest.raises(ValueError, match="number of arrays"):
        row_writer(RELEVANCE, []).fill([], (), never)


def test_words_are_asked_for_again_when_they_changed() -> None:
    told = []
    writer = RowWriter(
        *(False, [RELEVANCE], [0.0] * 6, lambda *key: told.append(key) or (b"",) * 7, never),
        *([(b", ",)], [(b"", b"", b"", b"", b"")] * 3, [], [], False, b""),
    )
    for _ in range(2):
        fill(writer, [(1, 1, 1)] * 3)
    assert told == [(0, 0, 0)]
    writer.forget_forms()
    fill(writer, [(1, 1, 1)])
    assert told == [(0, 0, 0)] * 2


def test_much_memory_is_given_back() -> None:
    writer = row_writer(RELEVANCE, [])
    for size in (1 << 25, 10):
        writer.clear()
        writer.add(b"x" * size)
        assert writer.rows() == [b"x" * size]
    assert [writer.clear(), writer.rows()] == [None, []]
    writer.write_to(never)


def test_names_of_the_data_are_escaped() -> None:
    """Words of today's kernels hold nothing to escape; files do not rely on it."""
    plan = PLANS[1]
    sample = {"question": "Who?", "answer": "Ana Berg swam.", "contexts": ["Rain."]}
    batch = read_rows([sample], 0, FieldNeeds.of(plan.native_columns, "grounded")).pack()
    scores, kept = explained_batch(batch, plan.settings, metric_numbers(plan.native_columns))
    assert b"berg" in kept.texts
    kept.texts = kept.texts.replace(b"berg", b'"\\\n\x01')
    lines = RowLines(plan, "now", details=True, between=b"")
    lines.fill([b"{}"], kept, batch, *scores, never)
    (row,) = map(json.loads, lines.rows)
    (signal,) = row["metrics"]["faithfulness"]["signals"]
    assert '"\\\n\x01' in signal["message"]
    assert '"\\\n\x01' in row["metrics"]["faithfulness"]["evidence"][0]["missingNames"]
