"""Samples of omk (YAML or JSON) in; a dataset, or its errors, out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rag_eval.errors import InputError, MissingExtraError
from rag_eval.golden.datasets import GoldenCase, GoldenDataset
from rag_eval.inputs.checked_records import Fault, Record, check_unique, records

_CASE: Final = (
    "sample_id",
    "prompt",
    "context",
    "rubric",
    "dimensions",
    "assertions",
    "cwd",
    "mocks",
    "environment",
    "allowedTools",
    "expectedTools",
    "covers",
    "tripwire",
    "capability",
    "difficulty",
    "construct",
    "provenance",
)
_OWN: Final = frozenset({"sample_id", "prompt", "assertions"})
OMK_NAMES: Final = frozenset({"sample_id", "sampleId", "prompt"})


def read_omk(
    document: Mapping[str, Any] | list[Any], name: str
) -> tuple[GoldenDataset | None, list[Fault]]:
    """The dataset of a list of samples, or of a mapping that holds one, and all its faults.

    A sample needs ``sample_id`` and ``prompt``. Its assertions are checked against the output; what
    a judge would be needed for (``rubric``, ``dimensions``) and all else goes into the metadata.
    """
    faults: list[Fault] = []
    source: Mapping[str, Any] = {}
    if isinstance(document, Mapping):
        root = Record(document, "", faults)
        source = {key: value for key, value in document.items() if key != "samples"}
        key, values = "samples", root.items("samples", required=True) or []
    else:
        root = Record({}, "", faults)
        key, values = "", document
    found = [(record, _case(record)) for record in records(root, key, values)]
    check_unique(((record, case.id or None) for record, case in found), "sample_id")
    version = source.get("version")
    dataset = GoldenDataset(
        name=name,
        version=version if isinstance(version, str) else "",
        cases=tuple(case for _, case in found),
        format="omk",
        source=source,
    )
    return (None if faults else dataset), faults


def _case(record: Record) -> GoldenCase:
    record.check_names(_CASE)
    assertions = checked_assertions(record, mocks=_mocks(record))
    context = record.optional_text("context")
    capability = record.get("capability")
    tags = capability if isinstance(capability, list) else [capability]
    return GoldenCase(
        id=record.text("sample_id") or "",
        input=record.text("prompt") or "",
        contexts=None if context is None else (context,),
        assertions=assertions,
        tags=tuple(tag for tag in tags if isinstance(tag, str)),
        metadata={key: value for key, value in record.values.items() if key not in _OWN},
        source=record.values,
    )


def checked_assertions(
    record: Record, *, mocks: Sequence[str] | None = None
) -> tuple[Mapping[str, Any], ...]:
    """The assertions of a case, or nothing.

    With ``mocks``, the case has no others, and an assertion about another is a fault.
    """
    n_faults = len(record.faults)
    found = record.mappings("assertions")
    for index, assertion in enumerate(found):
        kind = assertion.get("type")
        if not isinstance(kind, str) or not kind:
            record.note(f"assertions[{index}].type", "the name of an assertion", kind)
    if found and len(record.faults) == n_faults:
        _check_assertions(record, found, mocks)
    return found


def _check_assertions(
    record: Record, assertions: Sequence[Mapping[str, Any]], mocks: Sequence[str] | None
) -> None:
    """Note the first assertion that could not be checked, or that no run could tell anything by."""
    from rag_eval.scorers.omk.assertion_reading import read_assertions

    try:
        read_assertions(list(assertions), strict=True)
    except InputError as error:
        place = record.place("assertions")
        record.faults.append(Fault(place, "a list of omk's assertions", str(error)))
    except MissingExtraError:
        # Of a pattern or a schema; who scores the case is told so.
        return
    else:
        hits = () if mocks is None else _mock_hits(assertions)
        missing = next((hit for hit in hits if hit not in (mocks or ())), None)
        if missing is not None:
            have = ", ".join(mocks[:10]) if mocks else "it has none"
            record.note("assertions", f"about mocks of the sample ({have})", missing)


def _mock_hits(assertions: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The mocks that assertions name, which were read: those in sets are not nested too deeply."""
    for assertion in assertions:
        if assertion["type"] == "mock_hit":
            yield assertion["value"]
        yield from _mock_hits(assertion.get("children") or ())


def _mocks(record: Record) -> list[str]:
    """The mocks of a sample by the names that assertions have for them: ``Bash:1``, ``Bash:2``."""
    mocks = record.get("mocks")
    counts: Counter[str] = Counter()
    found = []
    for mock in mocks if isinstance(mocks, list) else ():
        tool = mock.get("tool") if isinstance(mock, Mapping) else None
        if isinstance(tool, str):
            counts[tool] += 1
            found.append(f"{tool}:{counts[tool]}")
    return found
