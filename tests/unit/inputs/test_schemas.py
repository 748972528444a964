"""Schemas of other tools: each file that they write gives the same samples, and no guess is silent.

The fixtures were written by the packages themselves, by the scripts in ``tools/schema_fixtures``.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rag_eval
from rag_eval.errors import InputError
from rag_eval.inputs.sample_fields import split_gold
from rag_eval.inputs.schemas.documents import rows_of_document
from rag_eval.inputs.schemas.fields import SCHEMA_NAMES, FieldMap, field_map, paths_of_rows
from rag_eval.inputs.schemas.maps import FIELDS, TEXT_FIELDS, with_texts
from rag_eval.inputs.schemas.paths import listed_path
from rag_eval.inputs.schemas.tools import SHAPES
from tests.tables import every_row

FIXTURES = Path(__file__).parents[2] / "fixtures" / "schemas"
SAMPLES: list[dict[str, Any]] = [
    {
        "id": "lamp",
        "question": "How high is the lighthouse of Port Ellery?",
        "answer": "The lighthouse of Port Ellery is 31 metres high.",
        "contexts": [
            "The lighthouse of Port Ellery, built of granite, is 31 metres high.",
            "Its lamp was lit for the first time in 1887.",
        ],
        "ground_truth": "It is 31 metres high.",
    },
    {
        "id": "museum",
        "question": "Wann öffnet das Glasmuseum?",
        "answer": "Das Glasmuseum öffnet um 9 Uhr.",
        "contexts": ['Öffnungszeiten: 9–17 Uhr, "außer montags".'],
        "ground_truth": "Um 9 Uhr, außer montags.",
    },
]
ALL = ("question", "answer", "contexts", "ground_truth")
ANSWERED = ("question", "answer", "contexts")
GOLDEN = ("question", "ground_truth")

# File, schema, fields that it has, and whether the ids are those of the samples.
FILES = [
    ("autoevals.jsonl", "autoevals", ALL, False),
    ("continuous_eval.jsonl", "continuous_eval", ALL, True),
    ("deepeval.json", "deepeval", ALL, True),
    ("deepeval_camel.jsonl", "deepeval", ALL, True),
    ("haystack_report.json", "haystack", ALL, False),
    ("haystack_result.json", "haystack", ALL, False),
    ("inspect.json", "inspect", ALL, True),
    ("langchain_qa.jsonl", "langchain", ALL, False),
    ("langchain_retrieval.jsonl", "langchain", ANSWERED, False),
    ("langsmith_examples.jsonl", "langchain", GOLDEN, False),
    ("langsmith_experiment.jsonl", "langchain", ALL, False),
    ("langsmith_runs.jsonl", "langchain", ANSWERED, False),
    ("llamaindex_dataset.json", "llamaindex", GOLDEN, False),
    ("llamaindex_predictions.json", "llamaindex", ("answer", "contexts"), False),
    ("llamaindex_responses.jsonl", "llamaindex", ANSWERED, False),
    ("llamaindex_results.jsonl", "llamaindex", ALL, False),
    ("mlflow.jsonl", "mlflow", ALL, True),
    ("phoenix.jsonl", "phoenix", ALL, False),
    ("phoenix_spans.jsonl", "phoenix", ANSWERED, True),
    ("promptfoo.json", "promptfoo", ALL, False),
    ("promptfoo.jsonl", "promptfoo", ANSWERED, False),
    ("ragas.jsonl", "ragas", ALL, False),
    ("ragchecker.json", "ragchecker", ALL, True),
    ("trulens_ground_truth.jsonl", "trulens", GOLDEN, True),
    ("trulens_log.jsonl", "trulens", ALL, True),
    ("trulens_records.jsonl", "trulens", ("question", "answer"), False),
]


def rows_of(name: str) -> list[dict[str, Any]]:
    text = (FIXTURES / name).read_text("utf-8")
    if name.endswith(".jsonl"):
        return [json.loads(line) for line in text.splitlines()]
    document = json.loads(text)
    return document if isinstance(document, list) else opened(document)


def opened(document: object) -> list[dict[str, Any]]:
    found = rows_of_document(document)
    assert found is not None
    return found.rows


def texts_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are scored; a ground truth in a list of one as that one."""
    texts = {name: row[name] for name in TEXT_FIELDS if name in row}
    if isinstance(texts.get("ground_truth"), list) and len(texts["ground_truth"]) == 1:
        texts["ground_truth"] = texts["ground_truth"][0]
    return texts


def paths(columns: str, **options: Any) -> tuple[str, dict[str, str]]:
    found = field_map(columns.split(), **options)
    return found.schema, dict(found.paths)


def mapped(columns: str, row: dict[str, Any], **options: Any) -> dict[str, Any]:
    return field_map(columns.split(), **options).row(row)


# ------------------------------------------------------------------------------------ real files


@pytest.mark.parametrize(("name", "schema", "fields", "has_ids"), FILES)
def test_a_file_gives_the_samples(
    name: str, schema: str, fields: tuple[str, ...], has_ids: bool
) -> None:
    rows = rows_of(name)
    before = deepcopy(rows)
    found = field_map(paths_of_rows(rows))
    assert found.schema == schema
    mapped_rows = [found.row(row) for row in rows]
    assert rows == before
    assert [texts_of(row) for row in mapped_rows] == [
        {field: sample[field] for field in fields} for sample in SAMPLES
    ]
    if has_ids:
        assert [row["id"] for row in mapped_rows] == [sample["id"] for sample in SAMPLES]
    for row, source in zip(mapped_rows, rows, strict=True):
        left = source.keys() - found.paths.values() - found.paths.keys()
        assert {key: row[key] for key in left} == {key: source[key] for key in left}
        assert row.keys() <= left | found.paths.keys()


@every_row("name, schema, fields, has_ids", FILES)
def test_naming_the_schema_changes_nothing(
    name: str, schema: str, fields: tuple[str, ...], has_ids: bool
) -> None:
    columns = paths_of_rows(rows_of(name))
    assert field_map(columns, schema=schema) == field_map(columns)


@pytest.mark.parametrize("name", ["ragas", "deepeval", "haystack"])
def test_csv_headers(name: str) -> None:
    with (FIXTURES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        [header, *_] = csv.reader(file)
    found = field_map(header)
    assert found.schema == name
    assert {*TEXT_FIELDS} <= found.paths.keys()


def test_every_schema_has_a_file() -> None:
    assert {schema for _, schema, _, _ in FILES} == {*SCHEMA_NAMES} - {"native", "ragas_v1"}
    names = {path.name for path in FIXTURES.iterdir()}
    assert names == {name for name, *_ in FILES} | {"ragas.csv", "deepeval.csv", "haystack.csv"}
    assert all(path.stat().st_size <= 20_000 for path in FIXTURES.iterdir())


def test_no_path_of_a_shape_is_that_of_two_fields() -> None:
    for shapes in SHAPES.values():
        for shape in shapes:
            listed = [path for paths in shape.paths.values() for path in paths]
            explicit = [path for path in listed if not path.endswith(".*")]
            assert len(set(explicit)) == len(explicit)
            assert shape.paths.keys() <= {*FIELDS}


# ----------------------------------------------------------------------------------- recognition


@pytest.mark.parametrize(
    "columns",
    [
        "question answer contexts ground_truth id",
        "question answer contexts groundTruth metadata",
        "question contexts",
        "answer contexts",
        "question ground_truth",
        # What comes beside a sample of ours does not turn it into another.
        "question answer contexts result output prediction",
        "question answer contexts ground_truth reference expected context",
        "question answer contexts retrieved_context input output",
        "question answer ground_truth reference",
    ],
)
def test_native_columns(columns: str) -> None:
    found = field_map(columns.split())
    assert (found.schema, found.is_native) == ("native", True)
    row: dict[str, Any] = dict.fromkeys(columns.split(), "x")
    row["contexts"] = ["x"]
    assert found.row(row) is row


@every_row(
    "columns, wanted",
    [
        ("question answer contexts reference", "ground_truth=reference"),
        ("question answer reference", "ground_truth=reference"),
        ("contexts reference", "ground_truth=reference"),
        (
            "question answer contexts retrieved_context ground_truth_answers context",
            "ground_truth=ground_truth_answers",
        ),
    ],
)
def test_a_ground_truth_of_another_name_beside_our_fields(columns: str, wanted: str) -> None:
    _, found = paths(columns)
    ours = {name: name for name in ("question", "answer", "contexts") if name in columns.split()}
    assert found == ours | dict([wanted.split("=")])


@pytest.mark.parametrize("columns", ["", "id", "vars", "anwser", "text source page"])
def test_columns_of_no_schema_are_taken_as_native(columns: str) -> None:
    assert field_map(columns.split()).is_native


@every_row(
    "columns, schema, wanted",
    [
        ("question answer contexts ground_truths", "ragas_v1", "ground_truth=ground_truths"),
        ("question contexts ground_truths", "ragas_v1", "ground_truth=ground_truths"),
        ("question answer retrieved_context", "continuous_eval", "contexts=retrieved_context"),
        ("question answer context", "langchain", "contexts=context"),
        ("query result source_documents answer", "langchain", "answer=result ground_truth=answer"),
        ("query result answer contexts", "langchain", "answer=result ground_truth=answer"),
        ("input output expected", "autoevals", "question=input answer=output"),
        ("input output context expected", "autoevals", "contexts=context ground_truth=expected"),
        ("query response contexts", "llamaindex", "question=query answer=response"),
        ("query response retrieved_context", "ragchecker", "contexts=retrieved_context"),
        ("request response retrieved_context expected_response", "mlflow", "question=request"),
        ("user_input reference reference_contexts", "ragas", "ground_truth=reference"),
        # Contexts alone say nothing about who wrote them, but an answer does.
        ("response retrieved_contexts", "ragas", "answer=response contexts=retrieved_contexts"),
        ("question response contexts reference", "llamaindex", "question=question answer=response"),
        # In part ours, more of it theirs.
        ("user_input response retrieved_contexts question", "ragas", "question=user_input"),
        ("input actual_output contexts ground_truth", "deepeval", "ground_truth=ground_truth"),
    ],
)
def test_recognition(columns: str, schema: str, wanted: str) -> None:
    name, found = paths(columns)
    assert name == schema
    assert dict(pair.split("=") for pair in wanted.split()).items() <= found.items()


def test_schemas_that_read_the_columns_alike_are_no_ambiguity() -> None:
    columns = "input output expected context"
    alike = [paths(columns, schema=name)[1] for name in ("autoevals", "phoenix")]
    assert alike[0] == alike[1] == paths(columns)[1]


@pytest.mark.parametrize(
    ("columns", "wanted"),
    [
        # What was retrieved for Phoenix is what is right for LangChain.
        (
            "input output reference",
            "phoenix (contexts=reference), langchain (ground_truth=reference)",
        ),
        # Ideal contexts are no retrieved ones.
        (
            "input expected_output context",
            "deepeval (ground_truth=expected_output), autoevals (contexts=context)",
        ),
        # Two answers.
        (
            "question answer user_input response retrieved_contexts",
            "native (question=question, answer=answer), "
            "ragas (question=user_input, answer=response, contexts=retrieved_contexts)",
        ),
        (
            "question answer result",
            "native (answer=answer), langchain (answer=result, ground_truth=answer)",
        ),
        (
            "answer contexts output",
            "native (answer=answer), langchain (answer=output, ground_truth=answer)",
        ),
    ],
)
def test_ambiguity(columns: str, wanted: str) -> None:
    with pytest.raises(InputError) as caught:
        field_map(columns.split())
    schemas = re.findall(r"(\w+) \(", wanted)
    assert str(caught.value) == (
        f"columns can be read in {len(schemas)} ways: {wanted}; choose one with "
        + " or ".join(f"--schema {name}" for name in schemas)
    )
    for name in schemas:
        assert field_map(columns.split(), schema=name).schema == name


def test_where_only_one_field_is_in_doubt_its_columns_are_named() -> None:
    columns = ["input", "output", "context", "expected", "reference"]
    with pytest.raises(InputError) as caught:
        field_map(columns)
    assert str(caught.value) == (
        "2 columns may be ground truth: expected, reference; choose one with "
        "--map ground_truth=expected or --map ground_truth=reference"
    )
    for name in ("expected", "reference"):
        assert field_map(columns, mapping={"ground_truth": name}).paths["ground_truth"] == name


def test_ambiguity_ends_with_a_name_or_a_mapping() -> None:
    columns = "input output reference"
    assert paths(columns, schema="phoenix")[1]["contexts"] == "reference"
    assert paths(columns, schema="langchain")[1]["ground_truth"] == "reference"
    assert paths(columns, mapping={"ground_truth": "reference"}) == (
        "custom",
        {"question": "input", "answer": "output", "ground_truth": "reference"},
    )
    assert paths("question answer result", schema="native")[1] == {
        "question": "question",
        "answer": "answer",
    }


@pytest.mark.parametrize(
    "columns",
    [
        "input actual_output context",
        "input actual_output context expected_output",
        "input actualOutput context expectedOutput",
    ],
)
def test_ideal_contexts_of_deepeval_are_not_taken_for_retrieved_ones(columns: str) -> None:
    schema, found = paths(columns)
    assert schema == "deepeval"
    assert "contexts" not in found


def test_outputs_of_an_example_are_no_answers() -> None:
    """An example without a run was scored as if its reference were the answer: perfect."""
    example = "dataset_id id inputs inputs.question outputs outputs.answer"
    assert paths(example)[1]["answer"] == "outputs.answer"
    assert paths(f"{example} source_run_id")[1] == {
        "question": "inputs.question",
        "ground_truth": "outputs.answer",
        "id": "id",
    }


@pytest.mark.parametrize(
    ("columns", "wanted"),
    [
        # Whatever the one member is called.
        ("inputs inputs.topic outputs outputs.reply", ("inputs.topic", "outputs.reply")),
        ("inputs inputs.a inputs.b outputs outputs.reply", (None, "outputs.reply")),
        # One of the members is known for something else.
        (
            "inputs inputs.topic outputs outputs.reply outputs.contexts",
            ("inputs.topic", "outputs.reply"),
        ),
        ("inputs inputs.chat inputs.chat[].content outputs", (None, "outputs")),
        ("inputs outputs reference_outputs", ("inputs", "outputs")),
    ],
)
def test_the_only_member(columns: str, wanted: tuple[str | None, str | None]) -> None:
    _, found = paths(columns)
    assert (found.get("question"), found.get("answer")) == wanted


def test_an_object_is_no_text() -> None:
    assert paths("input output output.completion target")[0] == "inspect"
    assert "answer" not in paths("input output output.meta")[1]
    assert paths("input output output.text")[1]["answer"] == "output.text"


# -------------------------------------------------------------------------------------- overrides


def test_a_mapping_goes_before_the_schema() -> None:
    columns = "user_input response final retrieved_contexts docs docs[].text"
    assert paths(columns, mapping={"answer": "final", "contexts": "docs[].text"}) == (
        "custom",
        {"question": "user_input", "answer": "final", "contexts": "docs[].text"},
    )


def test_a_mapped_path_is_not_used_twice() -> None:
    _, found = paths("user_input response reference", mapping={"contexts": "reference"})
    assert found == {"question": "user_input", "answer": "response", "contexts": "reference"}


def test_a_mapped_field_is_not_looked_for() -> None:
    columns = "input output reference gold"
    assert paths(columns, mapping={"ground_truth": "gold"})[1] == {
        "question": "input",
        "answer": "output",
        "contexts": "reference",
        "ground_truth": "gold",
    }


def test_a_mapping_of_columns_that_no_schema_has() -> None:
    row = {"q": "Q?", "a": "A.", "docs": [{"t": "C."}, {"t": "D."}], "more": 1, "id": "x"}
    mapping = {"question": "q", "answer": "a", "contexts": "docs[].t"}
    assert mapped("q a docs docs[].t more id", row, mapping=mapping) == {
        "question": "Q?",
        "answer": "A.",
        "contexts": ["C.", "D."],
        "docs": [{"t": "C."}, {"t": "D."}],
        "more": 1,
        "id": "x",
    }


def test_a_mapping_may_be_all_that_a_named_schema_has() -> None:
    mapping = {"question": "q"}
    assert paths("q retrieved_contexts", schema="ragas", mapping=mapping)[1] == {
        "question": "q",
        "contexts": "retrieved_contexts",
    }
    assert paths("q retrieved_contexts", mapping=mapping)[1] == {
        "question": "q",
        "contexts": "retrieved_contexts",
    }


def test_a_mapping_of_a_field_to_itself_is_native() -> None:
    found = field_map(["question", "answer"], mapping={"answer": "answer"})
    assert (found.schema, found.is_native) == ("custom", True)


def test_two_fields_may_come_from_one_place() -> None:
    mapping = {"answer": "text", "ground_truth": "text"}
    row = mapped("q text", {"q": 1, "text": "A."}, mapping=mapping)
    assert row == {"q": 1, "answer": "A.", "ground_truth": "A."}


def test_a_field_under_its_own_name_may_be_another_one_as_well() -> None:
    mapping = {"question": "question", "answer": "question"}
    row = mapped("question", {"question": "Q?", "answer": "old"}, mapping=mapping)
    assert row == {"question": "Q?", "answer": "Q?"}
    mapping = {"ground_truth": "groundTruth", "answer": "groundTruth"}
    row = mapped("question groundTruth", {"question": "Q?", "groundTruth": "G."}, mapping=mapping)
    assert row == {"question": "Q?", "answer": "G.", "groundTruth": "G."}


def test_fields_may_change_places() -> None:
    mapping = {"answer": "ground_truth", "ground_truth": "answer"}
    row = {"answer": "gold", "ground_truth": "said"}
    assert mapped("answer ground_truth", row, mapping=mapping) == {
        "answer": "said",
        "ground_truth": "gold",
    }


def test_each_item_of_a_list() -> None:
    row = {"docs": ["C.", "D."], "question": "Q?"}
    assert mapped("docs question", row, mapping={"contexts": "docs[]"})["contexts"] == ["C.", "D."]


def test_both_spellings_of_a_field() -> None:
    _, found = paths("q gold", mapping={"groundTruth": "gold", "question": "q"})
    assert found == {"question": "q", "ground_truth": "gold"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"mapping": {"anwser": "output"}},
            "mapping anwser=output: unknown field 'anwser'; did you mean 'answer'? (fields: "
            "question, answer, contexts, ground_truth, id, language, metadata)",
        ),
        (
            {"mapping": {"contexts": "docs[].txt"}},
            "mapping contexts=docs[].txt: the samples have no field 'docs[].txt'; did you mean "
            "'docs[].text'? (fields: input, output, docs, docs[].text)",
        ),
        (
            {"mapping": {"id": "zzz"}},
            "mapping id=zzz: the samples have no field 'zzz' (fields: input, output, docs, "
            "docs[].text)",
        ),
        (
            {"mapping": {"ground_truth": "input", "groundTruth": "output"}},
            "ground_truth is mapped twice, to 'input' and to 'output'",
        ),
        (
            {"schema": "llama_index"},
            "unknown schema 'llama_index'; did you mean 'llamaindex'? (known schemas: "
            "native, ragas, ragas_v1, deepeval, llamaindex, ragchecker, continuous_eval, haystack, "
            "inspect, autoevals, phoenix, langchain, mlflow, trulens, promptfoo)",
        ),
        (
            {"schema": "ragas"},
            "schema 'ragas' needs user_input or response; found: input, output, docs, docs[].text",
        ),
    ],
)
def test_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        field_map(["input", "output", "docs", "docs[].text"], **options)
    assert str(caught.value) == message


def test_an_error_lists_what_a_schema_wants() -> None:
    with pytest.raises(InputError) as caught:
        field_map(["x"], schema="mlflow")
    assert str(caught.value) == (
        "schema 'mlflow' needs inputs.question or inputs.query or inputs.input or "
        "inputs.request or outputs.answer or outputs.response or outputs.output or outputs or "
        "request or response; found: x"
    )


def test_errors_list_some_columns_of_many() -> None:
    with pytest.raises(InputError, match=r"c18, c19 and 30 more$"):
        field_map([f"c{number}" for number in range(50)], schema="ragas")
    with pytest.raises(InputError, match=r"found: nothing$"):
        field_map([], schema="ragas")


# ------------------------------------------------------------------------------------------- rows


def test_names_that_mean_another_column_are_not_read() -> None:
    """A chain's rows without a result were scored by what they should have said."""
    found = field_map(["query", "result", "answer"])
    assert found.row({"query": "Q?", "answer": "gold"}) == {
        "question": "Q?",
        "ground_truth": "gold",
    }
    found = field_map(["user_input", "response", "reference"])
    row = {"user_input": "Q?", "question": "?", "reference": None, "groundTruth": "x", "more": 1}
    assert found.row(row) == {"question": "Q?", "more": 1}


@every_row(
    "contexts, wanted",
    [
        (["C.", "D."], ["C.", "D."]),
        ([], []),
        ("C.", ["C."]),
        ([{"page_content": "C.", "text": "x"}, "D."], ["C.", "D."]),
        ([{"doc_id": 1, "text": "C."}], ["C."]),
        ([{"content": "C.", "meta": {}}], ["C."]),
        ([{"context": "C.", "source": "s"}], ["C."]),
        ([{"lc": 1, "kwargs": {"page_content": "C."}}], ["C."]),
        ([{"node": {"text": "C."}, "score": 1}], ["C."]),
        ([{"document.content": "C."}], ["C."]),
        ([{"document": {"content": "C."}}], ["C."]),
        # What cannot be understood is left to be refused by name.
        ([{"text": 1}, {"x": "C."}], [{"text": 1}, {"x": "C."}]),
        ([["C."], 1, None], ["C.", 1, None]),
        ([["C.", "D."], [{"text": "E."}]], ["C.", "D.", "E."]),
        ([["C.", 0.7], [{"text": "D."}, 0.5]], ["C.", "D."]),
        ({"text": "C."}, ["C."]),
        ({"x": "C."}, {"x": "C."}),
        ("['C.', 'D.']", ["C.", "D."]),
        ("[C., D.]", "[C., D.]"),
        (3, 3),
    ],
)
def test_contexts(contexts: Any, wanted: Any) -> None:
    row = {"user_input": "Q?", "retrieved_contexts": contexts}
    assert mapped("user_input retrieved_contexts", row)["contexts"] == wanted


def test_contexts_under_our_name_have_the_same_shapes() -> None:
    row = {"user_input": "Q?", "response": "A.", "contexts": "C."}
    assert mapped("user_input response contexts", row)["contexts"] == ["C."]
    assert row["contexts"] == "C."


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ({"docs": [{"m": {"t": "C."}}, {"m": {"t": "D."}}]}, {"contexts": ["C.", "D."]}),
        ({"docs": [{"m": {"t": "C."}}, {"m": {}}, "E."]}, {"contexts": ["C.", None, "E."]}),
        ({"docs": "C."}, {"contexts": ["C."]}),
        ({"docs": None}, {}),
        ({"docs": 3}, {"contexts": 3}),
        ({}, {}),
        # A key that is the path.
        ({"docs[].m.t": ["C."], "docs": 3}, {"contexts": ["C."]}),
    ],
)
def test_members(source: dict[str, Any], wanted: dict[str, Any]) -> None:
    found = FieldMap("custom", {"contexts": "docs[].m.t"})
    left = {"docs": source["docs"]} if "docs" in source else {}
    assert found.row(source) == left | wanted


def test_members_of_what_is_no_object() -> None:
    found = FieldMap("custom", {"question": "inputs.question"})
    for value in ("Q?", None, [], 3, {}, {"question": None}):
        assert found.row({"inputs": value}) == {"inputs": value}
    assert found.row({"inputs.question": "Q?"}) == {"question": "Q?"}


def test_a_field_map_is_a_value() -> None:
    found = field_map(["user_input", "response"])
    assert found == FieldMap("ragas", {"question": "user_input", "answer": "response"})
    assert repr(found) == (
        "FieldMap(schema='ragas', paths={'question': 'user_input', 'answer': 'response'})"
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["text", "answer", "question", "a", "page_content"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)
NAMES = sorted(
    {
        path
        for shapes in SHAPES.values()
        for shape in shapes
        for p in shape.paths.values()
        for path in p
    }
    | {path.partition(".")[0] for path in ("inputs.x", "outputs.x", "metadata.x", "vars.x")}
    | {"other", "a.b", "a[]", "", "groundTruth"}
)
ROWS = st.lists(st.dictionaries(st.sampled_from(NAMES), JSON, max_size=6), min_size=1, max_size=3)


@given(rows=ROWS, data=st.data())
def test_rows_of_any_kind(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    """No row is refused, and no key lost but those that a field was taken from, or named like.

    A field is what its path holds; parts of a message are one text.
    """
    columns = paths_of_rows(rows)
    mapping = data.draw(
        st.dictionaries(st.sampled_from(FIELDS), st.sampled_from(columns), max_size=2)
        if columns
        else st.just({})
    )
    try:
        found = field_map(columns, mapping=mapping)
    except InputError:
        found = field_map(columns, mapping=mapping, schema="native")
    assert set(map(listed_path, found.paths.values())) <= set(map(listed_path, columns))
    for row in rows:
        before = deepcopy(row)
        after = found.row(row)
        assert row == before
        moved = {name for name, path in found.paths.items() if path not in (name, "groundTruth")}
        named_like = moved | ({"groundTruth"} if "ground_truth" in moved else set())
        kept = row.keys() - {*found.paths.values()} - named_like
        assert {key: after[key] for key in kept} == {key: row[key] for key in kept}
        for name, path in found.paths.items():
            if name != "contexts" and row.get(path) is not None:
                is_native = (name, path) == ("ground_truth", "groundTruth")
                wanted = with_texts({name: row[path]})[name]
                assert after[path if is_native else name] == wanted


# -------------------------------------------------------------------------------------- documents


def test_paths_of_rows() -> None:
    rows = [
        {"a": 1, "b": {"c": {"d": {"e": 2}}}},
        {"f": [{"g": "x"}, {"h": [{"i": 1}]}, 3], "a": {"k": None}},
        {"l": [], "m": {}, "n": ["x"]},
    ]
    assert paths_of_rows(rows) == [
        *("a", "b", "b.c", "b.c.d", "b.c.d.e"),
        *("f", "f[].g", "f[].h", "f[].h[].i", "a.k"),
        *("l", "m", "n"),
    ]
    assert paths_of_rows([{"a": {"b": {"c": {"d": {"e": 1}}}}}])[-1] == "a.b.c.d"
    assert paths_of_rows([]) == []


@every_row(
    "document",
    [
        *(None, 1, "text", [], [{"question": "Q?"}], {}),
        {"results": [1], "samples": {}, "examples": "x"},
        {"results": {"results": 3}},
        {"results": []},
        {"questions": 3},
        {"inputs": ["x"]},
    ],
)
def test_documents_that_hold_no_rows(document: object) -> None:
    assert rows_of_document(document) is None


def test_a_test_run_of_deepeval() -> None:
    cases = [{"name": "t", "input": "Q?", "actualOutput": "A."}]
    assert opened({"testCases": cases, "metricsScores": []}) == cases


@pytest.mark.parametrize(
    ("assertions", "expected"),
    [
        ([{"type": "equals", "value": "A."}], {"expected": "A."}),
        ([{"type": "similar:cosine", "value": "A."}], {"expected": "A."}),
        (
            [{"type": "rouge-n", "value": "A."}, {"type": "bleu", "value": "A."}],
            {"expected": "A."},
        ),
        (
            [{"type": "factuality", "value": "A."}, {"type": "equals", "value": "B."}],
            {"expected": ["A.", "B."]},
        ),
        # What a judge is to look for, and what an answer must not say, are no ground truths.
        ([{"type": "llm-rubric", "value": "is polite"}], {}),
        ([{"type": "not-equals", "value": "A."}], {}),
        ([{"type": "equals", "value": {"a": 1}}, {"type": None}, {}], {}),
        (None, {}),
    ],
)
def test_assertions_of_promptfoo(assertions: Any, expected: dict[str, Any]) -> None:
    row = {"vars": {}, "testCase": {"assert": assertions}}
    before = deepcopy(row)
    assert opened({"results": {"version": 3, "results": [row]}}) == [row | expected]
    assert row == before


def test_what_a_row_of_promptfoo_says_itself_stays() -> None:
    row = {"expected": "x", "testCase": {"assert": [{"type": "equals", "value": "A."}]}}
    assert opened({"results": {"results": [row]}}) == [row]


def test_columns_of_haystack_that_differ_in_length() -> None:
    with pytest.raises(InputError) as caught:
        rows_of_document({"inputs": {"questions": ["a", "b"], "contexts": [["c"]]}})
    assert str(caught.value) == (
        "questions holds 2 values and contexts 1; each column must have one value per row"
    )


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("Paris", "Paris"),
        (" Paris | the city of Paris|", ["Paris", "the city of Paris"]),
        (" Paris |", "Paris"),
        ("|", ""),
        ("", ""),
        (["a|b"], ["a|b"]),
        (None, None),
    ],
)
def test_split_gold(value: Any, wanted: Any) -> None:
    assert split_gold(value, "|") == wanted


def test_split_gold_at_nothing() -> None:
    with pytest.raises(InputError, match="must not be empty"):
        split_gold("a", "")


def test_a_field_that_is_named_with_dots_alone_is_a_field_like_any_other() -> None:
    sample = {"question": "a b", "answer": "a", "contexts": ["a"]}
    for name in (".", "..", "[]", "[0]"):
        found = rag_eval.evaluate_batch([{**sample, name: "x"}], ["faithfulness"])
        assert found.scores.tolist() == [[1.0]]
