"""A run as a JSON file that is committed beside the code, and back.

A row is a line, rows are in the order of their ids, keys in that of the alphabet, and there is no
time and no place: a score that changed is one line of a diff.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from rag_eval.errors import InputError
from rag_eval.inputs.byte_files import file_bytes, opened_bytes, plain_name
from rag_eval.options.signature import Signature
from rag_eval.plumbing import json_text
from rag_eval.plumbing.durable_files import atomic_file
from rag_eval.runs.scored_run import NOT_JUDGED, ScoredRun
from rag_eval.samples import NullReason

VERSION: Final = 1
_BEGINS: Final = re.compile(rb'\A(\xef\xbb\xbf)?\s*\{\s*"baseline"\s*:')
_HEAD_BYTES: Final = 256
_VERDICTS: Final[Mapping[Any, int]] = {None: NOT_JUDGED, False: 0, True: 1}
_REASONS: Final = {reason.name.lower(): reason for reason in NullReason}


def write_baseline_file(run: ScoredRun, path: str | Path) -> None:
    """Write a run as a baseline to commit; ``.json``, also with ``.gz``.

    Raises
    ------
    InputError
        When the name is another one, the folder cannot be written to, or a score is infinite.
    """
    target = Path(path)
    if not plain_name(target).endswith(".json"):
        raise InputError(f"{target}: a baseline is a .json file, also .json.gz")
    try:
        rows = [(id_, json_text.dumps(row)) for id_, row in _rows(run)]
        head = json_text.dumps(_head(run), indent=1)
    except ValueError as error:
        raise InputError(f"{run.name} cannot be written as JSON: {error}") from None
    # Rows of one id by what they say: repeats have no order.
    lines = [line for _, line in sorted(rows)]
    with atomic_file(target) as file:
        file.write(b'{"baseline":\n' + head + b',\n"rows":[')
        for place, line in enumerate(lines):
            file.write((b",\n" if place else b"\n") + line)
        file.write(b"\n]}\n")


def is_baseline_file(path: str | Path) -> bool:
    """Whether a file begins as one that :func:`write_baseline_file` wrote.

    Raises
    ------
    InputError
        When it cannot be read.
    """
    with opened_bytes(path) as file:
        begin = b""
        for chunk in file.chunks():
            begin += chunk
            if len(begin) >= _HEAD_BYTES:
                break
    return _BEGINS.match(begin[:_HEAD_BYTES]) is not None


def read_baseline_file(path: str | Path) -> ScoredRun:
    """Read a run back; its rows are in the order of their ids.

    Raises
    ------
    InputError
        Naming the file, the row and the field that is not what was written.
    """
    data = file_bytes(path)
    try:
        value = json_text.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no JSON: {error}") from None
    head = value.get("baseline") if isinstance(value, dict) else None
    rows = value.get("rows") if isinstance(value, dict) else None
    if not isinstance(head, dict) or not isinstance(rows, list):
        raise InputError(f"{path} is no baseline: wanted an object with 'baseline' and 'rows'")
    if head.get("version") != VERSION:
        raise InputError(
            f"{path} is a baseline of version {head.get('version')!r:.80}; "
            f"this release reads version {VERSION}"
        )
    return _Reader(str(path), head).run(rows)


def _head(run: ScoredRun) -> dict[str, Any]:
    return {
        "columns": sorted(run.columns),
        "datasetHash": run.dataset_hash,
        "lowerIsBetter": sorted(run.lower_is_better),
        "metrics": list(run.metrics),
        "nFailedJudgements": run.n_failed_judgements,
        "nJudgements": run.n_judgements,
        "signature": None if run.signature is None else _sorted(run.signature.to_dict()),
        "version": VERSION,
    }


def _sorted(value: Any) -> Any:
    """Objects with their keys in order, at any depth."""
    if isinstance(value, Mapping):
        return {str(key): _sorted(value[key]) for key in sorted(value, key=str)}
    return [_sorted(each) for each in value] if isinstance(value, (list, tuple)) else value


def _rows(run: ScoredRun) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row under its id; what most rows have none of is left out where there is none."""
    named = sorted(zip(run.metrics, range(len(run.metrics)), strict=True))
    # As lists: to take numbers out of arrays one by one takes three times as long.
    every = zip(
        run.ids,
        run.scores.tolist(),
        run.null_reasons.tolist(),
        run.metric_passed.tolist(),
        run.composite.tolist(),
        run.passed.tolist(),
        strict=True,
    )
    for row, (id_, scores, reasons, verdicts, composite, passed) in enumerate(every):
        found: dict[str, Any] = {}
        if run.columns:
            found["columns"] = {name: run.columns[name][row] for name in sorted(run.columns)}
        found["composite"] = _number(composite)
        found["id"] = id_
        if any(reasons):
            found["nullReasons"] = {
                metric: NullReason(reasons[place]).name.lower()
                for metric, place in named
                if reasons[place]
            }
        found["passed"] = None if passed == NOT_JUDGED else bool(passed)
        found["scores"] = {metric: _number(scores[place]) for metric, place in named}
        found["verdicts"] = {
            metric: bool(verdicts[place])
            for metric, place in named
            if verdicts[place] != NOT_JUDGED
        }
        yield id_, found


def _number(value: float) -> float | None:
    return value if value == value else None  # NaN is a null


class _Reader:
    """The rows of one file, checked value by value: people edit such files, and merge them."""

    def __init__(self, source: str, head: Mapping[str, Any]) -> None:
        self._source = source
        self._head = head
        self.metrics = self._names("metrics")
        self.columns = self._names("columns")

    def run(self, rows: list[Any]) -> ScoredRun:
        shape = (len(rows), len(self.metrics))
        scores, reasons = np.full(shape, np.nan), np.zeros(shape, np.uint8)
        verdicts = np.full(shape, NOT_JUDGED, np.int8)
        composite, passed = np.full(len(rows), np.nan), np.full(len(rows), NOT_JUDGED, np.int8)
        ids: list[str] = []
        columns: dict[str, list[str | None]] = {name: [] for name in self.columns}
        for row, found in enumerate(rows):
            where = f"rows[{row}]"
            if not isinstance(found, dict) or not isinstance(found.get("id"), str):
                raise self._error(where, "wanted an object with a text 'id'")
            ids.append(found["id"])
            where += f" ({found['id']!r:.80})"
            composite[row] = self._number(found.get("composite"), f"{where}: composite")
            passed[row] = self._verdict(found.get("passed"), f"{where}: passed")
            self._fill(scores[row], found, "scores", where, self._number)
            self._check_all_there(found.get("scores", {}), f"{where}: scores")
            self._fill(reasons[row], found, "nullReasons", where, self._reason)
            self._fill(verdicts[row], found, "verdicts", where, self._verdict)
            texts = self._mapping(found, "columns", where, self.columns)
            for name in self.columns:
                columns[name].append(self._text(texts.get(name), f"{where}: columns.{name}"))
        return self._run(
            ids=ids,
            scores=scores,
            null_reasons=reasons,
            metric_passed=verdicts,
            composite=composite,
            passed=passed,
            columns=columns,
        )

    def _run(self, **rows: Any) -> ScoredRun:
        signature, dataset_hash = self._head.get("signature"), self._head.get("datasetHash")
        try:
            known = None if signature is None else Signature.from_dict(signature)
        except InputError as error:
            raise self._error("signature", str(error)) from None
        return ScoredRun(
            name=self._source,
            metrics=self.metrics,
            signature=known,
            dataset_hash=self._text(dataset_hash, "datasetHash"),
            lower_is_better=frozenset(self._names("lowerIsBetter")),
            n_judgements=self._count("nJudgements"),
            n_failed_judgements=self._count("nFailedJudgements"),
            **rows,
        )

    def _check_all_there(self, scores: Mapping[str, Any], where: str) -> None:
        """A score that is lost is no null: nulls are written out."""
        for name in self.metrics:
            if name not in scores:
                raise self._error(where, f"no {name}; wanted a number or null")

    def _names(self, key: str) -> tuple[str, ...]:
        found = self._head.get(key)
        if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
            raise self._error(key, "wanted a list of texts")
        if len(set(found)) < len(found):
            raise self._error(key, "a name comes twice")
        return tuple(found)

    def _count(self, key: str) -> int:
        found = self._head.get(key, 0)
        if type(found) is not int or found < 0:
            raise self._error(key, f"wanted a whole number from 0 on, got {found!r:.80}")
        return found

    def _mapping(
        self, row: Mapping[str, Any], key: str, where: str, known: tuple[str, ...]
    ) -> Mapping[str, Any]:
        found = row.get(key, {})
        if not isinstance(found, dict):
            raise self._error(f"{where}: {key}", "wanted an object")
        unknown = found.keys() - set(known)
        if unknown:
            raise self._error(
                f"{where}: {key}", f"{min(unknown)!r:.80} is not listed at the top of the file"
            )
        return found

    def _fill(self, into: Any, row: Mapping[str, Any], key: str, where: str, read: Any) -> None:
        """The values of a row's object, in their places."""
        found = self._mapping(row, key, where, self.metrics)
        for place, metric in enumerate(self.metrics):
            if metric in found:
                into[place] = read(found[metric], f"{where}: {key}.{metric}")

    def _number(self, value: Any, where: str) -> float:
        if value is None:
            return np.nan
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._error(where, f"wanted a number or null, got {value!r:.80}")
        try:
            return float(value)
        except OverflowError:
            raise self._error(where, "the number is beyond the range of a double") from None

    def _verdict(self, value: Any, where: str) -> int:
        if value is not None and not isinstance(value, bool):
            raise self._error(where, f"wanted true, false or null, got {value!r:.80}")
        return _VERDICTS[value]

    def _reason(self, value: Any, where: str) -> int:
        found = _REASONS.get(value) if isinstance(value, str) else None
        if found is None:
            raise self._error(where, f"no such null reason: {value!r:.80}")
        return int(found)

    def _text(self, value: Any, where: str) -> str | None:
        if value is not None and not isinstance(value, str):
            raise self._error(where, f"wanted a text or null, got {value!r:.80}")
        return value

    def _error(self, where: str, fault: str) -> InputError:
        return InputError(f"{self._source}, {where}: {fault}")
