"""A result file in; the batch that it holds, or an error that names the row and the field, out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.metrics.seven import OVERLAP_METRICS
from rag_eval.options.signature import Signature
from rag_eval.plumbing.checked_values import is_number
from rag_eval.plumbing.json_fields import Fields
from rag_eval.results.aggregates import CompositeAggregate, MetricAggregate
from rag_eval.results.batch import BatchEvalResult, BatchSummary
from rag_eval.results.judge_failures import FailureCounts
from rag_eval.results.missing_texts import MissingTexts, inferred_texts
from rag_eval.results.reading import ResultFile
from rag_eval.results.row import ByMetric, EvalResult, MetricResult, id_text, row_name
from rag_eval.results.row_reading import (
    cost_of,
    metric_or_none,
    regressions_of,
    result_of,
    settings_of,
    signature_of,
)
from rag_eval.results.score_columns import ScoreColumns
from rag_eval.results.score_rows import ScoreRow
from rag_eval.samples import NULL_REASONS, MetricId, NullReason
from rag_eval.stats.intervals import Interval
from rag_eval.stats.repeat_noise import RepeatMoments, add_row

_MISSING: Final = int(NullReason.MISSING_FIELD)
_SKIPPED: Final = int(NullReason.SKIPPED)
_NO_TRUTH: Final = "no ground truth"


def read_batch(source: str | bytes | Path) -> BatchEvalResult:
    """Read a file of results with all its rows, or its text when it is bytes or has a brace first.

    Parameters
    ----------
    source : path, str or bytes
        As for :class:`~rag_eval.results.reading.ResultFile`. A file of rows alone, as JSON lines,
        has the statistics of these; one of rag-eval-node-ts has no signature.

    Raises
    ------
    InputError
        When it holds no results; the message names the row and the field.
    """
    is_text = isinstance(source, str) and source.lstrip()[:1] == "{"
    given = source.encode("utf-8", "surrogatepass") if is_text else source  # type: ignore[union-attr]
    return batch_of_file(ResultFile(given), rows_needed=False)


def batch_of_file(file: ResultFile, *, rows_needed: bool = True) -> BatchEvalResult:
    """All rows of a file in memory, with its summary; without one it is counted from the rows."""
    results: list[EvalResult] = []
    signature: Signature | None = None
    for place, row in file.result_rows(needed=rows_needed):
        found = Fields(row, place)
        try:
            result = result_of(found, signature_of(found))
        except InputError as error:
            raise InputError(f"{file.source} is not a batch result: {error}") from None
        # One object for all rows of a run: it may be larger than a row.
        if result.signature == signature:
            result = replace(result, signature=signature)
        signature = result.signature
        results.append(result)
    try:
        if "aggregates" in file.said:
            return batch_of(results, file.said)
        return _counted(results, file.said)
    except InputError as error:
        raise InputError(f"{file.source} is not a batch result: {error}") from None


def _counted(results: list[EvalResult], said: Mapping[str, Any]) -> BatchEvalResult:
    tally = Tally()
    for result in results:
        tally.add(result)
    summary = tally.summary(said)
    scores, reasons, _ = tally.columns.matrices()
    said_fields = {one.name: getattr(summary, one.name) for one in fields(BatchSummary)}
    return BatchEvalResult(
        **said_fields,
        scores=scores,
        null_reasons=reasons,
        composite_scores=np.array(tally.columns.composite),
        sample_passed=np.array(tally.columns.passed) == 1,
        results=results,
    )


class Tally:
    """Scores and verdicts of results, added one by one.

    Attributes
    ----------
    thresholds : dict of float or None
        Of each metric so far, that of the first row that has one.
    columns : ScoreColumns
    repeats : dict of RepeatMoments
        Of each metric that a single judge scored.
    """

    def __init__(self, metrics: Iterable[MetricId] = ()) -> None:
        self.thresholds: dict[MetricId, float | None] = dict.fromkeys(metrics)
        self.columns = ScoreColumns(len(self.thresholds))
        self.repeats: dict[MetricId, RepeatMoments] = {}
        self._failed = FailureCounts()
        # Of each name in the rows: its metric, and the column of that.
        self._metrics: dict[str, MetricId | None] = {}
        self._places: dict[str, int] = {}
        self._evaluated_at = ""
        self._signed: Any = None
        self._signature: Signature | None = None

    def add(self, result: EvalResult) -> None:
        """Add a row."""
        for metric, found in result.metrics.items():
            if self.thresholds.get(metric) is None:
                self.thresholds[metric] = found.threshold
        _count_failures(result, len(self.columns.passed), self._failed)
        self.columns.add(_scores_of(result, self.thresholds))
        add_row(self.repeats, repeats_of(result))
        self._evaluated_at, self._signature = result.evaluated_at, result.signature
        self._signed = None

    def add_scores(self, row: Mapping[str, Any]) -> bool:
        """Add a row as it is in the file, without reading more of it than is counted.

        Returns
        -------
        bool
            False, and nothing is added, for a row that a judge scored and for one that may be
            invalid. :meth:`add` takes the result of the first and :func:`read_row` refuses the
            other; making results takes most of the time of a file.
        """
        metrics, passed, signed = row.get("metrics"), row.get("passed"), row.get("signature")
        composite, evaluated_at = row.get("compositeScore", False), row.get("evaluatedAt")
        if type(metrics) is not dict or type(passed) is not bool or not _is_score(composite):
            return False
        if not isinstance(evaluated_at, (str, type(None))):
            return False
        found = self._plain_scores(metrics)
        if found is None:
            return False
        if signed is None or signed != self._signed:
            try:
                self._signature = signature_of(Fields(row))
            except InputError:
                return False
            self._signed = signed
        self._evaluated_at = evaluated_at or ""
        self.columns.add(ScoreRow("", None, *found, _nan(composite), passed, ()))
        return True

    def _plain_scores(
        self, metrics: Mapping[str, Any]
    ) -> tuple[list[float], list[int], list[bool]] | None:
        """Scores, null reasons and verdicts by column; None where an entry is not plain."""
        for name in metrics:
            if name not in self._metrics:
                metric = self._metrics[name] = metric_or_none(name)
                if metric is not None:
                    self.thresholds.setdefault(metric)
                    self._places[name] = list(self.thresholds).index(metric)
        n = len(self.thresholds)
        scores, reasons, verdicts = [math.nan] * n, [_SKIPPED] * n, [False] * n
        for name, entry in metrics.items():
            if type(entry) is not dict or entry.get("judge") is not None:
                return None
            metric = self._metrics[name]
            if metric is None:
                continue
            score, threshold = entry.get("score", False), entry.get("threshold")
            verdict, place = entry.get("passed"), self._places[name]
            if not (_is_score(score) and _is_score(threshold) and _is_verdict(verdict)):
                return None
            reason = 0 if score is not None else _reason_code(entry.get("nullReason"))
            if reason is None or reasons[place] != _SKIPPED:  # the metric came in both spellings
                return None
            if score is not None:
                scores[place] = score
            reasons[place] = reason
            verdicts[place] = verdict is True or (threshold is None and score is not None)
            if threshold is not None and self.thresholds[metric] is None:
                self.thresholds[metric] = threshold
        return scores, reasons, verdicts

    def summary(self, beside: Mapping[str, Any]) -> BatchSummary:
        """The statistics of the rows, if there was at least one."""
        n_rows, n_passed = len(self.columns.passed), sum(self.columns.passed)
        notes = beside.get("notes")
        reasons, passed = self.columns.matrices()[1], np.array(self.columns.passed) == 1
        # Other tools do not tell why a score is null.
        is_ours = self._signature is not None
        lacked = inferred_texts(tuple(self.thresholds), reasons * np.uint8(is_ours))
        return BatchSummary(
            metrics=tuple(self.thresholds),
            n_rows=n_rows,
            n_passed=n_passed,
            aggregates=ByMetric(self.columns.aggregates(self.thresholds)),
            composite_aggregate=self.columns.composite_aggregate(),
            missing_texts=MissingTexts.of(lacked, passed),
            passed=n_passed == n_rows,
            total_duration_ms=0,
            evaluated_at=self._evaluated_at,
            signature=self._signature,
            notes=list(map(str, notes)) if isinstance(notes, list) else [],
            failed_judgements=self._failed.found(),
            **_not_measured(self.thresholds, reasons),
        )


def _count_failures(result: EvalResult, number: int, failed: FailureCounts) -> None:
    for metric, found in result.metrics.items():
        if found.judged is not None and found.judged.failed:
            failed.add(metric, found.judged, partial(row_name, number, id_text(result.sample)))


def repeats_of(result: EvalResult) -> Iterator[tuple[MetricId, list[float]]]:
    """Each score of the repeats of a single judge, by metric."""
    for metric, found in result.metrics.items():
        if found.judged is not None:
            yield metric, found.judged.repeats


def _scores_of(result: EvalResult, metrics: Iterable[MetricId]) -> ScoreRow:
    found = [result.metrics.get(metric) for metric in metrics]
    return ScoreRow(
        place="",
        id=None,
        scores=[_nan(None if one is None else one.score) for one in found],
        null_reasons=[NullReason.SKIPPED if one is None else one.null_reason for one in found],
        verdicts=[one is not None and _has_passed(one) for one in found],
        composite=_nan(result.composite_score),
        passed=result.passed,
        values=(),
    )


def _is_score(value: object) -> bool:
    return value is None or is_number(value)


def _is_verdict(value: object) -> bool:
    return value is None or type(value) is bool


def _reason_code(name: object) -> int | None:
    """The reason of a null; None for a name that is not a reason of this version."""
    if name is None:
        return _MISSING
    found = NULL_REASONS.get(name) if isinstance(name, str) else None
    return None if found is None else int(found) or _MISSING


def _has_passed(metric: MetricResult) -> bool:
    """By its threshold; without one every score passes."""
    return metric.passed is True or (metric.threshold is None and metric.score is not None)


def _nan(score: float | None) -> float:
    return math.nan if score is None else score


def batch_of(results: list[EvalResult], summary: Mapping[str, Any]) -> BatchEvalResult:
    """Rows of a result file with what it says beside them.

    Raises
    ------
    InputError
        Where that is not what it has to be; the message names the field.
    """
    file = Fields(summary)
    found = {
        metric: entry
        for name, entry in file.needed("aggregates").items()
        if (metric := metric_or_none(name)) is not None
    }
    columns, failed = ScoreColumns(len(found)), FailureCounts()
    for number, result in enumerate(results):
        columns.add(_scores_of(result, found))
        _count_failures(result, number, failed)
    scores, reasons, _ = columns.matrices()
    composite, passed = np.array(columns.composite), np.array(columns.passed) == 1
    return BatchEvalResult(
        metrics=tuple(found),
        n_rows=len(results),
        n_passed=int(passed.sum()),
        scores=scores,
        null_reasons=reasons,
        composite_scores=composite,
        sample_passed=passed,
        results=results,
        aggregates=ByMetric(
            {metric: _aggregate(metric, entry, len(results)) for metric, entry in found.items()}
        ),
        composite_aggregate=_composite(file.inner("compositeAggregate"), composite),
        passed=file.flag_or_none("passed") is True,
        total_cost=cost_of(file.inner("totalCost")),
        total_duration_ms=file.count("totalDurationMs"),
        regressions=regressions_of(file),
        evaluated_at=file.text("evaluatedAt"),
        signature=signature_of(file),
        settings=settings_of(file),
        notes=list(file.texts("notes")),
        failed_judgements=failed.found(),
        missing_texts=MissingTexts.of(
            # Other tools do not tell why a score is null.
            inferred_texts(tuple(found), reasons * np.uint8("signature" in summary)),
            passed,
        ),
        **_not_measured(found, reasons),
    )


def _not_measured(metrics: Iterable[MetricId], reasons: npt.NDArray[np.uint8]) -> dict[str, Any]:
    """What a run of the default metrics leaves out where no row has a ground truth."""
    names = list(metrics)
    lacks = (reasons == NullReason.MISSING_FIELD).all(axis=0) & bool(len(reasons))
    null = {name for name, is_null in zip(names, lacks.tolist(), strict=True) if is_null}
    needing = [name for name in METRIC_IDS if OVERLAP_METRICS[name].null_when == _NO_TRUTH]
    if not null.issuperset(needing) or not {*METRIC_IDS}.issubset(names):
        return {}
    return {"not_measured": dict.fromkeys(needing, _NO_TRUTH), "left_out": tuple(needing)}


def read_row(row: Mapping[str, Any]) -> EvalResult:
    """One row of a result file, with the signature that it has itself.

    Raises
    ------
    InputError
        For an invalid value; the message names the field.
    """
    found = Fields(row)
    try:
        return result_of(found, signature_of(found))
    except InputError as error:
        raise InputError(f"is not a result row: {error}") from None


_STATISTICS: Final = {
    "mean": "mean",
    "median": "median",
    "min": "min",
    "max": "max",
    "std_dev": "stdDev",
}


def _numbers(entry: Fields, n: int) -> dict[str, Any]:
    # Columns of verdicts have null for them.
    found = {name: entry.number_or_none(key) for name, key in _STATISTICS.items()}
    return {
        name: math.nan if not n or value is None else float(value) for name, value in found.items()
    }


def _aggregate(metric: MetricId, entry: Fields, n_rows: int) -> MetricAggregate:
    null_rate = _share(entry, "nullRate")
    # A summary may come without its rows: then only "some" and "none" can be told apart.
    n = round((1 - null_rate) * n_rows) if n_rows else int(null_rate < 1)
    return MetricAggregate(
        metric_id=metric,
        n=n,
        n_rows=n_rows,
        pass_rate=_share(entry, "passRate"),
        null_rate=null_rate,
        interval=_interval(entry, n if n_rows else 0),
        **_numbers(entry, n),
    )


def _composite(entry: Fields, scores: npt.NDArray[np.float64]) -> CompositeAggregate:
    n = int(np.count_nonzero(~np.isnan(scores)))
    return CompositeAggregate(
        n=n,
        n_rows=len(scores),
        pass_rate=_share(entry, "passRate"),
        interval=_interval(entry, n),
        **_numbers(entry, n),
    )


def _share(entry: Fields, name: str) -> float:
    found = entry.number_or_none(name)
    if found is not None and not 0 <= found <= 1:
        entry.refuse(name, "a number from 0 to 1")
    return float(found or 0)


def _interval(entry: Fields, n: int) -> Interval | None:
    """That of the mean, which files of other tools and of earlier versions do not have."""
    if not n or entry.get("meanInterval") is None:
        return None
    found = entry.inner("meanInterval")
    low, high = found.number_or_none("low"), found.number_or_none("high")
    return Interval(
        estimate=_numbers(entry, n)["mean"],
        low=None if low is None else float(low),
        high=None if high is None else float(high),
        level=float(found.number("level")),
        n_resamples=0,
        n_groups=n,
        method=found.text_or_none("method"),
        too_few=found.flag_or_none("tooFew") is True,
    )
