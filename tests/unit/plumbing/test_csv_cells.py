"""Cells that spreadsheets would run as formulas: guarded where they are written, read as before."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from rag_eval.inputs.tables import table_rows
from rag_eval.jobs.file_scoring import score_file
from rag_eval.labels.draws import LabelDraw, read_draw, write_draw
from rag_eval.plumbing.csv_cells import guarded_cell, unguarded_cell
from rag_eval.runs.run_files import read_run
from tests.tables import every_row

# What is guarded, and how.
GUARDED = {
    "=1+1": "'=1+1",
    "+a": "'+a",
    "-a": "'-a",
    "@SUM(A1)": "'@SUM(A1)",
    "＝1": "'＝1",
    "-1+1": "'-1+1",
    "+": "'+",
    "-": "'-",
    "=": "'=",
    "-1e": "'-1e",
    "'=a": "''=a",
    # Programs may drop these before they look at a cell.
    " =1": " '=1",
    '"=1': "\"'=1",
    "\ufeff\x00\xa0=1": "\ufeff\x00\xa0'=1",
    # Cells begin here where another separator is set; a semicolon is, in much of Europe.
    ";=1": ";'=1",
    "a;=1": "a;'=1",
    "a; -1": "a; '-1",
    "a|@b": "a|'@b",
    "\t=1": "'\t'=1",
    "\r=1": "'\r'=1",
    "\n=1": "'\n'=1",
    "\ta": "'\ta",
    "a\r\n\t+b": "a\r\n\t'+b",
    'a;"=1': "a;\"'=1",
    ";'=1;=": ";''=1;'=",
}
PLAIN = [
    *["", "a", "a=b", "-5", "+49", "-0.5", "-.5", "+1e-7", "-1E9", "1", "'a", "'", "a-b", "a = b"],
    *["a;b", ";", "a;b=c", "';a", ",=1", "' =1"],
]


@every_row("text", GUARDED)
def test_what_begins_like_a_formula_gets_an_apostrophe(text: str) -> None:
    assert guarded_cell(text) == GUARDED[text]
    assert unguarded_cell(GUARDED[text]) == text


@every_row("text", PLAIN)
def test_numbers_and_other_texts_stay_as_they_are(text: str) -> None:
    assert guarded_cell(text) == text
    assert unguarded_cell(text) == text


@given(st.text(st.sampled_from("'=+-@1.e\t\r\na＝;|\", \x1c\x00")))
@example("\x1c" * 100_000)  # each run of characters is scanned once, whatever they are
@example("\n" * 100_000)
def test_every_text_comes_back(text: str) -> None:
    assert unguarded_cell(guarded_cell(text)) == text


@given(st.text(st.sampled_from("'=-@1a＝;|\t\r\n\", ")), st.sampled_from(",;|\t"))
def test_no_cell_is_a_formula_whatever_separates_them(text: str, separator: str) -> None:
    file = io.StringIO(newline="")
    csv.writer(file).writerow(["id", guarded_cell(text), "b"])
    for row in csv.reader(io.StringIO(file.getvalue(), newline=""), delimiter=separator):
        for cell in row:
            assert cell.lstrip(' \t\r\n"')[:1] not in {*"=-@＝"} or cell == text


def test_ids_of_a_csv_of_scores_pair_with_those_of_json_lines(tmp_path: Path) -> None:
    import json

    ids = ["=cmd|'/c calc'!A0", "'=x", "-5", "@a", "plain", "+1 b", "a;=1+1"]
    samples = [
        {"id": name, "question": "q?", "answer": "A b c.", "contexts": ["A b c."], "=t": name}
        for name in ids
    ]
    data = tmp_path / "d.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in samples))
    for suffix in ("csv", "jsonl"):
        score_file(data, tmp_path / f"s.{suffix}", ["faithfulness"], columns=["=t"])
    raw = list(csv.reader(io.StringIO((tmp_path / "s.csv").read_text(), newline="")))
    assert raw[0][1] == "'=t"
    assert [row[0] for row in raw[1:]] == [f"'{i}" for i in ids[:2]] + [
        "-5",
        "'@a",
        "plain",
        "'+1 b",
        "a;'=1+1",
    ]
    assert [row[1] for row in raw[1:]] == [row[0] for row in raw[1:]]
    packed, lines = read_run(tmp_path / "s.csv"), read_run(tmp_path / "s.jsonl")
    assert list(packed.ids) == list(lines.ids) == ids
    assert [row["=t"] for _, row in table_rows(tmp_path / "s.csv")] == ids


def test_ids_of_rows_to_be_labelled_come_back_too(tmp_path: Path) -> None:
    probabilities = {"=a": 0.5, "b": 0.5}
    draw = LabelDraw(
        design="uniform",
        seed=1,
        n_rows=4,
        n_drawn=2,
        ids_digest="ids-1",
        probabilities=probabilities,
    )
    target = tmp_path / "labels.csv"
    write_draw(draw, target, texts={"question": ["+q", None]})
    text = target.read_text("utf-8-sig")
    assert "\n'=a," in text
    assert text.splitlines()[1].endswith(",'+q")
    assert read_draw(target).probabilities == probabilities
