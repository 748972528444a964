"""What messages say of a field of a sample that cannot be scored; loaded where there is one."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Final

from rag_eval.errors import near_name
from rag_eval.inputs.samples import TEXT_FIELDS, SampleLike
from rag_eval.plumbing.spelling import counted

_OTHER_FIELDS: Final = frozenset({"id", "metadata", "language", "groundTruth"})
_MOST_NAMED: Final = 5
_LONGEST_NAMED: Final = 40
_OR_MAP: Final = ", or map it in all rows: "
_TO_MAP: Final = "; to use another field: "


def without_mapping(text: str) -> str:
    """A message without its hint at the option that maps fields."""
    for hint in (_OR_MAP, _TO_MAP):
        before, found, _ = text.partition(hint)
        if found:
            return before
    return text


def _near_hint(sample: SampleLike, name: str) -> str:
    """A hint at a field of the sample whose name is nearly right."""
    if not isinstance(sample, Mapping):
        return ""
    unknown = [key for key in sample if isinstance(key, str) and key not in TEXT_FIELDS]
    near = near_name(name, unknown)
    if near is not None:
        return (
            f". Did you mean the field {near!r}? Rename it to {name!r}{_OR_MAP}"
            f"--map {name}={near} (in Python: mapping={{{name!r}: {near!r}}})"
        )
    strange = [key for key in unknown if key not in _OTHER_FIELDS]
    # Many strange fields are those of a scorer or of another tool, and tell nothing.
    if not strange or len(strange) > _MOST_NAMED:
        return ""
    named = ", ".join(repr(key[:_LONGEST_NAMED]) for key in strange)
    return (
        f". The row has {named}{_TO_MAP}--map {name}=FIELD (in Python: "
        f"mapping={{{name!r}: 'FIELD'}})"
    )


def missing_field(sample: SampleLike, name: str, kind: str) -> str:
    """That a field is missing, and which one may be meant, or else what it has to be."""
    return f"{name} is missing{_near_hint(sample, name) or f'; it must be {kind}'}"


def text_fault(sample: SampleLike, name: str, value: object) -> str:
    """What is wrong with a field, or an item of one, that kernels cannot read as a text."""
    if isinstance(value, str):
        return f"{name} is too long: {len(value):,} characters, 2 GiB and more"
    if value is None and "[" not in name:
        return missing_field(sample, name, "a string")
    if name == "ground_truth" and isinstance(value, (list, tuple)):
        return (
            f"ground_truth is a list of {counted(len(value), 'text')}, but the overlap profile "
            "takes a single text; --profile grounded uses the best match"
        )
    if isinstance(value, Mapping) and name.startswith("contexts["):
        keys = ", ".join(islice((repr(key) for key in value if isinstance(key, str)), _MOST_NAMED))
        return (
            f"{name} must be a string, got dict with {keys or 'no keys'}; to name the key that "
            "holds the text: --map 'contexts=contexts[].KEY'"
        )
    return f"{name} must be a string, got {type(value).__name__}"
