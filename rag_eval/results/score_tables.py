"""Rows of tables, with a column for each score, in; their scores under their ids out.

They are decoded some at a time, column by column, which takes half as long as row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from types import NoneType
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.inputs.schemas.synonyms import meaning_of
from rag_eval.judge.failures import JUDGE_FAILURES
from rag_eval.metrics.registry import metric_of_file, to_metric_id
from rag_eval.results.digest_texts import DIGESTS, digests_of_cell
from rag_eval.results.reading import MissingIdsError, SamplesNotScoresError
from rag_eval.results.score_rows import ScoreRow, ScoreSource, number_of, reason_of, verdict_of
from rag_eval.results.verdicts import NO_VERDICT
from rag_eval.samples import MetricId

Cells: TypeAlias = Callable[[str | None], Any]
"""What some rows have in a column: a sequence, or an array of numbers."""

_FLOATS: Final = {float, NoneType}
_SHOWN_FIELDS: Final = 20
_NAME_LIMIT: Final = 40
# What lies beside the scores of a metric is no help in finding one.
_BESIDE: Final = ("_null_reason", "_mode")


class FlatColumns(NamedTuple):
    """Which columns of a flat table hold what; a name is None if there is none."""

    scores: dict[MetricId, str]
    reasons: list[str | None]
    modes: list[str | None]
    composite: str | None
    passed: str | None
    digests: str | None

    def names(self) -> set[str | None]:
        """Of all of them."""
        single = self.composite, self.passed, self.digests
        return {*self.scores.values(), *self.reasons, *self.modes, *single}


class FlatRows:
    """Rows that have a field for each score; of a score file these may have a prefix."""

    def __init__(self, file: ScoreSource, names: Sequence[str]) -> None:
        self._file = file
        file.fields = set(names)
        self.columns = _flat_columns(file, names)
        if file.id_field and file.id_field not in file.fields:
            hint = suggestion(file.id_field, names)
            place = f"the first row (fields: {shown_names(names)}){hint}"
            raise missing_id(file.source, place, file.id_field)
        self._verdicts = (NO_VERDICT,) * len(self.columns.scores)
        file.metrics += self.columns.scores

    def block(self, places: Sequence[str], cells: Cells) -> Iterator[ScoreRow]:
        """Some rows, decoded; ``cells`` gives what they have in a column, nulls without a name."""
        file, columns = self._file, self.columns
        scores, reasons = [], []
        for name, reason, mode in zip(
            columns.scores.values(), columns.reasons, columns.modes, strict=True
        ):
            found = self._numbers(cells(name), places, name)
            why = np.zeros(len(found), np.uint8)
            nulls = np.flatnonzero(np.isnan(found)).tolist()
            if nulls:
                named = cells(reason)
                why[nulls] = [reason_of(named[row], file, places[row]) for row in nulls]
            if mode or not JUDGE_FAILURES.isdisjoint(why[nulls].tolist()):
                self._count_judged(why, cells(mode))
            scores.append(found.tolist())
            reasons.append(why.tolist())
        passed = cells(columns.passed)
        rows = zip(
            places,
            cells(file.id_field),
            zip(*scores, strict=True),
            zip(*reasons, strict=True),
            repeat(self._verdicts),
            self._numbers(cells(columns.composite), places, "composite_score").tolist(),
            [verdict_of(v, file, place, "passed") for v, place in zip(passed, places, strict=True)],
            zip(*map(cells, file.columns), strict=True) if file.columns else repeat(()),
            map(digests_of_cell, cells(columns.digests)) if columns.digests else repeat(()),
            strict=False,  # some are repeated without end
        )
        return map(ScoreRow._make, rows)

    def _numbers(self, values: Any, places: Sequence[str], name: str) -> npt.NDArray[np.float64]:
        """Scores, NaN where null."""
        file = self._file
        if not isinstance(values, np.ndarray) and not set(map(type, values)) <= _FLOATS:
            cells = zip(values, places, strict=True)
            values = [number_of(value, file, place, name) for value, place in cells]
        found = np.asarray(values, np.float64)
        if np.isinf(found).any():
            raise file.error(places[int(np.isinf(found).argmax())], f"{name} must be finite")
        return found

    def _count_judged(self, reasons: npt.NDArray[np.uint8], modes: Sequence[Any]) -> None:
        for reason, mode in zip(reasons.tolist(), modes, strict=True):
            failed = mode == "fallback" or reason in JUDGE_FAILURES
            if failed or mode in ("llm", "verifier"):
                self._file.judged(failed=failed)


def missing_id(source: str, place: str, id_field: str) -> MissingIdsError:
    """What to raise for a row without an id, where ids are needed."""
    return MissingIdsError(
        f"{source}, {place}: {id_field} is missing, but rows are paired by id. Add an id to "
        "each sample, or name the field that holds it with --id-field NAME (in Python: id_field)"
    )


def _unscored(source: str) -> str:
    return f"; if these are samples, score them first: rag-eval run {source} --output results.json"


def _flat_columns(file: ScoreSource, names: Sequence[str]) -> FlatColumns:
    """Columns are metrics when they are named so, or have a column of null reasons beside them."""
    there, wanted = set(names), file.wanted
    ends = [n.removesuffix("composite_score") for n in names if n.endswith("composite_score")]
    prefix = min(ends, key=len, default="")
    scores: dict[MetricId, str] = {}
    for name in names:
        metric = _metric_of_column(name, prefix, there)
        if metric is not None and name not in file.columns and metric not in scores:
            scores[metric] = name
    unscored = "" if scores else _unscored(file.source)
    if wanted is not None:
        if len(wanted) == 1 and "score" in there:
            scores.setdefault(wanted[0], wanted[0] if wanted[0] in there else "score")
        # What is asked for by name may have any.
        scores = {m: scores.get(m, m) for m in wanted if m in scores or m in there}
        if absent := [metric for metric in wanted if metric not in scores]:
            hint = suggestion(absent[0], names)
            raise InputError(
                f"{file.source}: no column {glance(absent[0])}{hint} "
                f"(columns: {shown_names(names)}){unscored}"
            )
    if not scores and any(meaning_of(name) for name in names):
        raise SamplesNotScoresError(file.source)
    if not scores:
        raise InputError(
            f"{file.source}: no column has the name of a metric (columns: {shown_names(names)})"
            f"{unscored or '; if the score columns have other names, name them (metrics)'}"
        )

    def known(name: str) -> str | None:
        return name if name in there else None

    return FlatColumns(
        scores,
        [known(f"{name}_null_reason") for name in scores.values()],
        [known(f"{name}_mode") for name in scores.values()],
        known(f"{prefix}composite_score"),
        known(f"{prefix}passed"),
        # A source that makes no digests has no use for them.
        known(f"{prefix}{DIGESTS}") if file.digests is not None else None,
    )


def _metric_of_column(name: str, prefix: str, names: set[str]) -> MetricId | None:
    bare = name.removeprefix(prefix)
    try:
        return metric_of_file(bare) if f"{name}_null_reason" in names else to_metric_id(bare)
    except InputError:
        return None


def shown_names(names: Iterable[str]) -> str:
    """Names of columns for a message: some of them, and of long ones the beginning."""
    told = [name for name in names if not name.endswith(_BESIDE)]
    shown = [n if len(n) <= _NAME_LIMIT else n[: _NAME_LIMIT - 1] + "…" for n in told]
    more = [", …"] * (len(shown) > _SHOWN_FIELDS)
    return "".join([", ".join(shown[:_SHOWN_FIELDS]), *more]) or "none"
