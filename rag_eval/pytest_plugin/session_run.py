"""Combines the scores of a session's tests into one run of rows by id."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rag_eval.errors import SignatureMismatchError
from rag_eval.metrics.registry import higher_is_better
from rag_eval.options.signature import Signature
from rag_eval.results.verdicts import NO_VERDICT, VERDICT_NUMBERS
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import NullReason

SESSION: Final = "this session"
_REMEDY: Final = "they cannot be part of one run; exclude one of them with record=False"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A sample that a test scored.

    Attributes
    ----------
    test : str
        The id of the test.
    id : str
        The id of the sample, or of the test if the sample has none.
    metrics : mapping of list
        Score, null reason, verdict, and 1 if a judge scored or 2 if it failed.
    digests : sequence of int
        Of the sample's inputs and of its answer.
    """

    test: str
    id: str
    passed: bool
    composite: float | None
    metrics: Mapping[str, list[Any]]
    signature: Mapping[str, Any] | None
    digests: Sequence[int]


def read_records(test: str, text: str) -> list[Recorded]:
    """The records of a test report."""
    return [Recorded(test=test, **{**each, "id": each["id"] or test}) for each in json.loads(text)]


def session_run(records: Iterable[Recorded]) -> ScoredRun:
    """The records as a run; scores of one sample by different metrics form one row.

    Raises
    ------
    SignatureMismatchError
        If tests scored the same metric under different settings.
    """
    import numpy as np

    from rag_eval.runs.dataset_hash import known_digests

    merged = _merged(records)
    metrics = tuple(dict.fromkeys(name for row in merged for name in row.metrics))
    shape = (len(merged), len(metrics))
    scores, reasons = np.full(shape, np.nan), np.full(shape, NullReason.SKIPPED, np.uint8)
    verdicts = np.full(shape, NO_VERDICT, np.int8)
    judged = [0, 0, 0]
    for place, row in enumerate(merged):
        for column, name in enumerate(metrics):
            if name in row.metrics:
                score, reason, passed, judging = row.metrics[name]
                scores[place, column] = np.nan if score is None else score
                reasons[place, column] = reason
                verdicts[place, column] = VERDICT_NUMBERS[passed]
                judged[judging] += 1
    composite = [np.nan if row.composite is None else row.composite for row in merged]
    return ScoredRun(
        name=SESSION,
        ids=[row.id for row in merged],
        metrics=metrics,
        scores=scores,
        null_reasons=reasons,
        metric_passed=verdicts,
        composite=np.array(composite, np.float64),
        passed=np.array([row.passed for row in merged], np.int8),
        signature=_signature(records),
        digests=known_digests([row.digests for row in merged]),
        lower_is_better=frozenset(name for name in metrics if not higher_is_better(name)),
        n_judgements=judged[1] + judged[2],
        n_failed_judgements=judged[2],
    )


def _merged(records: Iterable[Recorded]) -> list[Recorded]:
    """Rows; a metric that the sample's row already has starts a new row, a repeat."""
    rows: dict[str, list[Recorded]] = {}
    for record in records:
        of_sample = rows.setdefault(record.id, [])
        for place, row in enumerate(of_sample):
            if not row.metrics.keys() & record.metrics.keys():
                of_sample[place] = _joined(row, record)
                break
        else:
            of_sample.append(record)
    return [row for of_sample in rows.values() for row in of_sample]


def _joined(row: Recorded, other: Recorded) -> Recorded:
    return Recorded(
        test=row.test,
        id=row.id,
        passed=row.passed and other.passed,
        composite=None,  # different metrics have no common composite
        metrics={**row.metrics, **other.metrics},
        signature=row.signature,
        # Tests may ask the same of it and get different answers.
        digests=[a if a == b else 0 for a, b in zip(row.digests, other.digests, strict=True)],
    )


def _signature(records: Iterable[Recorded]) -> Signature | None:
    """The combined settings of all records, which may be about different metrics."""
    found: dict[str, tuple[Any, str]] = {}
    options: dict[str, tuple[Any, str]] = {}
    first: dict[str, Recorded] = {}
    for record in records:
        if record.signature is None:
            return None
        for metric in record.metrics:
            _check_alike(metric, first.setdefault(metric, record), record)
        settings = {**record.signature}
        of_metrics = settings.pop("options")
        for into, values in ((found, settings), (options, of_metrics)):
            for name, value in values.items():
                into[name] = (_same(name, value, into.get(name), record), record.test)
    whole = {name: value for name, (value, _) in found.items()}
    both = {name: value for name, (value, _) in options.items()}
    return Signature.from_dict({**whole, "options": both}) if whole else None


def _check_alike(metric: str, first: Recorded, record: Recorded) -> None:
    """Check that two scores of a metric were made in the same way, such as both by a judge."""
    if first.signature == record.signature:
        return
    ours, theirs = Signature.from_dict(record.signature), Signature.from_dict(first.signature)
    if differences := ours.differences(theirs, [metric]):
        raise SignatureMismatchError(
            f"{record.test} and {first.test} scored {metric} under different settings "
            f"({'; '.join(differences)}): {_REMEDY}"
        )


def _same(name: str, value: Any, before: tuple[Any, str] | None, record: Recorded) -> Any:
    """A setting shared by two tests; lists and tables by metric are merged."""
    if before is None or before[0] == value:
        return value
    if name == "judged":
        return sorted({*before[0], *value})
    if isinstance(value, Mapping) and isinstance(before[0], Mapping):
        shared = value.keys() & before[0].keys()
        if all(value[key] == before[0][key] for key in shared):
            return {**before[0], **value}
    raise SignatureMismatchError(
        f"{record.test} used {name} {value!r:.80} and {before[1]} used {before[0]!r:.80}: {_REMEDY}"
    )
