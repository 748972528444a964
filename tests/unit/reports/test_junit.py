"""JUnit XML: read back, held against the schema of Jenkins, made of hostile texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import junitparser
import pytest
import xmlschema

from rag_eval.reports.junit import junit_xml
from rag_eval.views.outcomes import Outcome, run_outcomes, run_properties
from tests.run_views import HOSTILE_TEXTS, hostile_view, view_of
from tests.tables import every_row

SCHEMA = Path(__file__).parents[2] / "fixtures" / "jenkins" / "junit-10.xsd"


@pytest.fixture(scope="module")
def schema() -> Any:
    return xmlschema.XMLSchema(SCHEMA)


def outcome(status: Any, name: str = "case", **more: Any) -> Outcome:
    return Outcome(group="s.jsonl", name=name, status=status, **more)


ALL = [
    Outcome(group="gates", name="min_pass_rate", status="failed", message="0.5 is below 1.0"),
    outcome("passed", "p"),
    outcome("failed", "f", message="low", details=("a", "b"), path="s.jsonl", line=3),
    outcome("error", "e", message="dead judge"),
    outcome("skipped", "s", message="nothing was measured"),
]


def read(data: bytes) -> junitparser.JUnitXml:
    return junitparser.JUnitXml.fromstring(data)


def test_failure_error_and_skipped_are_apart_and_counted() -> None:
    found = read(junit_xml(ALL, name="rag-eval", properties={}))
    gates, rows = list(found)
    assert (found.name, found.tests, found.failures, found.errors) == ("rag-eval", 5, 2, 1)
    assert (gates.name, gates.tests, gates.failures) == ("gates", 1, 1)
    assert (rows.tests, rows.failures, rows.errors, rows.skipped) == (4, 1, 1, 1)
    kinds = [type(case.result[0]).__name__ if case.result else None for case in rows]
    assert kinds == [None, "Failure", "Error", "Skipped"]
    failure = list(rows)[1].result[0]
    assert failure.message == "low"
    types = [case.result[0].type if case.result else None for case in rows]
    assert types == [None, "failure", "error", None]
    assert failure.text == "s.jsonl:3\nlow\na\nb"


def test_properties_stand_in_the_first_suite_and_nowhere_else() -> None:
    view = view_of()
    data = junit_xml(run_outcomes(view), name="rag-eval", properties=run_properties(view))
    gates, rows = list(read(data))
    found = {each.name: each.value for each in gates.properties()}
    assert found["rows.listed"] == found["rows.total"] == "2"
    assert list(rows.properties()) == []


def test_a_suite_of_one_file_names_it() -> None:
    view = view_of()
    root = ElementTree.fromstring(junit_xml(run_outcomes(view), name="r", properties={}))
    assert [suite.get("file") for suite in root] == [None, "data/samples.jsonl"]


@every_row("outcomes", [[], ALL, ALL * 2])
def test_it_is_valid_by_the_schema_of_jenkins(schema: Any, outcomes: list[Outcome]) -> None:
    data = junit_xml(outcomes, name="rag-eval", properties={"a": "b"})
    schema.validate(data.decode())
    assert [each.name for each in next(iter(read(data))).properties()] == ["a"]


def test_a_real_run_is_valid_by_the_schema(schema: Any) -> None:
    view = view_of()
    data = junit_xml(run_outcomes(view), name="rag-eval", properties=run_properties(view))
    schema.validate(data.decode())


def test_the_schema_refuses_what_is_not_of_its_form(schema: Any) -> None:
    """The checks above could not fail if it did not."""
    data = junit_xml(ALL, name="rag-eval", properties={}).decode()
    assert not schema.is_valid(data.replace("<testcase ", '<testcase file="x" '))
    assert not schema.is_valid(data.replace('tests="4" ', ""))


def test_cases_of_one_name_are_told_apart() -> None:
    found = next(iter(read(junit_xml([outcome("passed")] * 3, name="r", properties={}))))
    assert [case.name for case in found] == ["case", "case (2)", "case (3)"]


# ------------------------------------------------------------------------------- hostile texts


def test_hostile_texts_are_one_valid_document(schema: Any) -> None:
    view = hostile_view()
    data = junit_xml(run_outcomes(view), name=HOSTILE_TEXTS[-1], properties=run_properties(view))
    text = data.decode("utf-8", "strict")
    schema.validate(text)
    root = ElementTree.fromstring(text)
    tags = {element.tag for element in root.iter()}
    assert tags == {"testsuites", "testsuite", "properties", "property", "testcase", "failure"}
    assert sum(1 for _ in root.iter("testcase")) == len(HOSTILE_TEXTS) + 1
    # XML 1.0 has no place for these, and no reader should have to bear the others.
    bad = set(
        map(chr, [*range(9), 0xB, 0xC, *range(0xE, 0x20), *range(0x7F, 0xA0), 0xFFFE, 0xFFFF])
    )
    assert not bad & set(text)
    assert not set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") & set(text)


@every_row(
    ("text", "shown"),
    [
        ("\x00\x0b\x1b", "\\x00\\x0b\\x1b"),
        ("\ufffe\uffff", "\\ufffe\\uffff"),
        ("\ud800\U0001f600", "\\ud800\U0001f600"),
        ("]]><b>&amp;\"'", "]]><b>&amp;\"'"),
        ("a\r\nb\tc", "a b c"),
    ],
)
def test_what_xml_has_no_place_for_is_shown_as_an_escape(text: str, shown: str) -> None:
    data = junit_xml(
        [outcome("failed", f"n{text}n", message=f"m{text}m", details=(f"d{text}d",))],
        name=f"t{text}t",
        properties={f"k{text}k": f"v{text}v"},
    )
    # The control characters that white space is count as such.
    shown = shown.replace("\\x0b", " ") if "\x0b" in text else shown
    found = ElementTree.fromstring(data)
    case, failure = found.find(".//testcase"), found.find(".//failure")
    entry = found.find(".//property")
    assert case is not None
    assert failure is not None
    assert entry is not None
    assert case.get("name") == f"n{shown}n"
    assert failure.get("message") == f"m{shown}m"
    assert failure.text == f"m{shown}m\nd{shown}d"
    assert (entry.get("name"), entry.get("value")) == (f"k{shown}k", f"v{shown}v")
    assert found.get("name") == f"t{shown}t"


def test_long_texts_are_cut() -> None:
    details = tuple("x" * 4_000 for _ in range(5))
    data = junit_xml(
        [outcome("failed", "n" * 9_000, message="m" * 9_000, details=details)],
        name="r",
        properties={},
    )
    case = next(iter(next(iter(read(data)))))
    assert len(case.name) == 300
    assert len(case.result[0].message) == 500
    assert len(case.result[0].text) == 10_000
    assert case.result[0].text.endswith("…")


def test_a_name_that_looks_like_that_of_a_repeat_is_no_repeat() -> None:
    names = ["x", "x (2)", "x", "x"]
    outcomes = [Outcome(group="g", name=name, status="passed") for name in names]
    root = ElementTree.fromstring(junit_xml(outcomes, properties={}))
    found = [case.get("name") for case in root.iter("testcase")]
    assert found == ["x", "x (2)", "x (3)", "x (4)"]
