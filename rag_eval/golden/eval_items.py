"""Items of ``run_evals`` and outputs of targets -> runs, and runs -> samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rag_eval.plumbing.spelling import camel_case, snake_case
from rag_eval.scorers.mastra.runs import assistant_text, run_of, tool_calls, user_text

_PASSED_ON: Final = ("ground_truth", "expected_trajectory", "additional_context")
_OWN: Final = frozenset({"input", "output"})


def run_of_item(item: Mapping[str, Any], output: Any) -> dict[str, Any]:
    """A run in Mastra's form.

    An output that is a mapping with ``output`` brings along what else a run may have:
    ``trajectory``, ``contexts``, ``toolCalls``.
    """
    run: dict[str, Any] = {"input": item["input"], "output": output}
    if isinstance(output, Mapping) and "output" in output:
        run |= output
    for name in _PASSED_ON:
        value = item.get(camel_case(name), item.get(name))
        if value is not None:
            run[camel_case(name)] = value
    others = {key: value for key, value in item.items() if key not in _OWN and key not in run}
    return run | {key: value for key, value in others.items() if key not in _PASSED_ON}


def sample_of_run(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run as a sample, under the field names that scorers read."""
    read = run_of(run)
    truth = read.ground_truth
    calls = run.get("toolCalls", run.get("tool_calls"))
    output = run.get("output")
    found: dict[str, Any] = {
        "question": user_text(read),
        "answer": assistant_text(read) or (output if isinstance(output, str) else None),
        "ground_truth": truth if isinstance(truth, (str, list)) else None,
        "contexts": None if read.contexts is None else list(read.contexts),
        "tool_calls": calls or [{"name": call.name} for call in tool_calls(read)] or None,
        "messages": _messages(run),
        "trajectory": read.trajectory,
        "expected_trajectory": read.expected_trajectory,
    }
    for key, value in run.items():
        name = snake_case(key)
        if name not in found and name not in _OWN:
            found[name] = value
    return {name: value for name, value in found.items() if value is not None}


def _messages(run: Mapping[str, Any]) -> list[Any] | None:
    """All messages, where the output is a list of them."""
    output = run.get("output")
    if not isinstance(output, Sequence) or isinstance(output, str):
        return None
    given = run["input"]
    first = [{"role": "user", "content": given}] if isinstance(given, str) else given
    return [*first, *output] if isinstance(first, list) else list(output)
