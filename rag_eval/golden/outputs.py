"""What runners return -> outputs of cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from rag_eval.errors import InputError
from rag_eval.golden.tools.hazel import check_calls
from rag_eval.inputs.checked_records import Fault, Record
from rag_eval.plumbing.checked_values import is_number
from rag_eval.scorers.tool_calls import called_names

_SHOWN: Final = ("output", "toolCalls", "retrievedIds")
_NUMBERS: Final = ("costUsd", "latencyMs", "nTurns")
_KEYS: Final = (*_SHOWN, "contexts", "messages", "trajectory", *_NUMBERS)


@dataclass(frozen=True, slots=True)
class CaseOutput:
    """The output of one case.

    Attributes
    ----------
    output : str
    tool_calls : tuple
        Names of tools in the order of their calls, or mappings that have one.
    retrieved_ids : tuple of str or int
        In rank order.
    fields : mapping
        Other fields that the runner returned, under the field names of samples: ``contexts``,
        ``messages``, ``trajectory``, ``cost_usd``, ``latency_ms``, ``n_turns``.
    """

    output: str
    tool_calls: tuple[Any, ...] = ()
    retrieved_ids: tuple[str | int, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def tool_names(self) -> list[str]:
        """Names of the tools that were called, in order."""
        return called_names(self.tool_calls, "tool_calls")

    def to_dict(self) -> dict[str, Any]:
        """The output in HazelJS's schema (camelCase)."""
        found: dict[str, Any] = {"output": self.output}
        if self.tool_calls:
            found["toolCalls"] = list(self.tool_calls)
        if self.retrieved_ids:
            found["retrievedIds"] = list(self.retrieved_ids)
        return found


def output_of(returned: object) -> CaseOutput:
    """What a runner returned, read.

    Parameters
    ----------
    returned : str, mapping or CaseOutput
        A mapping has ``output``, ``tool_calls`` or ``retrieved_ids``, in either spelling.

    Raises
    ------
    InputError
        For anything else; the message says what is allowed.
    """
    if isinstance(returned, CaseOutput):
        return returned
    if isinstance(returned, str):
        return CaseOutput(returned)
    if not isinstance(returned, Mapping):
        raise InputError(
            "the runner must return a str or a mapping with output, tool_calls or retrieved_ids, "
            f"got {type(returned).__name__}"
        )
    faults: list[Fault] = []
    record = Record(returned, "", faults)
    record.check_names(_KEYS)
    output = _read(record)
    if not any(record.has(key) for key in _SHOWN):
        record.note("output", "a string", record.get("output"))
    if faults:
        raise InputError(f"what the runner returned: {faults[0]}")
    return output


def _read(record: Record) -> CaseOutput:
    calls, ids = record.items("toolCalls") or [], record.items("retrievedIds") or []
    check_calls(record, "toolCalls", calls)
    for index, value in enumerate(ids):
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            record.note(f"retrievedIds[{index}]", "an id, a text or a whole number", value)
    others = {
        "contexts": record.texts("contexts"),
        "messages": record.items("messages"),
        "trajectory": record.mapping("trajectory"),
        "cost_usd": _number(record, "costUsd"),
        "latency_ms": _number(record, "latencyMs"),
        "n_turns": _number(record, "nTurns"),
    }
    return CaseOutput(
        record.optional_text("output") or "",
        tuple(calls),
        tuple(ids),
        {name: value for name, value in others.items() if value is not None},
    )


def _number(record: Record, key: str) -> float | None:
    if not record.has(key):
        return None
    value = record.get(key)
    if not is_number(value):
        record.note(key, "a number", value)
    return value  # type: ignore[no-any-return]  # noted where it is none
