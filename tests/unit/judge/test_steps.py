"""Templates, the texts that take their place in them, and schemas of replies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rag_eval.judge
from rag_eval.errors import InputError
from rag_eval.judge.steps import Step, Template, load_template, reply_schema
from tests.tables import every_row

PROMPTS = Path(rag_eval.judge.__file__).parent / "prompts"
SHIPPED = sorted(
    path.relative_to(PROMPTS).with_suffix("").as_posix() for path in PROMPTS.rglob("*.md")
)


class Part(msgspec.Struct):
    """A part, described for people."""

    n: int
    reason: str | None = None


class Whole(msgspec.Struct):
    rating: Annotated[int, msgspec.Meta(ge=1, le=5)]
    parts: list[Part]
    verdict: Literal["yes", "no"] = "no"
    level: Literal[1, 2] = 1
    title: Annotated[str, msgspec.Meta(max_length=9, description="for people")] = ""
    default: float | None = None


def template(body: str) -> Template:
    return Template("a_name", body, '{"claims": []}')


@every_row("name", SHIPPED)
def test_every_shipped_prompt_can_be_filled(name: str) -> None:
    shipped = load_template(name)
    assert shipped.body
    assert shipped.reply_form
    filled = shipped.filled({variable: f"<{variable}>" for variable in shipped.variables})
    assert all(f"<{variable}>" in filled for variable in shipped.variables)


def test_variables_are_named_once_each() -> None:
    assert template("$text and ${question}, $text; it costs $$5").variables == {"text", "question"}


def test_two_dollars_are_one() -> None:
    assert template("$$text costs $$5: $text$$").filled({"text": "T"}) == "$text costs $5: T$"


def test_a_text_that_names_a_variable_is_not_filled_in_again() -> None:
    filled = template("$first|$second").filled({"first": "$second $$ ${first}", "second": "$first"})
    assert filled == "$second $$ ${first}|$first"


@given(st.text(), st.text(), st.text("${}ab$", max_size=9))
def test_filling_is_what_the_texts_are_and_nothing_else(
    first: str, second: str, literal: str
) -> None:
    escaped = literal.replace("$", "$$")
    found = template(f"{escaped}${{first}}{escaped}${{second}}").filled(
        {"first": first, "second": second}
    )
    assert found == f"{literal}{first}{literal}{second}"


def test_a_lone_dollar_in_a_shipped_prompt_is_an_error() -> None:
    with pytest.raises(InputError, match="a_name: a \\$"):
        _ = template("costs $ 5").variables


def test_a_body_of_the_callers_takes_the_same_texts() -> None:
    ours = template("Judge $answer by $contexts")
    theirs = ours.with_body("By ${contexts}: $answer for $$5", "prompts.x")
    assert theirs.filled({"answer": "A", "contexts": "C"}) == "By C: A for $5"
    assert theirs.reply_form == ours.reply_form
    assert theirs.digest != ours.digest


@every_row(
    ("body", "said"),
    [
        (
            "Judge $answers by $contexts",
            r"prompts.x has no variable \$answers; did you mean 'answer'",
        ),
        ("Judge $answer", r"prompts.x lacks the variable \$contexts"),
        ("", r"prompts.x lacks the variable \$answer"),
        ("Judge $answer by $contexts for $ 5", r"must be written \$\$"),
        (["Judge"], "must be a string, got list"),
    ],
)
def test_a_body_that_takes_other_texts_is_refused(body: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        template("Judge $answer by $contexts").with_body(body, "prompts.x")


def test_the_digest_changes_with_body_and_form() -> None:
    ours = template("Judge $answer")
    others = [replace(ours, body="Judge  $answer"), replace(ours, reply_form="{}")]
    assert len({ours.digest, *(other.digest for other in others)}) == 3
    assert replace(ours, name="another").digest == ours.digest
    assert len(ours.digest) == 12


def walk(schema: Any) -> list[dict[str, Any]]:
    """All schemas inside a schema, itself among them."""
    found = [schema]
    found += [inner for value in schema.get("properties", {}).values() for inner in walk(value)]
    found += [inner for value in schema.get("$defs", {}).values() for inner in walk(value)]
    found += [inner for value in schema.get("anyOf", []) for inner in walk(value)]
    return found + (walk(schema["items"]) if isinstance(schema.get("items"), dict) else [])


def test_a_schema_begins_with_the_mark_and_wants_every_key() -> None:
    schema = reply_schema(Whole)
    names = ["mark", "rating", "parts", "verdict", "level", "title", "default"]
    assert list(schema["properties"]) == names
    assert schema["required"] == names
    assert schema["properties"]["mark"] == {"type": "string"}
    assert schema["$defs"]["Part"]["required"] == ["n", "reason"]


def test_a_schema_is_closed_and_holds_nothing_that_servers_refuse() -> None:
    allowed = {"type", "enum", "anyOf", "items", "$ref"}
    for schema in walk(reply_schema(Whole)):
        if "properties" in schema:
            assert schema["additionalProperties"] is False
            assert set(schema) <= {
                "type",
                "properties",
                "required",
                "additionalProperties",
                "$defs",
            }
        else:
            assert set(schema) <= allowed
            assert schema.keys() & {"type", "anyOf", "$ref"}


def test_labels_have_a_type() -> None:
    properties = reply_schema(Whole)["properties"]
    assert properties["verdict"] == {"enum": ["no", "yes"], "type": "string"}
    assert properties["level"] == {"enum": [1, 2], "type": "integer"}


def test_a_step_reads_its_template_and_schema_by_itself() -> None:
    step = Step("extract_claims", Whole, lambda fields: Whole(1, []))
    assert step.template.variables
    assert step.schema == reply_schema(Whole)
