"""Fields one by one: common names, ambiguities that are asked about, chat turns, what is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.inputs.opened import Input, InputOptions
from rag_eval.inputs.schemas.fields import field_map, paths_of_rows
from rag_eval.inputs.schemas.maps import FieldMap
from rag_eval.inputs.schemas.synonyms import meaning_of
from rag_eval.jobs.file_run import run_file
from tests.tables import every_row


def pairs(columns: str, **options: Any) -> str:
    found = field_map(columns.split(), **options).paths
    return " ".join(f"{name}={path}" for name, path in found.items())


def of_rows(*rows: dict[str, Any], **options: Any) -> FieldMap:
    return field_map(paths_of_rows(rows), first_rows=lambda _: rows, **options)


@every_row(
    "columns, wanted",
    [
        # Parts of two schemas.
        (
            "id query response retrieved_contexts reference",
            "question=query answer=response contexts=retrieved_contexts "
            "ground_truth=reference id=id",
        ),
        (
            "question generated_answer passages gold",
            "question=question answer=generated_answer contexts=passages ground_truth=gold",
        ),
        (
            "prompt model_answer docs target",
            "question=prompt answer=model_answer contexts=docs ground_truth=target",
        ),
        (
            "userInput modelAnswer retrievedDocs expectedAnswer",
            "question=userInput answer=modelAnswer contexts=retrievedDocs "
            "ground_truth=expectedAnswer",
        ),
        (
            "User-Question LLM-Answer Source-Documents Ground-Truth",
            "question=User-Question answer=LLM-Answer contexts=Source-Documents "
            "ground_truth=Ground-Truth",
        ),
        ("Question Answer Contexts", "question=Question answer=Answer contexts=Contexts"),
        (
            "query prediction chunks ideal",
            "question=query answer=prediction contexts=chunks ground_truth=ideal",
        ),
        # The more certain name wins.
        (
            "query prompt generated_answer output retrieved_docs documents",
            "question=query answer=generated_answer contexts=retrieved_docs",
        ),
        # Objects with a text in place of the text.
        (
            "query response response.text docs docs[].text",
            "question=query answer=response.text contexts=docs",
        ),
        # What one tool calls contexts is the ground truth where others hold the contexts.
        (
            "input output retrieved_docs reference",
            "question=input answer=output contexts=retrieved_docs ground_truth=reference",
        ),
        ("input actual_output context", "question=input answer=actual_output"),
        ("anwser q txt", ""),
    ],
)
def test_common_names(columns: str, wanted: str) -> None:
    assert pairs(columns) == wanted


@every_row(
    "columns, message",
    [
        (
            "question answer docs chunks",
            "2 columns may be contexts: docs, chunks; choose one with --map contexts=docs or "
            "--map contexts=chunks",
        ),
        (
            "question answer contexts gold target",
            "2 columns may be ground truth: gold, target; choose one with "
            "--map ground_truth=gold or --map ground_truth=target",
        ),
        # A data set's answer beside what a model said.
        (
            "question answer generated_answer",
            "2 columns may be answer: answer, generated_answer; choose one with "
            "--map answer=answer or --map answer=generated_answer",
        ),
    ],
)
def test_columns_that_are_equally_good_are_asked_about(columns: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        field_map(columns.split())
    assert str(caught.value) == message


def test_a_choice_or_a_schema_ends_the_question() -> None:
    columns = "question answer generated_answer"
    assert pairs(columns, mapping={"answer": "answer"}) == "question=question answer=answer"
    assert pairs(columns, mapping={"answer": "generated_answer", "ground_truth": "answer"}) == (
        "question=question answer=generated_answer ground_truth=answer"
    )
    assert (
        pairs("question answer docs chunks", schema="native") == "question=question answer=answer"
    )
    assert pairs("question answer generated_answer ground_truth") == (
        "question=question answer=answer ground_truth=ground_truth"
    )


def test_a_column_that_holds_nothing_fitting_is_no_candidate() -> None:
    row = {"question": "Q?", "answer": "A.", "docs": None, "chunks": 3, "documents": ["C."]}
    assert of_rows(row, row).paths["contexts"] == "documents"
    with pytest.raises(InputError, match="2 columns may be contexts: chunks, documents"):
        of_rows(row, {**row, "chunks": "C."})


def test_hostile_names_are_cut_and_keep_to_one_line() -> None:
    names = [f"docs\n{'x' * 10_000}", "docs", "chunks"]
    assert meaning_of("a" * 1_000_000) is None
    assert meaning_of("docs\n") is not None
    with pytest.raises(InputError) as caught:
        field_map(["question", "docs\n", "chunks"])
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError) as caught:
        field_map(names, mapping={"answer": "z"})
    assert len(str(caught.value)) < 300


# ------------------------------------------------------------------------------------ chat turns


TURNS = [
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hi"},
    {"role": "user", "content": "Q?"},
    {"role": "assistant", "content": "A."},
]


@every_row(
    "row, wanted",
    [
        ({"messages": TURNS}, {"question": "Q?", "answer": "A."}),
        ({"conversation": TURNS[:3]}, {"question": "Q?"}),
        ({"conversation": TURNS[:3], "response": "B."}, {"question": "Q?", "answer": "B."}),
        ({"question": "R?", "messages": TURNS}, {"question": "R?", "answer": "A."}),
        (
            {"user_input": [{"type": "human", "content": "Q?"}, {"type": "ai", "content": "A."}]},
            {"question": "Q?", "answer": "A."},
        ),
        (
            {"conversations": [{"from": "human", "value": "Q?"}, {"from": "gpt", "value": "A."}]},
            {"question": "Q?", "answer": "A."},
        ),
        (
            {
                "input": [{"speaker": "user", "text": "Q?"}],
                "targets": [{"text": "T."}],
                "predictions": [{"text": "A."}],
            },
            {"question": "Q?", "answer": "A."},
        ),
        ({"messages": ["Q?", "A."]}, {}),
    ],
)
def test_chat_turns(row: dict[str, Any], wanted: dict[str, Any]) -> None:
    found = of_rows(row).row(row)
    assert {name: found[name] for name in ("question", "answer") if name in found} == wanted


@every_row(
    "path, wanted",
    [
        ("messages[0].content", "Hello"),
        ("messages[-1].content", "A."),
        ("messages[role=user][-1].content", "Q?"),
        ("messages[role=user][0].content", "Hello"),
        ("messages[role=assistant][1].content", "A."),
        ("messages[9].content", None),
        ("messages[-5].content", None),
        ("messages[role=tool][-1].content", None),
        ("messages[role=user].content", ["Hello", "Q?"]),
        ("messages[role=user][].content", ["Hello", "Q?"]),
    ],
)
def test_paths_that_select(path: str, wanted: Any) -> None:
    row = {"messages": TURNS}
    found = field_map(paths_of_rows([row]), mapping={"metadata": path}).row(row)
    assert found.get("metadata") == wanted


def test_a_path_that_selects_from_what_is_not_there() -> None:
    with pytest.raises(InputError) as caught:
        field_map(["messages", "messages[].content"], mapping={"answer": "messages[-1].text"})
    assert str(caught.value) == (
        "mapping answer=messages[-1].text: the samples have no field 'messages[].text'; did you "
        "mean 'messages[].content'? (fields: messages, messages[].content)"
    )


def test_brackets_that_select_nothing_are_part_of_a_name() -> None:
    row = {"text [en]": "A."}
    assert field_map(list(row), mapping={"answer": "text [en]"}).row(row) == {"answer": "A."}


# ------------------------------------------------------------------------------- what is said


@every_row(
    "contexts, note",
    [
        (["C."], ""),
        ([], ""),
        ("['C.', 'D.']", " (list in a string)"),
        ('[{"text": "C."}]', " (list in a string, objects with text)"),
        ("C.", " (one context per row)"),
        ([{"text": "C."}], " (objects with text)"),
        ({"text": "C."}, " (objects with text)"),
        ([["C."], ["D."]], " (rounds, flattened)"),
        ([["C.", 0.5]], " (objects with text)"),
    ],
)
def test_the_line(contexts: Any, note: str, tmp_path: Path) -> None:
    row = {"user_input": "Q?", "response": "A.", "retrieved_contexts": contexts, "reference": "G."}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({**row, "retrieved_contexts": None}) + "\n" + json.dumps(row) + "\n")
    source = Input(path)
    list(source.blocks())
    assert str(source.found[0]) == (
        "question=user_input, answer=response, "
        f"contexts=retrieved_contexts{note}, ground truth=reference"
    )
    list(source.blocks())
    assert len(source.found) == 1


@every_row(
    ("names", "separator", "note"),
    [
        ("input,actual_output,retrieval_context", None, "split at '|'"),
        ("question,answer,contexts", ";", "split at ';'"),
        ("question,answer,contexts", None, "one context per row"),
    ],
)
def test_the_line_tells_how_cells_are_split(
    names: str, separator: str | None, note: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{names}\nQ?,A.,C.|D.\n")
    source = Input(path, InputOptions(context_separator=separator))
    (block,) = source.blocks()
    assert f"({note})" in str(source.found[0])
    contexts = ["C.", "D."] if "|" in note else ["C.|D."]
    assert block.sample(0)["contexts"] == contexts


def test_files_of_several_schemas_have_a_line_each(tmp_path: Path) -> None:
    names = ["query", "prompt", "user_input", "input", "question_text", "user_query", "request"]
    for number, name in enumerate(["question", "question", *names]):
        (tmp_path / f"{number}.jsonl").write_text(json.dumps({name: "Q?", "answer": "A."}))
    lines: list[str] = []
    run_file(tmp_path, ["answer_relevance"], profile="grounded", on_found=lines.append)
    assert lines[:2] == [
        "fields: question=question, answer=answer",
        f"fields of {tmp_path / '2.jsonl'}: question=query, answer=answer",
    ]
    assert len(lines) == 6
    assert lines[-1] == "fields of more files are not shown"


def test_unused_columns() -> None:
    found = of_rows({"query": "Q?", "anwser": "A.", "meta": {"a": 1}, "docs": [{"text": "C."}]})
    assert found.unused == ("anwser", "meta")
    assert field_map(["question", "id", "metadata", "language"]).unused == ()


def test_options_reach_the_map(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("q,answer\nQ?,A.\n")
    source = Input(path, InputOptions(mapping={"question": "q"}))
    list(source.blocks())
    assert str(source.found[0]) == "question=q, answer=answer"
