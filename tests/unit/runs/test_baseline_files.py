"""Baselines as committed files: what comes back, what a diff shows, what is refused."""

from __future__ import annotations

import gzip
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError
from rag_eval.runs.baseline_files import write_baseline_file
from rag_eval.runs.run_files import read_run
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import NullReason
from tests.stored_runs import a_run, assert_same
from tests.tables import every_row


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "baseline.json"


def with_nulls() -> ScoredRun:
    run = a_run()
    run.scores[1, 0] = np.nan
    run.null_reasons[1, 0] = NullReason.JUDGE_FAILED
    run.metric_passed[1, 0] = -1
    run.composite[1] = np.nan
    run.passed[1] = -1
    run.scores[0, 0] = -0.0
    run.scores[2, 1] = 0.1 + 0.2
    return run


def test_a_run_comes_back_to_the_bit(path: Path) -> None:
    run = with_nulls()
    write_baseline_file(run, path)
    assert_same(read_run(path), replace(run, name=str(path)))


def test_digests_come_back_and_are_checked(path: Path) -> None:
    digests = np.array([[1, 0, 2**32 - 1], [0, 0, 0], [7, 8, 9]], np.uint32)
    run = a_run(digests=digests)
    write_baseline_file(run, path)
    text = path.read_text()
    assert '"digests":["00000001","00000000","ffffffff"]' in text
    assert text.count("digests") == 2
    assert_same(read_run(path), replace(run, name=str(path)))
    for bad in ('["1","2"]', '["0000000g","00000000","ffffffff"]', '["-0000001","1","2"]'):
        path.write_text(text.replace('["00000001","00000000","ffffffff"]', bad))
        with pytest.raises(InputError, match="digests must be three hexadecimal numbers"):
            read_run(path)


TEXT = st.text(st.characters(exclude_categories=()), max_size=6)


@given(
    ids=st.lists(TEXT, min_size=3, max_size=3, unique=True).map(sorted),
    topics=st.lists(st.none() | TEXT, min_size=3, max_size=3),
    scores=st.lists(st.floats(allow_infinity=False), min_size=6, max_size=6),
)
def test_any_run_comes_back(ids: list[str], topics: list[str | None], scores: list[float]) -> None:
    # JSON joins two halves of one character.
    ids = sorted({json.loads(json.dumps(each)) for each in ids})
    n_rows = len(ids)
    topics = [json.loads(json.dumps(topic)) for topic in topics[:n_rows]]
    matrix = np.array(scores)[: 2 * n_rows].reshape(n_rows, 2)
    matrix[np.isnan(matrix)] = np.nan  # one NaN: a null has no payload
    run = a_run(n_rows, ids=ids, scores=matrix, columns={"topic": topics})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "b.json"
        write_baseline_file(run, file)
        assert_same(read_run(file), replace(run, name=str(file)))


def test_the_file_by_hand(path: Path) -> None:
    run = replace(with_nulls(), signature=None)
    write_baseline_file(run, path)
    assert path.read_text() == (
        '{"baseline":\n'
        "{\n"
        ' "columns": [\n  "topic"\n ],\n'
        f' "datasetHash": "{"ab" * 32}",\n'
        ' "lowerIsBetter": [\n  "context_recall"\n ],\n'
        ' "metrics": [\n  "faithfulness",\n  "context_recall"\n ],\n'
        ' "nFailedJudgements": 2,\n'
        ' "nJudgements": 7,\n'
        ' "signature": null,\n'
        ' "version": 1\n'
        "},\n"
        '"rows":[\n'
        '{"columns":{"topic":"a"},"composite":0.1,"id":"q-0","passed":false,'
        '"scores":{"context_recall":0.2,"faithfulness":-0.0},'
        '"verdicts":{"context_recall":false,"faithfulness":false}},\n'
        '{"columns":{"topic":null},"composite":null,"id":"q-1",'
        '"nullReasons":{"faithfulness":"judge_failed"},"passed":null,'
        '"scores":{"context_recall":0.6000000000000001,"faithfulness":null},'
        '"verdicts":{"context_recall":true}},\n'
        '{"columns":{"topic":"b"},"composite":0.9,"id":"q-2","passed":true,'
        '"scores":{"context_recall":0.30000000000000004,"faithfulness":0.8},'
        '"verdicts":{"context_recall":true,"faithfulness":true}}\n'
        "]}\n"
    )


def test_a_changed_score_is_one_line_of_a_diff(path: Path) -> None:
    write_baseline_file(a_run(50), path)
    before = path.read_text().splitlines()
    run = a_run(50)
    run.scores[7, 0] = 0.25
    write_baseline_file(run, path)
    after = path.read_text().splitlines()
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert len(changed) == 1
    assert '"id":"q-7"' in changed[0]
    assert '"faithfulness":0.25' in changed[0]


def test_the_order_of_the_rows_is_that_of_their_ids(path: Path, tmp_path: Path) -> None:
    run = a_run(5, ids=["b", "a", "é", "a", "B"])
    write_baseline_file(run, path)
    assert read_run(path).ids == ["B", "a", "a", "b", "é"]
    order = [4, 3, 1, 2, 0]
    other = replace(
        run,
        ids=[run.ids[row] for row in order],
        columns={"topic": [run.columns["topic"][row] for row in order]},
        **{
            name: getattr(run, name)[order]
            for name in ("scores", "null_reasons", "metric_passed", "composite", "passed")
        },
    )
    write_baseline_file(other, tmp_path / "other.json")
    assert (tmp_path / "other.json").read_bytes() == path.read_bytes()


def test_packed_files_have_the_same_content_and_bytes(path: Path, tmp_path: Path) -> None:
    packed = tmp_path / "b.json.gz"
    write_baseline_file(a_run(), path)
    write_baseline_file(a_run(), packed)
    assert gzip.decompress(packed.read_bytes()) == path.read_bytes()
    assert_same(read_run(packed), replace(a_run(), name=str(packed)))


def test_a_file_that_an_editor_laid_out_anew_is_still_one(path: Path) -> None:
    write_baseline_file(a_run(), path)
    value = json.loads(path.read_text())
    path.write_text("\ufeff" + json.dumps(value, indent=4, sort_keys=True), encoding="utf-8")
    assert_same(read_run(path), replace(a_run(), name=str(path)))


@every_row("text", ["", "[]", '{"results": [], "baseline": {}}', '{"id": 1}', '{"baselines": 1}'])
def test_other_files_are_not_baselines(tmp_path: Path, text: str) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        read_run(path)
    assert "baseline" not in str(refused.value).replace(str(path), "")


def test_only_names_of_json_are_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the name of a baseline file must end in .json"):
        write_baseline_file(a_run(), tmp_path / "baseline.jsonl")
    with pytest.raises(InputError, match=r"cannot write .*: No such file or directory"):
        write_baseline_file(a_run(), tmp_path / "gone" / "baseline.json")


def test_an_infinite_score_is_refused_and_the_older_file_stays(path: Path) -> None:
    write_baseline_file(a_run(), path)
    before = path.read_bytes()
    run = a_run()
    run.scores[0, 0] = np.inf
    with pytest.raises(InputError, match=r"d.jsonl cannot be written as JSON"):
        write_baseline_file(run, path)
    assert path.read_bytes() == before


def edited(path: Path, *keys: Any, value: Any) -> Path:
    write_baseline_file(a_run(), path)
    whole = found = json.loads(path.read_text())
    for key in keys[:-1]:
        found = found[key]
    found[keys[-1]] = value
    path.write_text(json.dumps(whole))
    return path


@every_row(
    ("keys", "value", "message"),
    [
        (["baseline", "version"], 2, r"a baseline of version 2; this release reads version 1"),
        (["baseline", "metrics"], "x", r"metrics must be a list of texts"),
        (["baseline", "metrics"], ["x", "x"], r"metrics: a name is repeated"),
        (["baseline", "metrics"], ["faithfulness"], r"scores: 'context_recall' is not in the list"),
        (["baseline", "columns"], [], r"columns: 'topic' is not in the list at the top"),
        (["baseline", "signature"], [1], r"signature: not a signature"),
        (["baseline", "datasetHash"], 5, r"datasetHash must be a string or null, got 5"),
        (["baseline", "nJudgements"], -1, r"nJudgements must be a whole number of at least 0"),
        (["baseline"], [], r"is not a baseline"),
        (["rows"], {}, r"is not a baseline"),
        (["rows", 1], 5, r"rows\[1\] must be an object, got 5"),
        (["rows", 1, "id"], 5, r"rows\[1\]: must be an object with a text 'id'"),
        (["rows", 1, "composite"], "1", r"rows\[1\] \('q-1'\): composite must be a number or null"),
        (["rows", 1, "passed"], 1, r"rows\[1\] \('q-1'\): passed must be true, false or null"),
        (["rows", 1, "scores"], [], r"rows\[1\] \('q-1'\): scores must be an object"),
        (["rows", 1, "scores", "faithfulness"], True, r"scores.faithfulness must be a number"),
        (
            ["rows", 1, "scores", "faithfulness"],
            10**400,
            r"scores.faithfulness must be a number or null, got <int",
        ),
        (["rows", 1, "nullReasons"], {"faithfulness": "x"}, r"unknown null reason 'x'"),
        (["rows", 1, "verdicts", "faithfulness"], 0, r"must be true, false or null, got 0"),
        (["rows", 1, "columns", "topic"], 5, r"columns.topic must be a string or null, got 5"),
    ],
)
def test_what_was_edited_by_hand_is_told_by_its_place(
    tmp_path: Path, keys: list[Any], value: Any, message: str
) -> None:
    path = edited(tmp_path / "baseline.json", *keys, value=value)
    with pytest.raises(InputError, match=message) as error:
        read_run(path)
    assert str(path) in str(error.value)


def test_conflict_marks_of_a_merge_are_told(path: Path) -> None:
    write_baseline_file(a_run(), path)
    path.write_text(path.read_text().replace('"rows":[\n', '"rows":[\n<<<<<<< HEAD\n'))
    with pytest.raises(InputError, match=r"baseline.json is not valid JSON: .* line \d+"):
        read_run(path)


def test_a_run_without_rows(path: Path) -> None:
    run = a_run(0)
    write_baseline_file(run, path)
    assert_same(read_run(path), replace(run, name=str(path)))


def test_a_score_that_was_lost_in_a_merge_is_no_null(path: Path) -> None:
    write_baseline_file(a_run(), path)
    value = json.loads(path.read_bytes())
    del value["rows"][1]["scores"]["faithfulness"]
    path.write_text(json.dumps(value), "utf-8")
    with pytest.raises(InputError, match=r"rows\[1\] \('q-1'\): scores.faithfulness is missing"):
        read_run(path)
