"""Golden datasets: inputs and what is expected of them, whatever file they came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from rag_eval.plumbing.spelling import camel_case

GoldenFormat: TypeAlias = Literal["hazel", "regtrace", "omk"]
"""Whose schema a file has: HazelJS's JSON, Regtrace's golden set, or omk's samples."""

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenCase:
    """One input and what is expected of its output.

    Attributes
    ----------
    id : str
        Unique in its dataset.
    input : str
        What the runner is given.
    expected_output : str or None
        Text that the output must contain; every output contains the empty text.
    expected_tool_calls : tuple or None
        Names of tools in order, or mappings that have one.
    expected_retrieved_ids : tuple of str or int, or None
        Ids of the documents that should be retrieved.
    metadata : mapping
        Passed on to the runner.
    weight : float
        Weight of this case in the average of a run, 0 or more.
    contexts : tuple of str or None
        Documents that belong to the case.
    assertions : tuple of mapping
        In omk's form.
    metrics : tuple of str
        Metrics and scorers of this library that the output is scored by.
    thresholds : mapping
        Threshold by metric id.
    tags : tuple of str
    description, system_prompt : str or None
    actual_output : str or None
        A recorded output, which is used without a runner.
    source : mapping
        The case as it is in the file.
    """

    id: str
    input: str
    expected_output: str | None = None
    expected_tool_calls: tuple[Any, ...] | None = None
    expected_retrieved_ids: tuple[str | int, ...] | None = None
    metadata: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    weight: float = 1.0
    contexts: tuple[str, ...] | None = None
    assertions: tuple[Mapping[str, Any], ...] = ()
    metrics: tuple[str, ...] = ()
    thresholds: Mapping[str, float] = field(default_factory=lambda: _NOTHING)
    tags: tuple[str, ...] = ()
    description: str | None = None
    system_prompt: str | None = None
    actual_output: str | None = None
    source: Mapping[str, Any] = field(default_factory=lambda: _NOTHING, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The case in HazelJS's schema; fields that this schema lacks have camelCase names."""
        return {
            camel_case(name): _plain(getattr(self, name))
            for name in CASE_FIELDS
            if name in ("id", "input") or getattr(self, name) != getattr(_BLANK, name)
        }


CASE_FIELDS: Final = tuple(each.name for each in fields(GoldenCase) if each.name != "source")
"""Fields of a case that a file can set."""

_BLANK: Final = GoldenCase(id="", input="")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenDataset:
    """Cases under a name.

    Attributes
    ----------
    name, version : str
    cases : tuple of GoldenCase
        In the order of the file; ids are unique.
    description : str or None
    tags : tuple of str
    format : {"hazel", "regtrace", "omk"}
    source : mapping
        Other fields of the file.
    """

    name: str
    version: str
    cases: tuple[GoldenCase, ...]
    description: str | None = None
    tags: tuple[str, ...] = ()
    format: GoldenFormat = "hazel"
    source: Mapping[str, Any] = field(default_factory=lambda: _NOTHING, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.cases)

    def __iter__(self) -> Iterator[GoldenCase]:
        return iter(self.cases)

    def with_cases(self, cases: Sequence[GoldenCase]) -> GoldenDataset:
        """The dataset with other cases."""
        return replace(self, cases=tuple(cases))

    def to_dict(self) -> dict[str, Any]:
        """The dataset in HazelJS's schema (camelCase)."""
        found: dict[str, Any] = {"name": self.name, "version": self.version}
        if self.description is not None:
            found["description"] = self.description
        if self.tags:
            found["tags"] = list(self.tags)
        return found | {"cases": [case.to_dict() for case in self.cases]}

    def to_document(self) -> Any:
        """The dataset in the schema of its source, with its cases as they were read.

        A dataset that was made in Python is written in HazelJS's schema.
        """
        if not all(case.source for case in self.cases) or not (self.source or self.cases):
            return self.to_dict()
        cases = [dict(case.source) for case in self.cases]
        if self.format == "omk":
            return {**self.source, "samples": cases} if self.source else cases
        return {**self.source, _CASES_KEYS[self.format]: cases}


_CASES_KEYS: Final[dict[GoldenFormat, str]] = {"hazel": "cases", "regtrace": "test_cases"}
