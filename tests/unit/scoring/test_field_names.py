"""Samples in memory with another tool's names for our fields, under ``schema`` and ``mapping``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rag_eval
from rag_eval import EvalSample
from rag_eval.errors import InputError
from tests.tables import every_row

OURS = [
    {
        "id": f"s{number}",
        "question": "Where is the fox?",
        "answer": f"The fox number {number} is in the garden.",
        "contexts": [f"In the garden sits fox number {number}.", "It rains."],
        "groundTruth": "In the garden.",
    }
    for number in range(40)
]
RAGAS = [
    {
        "id": row["id"],
        "user_input": row["question"],
        "response": row["answer"],
        "retrieved_contexts": row["contexts"],
        "reference": row["groundTruth"],
    }
    for row in OURS
]
NESTED = [
    {
        "id": row["id"],
        "inputs": {"asked": row["question"]},
        "out": {"said": row["answer"], "docs": [{"body": text} for text in row["contexts"]]},
        "truth": row["groundTruth"],
    }
    for row in OURS
]
PATHS = {
    "question": "inputs.asked",
    "answer": "out.said",
    "contexts": "out.docs[].body",
    "ground_truth": "truth",
}
KINDS: dict[str, Callable[[list[dict[str, Any]]], Iterable[Any]]] = {
    "list": lambda rows: rows,
    "tuple": tuple,
    "generator": iter,
    "mappings": lambda rows: [MappingProxyType(row) for row in rows],
    "table": pa.Table.from_pylist,
}
PROFILES = ["overlap", "grounded"]


def same_scores(found: rag_eval.BatchEvalResult, wanted: rag_eval.BatchEvalResult) -> bool:
    return bool(
        np.array_equal(found.scores, wanted.scores, equal_nan=True)
        and np.array_equal(found.null_reasons, wanted.null_reasons)
    )


@every_row("profile", PROFILES)
@every_row("kind", KINDS)
@every_row(
    ("rows", "names"),
    [(RAGAS, {"schema": "ragas"}), (NESTED, {"mapping": PATHS})],
    ids=["schema", "mapping"],
)
def test_scores_are_those_of_rows_with_our_names(
    rows: list[dict[str, Any]], names: dict[str, Any], kind: str, profile: Any
) -> None:
    found = rag_eval.evaluate_batch(KINDS[kind](rows), profile=profile, **names)
    assert same_scores(found, rag_eval.evaluate_batch(OURS, profile=profile))
    opened = found.results[23]
    assert opened.sample["answer"] == OURS[23]["answer"]
    assert list(opened.sample["contexts"]) == OURS[23]["contexts"]
    assert opened.sample["id"] == "s23"
    assert opened.metrics["faithfulness"].score == found.scores[23, 0]


def test_frames_take_a_mapping_as_well() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"q": [row["question"] for row in OURS], "a": [row["answer"] for row in OURS]}
    )
    found = rag_eval.evaluate_batch(
        frame, ["answer_relevance"], mapping={"question": "q", "answer": "a"}
    )
    assert same_scores(found, rag_eval.evaluate_batch(OURS, ["answer_relevance"]))


def test_a_mapping_wins_over_the_schema() -> None:
    rows = [{**row, "second": row["response"], "response": "Nothing."} for row in RAGAS]
    found = rag_eval.evaluate_batch(rows, schema="ragas", mapping={"answer": "second"})
    assert same_scores(found, rag_eval.evaluate_batch(OURS))


def test_evaluators_and_event_loops_take_them() -> None:
    wanted = rag_eval.evaluate_batch(OURS)
    evaluator = rag_eval.create_evaluator(mapping=PATHS)
    assert same_scores(evaluator.evaluate_batch(NESTED), wanted)
    assert same_scores(rag_eval.create_evaluator().evaluate_batch(NESTED, mapping=PATHS), wanted)
    assert same_scores(asyncio.run(evaluator.aevaluate_batch(NESTED)), wanted)
    assert same_scores(asyncio.run(rag_eval.aevaluate_batch(RAGAS, schema="ragas")), wanted)


def test_files_and_memory_agree(tmp_path: Path) -> None:
    data, output = tmp_path / "rows.jsonl", tmp_path / "out.json"
    data.write_text("\n".join(map(json.dumps, NESTED)))
    rag_eval.run_file(data, mapping=PATHS, output=output)
    in_memory = rag_eval.evaluate_batch(NESTED, mapping=PATHS)
    in_file = rag_eval.BatchEvalResult.from_json(output)
    assert same_scores(in_file, in_memory)
    row = in_memory.results[7].to_dict()
    assert in_file.results[7].sample == row["sample"]


def test_scorers_read_their_fields_from_renamed_rows() -> None:
    """Fields of scorers have no schema: they are read under their names beside renamed ones."""
    ranked = {"retrieved_ids": ["a", "b"], "relevant_ids": ["b"]}
    metrics = ["ir.rbp", "answer_relevance"]
    found = rag_eval.evaluate_batch([{**NESTED[0], **ranked}], metrics, mapping=PATHS)
    assert same_scores(found, rag_eval.evaluate_batch([{**OURS[0], **ranked}], metrics))
    assert not np.isnan(found.scores).any()


def test_samples_of_our_own_type_have_our_names() -> None:
    sixth = {**OURS[5], "ground_truth": OURS[5]["groundTruth"]}
    del sixth["groundTruth"]
    rows = [*NESTED[:5], EvalSample(**sixth)]
    found = rag_eval.evaluate_batch(rows, mapping=PATHS)
    assert same_scores(found, rag_eval.evaluate_batch(OURS[:6]))


def test_without_them_names_of_other_tools_are_recognised() -> None:
    given = rag_eval.evaluate_batch(RAGAS, schema="ragas")
    for rows in (RAGAS, tuple(RAGAS), iter(RAGAS)):
        found = rag_eval.evaluate_batch(rows)
        assert found.scores.tobytes() == given.scores.tobytes()
    with pytest.raises(InputError, match="question is missing"):
        rag_eval.evaluate_batch(RAGAS, ["answer_relevance"], schema="native")


def test_no_rows_have_no_names() -> None:
    assert rag_eval.evaluate_batch([], mapping=PATHS).n_rows == 0


@every_row(
    ("names", "message"),
    [
        ({"schema": "raggas"}, "unknown schema 'raggas'; did you mean 'ragas'"),
        ({"mapping": {"anwser": "response"}}, "unknown field 'anwser'; did you mean 'answer'"),
        ({"mapping": {"answer": "respons"}}, "respons"),
    ],
)
def test_what_is_wrong_with_them_is_said(names: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        rag_eval.evaluate_batch(RAGAS, **names)


@every_row(
    ("mapping", "message"),
    [
        ("x", "^mapping must map fields to columns, as in {'question': 'user_input'}, got str$"),
        (["answer"], "^mapping must map fields to columns, .* got list$"),
        ({"answer": 3}, "^mapping: answer must be a column or a path, got 3$"),
    ],
)
@every_row(
    "call",
    [
        lambda path, **names: rag_eval.evaluate_batch(RAGAS, **names),
        rag_eval.run_file,
        lambda path, **names: rag_eval.score_file(path, path.with_name("s.jsonl"), **names),
    ],
    ids=["evaluate_batch", "run_file", "score_file"],
)
def test_what_is_no_mapping_is_said_by_every_call(
    tmp_path: Path, call: Callable[..., object], mapping: Any, message: str
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in RAGAS))
    with pytest.raises(InputError, match=message):
        call(path, mapping=mapping)
    assert list(tmp_path.iterdir()) == [path]
