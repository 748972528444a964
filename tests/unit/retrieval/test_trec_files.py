"""Files of TREC: read, written, and what is wrong with a line."""

from __future__ import annotations

import gzip
import math
import re
from pathlib import Path
from typing import Any

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError
from rag_eval.retrieval import evaluate_rankings, read_qrels, read_run, write_run

QRELS = b"q1 0 d1 1\nq1 0 d2 0\n\nq2\t0  \xc3\xa9 -1\r\nq1 0 d3 4\n"
RUN = b"q1 Q0 d2 1 2.5 tag\nq1 Q0 d1 2 1e-3 tag\nq2 Q0 \xc3\xa9 1 -7 other tag"


def file_of(folder: Path, content: bytes, name: str = "file.txt") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


def test_judgements_are_read(tmp_path: Path) -> None:
    """Also where lines of a query are apart, blank, or end as on Windows."""
    wanted = {"q1": {"d1": 1, "d2": 0, "d3": 4}, "q2": {"é": -1}}
    assert read_qrels(file_of(tmp_path, QRELS)) == wanted
    assert read_qrels(file_of(tmp_path, QRELS, "packed.gz")) == wanted
    assert read_qrels(file_of(tmp_path, b"\xef\xbb\xbf" + QRELS)) == wanted
    assert read_qrels(str(file_of(tmp_path, b""))) == {}


def test_runs_are_read(tmp_path: Path) -> None:
    content = RUN.replace(b"other tag", b"other")
    wanted = {"q1": {"d2": 2.5, "d1": 0.001}, "q2": {"é": -7.0}}
    assert read_run(file_of(tmp_path, content)) == wanted
    assert read_run(file_of(tmp_path, content + b"\n", "packed.gz")) == wanted


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"q 0 d 1\nq 0 d\n", "line 2: a line must have 4 fields (query iteration document grade)"),
        (b"\n\nq 0 a b 1\n", "line 3: a line must have 4 fields"),
        (b"q 0 d 1.5\n", "line 1: a grade must be a whole number, got '1.5'"),
        (b"q 0 d 1_0\n", "line 1: a grade must be a whole number, got '1_0'"),
        (b"q 0 d 4294967296\n", "line 1: a grade must be a whole number, got '4294967296'"),
        (b"q 0 d " + b"9" * 100_000, "line 1: a grade must be a whole number, got '999"),
        (b"q 0 d 1\nr 0 d 1\nq 0 d 2\n", "line 3: query 'q' has document 'd' twice"),
        (b"q 0 \xff 1\n", "line 1: a name is not UTF-8"),
        (b"\xff 0 a 1\n", "line 1: a name is not UTF-8"),
    ],
)
def test_a_bad_line_of_judgements_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = file_of(tmp_path, content)
    with pytest.raises(InputError, match=re.escape(f"{path}, {message}")) as caught:
        read_qrels(path)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (RUN, "line 3: a line must have 6 fields (query Q0 document rank score tag), got 7"),
        (b"q Q0 d 1 x t\n", "line 1: a score must be a number, got 'x'"),
        (b"q Q0 d 1 nan t\n", "line 1: a score must be a number, got 'nan'"),
        (b"q Q0 d 1 1_0 t\n", "line 1: a score must be a number, got '1_0'"),
        (b"q Q0 d 1 1 t\nq Q0 d 2 0 t\n", "line 2: query 'q' has document 'd' twice"),
    ],
)
def test_a_bad_line_of_a_run_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = file_of(tmp_path, content)
    with pytest.raises(InputError, match=re.escape(f"{path}, {message}")):
        read_run(path)


def test_a_damaged_or_missing_file_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(QRELS)[:-12])
    with pytest.raises(InputError, match="the gzip data ends too early"):
        read_qrels(path)
    with pytest.raises(InputError, match="cannot read"):
        read_qrels(tmp_path / "none.txt")


def test_a_line_longer_than_any_buffer_is_one_line(tmp_path: Path) -> None:
    name = "d" * 3_000_000
    content = f"q 0 {name} 1\nq 0 e 2\n".encode()
    assert read_qrels(file_of(tmp_path, content)) == {"q": {name: 1, "e": 2}}
    with pytest.raises(InputError, match="line 1: a line must have 4 fields"):
        read_qrels(file_of(tmp_path, b"x" * 30_000_000))


# ------------------------------------------------------------------------------------- writing

# All but the white space of ASCII: that of other scripts parts no fields.
names = st.text(
    st.characters(exclude_categories=("Cs",)).filter(lambda c: c > " "), min_size=1, max_size=4
)
runs = st.dictionaries(
    names, st.dictionaries(names, st.floats(allow_nan=False), min_size=1, max_size=5), max_size=4
)


@given(run=runs)
def test_a_run_that_is_written_is_read_back(
    run: dict[str, dict[str, float]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("run") / "run.txt"
    write_run(path, run)
    assert read_run(path) == run


def test_a_query_that_begins_with_a_byte_order_mark_keeps_it(tmp_path: Path) -> None:
    run = {"\ufeff": {"a": 1.0}, "\ufeffq": {"b": 2.0}}
    write_run(tmp_path / "run.txt", run)
    assert read_run(tmp_path / "run.txt") == run


def test_a_run_is_written_as_trec_eval_would_rank_it(tmp_path: Path) -> None:
    path = tmp_path / "run.gz"
    write_run(path, {"q": {"a": 1, "b": 2.5, "c": 1.0}, 7: ["x", "y", "x"]}, tag="mine")
    assert gzip.decompress(path.read_bytes()).decode().splitlines() == [
        "q Q0 b 1 2.5 mine",
        "q Q0 c 2 1.0 mine",
        "q Q0 a 3 1.0 mine",
        "7 Q0 x 1 2.0 mine",
        "7 Q0 y 2 1.0 mine",
    ]


def test_files_give_trec_evals_numbers(tmp_path: Path) -> None:
    content = RUN.replace(b"other tag", b"other").decode()
    run, qrels = pytrec_eval.parse_run(content.splitlines()), {"q1": {"d1": 1, "d2": 0}}
    wanted = pytrec_eval.RelevanceEvaluator(qrels, {"map"}).evaluate(run)
    ours = read_run(file_of(tmp_path, content.encode()))
    assert ours == run
    assert evaluate_rankings(ours, qrels, ["map"]).values[0, 0] == wanted["q1"]["map"]


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ({"a b": {"d": 1.0}}, "query 'a b' cannot be written to a TREC file"),
        ({"": {"d": 1.0}}, "query '' cannot be written to a TREC file"),
        ({"q": {"d\n": 1.0}}, "document 'd\\n' cannot be written to a TREC file"),
        ({"q": ["\ud800"]}, "document '\\ud800' cannot be written to a TREC file"),
        ({"q": {"d": math.nan}}, "the score of document 'd' is NaN"),
        ({"q": {"d": "1"}}, "scores of a run must be numbers, got str"),
        ({"q": "d"}, "query 'q' must have a mapping of scores or a list of ids, got str"),
    ],
)
def test_what_cannot_be_written_leaves_no_file(tmp_path: Path, run: Any, message: str) -> None:
    path = tmp_path / "run.txt"
    with pytest.raises(InputError, match=re.escape(message)):
        write_run(path, {"fine": {"d": 1.0}, **run})
    assert list(tmp_path.iterdir()) == []


def test_a_tag_is_one_word(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="tag 'two words' cannot be written"):
        write_run(tmp_path / "run.txt", {}, tag="two words")


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"q 0 d\n" * 1_000_000, 1),
        (b"q 0 d 1\n" + b"\n" * 1_000_000 + b"\0" * 5_000_000, 1_000_002),
    ],
)
def test_the_first_of_a_million_bad_lines_is_the_error(
    tmp_path: Path, content: bytes, line: int
) -> None:
    with pytest.raises(InputError, match=f"line {line}: a line must have 4 fields") as caught:
        read_qrels(file_of(tmp_path, content))
    assert len(str(caught.value)) < 300
