"""Files of golden cases: three schemas, told apart by their content, and their faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.golden import (
    GoldenCase,
    GoldenDataset,
    load_golden_dataset,
    load_golden_dataset_from_json,
    read_golden_dataset,
    validate_golden_set,
)
from tests.tables import every_row

HAZEL = {
    "name": "support-bot",
    "version": "1.0.0",
    "cases": [
        {
            "id": "refund-1",
            "input": "How do I get a refund?",
            "expectedOutput": "within 30 days",
            "expectedToolCalls": ["lookup_policy", {"name": "answer"}],
            "expectedRetrievedIds": ["policy-refunds"],
            "metadata": {"flag": "b"},
        }
    ],
}
REGTRACE = """
name: returns
version: "2"
description: Questions about returns
interaction_type: rag
tags: [shop]
author: team
created_at: 2026-01-01
updated_at: 2026-02-01
test_cases:
  - id: r1
    description: the deadline
    input: Until when can I return it?
    system_prompt: null
    expected_output: Within 30 days.
    actual_output: no
    metrics: [factuality, tone, factuality]
    tags: [deadline]
    weight: 2
    thresholds: {factuality: 0.8, tone: null}
    context:
      documents:
        - {source: policy.md, content: Returns within 30 days., retrieval_score: 0.9}
"""
OMK = """
- sample_id: s1
  prompt: Say hello
  context: The user is Ann.
  capability: [greeting]
  difficulty: easy
  assertions:
    - {type: contains, value: hello}
    - {type: max_length, value: 20, weight: 2}
"""


def written(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def with_case(**changes: Any) -> dict[str, Any]:
    return {**HAZEL, "cases": [{**HAZEL["cases"][0], **changes}]}  # type: ignore[dict-item]


def places(document: Any) -> list[str]:
    return [fault.place for fault in read_golden_dataset(document)[1]]


def test_a_dataset_in_hazels_schema(tmp_path: Path) -> None:
    dataset = load_golden_dataset(written(tmp_path, "golden.json", HAZEL))
    assert (dataset.name, dataset.version, dataset.format, len(dataset)) == (
        "support-bot",
        "1.0.0",
        "hazel",
        1,
    )
    assert dataset.cases[0] == GoldenCase(
        id="refund-1",
        input="How do I get a refund?",
        expected_output="within 30 days",
        expected_tool_calls=("lookup_policy", {"name": "answer"}),
        expected_retrieved_ids=("policy-refunds",),
        metadata={"flag": "b"},
    )
    assert load_golden_dataset_from_json(HAZEL) == dataset
    assert dataset.to_dict() == HAZEL
    assert dataset.to_document() == HAZEL


def test_snake_case_is_the_same_dataset() -> None:
    snake = {"id": "a", "input": "q", "expected_output": "x", "expected_retrieved_ids": [1]}
    camel = {"id": "a", "input": "q", "expectedOutput": "x", "expectedRetrievedIds": [1]}
    one, other = (load_golden_dataset({**HAZEL, "cases": [case]}) for case in (snake, camel))
    assert one == other
    assert places({**HAZEL, "cases": [{**snake, "expectedOutput": "y"}]}) == [
        "cases[0].expectedOutput"
    ]


def test_a_golden_set_of_regtrace(tmp_path: Path) -> None:
    dataset = load_golden_dataset(written(tmp_path, "set.yaml", REGTRACE))
    assert (dataset.name, dataset.version, dataset.format) == ("returns", "2", "regtrace")
    case = dataset.cases[0]
    assert case.actual_output == "no"  # a text, as Regtrace's own reader has it
    assert case.metrics == ("regtrace.factuality", "regtrace.tone")
    assert case.thresholds == {"regtrace.factuality": 0.8}
    assert (case.weight, case.tags) == (2.0, ("deadline",))
    assert case.contexts == ("Returns within 30 days.",)
    again = load_golden_dataset(dataset.to_document())
    assert again == dataset


def test_samples_of_omk(tmp_path: Path) -> None:
    dataset = load_golden_dataset(written(tmp_path, "samples.yaml", OMK))
    assert (dataset.name, dataset.format) == ("samples", "omk")
    case = dataset.cases[0]
    assert (case.id, case.input, case.contexts) == ("s1", "Say hello", ("The user is Ann.",))
    assert [assertion["type"] for assertion in case.assertions] == ["contains", "max_length"]
    assert case.tags == ("greeting",)
    assert case.metadata["difficulty"] == "easy"
    assert load_golden_dataset(dataset.to_document()).cases == dataset.cases
    wrapped = {"requires": {"model": "x"}, "samples": dataset.to_document()}
    assert load_golden_dataset(wrapped).to_document() == wrapped


@every_row(
    ("assertion", "fault"),
    [
        ({"type": "tool_input_not_contains", "value": "--force"}, "a tool, a colon and a text"),
        ({"type": "mock_hit", "value": "Bash"}, "a tool and the number of its mock"),
        ({"type": "mock_hit", "value": "Bash:3"}, "mocks of the sample (Bash:1, Read:1, Bash:2)"),
        ({"type": "mock_hit", "value": "bash:1"}, "mocks of the sample (Bash:1, Read:1, Bash:2)"),
        (
            {"type": "assert-set", "children": [{"type": "mock_hit", "value": "Write:1"}]},
            "mocks of the sample (Bash:1, Read:1, Bash:2), got 'Write:1'",
        ),
        ({"type": "mock_hit", "value": "Bash:2"}, ""),
    ],
)
def test_an_assertion_of_omk_that_no_run_could_decide_is_a_fault(
    assertion: dict[str, Any], fault: str
) -> None:
    """A negative guard that names no tool would pass on every run."""
    mocks = [{"tool": tool, "return": "x"} for tool in ("Bash", "Read", "Bash")]
    sample = {"sample_id": "s", "prompt": "p", "mocks": mocks, "assertions": [assertion]}
    found = [str(each) for each in read_golden_dataset([sample])[1]]
    assert [fault in each for each in found] == ([True] if fault else [])


def test_a_sample_of_omk_without_mocks_has_none_to_hit() -> None:
    assertions = [{"type": "mock_hit", "value": "Bash:1"}]
    sample = {"sample_id": "s", "prompt": "p", "assertions": assertions}
    (fault,) = read_golden_dataset([sample])[1]
    assert "about mocks of the sample (it has none), got 'Bash:1'" in str(fault)


def test_a_folder_of_samples_is_one_dataset(tmp_path: Path) -> None:
    written(tmp_path, "b.json", [{"sample_id": "two", "prompt": "q"}])
    written(tmp_path, "a.yml", "samples: [{sample_id: one, prompt: q}]")
    written(tmp_path, "notes.txt", "no samples")
    assert [case.id for case in load_golden_dataset(tmp_path)] == ["one", "two"]
    written(tmp_path, "c.json", HAZEL)
    with pytest.raises(InputError, match=r"c\.json: must have a list of samples, got null"):
        load_golden_dataset(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"no \.json, \.yaml or \.yml file"):
        load_golden_dataset(tmp_path / "empty")


@every_row(
    ("document", "message"),
    [
        ({}, "must have a list of cases .* got an empty mapping"),
        ({"name": "x", "tests": []}, "got the keys 'name', 'tests'"),
        ({"cases": [], "samples": []}, "must have only one of the keys cases, samples"),
    ],
)
def test_a_document_of_no_schema_is_refused(document: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_golden_dataset(document)


@every_row("value", [5, "text", None, True])
def test_a_file_that_holds_neither_a_mapping_nor_a_list(tmp_path: Path, value: object) -> None:
    path = written(tmp_path, "golden.json", json.dumps(value))
    with pytest.raises(InputError, match="the document must be a mapping or a list of samples"):
        load_golden_dataset(path)


@every_row(
    ("change", "place"),
    [
        ({"id": ""}, "id"),
        ({"id": 7}, "id"),
        ({"input": None}, "input"),
        ({"expectedOutput": ["x"]}, "expectedOutput"),
        ({"expectedToolCalls": "search"}, "expectedToolCalls"),
        ({"expectedToolCalls": ["a", 5]}, "expectedToolCalls[1]"),
        ({"expectedToolCalls": [{}]}, "expectedToolCalls[0]"),
        ({"expectedRetrievedIds": ["a", True]}, "expectedRetrievedIds[1]"),
        ({"expectedRetrievedIds": [1.5]}, "expectedRetrievedIds[0]"),
        ({"metadata": []}, "metadata"),
        ({"weight": -1}, "weight"),
        ({"weight": float("nan")}, "weight"),
        ({"weight": 10**400}, "weight"),
        ({"weight": True}, "weight"),
        ({"contexts": "one"}, "contexts"),
        ({"contexts": ["a", 1]}, "contexts[1]"),
        ({"assertions": ["x"]}, "assertions[0]"),
        ({"thresholds": {"faithfulness": "high"}}, "thresholds.faithfulness"),
        ({"tags": [None]}, "tags[0]"),
        ({"threshold": {}}, "threshold"),
        ({"tag": ["x"]}, "tag"),
    ],
)
def test_a_fault_of_a_case_is_named_with_its_place(change: dict[str, Any], place: str) -> None:
    assert places(with_case(**change)) == [f"cases[0].{place}"]


def test_keys_that_are_like_none_of_ours_are_let_be() -> None:
    assert places(with_case(owner="ann", _comment="x")) == []


def test_all_faults_are_found_at_once() -> None:
    document = {"version": 2, "cases": [{"id": "a"}, 5, {"id": "a", "input": "q"}]}
    found = places(document)
    assert found == ["name", "version", "cases[1]", "cases[0].input", "cases[0].id"]
    with pytest.raises(InputError, match=r"name is missing; .*; and 2 more"):
        load_golden_dataset(document)


def test_a_message_says_what_was_found_and_what_was_wanted(tmp_path: Path) -> None:
    path = written(tmp_path, "golden.json", with_case(expectedToolCalls="search"))
    with pytest.raises(InputError) as caught:
        load_golden_dataset(path)
    assert str(caught.value) == (f"{path}: cases[0].expectedToolCalls must be a list, got 'search'")


def test_an_id_that_three_cases_have_is_one_fault_at_the_first() -> None:
    cases = [{"id": name, "input": "q"} for name in ("a", "b", "a", "a")]
    assert places({**HAZEL, "cases": cases}) == ["cases[0].id"]


@every_row(
    ("content", "message"),
    [
        (b"\xff\xfe", "not UTF-8 at byte 0"),
        (b'{"name": NaN}', "NaN is not a JSON value"),
        (b'{"weight": 1e400}', "beyond the range of a double"),
        (b"[" * 10_000, "nested more than 500 deep"),
        (b'{"name": "a", "name": "b"}', "an object has the key 'name' twice"),
        (b"{'name': 1}", "not JSON"),
        (b"", "not JSON"),
    ],
)
def test_a_file_that_is_no_json(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "golden.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        load_golden_dataset(path)
    assert str(path) in str(caught.value)


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "golden.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(HAZEL).encode())
    assert load_golden_dataset(path) == load_golden_dataset(HAZEL)


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "golden.json"
    with path.open("wb") as file:
        file.truncate(100 * 2**20)
    with pytest.raises(InputError, match="at most 16,777,216 bytes"):
        load_golden_dataset(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*none\.json: No such file"):
        load_golden_dataset(tmp_path / "none.json")


@every_row("source", [5, None, b"x"])
def test_a_source_is_a_path_or_a_mapping(source: Any) -> None:
    with pytest.raises(InputError, match="a dataset must be the path of a file or a mapping"):
        load_golden_dataset(source)


def test_the_json_loader_takes_hazels_schema_alone() -> None:
    with pytest.raises(InputError, match="got the omk format"):
        load_golden_dataset_from_json({"samples": []})


def regtrace(**changes: Any) -> dict[str, Any]:
    from rag_eval.golden import load_yaml

    document: dict[str, Any] = load_yaml(REGTRACE)
    document["test_cases"][0].update(changes)
    return document


@every_row(
    ("changes", "place"),
    [
        ({"thresholds": None}, "thresholds"),
        ({"thresholds": {"tone": 1.5}}, "thresholds.tone"),
        ({"context": None}, "context"),
        ({"context": {}}, "context.documents"),
        (
            {"context": {"documents": [{"source": "s", "content": ""}]}},
            "context.documents[0].content",
        ),
        ({"metrics": ["format", 5]}, "metrics[1]"),
        ({"weight": None}, "weight"),
        ({"input": ""}, "input"),
        ({"system_prompt": 5}, "system_prompt"),
        ({"tags": None}, "tags"),
    ],
)
def test_faults_of_a_golden_set(changes: dict[str, Any], place: str) -> None:
    assert [fault.place for fault in validate_golden_set(regtrace(**changes))] == [
        f"test_cases[0].{place}"
    ]


@every_row("near", ["tag", "threshold", "contexts", "metric", "inputs", "expected_ouput"])
def test_a_key_like_one_that_is_there_is_another_key(near: str) -> None:
    assert not validate_golden_set(regtrace(**{near: "x"}))


def test_a_key_like_one_that_is_missing_is_a_fault() -> None:
    document = regtrace(threshold={"tone": 0.5})
    del document["test_cases"][0]["thresholds"]
    assert [fault.place for fault in validate_golden_set(document)] == ["test_cases[0].threshold"]


def test_a_repeated_id_of_a_golden_set_is_a_fault() -> None:
    document = regtrace()
    document["test_cases"] *= 2
    assert [fault.place for fault in validate_golden_set(document)] == ["test_cases[0].id"]


@every_row(
    ("samples", "place"),
    [
        ([{"prompt": "q"}], "[0].sample_id"),
        ([{"sample_id": "a"}], "[0].prompt"),
        ([{"sample_id": "a", "prompt": "q", "assertions": [{}]}], "[0].assertions[0].type"),
        ([{"sample_id": "a", "prompt": "q", "assertions": [{"type": "is"}]}], "[0].assertions"),
        ([{"sample_id": "a", "prompt": "q", "assertion": []}], "[0].assertion"),
        ([{"sample_id": "a", "prompt": "q"}] * 2, "[0].sample_id"),
        (["x"], "[0]"),
    ],
)
def test_faults_of_samples(samples: list[Any], place: str) -> None:
    assert places(samples) == [place]


def test_a_dataset_made_in_python_is_written_in_hazels_schema() -> None:
    dataset = GoldenDataset(
        name="n", version="1", cases=(GoldenCase(id="a", input="q", weight=2.0, tags=("x",)),)
    )
    assert dataset.to_document() == {
        "name": "n",
        "version": "1",
        "cases": [{"id": "a", "input": "q", "weight": 2.0, "tags": ["x"]}],
    }
    assert load_golden_dataset(dataset.to_document()) == dataset
