"""What scorers without a judge find: dataclasses here, mappings under Mastra's names there."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from rag_eval.plumbing.spelling import camel_case


class Findings:
    """Base of the dataclasses that findings are."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON values under Mastra's field names, without what is None."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        return {camel_case(name): _plain(item) for name, item in found.items() if item is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, Findings):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
