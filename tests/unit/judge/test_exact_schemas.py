"""The schema of one reply: what is right passes it, what models do wrong does not."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import jsonschema
import msgspec

from rag_eval.judge.exact_schemas import exact_schema
from rag_eval.judge.metrics.catalogue import steps_of
from rag_eval.judge.rendering import PromptStyle, render
from rag_eval.judge.replies import JudgePrompt
from rag_eval.judge.steps import Step
from rag_eval.metrics.ids import METRIC_IDS
from tests.tables import every_row

STEPS = {
    step.name: step
    for metric in METRIC_IDS
    for style in ("claims", "rating")
    for step in steps_of(metric, style)
}


def asked(step: Step[Any]) -> tuple[dict[str, Any], dict[str, Any], JudgePrompt]:
    """The exact schema of a step's prompt, a right reply to it, and the prompt."""
    fields = {name: ["One text. Another.", "Two."] for name in step.template.variables}
    prompt = render(step, fields, PromptStyle()).text
    reply = {"mark": prompt.mark, **msgspec.to_builtins(step.imagine(fields))}
    return exact_schema(step.schema, prompt), reply, prompt


def fits(schema: dict[str, Any], reply: dict[str, Any]) -> bool:
    return jsonschema.Draft202012Validator(schema).is_valid(reply)


@every_row("name", STEPS)
def test_a_right_reply_fits_and_one_with_another_mark_does_not(name: str) -> None:
    before = deepcopy(STEPS[name].schema)
    schema, reply, _ = asked(STEPS[name])
    assert fits(schema, reply)
    assert fits(STEPS[name].schema, reply)
    assert not fits(schema, {**reply, "mark": "another"})
    assert list(schema["properties"]) == list(before["properties"])
    # Vendors keep the schema of a step, which says nothing of one reply.
    assert STEPS[name].schema == before


@every_row("name", [name for name, step in STEPS.items() if asked(step)[2].lengths])
def test_lists_have_as_many_items_as_were_asked_for(name: str) -> None:
    schema, reply, prompt = asked(STEPS[name])
    for key, (least, most) in prompt.lengths.items():
        items = reply[key]
        assert least <= len(items) <= most
        assert not fits(schema, {**reply, key: [items[0]] * (most + 1)})
        if least == most:
            assert not fits(schema, {**reply, key: items[:-1]})
            for wrong in ({"claim": most, "chunk": most}, {"verdict": "perhaps"}):
                changed = [*items[:-1], {**items[-1], **wrong}]
                assert not fits(schema, {**reply, key: changed})
