"""Scorers that need no judge through the command: files of every kind, gates, results."""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import rag_eval
from rag_eval.plumbing.spelling import camel_case
from tests.commands import invoke
from tests.warm_processes import run_warm

METRICS = "ir.ndcg@10,hazel.tool_call_accuracy,omk.cost_max,omk.assertions,mastra.completeness"
NAMES = METRICS.split(",")
OPTIONS = ("--scorer-options", 'omk.cost_max={"value": 0.2}')
ROWS: list[dict[str, Any]] = [
    {
        "id": "a",
        "question": "Which birds sing at night?",
        "answer": "Nightingales sing at night.",
        "retrieved_ids": ["d1", "d2"],
        "relevant_ids": {"d1": 2, "d3": 1},
        "tool_calls": [{"name": "search", "args": {"q": "birds"}}],
        "expected_tool_calls": ["search"],
        "cost_usd": 0.5,
        "assertions": [{"type": "contains", "value": "night"}],
    },
    {
        "id": "b",
        "question": "Which birds swim?",
        "answer": "Penguins.",
        "retrieved_ids": ["d5"],
        "relevant_ids": {"d5": 1},
        "tool_calls": [],
        "expected_tool_calls": ["search"],
        "cost_usd": 0.1,
        "assertions": [{"type": "contains", "value": "night"}],
    },
    {
        "id": "c",
        "question": "Which birds run?",
        "answer": "Ostriches run fast.",
        "retrieved_ids": [],
        "relevant_ids": {},
        "expected_tool_calls": ["search"],
    },
]
NDCG = [0.7601875334318686, 1.0, None]
COLUMNS = {
    "ir.ndcg@10": NDCG,
    "hazel.tool_call_accuracy": [1.0, 0.0, None],
    "omk.cost_max": [0.0, 1.0, None],
    "omk.assertions": [1.0, 0.0, None],
}


def refused(*arguments: object) -> str:
    done = invoke(*arguments)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    [line] = done.stderr.splitlines()
    return line.removeprefix("error: ")


def camel(row: Mapping[str, Any]) -> dict[str, Any]:
    def spelled(name: str) -> str:
        first, *rest = name.split("_")
        return first + "".join(part.title() for part in rest)

    return {spelled(name): value for name, value in row.items()}


def in_metadata(row: Mapping[str, Any]) -> dict[str, Any]:
    own = ("id", "question", "answer")
    kept = {name: value for name, value in row.items() if name in own}
    return kept | {"metadata": {name: row[name] for name in row if name not in own}}


def with_maps(rows: list[dict[str, Any]]) -> pa.Table:
    kind = pa.map_(pa.string(), pa.int32())
    grades = pa.array([list(row["relevant_ids"].items()) for row in rows], kind)
    table = pa.Table.from_pylist(rows).drop_columns(["relevant_ids"])
    return table.append_column("relevant_ids", grades)


def written(folder: Path, kind: str) -> Path:
    """The rows in a file of one kind."""
    path = folder / f"rows-{kind}.{kind.rpartition('-')[2]}"
    if kind == "camel-jsonl":
        write_lines(path, map(camel, ROWS))
    elif kind == "metadata-jsonl":
        write_lines(path, map(in_metadata, ROWS))
    elif kind == "jsonl":
        write_lines(path, ROWS)
    elif kind == "json":
        path.write_text(json.dumps(ROWS))
    elif kind == "csv":
        write_cells(path, ROWS)
    elif kind == "maps-parquet":
        parquet.write_table(with_maps(ROWS), path)
    elif kind == "cells-parquet":
        cells = [{name: cell(row.get(name)) for name in ROWS[0]} for row in ROWS]
        parquet.write_table(pa.Table.from_pylist(cells), path)
    elif kind == "camel-parquet":
        parquet.write_table(pa.Table.from_pylist(list(map(camel, ROWS))), path)
    else:
        parquet.write_table(pa.Table.from_pylist(ROWS), path)
    return path


def write_lines(path: Path, rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def cell(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def write_cells(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow({name: cell(row.get(name)) for name in rows[0]})
    return path


def scores_of(path: Path, name: str) -> list[Any]:
    key = camel_case(name)
    return [row["metrics"][key]["score"] for row in json.loads(path.read_text())["results"]]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "rows.jsonl", ROWS)


# ------------------------------------------------------------------------------ kinds of files

KINDS = (
    *("jsonl", "camel-jsonl", "metadata-jsonl", "json", "csv"),
    *("parquet", "maps-parquet", "cells-parquet", "camel-parquet"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_gives_the_same_scores(tmp_path: Path, kind: str) -> None:
    path, out = written(tmp_path, kind), tmp_path / "out.json"
    done = invoke("run", path, "--metrics", METRICS, *OPTIONS, "--output", out)
    assert "omk.cost_max" in done.stdout, done.output
    for name, expected in COLUMNS.items():
        assert scores_of(out, name) == pytest.approx(expected), name
    lines = tmp_path / "scores.jsonl"
    done = invoke("score", path, lines, "--metrics", METRICS, *OPTIONS)
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    for name, expected in COLUMNS.items():
        assert [row[name] for row in rows] == pytest.approx(expected), name
    assert rows[2]["omk.cost_max_null_reason"] == "missing_field"
    assert rows[2]["ir.ndcg@10_null_reason"] == "nothing_to_measure"


@pytest.mark.parametrize("frame", ["pandas", "polars", "pandas-of-parquet"])
def test_frames_give_the_same_scores(tmp_path: Path, frame: str) -> None:
    if frame == "polars":
        import polars

        given: Any = polars.DataFrame(ROWS)
    else:
        import pandas

        given = pandas.DataFrame(ROWS)
        if frame == "pandas-of-parquet":
            given = pandas.read_parquet(written(tmp_path, "parquet"))
    result = rag_eval.evaluate_batch(given, NAMES, scorer_options={"omk.cost_max": {"value": 0.2}})
    for name, expected in COLUMNS.items():
        found = result.scores[:, NAMES.index(name)].tolist()
        assert found == pytest.approx(
            [float("nan") if x is None else x for x in expected], nan_ok=True
        )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "retrieved_ids",
            "d1",
            'retrieved_ids must be a list or a mapping, or its JSON text, got "d1"',
        ),
        ("retrieved_ids", "['d1']", "retrieved_ids cannot be parsed: "),
        ("relevant_ids", '{"d1": 1', "relevant_ids cannot be parsed: "),
        ("relevant_ids", '{"d1": 1e400}', "relevant_ids cannot be parsed: "),
        ("cost_usd", "cheap", "cost_usd must be a number"),
        ("cost_usd", "true", "cost_usd must be a number"),
    ],
)
def test_a_cell_that_is_no_value_of_its_field_is_an_error(
    tmp_path: Path, name: str, value: str, message: str
) -> None:
    path = write_cells(tmp_path / "rows.csv", [ROWS[1], {**ROWS[0], name: value}])
    found = refused("run", path, "--metrics", METRICS, *OPTIONS)
    assert found.startswith(f'{path}, line 3 ("a"): {message}'), found
    listed = invoke("validate", path, "--metrics", METRICS, *OPTIONS)
    assert listed.exit_code == 2
    assert f'line 3 ("a"): {message}' in listed.stdout
    assert "2 samples, 1 invalid" in listed.stdout


def test_empty_cells_are_missing_fields(tmp_path: Path) -> None:
    empty = {**ROWS[0], **dict.fromkeys(("retrieved_ids", "cost_usd", "tool_calls"), " ")}
    path, out = write_cells(tmp_path / "rows.csv", [ROWS[1], empty]), tmp_path / "out.json"
    done = invoke("run", path, "--metrics", METRICS, *OPTIONS, "--output", out)
    assert done.exit_code in (0, 1), done.output
    for name in ("ir.ndcg@10", "omk.cost_max", "hazel.tool_call_accuracy"):
        assert scores_of(out, name)[1] is None


# -------------------------------------------------------------------------- bad rows, validation


def test_a_row_that_a_scorer_cannot_read_is_named_or_left_out(tmp_path: Path) -> None:
    bad = {**ROWS[0], "id": "bad", "retrieved_ids": [1, "d2"]}
    path = write_lines(tmp_path / "rows.jsonl", [ROWS[0], bad, ROWS[1]])
    assert refused("run", path, "--metrics", METRICS, *OPTIONS).startswith(
        f'{path}, line 2 ("bad"): '
    )
    out = tmp_path / "out.json"
    done = invoke("run", path, "--metrics", METRICS, *OPTIONS, "--skip-invalid", "--output", out)
    assert "1 of 3" in done.output or "1 sample" in done.output, done.output
    assert scores_of(out, "ir.ndcg@10") == pytest.approx(NDCG[:2])
    listed = invoke("validate", path, "--metrics", "ir.ndcg@10")
    assert listed.exit_code == 2
    assert listed.stdout.splitlines()[-1] == "3 samples, 1 invalid"
    assert listed.stdout.startswith('line 2 ("bad"): ')
    # Who reads no ids finds nothing wrong with them.
    assert invoke("validate", path, "--metrics", "mastra.completeness").exit_code == 0


def test_options_are_checked_before_the_file_is_read(tmp_path: Path) -> None:
    nowhere = tmp_path / "none.jsonl"
    run = ("run", nowhere, "--metrics", "omk.cost_max,omk.contains")
    lacking = refused(*run)
    assert "omk.cost_max needs the option 'value'" in lacking
    assert """--scorer-options 'omk.cost_max={"value": ...}'""" in lacking
    wrong = refused(*run, "--scorer-options", 'omk.cost_max={"valu": 1}')
    assert "omk.cost_max has no option 'valu'; did you mean 'value'?" in wrong
    bad = refused(*run, "--scorer-options", 'omk.cost_max={"value": "x"}')
    assert "scorer_options['omk.cost_max']: " in bad


# ------------------------------------------------------------------- gates, configuration, results


def test_thresholds_and_gates_know_scorers(data: Path) -> None:
    run = ("run", data, "--metrics", "ndcg@10,omk.assertions")
    held = invoke(*run, "--min-mean", "ir.ndcg@10=0.8,omk.assertions=0.5")
    assert held.exit_code == 0, held.output
    assert "ir.ndcg@10 mean 0.88 (2/3) is at least 0.80" in held.stdout
    failed = invoke(*run, "--min-mean", "ir.ndcg@10=0.9")
    assert failed.exit_code == 1
    strict = (*run[:3], "ir.ndcg@10", "--thresholds", "ir.ndcg@10=0.9", "--format", "jsonl")
    rows = [json.loads(line) for line in invoke(*strict).stdout.splitlines()]
    assert [row["passed"] for row in rows] == [False, True, False]  # of the last nothing was scored
    assert rows[0]["metrics"]["ir.ndcg@10"]["threshold"] == 0.9


def test_a_configuration_file_gives_options_to_scorers(data: Path, tmp_path: Path) -> None:
    config = tmp_path / "rag-eval.toml"
    config.write_text(
        'metrics = ["omk.cost_max", "ir.rbp"]\n'
        '[scorer_options."omk.cost_max"]\nvalue = 0.05\n'
        '[scorer_options."ir.rbp"]\np = 0.5\n'
        '[thresholds]\n"ir.rbp" = 0.1\n'
    )
    out = tmp_path / "out.json"
    done = invoke("run", data, "--config", config, "--output", out)
    assert "omk.cost_max" in done.stdout, done.output
    assert scores_of(out, "omk.cost_max") == [0.0, 0.0, None]
    assert json.loads(out.read_text())["signature"]["options"]["scorers"] == {
        "omk.cost_max": {"version": 1, "options": {"value": 0.05}},
        "ir.rbp": {"version": 1, "options": {"p": 0.5}},
    }
    invoke("run", data, "--config", config, *OPTIONS, "--output", out)
    assert scores_of(out, "omk.cost_max") == [0.0, 1.0, None]


def test_results_are_read_back_with_their_findings(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    invoke("run", data, "--metrics", METRICS, *OPTIONS, "--details", "--output", out)
    read = rag_eval.BatchEvalResult.from_json(out)
    fresh = rag_eval.evaluate_batch(ROWS, NAMES, scorer_options={"omk.cost_max": {"value": 0.2}})
    assert read.metrics == tuple(NAMES)
    assert read.signature == fresh.signature
    for row, expected in zip(read.results, fresh.results, strict=True):
        for name in NAMES:
            found = row.metrics[name]
            assert found.score == expected.metrics[name].score
            assert list(found.details or ()) == list(expected.metrics[name].details or ())
            assert found.signals == expected.metrics[name].signals
    lines = tmp_path / "out.jsonl"
    invoke("run", data, "--metrics", METRICS, *OPTIONS, "--output", lines)
    first = json.loads(lines.read_text().splitlines()[0])
    assert first["metrics"]["omk.costMax"]["details"][0]["passed"] is False


def test_the_worst_rows_say_what_scorers_found(data: Path) -> None:
    run = ("run", data, "--metrics", "omk.assertions,omk.cost_max", *OPTIONS, "--worst", 1)
    done = invoke(*run, "--weights", "omk.assertions=1")
    assert 'line 2 ("b")' in done.stdout, done.stdout
    assert "expected: has 'night'; got: 'Penguins.'" in done.stdout
    unweighted = invoke(*run)
    assert "line 2" not in unweighted.stdout
    assert "no sample has a composite score" in unweighted.stderr


# -------------------------------------------------------------------------- baselines, comparisons


def test_a_baseline_knows_which_way_is_better(tmp_path: Path) -> None:
    run, files = ("run", "--metrics", "omk.levenshtein"), {}
    node = ("--policy", "node", "--baseline")
    for name, answer in (("near", "kitten"), ("far", "sitting")):
        rows = [{"id": str(n), "answer": answer, "ground_truth": "kitten"} for n in range(3)]
        files[name] = write_lines(tmp_path / f"{name}.jsonl", rows)
        invoke(*run, files[name], "--output", tmp_path / f"{name}.json")
    risen = invoke(*run, files["far"], *node, tmp_path / "near.json")
    assert risen.exit_code == 1, risen.output
    assert "omk.levenshtein mean" in risen.stdout
    assert "above the baseline's 0.00" in risen.stdout
    fallen = invoke(*run, files["near"], *node, tmp_path / "far.json")
    assert fallen.exit_code == 0, fallen.output
    compared = invoke("compare", tmp_path / "near.json", tmp_path / "far.json", "--format", "json")
    changes = {change["metricId"]: change for change in json.loads(compared.stdout)["changes"]}
    assert changes["omk.levenshtein"]["delta"] > 0


@pytest.mark.parametrize(("gate", "held"), [("1.5", True), ("1.4", False)])
def test_a_mean_of_which_less_is_better_is_bounded_from_above(
    tmp_path: Path, gate: str, held: bool
) -> None:
    rows = [{"answer": "sitting", "ground_truth": "kitten"}, {"answer": "x", "ground_truth": "x"}]
    path = write_lines(tmp_path / "rows.jsonl", rows)
    run = ("run", path, "--metrics", "omk.levenshtein")
    done = invoke(*run, "--max-mean", f"omk.levenshtein={gate}")
    assert (done.exit_code == 0) is held, done.output
    assert "omk.levenshtein" in refused(*run, "--min-mean", f"omk.levenshtein={gate}")


def test_other_options_cannot_be_compared(data: Path, tmp_path: Path) -> None:
    for name, most in (("old", 0.2), ("new", 0.3)):
        flags = ("--scorer-options", f'omk.cost_max={{"value": {most}}}')
        invoke(
            "run", data, "--metrics", "omk.cost_max", *flags, "--output", tmp_path / f"{name}.json"
        )
    found = refused("compare", tmp_path / "old.json", tmp_path / "new.json")
    assert "omk.cost_max" in found


# ----------------------------------------------------------------------------------- score files


def test_columns_of_scorers_keep_their_names_in_parquet(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores.parquet"
    done = invoke("score", data, out, "--metrics", METRICS, *OPTIONS)
    assert done.exit_code == 0, done.output
    table = parquet.read_table(out)
    assert {"ir.ndcg@10", "ir.ndcg@10_null_reason", "mastra.completeness"} <= set(
        table.column_names
    )
    assert table.column("ir.ndcg@10").to_pylist() == pytest.approx(NDCG)
    assert table.column("omk.cost_max_null_reason").to_pylist() == [None, None, "missing_field"]


DYING = """
import os
import sys
from pathlib import Path
from rag_eval.metrics.own import metric

@metric("shop.weight", range=(0, 100000))
def weight(n, *, factor=1):
    "A number of the row."
    return n * factor

def look(event, arguments):
    "The first run dies when a part is kept, and the next is about to be."
    if event == "os.rename" and Path(arguments[0]).name == "000001.rows.tmp":
        if not Path("again").exists():
            os._exit(9)

sys.addaudithook(look)
"""


def test_a_run_that_died_is_resumed_with_scorers_of_the_same_options(tmp_path: Path) -> None:
    (tmp_path / "dying.py").write_text(DYING)
    rows = [
        {"id": f"q{n}", "n": n, "answer": "red fox", "retrieved_ids": [n], "relevant_ids": [n]}
        for n in range(5000)
    ]
    write_lines(tmp_path / "rows.jsonl", rows)
    metrics = ("--metrics", "shop.weight,ir.ndcg@10", "--checkpoint-rows", "1", "--threads", "1")

    def score(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = ("--import", "dying", "score", "rows.jsonl", "out.jsonl", *metrics)
        return run_warm(*command, *arguments, cwd=tmp_path, text=True)

    assert score().returncode == 9
    assert (tmp_path / "out.jsonl.parts" / "journal").read_bytes().count(b"\n") == 2
    (tmp_path / "again").touch()
    other = score("--resume", "--scorer-options", 'shop.weight={"factor": 2}')
    assert other.returncode == 2, other.stderr
    assert "out.jsonl" in other.stderr
    done = score("--resume")
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["shop.weight"] for row in found] == list(range(5000))
    assert {row["ir.ndcg@10"] for row in found} == {1}
    changed = score("--restart", "--scorer-options", 'shop.weight={"factor": 2}')
    assert changed.returncode == 0, changed.stderr
    assert json.loads((tmp_path / "out.jsonl").read_text().splitlines()[7])["shop.weight"] == 14
