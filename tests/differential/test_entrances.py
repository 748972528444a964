"""The same rows give the same fields and the same bits, whatever holds them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
from pyarrow import parquet

import rag_eval
from rag_eval.jobs.file_scoring import score_file
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.samples import PROFILES, NullReason, Profile
from tests.tables import every_row

_TEXTS = ["The tower is 31 m high.", "It was built in 1887 of granite."]
_OTHER = ["[1] The museum opens at 9.", 'It is "closed" on Mondays; it\'s small.']
_SCORED = [[{"text": text, "score": 0.5} for text in texts] for texts in (_TEXTS, _OTHER)]

# Shape of contexts -> the cells of the two rows.
SHAPES: dict[str, list[Any]] = {
    "list": [_TEXTS, _OTHER],
    "one text": ["".join(_TEXTS), "".join(_OTHER)],
    "JSON in a text": [json.dumps(_TEXTS), json.dumps(_OTHER)],
    "Python list in a text": [repr(_TEXTS), repr(_OTHER)],
    "array in a text": [" ".join(["['A tower.'", "'31 m.']"]), "['One.'\n 'Two.']"],
    "objects in a text": [json.dumps(cell) for cell in _SCORED],
    "objects": _SCORED,
    "rounds": [[[text] for text in texts] for texts in (_TEXTS, _OTHER)],
    "one object": [{"text": "".join(_TEXTS)}, {"text": "".join(_OTHER)}],
    "empty list in a text": ["[]", repr(_OTHER)],
    "blank text": [" ", repr(_OTHER)],
}
# Ground truths of the two rows.
TRUTHS: dict[str, list[Any]] = {
    "JSON in a text": [json.dumps(["31 m", "It is 31 m high."]), "At 9."],
    "Python list in a text": [repr(["31 m", "It is 31 m high."]), repr(["At 9."])],
    "a text in brackets": ["[31] m [high]", "[At 9.]"],
    "of one": [repr(["31 m"]), json.dumps(["At 9."])],
}
NAMES = {
    "native": ("question", "answer", "contexts", "ground_truth"),
    "mixed": ("query", "generatedAnswer", "retrieved_docs", "gold"),
}


def rows_of(
    names: str, shape: str, truths: Sequence[Any] = ("31 m", "31 m")
) -> list[dict[str, Any]]:
    columns = NAMES[names]
    answers = ["The tower is 31 m high.", "The museum opens at 10."]
    return [
        {
            "id": f"q{row}",
            **dict(zip(columns, (f"What is {row}?", answer, contexts, truth), strict=True)),
        }
        for row, (answer, contexts, truth) in enumerate(
            zip(answers, SHAPES[shape], truths, strict=True)
        )
    ]


def as_cells(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in row.items()
    }


def written_lines(rows: list[dict[str, Any]], path: Path) -> None:
    path.write_text("\n".join(map(json.dumps, rows)))


def written_array(rows: list[dict[str, Any]], path: Path) -> None:
    path.write_text(json.dumps(rows))


def written_csv(rows: list[dict[str, Any]], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if ".tsv" in path.name else ",")
        writer.writeheader()
        writer.writerows(map(as_cells, rows))


def written_parquet(rows: list[dict[str, Any]], path: Path) -> None:
    parquet.write_table(pa.Table.from_pylist(rows), path)


def written_arrow(rows: list[dict[str, Any]], path: Path) -> None:
    table = pa.Table.from_pylist(rows)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


FILES: dict[str, Callable[[list[dict[str, Any]], Path], None]] = {
    "a.jsonl": written_lines,
    "a.json": written_array,
    "a.csv": written_csv,
    "a.tsv": written_csv,
    "a.parquet": written_parquet,
    "a.arrow": written_arrow,
}


class DataSet:
    """As a data set of Hugging Face gives its rows; tests/engines has the real one."""

    features = ()

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._table = pa.Table.from_pylist(rows)

    def with_format(self, _: str) -> DataSet:
        return self

    def iter(self, n_rows: int) -> Iterator[Any]:
        for batch in self._table.to_batches(n_rows):
            yield pa.Table.from_batches([batch])


OBJECTS: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "dicts": list,
    "tuple": tuple,
    "generator": iter,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.Table.from_pylist,
    "data set": DataSet,
}


def scores_of(result: Any) -> list[list[str]]:
    """Per row its scores to the bit, or why there is none."""
    return [
        [
            NullReason(code).name.lower() if code else score.hex()
            for score, code in zip(*row, strict=True)
        ]
        for row in zip(result.scores.tolist(), result.null_reasons.tolist(), strict=True)
    ]


def scores_in(path: Path) -> list[list[str]]:
    """The same from a file of scores."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [
        [row[f"{metric}_null_reason"] or float(row[metric]).hex() for metric in METRIC_IDS]
        for row in rows
    ]


@every_row("names", list(NAMES))
@every_row("shape", list(SHAPES))
def test_every_entrance_gives_the_same(names: str, shape: str, tmp_path: Path) -> None:
    check_entrances(rows_of(names, shape), names, tmp_path)


@every_row("names", list(NAMES))
@every_row("truths", list(TRUTHS))
def test_ground_truths_are_lists_wherever_they_are_written_so(
    names: str, truths: str, tmp_path: Path
) -> None:
    check_entrances(rows_of(names, "list", TRUTHS[truths]), names, tmp_path)


def test_a_list_of_ground_truths_takes_the_best() -> None:
    def correctness(truth: Any) -> list[list[str]]:
        rows = [{**row, "ground_truth": truth} for row in rows_of("native", "list")]
        return scores_of(rag_eval.evaluate_batch(rows, ["answer_correctness"], profile="grounded"))

    truths = ["Bananas.", "The tower is 31 m high."]
    assert correctness(repr(truths)) == correctness(truths)
    assert correctness(truths) != correctness(repr(truths).strip("]"))


@every_row("profile", ["overlap", "grounded"])
@every_row("truths", [("31 m", ["31 m"]), (None, [])])
def test_lists_of_one_ground_truth_and_of_none(
    profile: Profile, truths: tuple[Any, Any], tmp_path: Path
) -> None:
    plain, listed = (
        [{**row, "ground_truth": truth} for row in rows_of("native", "list")] for truth in truths
    )
    wanted = scores_of(rag_eval.evaluate_batch(plain, profile=profile))
    printed = [{**row, "ground_truth": repr(row["ground_truth"])} for row in listed]
    for rows in (listed, printed):
        for name, make in OBJECTS.items():
            found = rag_eval.evaluate_batch(make(rows), profile=profile)
            assert scores_of(found) == wanted, name
        for name, write in FILES.items():
            write(rows, tmp_path / name)
            score_file(tmp_path / name, tmp_path / "scores.jsonl", profile=profile, restart=True)
            assert scores_in(tmp_path / "scores.jsonl") == wanted, name


def check_entrances(rows: list[dict[str, Any]], names: str, tmp_path: Path) -> None:
    wanted = scores_of(rag_eval.evaluate_batch(rows, profile="grounded"))
    paths = dict(zip(NAMES["native"], NAMES[names], strict=True))
    for name, make in OBJECTS.items():
        result = rag_eval.evaluate_batch(make(rows), profile="grounded")
        assert scores_of(result) == wanted, name
    for name, write in FILES.items():
        write(rows, tmp_path / name)
        report = score_file(
            tmp_path / name, tmp_path / "scores.jsonl", profile="grounded", restart=True
        )
        assert scores_in(tmp_path / "scores.jsonl") == wanted, name
        [found] = report.fields
        assert {
            field: found.fields.paths[field].split("[")[0].split(".")[0] for field in paths
        } == (paths), name


_LANGCHAIN = {"system": "System", "user": "Human", "assistant": "AI"}
# How a cell holds the turns of a chat.
CHATS: dict[str, Callable[[list[dict[str, str]]], Any]] = {
    "a list": list,
    "JSON in a text": json.dumps,
    "Python list in a text": repr,
    "messages of LangChain in a text": lambda turns: str(
        [Message(_LANGCHAIN[turn["role"]], turn["content"]) for turn in turns]
    ),
}


class Message:
    """As LangChain prints a turn."""

    def __init__(self, kind: str, content: str) -> None:
        self._text = f"{kind}Message(content={content!r}, additional_kwargs={{}}, id='m-1')"

    def __repr__(self) -> str:
        return self._text


@every_row("column", ["messages", "user_input", "prompt"])
@every_row("form", list(CHATS))
def test_chat_turns_give_the_same_from_every_source(form: str, column: str, tmp_path: Path) -> None:
    plain = rows_of("native", "list")
    wanted = scores_of(rag_eval.evaluate_batch(plain, profile="grounded"))
    chats = []
    for row in plain:
        asked = [("system", "Be brief."), ("user", "Hello?"), ("assistant", "Hello.")]
        said = [*asked, ("user", row.pop("question")), ("assistant", row.pop("answer"))]
        turns = [{"role": role, "content": text} for role, text in said]
        chats.append({**row, column: CHATS[form](turns)})
    for name, make in OBJECTS.items():
        assert scores_of(rag_eval.evaluate_batch(make(chats), profile="grounded")) == wanted, name
    for name, write in FILES.items():
        write(chats, tmp_path / name)
        report = score_file(
            tmp_path / name, tmp_path / "scores.jsonl", profile="grounded", restart=True
        )
        assert scores_in(tmp_path / "scores.jsonl") == wanted, name
        paths = report.fields[0].fields.paths
        sides = [("type", "human"), ("type", "ai")]
        if "LangChain" not in form:
            sides = [("role", "user"), ("role", "assistant")]
        for field, (by, side) in zip(("question", "answer"), sides, strict=True):
            assert paths[field] == f"{column}[{by}={side}][-1].content", name


@every_row("cell", [list, json.dumps, repr])
def test_turns_in_parts_and_sources_with_texts(cell: Any, tmp_path: Path) -> None:
    """As APIs of vendors have them; an image among the parts says nothing."""
    plain = rows_of("native", "list")
    wanted = scores_of(rag_eval.evaluate_batch(plain, profile="grounded"))
    rows = []
    for row in plain:
        asked = [
            {"type": "image_url", "text": None, "image_url": "http://host/a.png"},
            {"type": "text", "text": row["question"], "image_url": None},
        ]
        said = [{"type": "text", "text": row["answer"], "image_url": None}]
        turns = [{"role": "user", "content": asked}, {"role": "assistant", "content": said}]
        sources = [{"url": "http://host", "snippet": text} for text in row["contexts"]]
        truth = row["ground_truth"]
        rows.append({"messages": cell(turns), "sources": sources, "ground_truth": truth})
    for name, make in OBJECTS.items():
        assert scores_of(rag_eval.evaluate_batch(make(rows), profile="grounded")) == wanted, name
    for name, write in FILES.items():
        write(rows, tmp_path / name)
        score_file(tmp_path / name, tmp_path / "scores.jsonl", profile="grounded", restart=True)
        assert scores_in(tmp_path / "scores.jsonl") == wanted, name


@every_row("name", [*FILES, *OBJECTS])
def test_what_a_cell_holds_can_be_mapped(name: str, tmp_path: Path) -> None:
    plain = rows_of("native", "list")
    wanted = scores_of(rag_eval.evaluate_batch(plain, profile="grounded"))
    rows = [
        {
            "a": json.dumps({"asked": {"text": row["question"]}}),
            "b": repr([{"said": "x"}, {"said": row["answer"]}]),
            "c": json.dumps([{"snip": text} for text in row["contexts"]]),
            "ground_truth": row["ground_truth"],
        }
        for row in plain
    ]
    mapping = {"question": "a.asked.text", "answer": "b[-1].said", "contexts": "c[].snip"}
    if name in OBJECTS:
        made = OBJECTS[name](rows)
        found = rag_eval.evaluate_batch(made, profile="grounded", mapping=mapping)
        assert scores_of(found) == wanted
        return
    FILES[name](rows, tmp_path / name)
    target = tmp_path / "scores.jsonl"
    score_file(tmp_path / name, target, profile="grounded", mapping=mapping)
    assert scores_in(target) == wanted


@every_row("name", [*FILES, *OBJECTS])
def test_objects_of_a_tracing_tool_are_found_in_cells(name: str, tmp_path: Path) -> None:
    """As exports of LangSmith to CSV have them."""
    plain = rows_of("native", "list")
    wanted = scores_of(rag_eval.evaluate_batch(plain, profile="grounded"))
    rows = [
        {
            "inputs": json.dumps({"question": row["question"]}),
            "outputs": json.dumps({"answer": row["answer"], "contexts": row["contexts"]}),
            "reference_outputs": json.dumps({"answer": row["ground_truth"]}),
        }
        for row in plain
    ]
    if name in OBJECTS:
        found = rag_eval.evaluate_batch(OBJECTS[name](rows), profile="grounded")
        assert scores_of(found) == wanted
        return
    FILES[name](rows, tmp_path / name)
    score_file(tmp_path / name, tmp_path / "scores.jsonl", profile="grounded")
    assert scores_in(tmp_path / "scores.jsonl") == wanted


@every_row("answer", ['{"age": 31}', "[1] A note.", "[]", '["a", "b"]', "{'text': 'x'}"])
def test_an_answer_that_looks_like_a_list_or_an_object_is_a_text(
    answer: str, tmp_path: Path
) -> None:
    rows = [{**row, "answer": answer} for row in rows_of("native", "list")]
    wanted = scores_of(rag_eval.evaluate_batch(rows, profile="grounded"))
    names = {"question": "inputs", "answer": "outputs"}
    named = [{names.get(key, key): value for key, value in row.items()} for row in rows]
    for name, write in FILES.items():
        write(named, tmp_path / name)
        score_file(tmp_path / name, tmp_path / "scores.jsonl", profile="grounded", restart=True)
        assert scores_in(tmp_path / "scores.jsonl") == wanted, name


def test_without_contexts_every_entrance_leaves_out_the_same(tmp_path: Path) -> None:
    rows = rows_of("native", "list")
    for row in rows:
        del row["contexts"]
    for profile in PROFILES:
        wanted = scores_of(rag_eval.evaluate_batch(rows, profile=profile))
        assert wanted[0].count("missing_field") == 5
        for name, make in OBJECTS.items():
            found = rag_eval.evaluate_batch(make(rows), profile=profile)
            assert scores_of(found) == wanted, (name, profile)
        for name, write in FILES.items():
            write(rows, tmp_path / name)
            score_file(tmp_path / name, tmp_path / "scores.jsonl", profile=profile, restart=True)
            assert scores_in(tmp_path / "scores.jsonl") == wanted, (name, profile)
