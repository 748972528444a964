"""The JSON schema of one reply: its mark, as many verdicts as there are claims, their numbers.

For servers that make a grammar for each call. Those that compile a schema once and keep it are
given the step's own schema, which is the same for all of its calls.
"""

from __future__ import annotations

from typing import Any

from rag_eval.judge.replies import JudgePrompt


def exact_schema(schema: dict[str, Any], prompt: JudgePrompt) -> dict[str, Any]:
    """The schema of a step with what is known of the reply to this prompt.

    A list of exactly n verdicts has them numbered from 0, by the first key of each.
    """
    properties = {**schema["properties"], "mark": {"type": "string", "enum": [prompt.mark]}}
    definitions = dict(schema.get("$defs", {}))
    for name, (least, most) in prompt.lengths.items():
        items = properties[name]["items"]
        properties[name] = {**properties[name], "minItems": least, "maxItems": most}
        verdict = items.get("$ref", "").rpartition("/")[2]
        if verdict and least == most > 0:
            definitions[verdict] = _numbered(definitions[verdict], most)
    found = {**schema, "properties": properties}
    return {**found, "$defs": definitions} if definitions else found


def _numbered(verdict: dict[str, Any], n_verdicts: int) -> dict[str, Any]:
    number = next(iter(verdict["properties"]))
    numbers = {"type": "integer", "enum": list(range(n_verdicts))}
    return {**verdict, "properties": {**verdict["properties"], number: numbers}}
