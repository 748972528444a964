"""The hash of a dataset: what it is of, and that every way to read a file gives the same."""

from __future__ import annotations

import csv
import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from rag_eval.inputs.named_files import DataSource
from rag_eval.inputs.opened import Input
from rag_eval.runs.dataset_hash import (
    UNKNOWN,
    DatasetHash,
    Digests,
    dataset_hash,
    known_digests,
    row_digests,
)
from rag_eval.samples import EvalSample
from tests.tables import every_row

ROWS: list[dict[str, Any]] = [
    {"id": "q-1", "question": "Wie heißt du?", "answer": "a", "ground_truth": "Ich"},
    {"id": "7", "question": "two", "answer": "b", "ground_truth": "2"},
    {"id": "q-3", "question": "no truth", "answer": "c", "ground_truth": ""},
    {"id": "", "question": "no id", "answer": "d", "ground_truth": "x"},
    {"id": "q-5", "question": "", "answer": "e", "ground_truth": "no question"},
]


def of_file(data: DataSource) -> str:
    found = DatasetHash()
    for block in Input(data).blocks():
        found.add_block(block)
    return found.hexdigest()


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    elif path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)
    else:
        parquet.write_table(pa.Table.from_pylist(rows), path)
    return path


@every_row("suffix", [".jsonl", ".json", ".csv", ".parquet"])
def test_every_kind_of_file_gives_the_hash_of_the_dicts(tmp_path: Path, suffix: str) -> None:
    assert of_file(written(tmp_path / f"d{suffix}", ROWS)) == dataset_hash(ROWS)


def test_the_definition() -> None:
    """Sum of SHA-256 over a mark, question and truths with their lengths, and the id."""

    def row(text: bytes) -> int:
        return int.from_bytes(hashlib.sha256(b"rag-eval dataset row 1\n" + text).digest(), "big")

    total = row(b"3:two1:2id\n7") + row(b"0:") + row("2:ü1:a1:bid\nq".encode())
    samples: list[dict[str, Any]] = [
        {"id": 7, "question": "two", "ground_truth": "2"},
        {},
        {"id": "q", "question": "ü", "groundTruth": ["a", "", "b"]},
    ]
    assert dataset_hash(samples) == f"{total % 2**256:064x}"
    assert dataset_hash([]) == "0" * 64


def test_null_and_empty_and_missing_are_one() -> None:
    bare = {"id": 7, "question": "q"}
    same: list[Any] = [
        {"id": "7", "question": "q", "ground_truth": None},
        {"id": 7, "question": "q", "ground_truth": []},
        {"id": 7, "question": "q", "groundTruth": ""},
        EvalSample(id="7", question="q"),
    ]
    assert {dataset_hash([each]) for each in same} == {dataset_hash([bare])}
    assert dataset_hash([{"id": True, "question": "q"}]) == dataset_hash([{"question": "q"}])


@every_row(
    "change",
    [{"id": "q-2"}, {"question": "Wie heißt du"}, {"ground_truth": "ich"}, {"ground_truth": "Ic"}],
)
def test_what_was_asked_changes_the_hash(change: dict[str, str]) -> None:
    assert dataset_hash([{**ROWS[0], **change}]) != dataset_hash(ROWS[:1])


def test_what_was_answered_and_retrieved_does_not() -> None:
    changed = [{**row, "answer": "other", "contexts": ["x"], "metadata": {"a": 1}} for row in ROWS]
    assert dataset_hash(changed) == dataset_hash(ROWS)


def test_texts_do_not_run_together() -> None:
    pairs = [("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc")]
    hashes = {dataset_hash([{"question": q, "ground_truth": t}]) for q, t in pairs}
    assert len(hashes) == len(pairs)
    assert dataset_hash([{"ground_truth": ["a", "b"]}]) != dataset_hash([{"ground_truth": "ab"}])
    assert dataset_hash([{"question": "a1:b"}]) != dataset_hash(
        [{"question": "a", "ground_truth": "b"}]
    )


def test_a_row_that_comes_twice_counts_twice() -> None:
    assert dataset_hash([*ROWS, ROWS[0]]) != dataset_hash(ROWS)
    assert dataset_hash([ROWS[0], ROWS[0]]) != dataset_hash([])


@given(st.permutations(ROWS), st.integers(0, len(ROWS)))
def test_the_order_and_the_cut_into_blocks_do_not_matter(
    rows: list[dict[str, Any]], cut: int
) -> None:
    whole, first, second = DatasetHash(), DatasetHash(), DatasetHash()
    for found, part in ((whole, rows), (first, rows[:cut]), (second, rows[cut:])):
        for row in part:
            truth = row["ground_truth"].encode()
            found.add(row["id"], row["question"].encode(), [truth] if truth else [])
    first.merge(second)
    assert first.hexdigest() == whole.hexdigest() == dataset_hash(ROWS)
    assert first.n_rows == len(ROWS)


def test_many_blocks_of_a_file_are_one_dataset(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": n, "question": f"q{n} ", "ground_truth": f"t{n}"} for n in range(20_000)
    ]
    path = written(tmp_path / "d.jsonl", rows)
    random.Random(1).shuffle(rows)
    assert of_file(path) == dataset_hash(rows)


def test_rows_that_no_kernel_can_read_count_as_far_as_they_go(tmp_path: Path) -> None:
    """An odd field that the run's metrics do not read ends no run, and changes no other row."""
    odd: list[dict[str, Any]] = [
        {"id": 1, "question": 5, "ground_truth": {"a": 1}},
        {"id": 2, "question": "q"},
    ]
    path = written(tmp_path / "d.jsonl", odd)
    assert of_file(path) == dataset_hash([{"id": 1}, {"id": 2, "question": "q"}])
    halves = [{"id": "\ud800", "question": "\ud83d\ude00 \udfff"}]
    whole = [{"id": "\ud800", "question": "\U0001f600 \udfff"}]
    path = written(tmp_path / "e.jsonl", halves)
    assert of_file(path) == dataset_hash(halves) == dataset_hash(whole)


def test_rows_without_an_id_are_named_by_what_they_ask(tmp_path: Path) -> None:
    rows = [
        {"question": "a", "answer": "1"},
        {"id": 5, "question": "a"},
        {"question": "b"},
        {"question": "a", "answer": "2"},
        {"id": "", "question": "a", "ground_truth": "t"},
    ]
    found = DatasetHash()
    (block,) = Input(written(tmp_path / "d.jsonl", rows)).blocks()
    (first, second, third, fourth, fifth), _ = found.add_block(block)
    assert second == "5"
    assert first == fourth != third
    assert fifth not in (first, third)
    assert all(name[:8] == "content:" and len(name) == 24 for name in (first, third, fifth))


# ---------------------------------------------------------------------------------------- digests


def digests_of_file(data: DataSource) -> list[Digests]:
    found = DatasetHash()
    blocks = (found.add_block(block, relevant_ids=True)[1] for block in Input(data).blocks())
    return [
        (inputs, relevant, answer)
        for block in blocks
        for inputs, relevant, answer in block.tolist()
    ]


@every_row("suffix", [".jsonl", ".json", ".csv", ".parquet"])
def test_every_kind_of_file_gives_the_digests_of_the_dicts(tmp_path: Path, suffix: str) -> None:
    wanted = [row_digests(row) for row in ROWS]
    assert digests_of_file(written(tmp_path / f"d{suffix}", ROWS)) == wanted
    assert all(inputs and not relevant and answer for inputs, relevant, answer in wanted)
    assert len({inputs for inputs, _, _ in wanted}) == len({a for _, _, a in wanted}) == len(ROWS)


def test_a_question_that_the_kernels_refuse_has_digests_all_the_same(tmp_path: Path) -> None:
    rows = [{"id": "1", "question": "a", "answer": "b", "language": 7}]
    assert digests_of_file(written(tmp_path / "d.jsonl", rows)) == [row_digests(rows[0])]


@every_row(
    ("change", "differ"),
    [
        ({"question": "Wie heißt du"}, (True, False, False)),
        ({"ground_truth": "ich"}, (True, False, False)),
        ({"ground_truth": ["Ich", "Ich heiße"]}, (True, False, False)),
        ({"answer": "b"}, (False, False, True)),
        ({"relevant_ids": ["d1"]}, (False, True, False)),
        ({"contexts": ["x"]}, (False, False, False)),
        ({"metadata": {"source": "x"}}, (False, False, False)),
        ({"id": "q-2"}, (False, False, False)),
        ({"retrieved_ids": ["d2"]}, (False, False, False)),
    ],
)
def test_what_changes_a_digest(change: dict[str, Any], differ: tuple[bool, ...]) -> None:
    pairs = zip(row_digests(ROWS[0]), row_digests({**ROWS[0], **change}), strict=True)
    assert tuple(one != other for one, other in pairs) == differ


def test_relevant_ids_are_one_in_every_spelling(tmp_path: Path) -> None:
    spellings: list[dict[str, Any]] = [
        {"relevant_ids": ["d1", "d2"]},
        {"relevant_ids": ["d2", "d1"]},
        {"relevantIds": ["d1", "d2"]},
        {"relevant_ids": '["d1", "d2"]'},
    ]
    assert len({row_digests(each) for each in spellings}) == 1
    graded = [{"d1": 2, "d2": 1}, {"d2": 1, "d1": 2, "d3": None}, '{"d1": 2, "d2": 1}']
    assert len({row_digests({"relevant_ids": each}) for each in graded}) == 1
    assert row_digests({"relevant_ids": {"d1": 2}}) != row_digests({"relevant_ids": {"d1": 1}})
    for nothing in (None, "", [], {}):
        assert row_digests({"relevant_ids": nothing}) == UNKNOWN
    for name in ("relevant_ids", "relevantIds"):
        rows = [{**ROWS[0], name: ["d1", "d2"]}, {**ROWS[1], name: None}]
        wanted = [row_digests(row) for row in rows]
        assert digests_of_file(written(tmp_path / "d.jsonl", rows)) == wanted


def test_what_is_missing_is_unknown() -> None:
    assert row_digests({"id": "q", "contexts": ["x"]}) == UNKNOWN
    assert row_digests({"ground_truth": "a", "groundTruth": "b", "question": "q"}) == UNKNOWN
    assert known_digests([UNKNOWN, UNKNOWN]) is None
    found = known_digests([UNKNOWN, row_digests(ROWS[0])])
    assert found is not None
    assert found.tolist() == [list(UNKNOWN), list(row_digests(ROWS[0]))]


def test_an_empty_answer_is_known_and_differs_from_any_other(tmp_path: Path) -> None:
    rows = [{**ROWS[0], "answer": ""}, {**ROWS[1], "answer": None}, ROWS[2]]
    wanted = [row_digests(row) for row in rows]
    (*_, empty), (*_, missing), (*_, other) = wanted
    assert missing == 0
    assert 0 != empty != other
    for suffix in (".jsonl", ".json", ".parquet"):
        assert digests_of_file(written(tmp_path / f"d{suffix}", rows)) == wanted
    odd = [{**rows[0], "language": 7}]
    assert digests_of_file(written(tmp_path / "odd.jsonl", odd)) == wanted[:1]


def test_relevant_ids_that_no_metric_reads_are_unknown(tmp_path: Path) -> None:
    rows = [{**ROWS[0], "relevant_ids": ["d1"]}]
    (block,) = Input(written(tmp_path / "d.jsonl", rows)).blocks()
    _, digests = DatasetHash().add_block(block)
    inputs, _, answer = row_digests(rows[0])
    assert digests.tolist() == [[inputs, 0, answer]]
