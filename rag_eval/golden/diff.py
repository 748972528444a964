"""Two golden datasets -> what was added, removed and changed, by the ids of cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rag_eval.golden.datasets import CASE_FIELDS, GoldenCase, GoldenDataset
from rag_eval.plumbing.json_records import JsonRecord
from rag_eval.plumbing.spelling import camel_case


@dataclass(frozen=True, slots=True)
class ChangedCase:
    """A case that is in both datasets and differs between them.

    Attributes
    ----------
    id : str
    fields : tuple of str
        Names of the fields of :class:`GoldenCase` that differ.
    """

    id: str
    fields: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values (camelCase)."""
        return {"id": self.id, "fields": [camel_case(name) for name in self.fields]}


@dataclass(frozen=True, slots=True)
class GoldenDiff(JsonRecord):
    """What differs.

    Attributes
    ----------
    added, removed : tuple of str
        Ids that only the new dataset has, or only the old one.
    changed : tuple of ChangedCase
    unchanged : int
        Number of cases that are the same.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[ChangedCase, ...]
    unchanged: int

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


def diff_golden_datasets(old: GoldenDataset, new: GoldenDataset) -> GoldenDiff:
    """Differences between two datasets, whatever their order and schema.

    Returns
    -------
    GoldenDiff
        Added and changed cases in the order of ``new``, removed ones in that of ``old``.
    """
    before = {case.id: case for case in old}
    after = {case.id: case for case in new}
    shared = [(before[name], case) for name, case in after.items() if name in before]
    differing = [(case.id, _fields(was, case)) for was, case in shared]
    changed = [ChangedCase(name, fields) for name, fields in differing if fields]
    return GoldenDiff(
        added=tuple(name for name in after if name not in before),
        removed=tuple(name for name in before if name not in after),
        changed=tuple(changed),
        unchanged=len(shared) - len(changed),
    )


def _fields(old: GoldenCase, new: GoldenCase) -> tuple[str, ...]:
    return tuple(name for name in CASE_FIELDS if getattr(old, name) != getattr(new, name))
