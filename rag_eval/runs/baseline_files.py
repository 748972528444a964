"""A run as a JSON file to commit beside the code, and back.

Each row is one line, rows are sorted by id, keys alphabetically, and there are no times and paths,
so a changed score is one line of a diff.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rag_eval.errors import InputError
from rag_eval.inputs.byte_files import plain_name
from rag_eval.plumbing import json_text
from rag_eval.plumbing.durable_files import atomic_file
from rag_eval.results.digest_texts import digest_texts
from rag_eval.results.verdicts import NO_VERDICT
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import NullReason

VERSION: Final = 1


def write_baseline_file(run: ScoredRun, path: str | Path) -> None:
    """Write a run as a baseline to commit; ``.json``, also with ``.gz``.

    Raises
    ------
    InputError
        When the name ends otherwise, the folder cannot be written to, or a score is infinite.
    """
    target = Path(path)
    if not plain_name(target).endswith(".json"):
        raise InputError(f"{target}: the name of a baseline file must end in .json or .json.gz")
    try:
        rows = [(id_, json_text.dumps(row)) for id_, row in _rows(run)]
        head = json_text.dumps(_head(run), indent=1)
    except ValueError as error:
        raise InputError(f"{run.name} cannot be written as JSON: {error}") from None
    # Rows with the same id are sorted by content: repeats have no order.
    lines = [line for _, line in sorted(rows)]
    with atomic_file(target) as file:
        file.write(b'{"baseline":\n' + head + b',\n"rows":[')
        for place, line in enumerate(lines):
            file.write((b",\n" if place else b"\n") + line)
        file.write(b"\n]}\n")


def _head(run: ScoredRun) -> dict[str, Any]:
    return {
        "columns": sorted(run.columns),
        "datasetHash": run.dataset_hash,
        "lowerIsBetter": sorted(run.lower_is_better),
        "metrics": list(run.metrics),
        "nFailedJudgements": run.n_failed_judgements,
        "nJudgements": run.n_judgements,
        **({} if run.settings is None else {"settings": _sorted(run.settings.to_dict())}),
        "signature": None if run.signature is None else _sorted(run.signature.to_dict()),
        "version": VERSION,
    }


def _sorted(value: Any) -> Any:
    """Objects with sorted keys, at any depth."""
    if isinstance(value, Mapping):
        return {str(key): _sorted(value[key]) for key in sorted(value, key=str)}
    return [_sorted(each) for each in value] if isinstance(value, (list, tuple)) else value


def _rows(run: ScoredRun) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row under its id; empty fields are left out."""
    named = sorted(zip(run.metrics, range(len(run.metrics)), strict=True))
    # As lists: reading arrays one number at a time is three times as slow.
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
        if run.digests is not None and run.digests[row].any():
            found["digests"] = digest_texts(run.digests[row].tolist())
        found["id"] = id_
        if any(reasons):
            found["nullReasons"] = {
                metric: NullReason(reasons[place]).name.lower()
                for metric, place in named
                if reasons[place]
            }
        found["passed"] = None if passed == NO_VERDICT else bool(passed)
        found["scores"] = {metric: _number(scores[place]) for metric, place in named}
        found["verdicts"] = {
            metric: bool(verdicts[place])
            for metric, place in named
            if verdicts[place] != NO_VERDICT
        }
        yield id_, found


def _number(value: float) -> float | None:
    return value if value == value else None  # NaN is a null
