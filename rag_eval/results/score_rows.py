"""Rows of results and of committed baselines in; the scores under their ids, without texts, out."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from rag_eval.errors import InputError, SignatureMismatchError, glance
from rag_eval.judge.failures import JUDGE_FAILURES
from rag_eval.options.signature import Signature
from rag_eval.options.verdict_settings import VerdictSettings
from rag_eval.plumbing.json_fields import Fields
from rag_eval.results.digest_texts import digests_of_texts
from rag_eval.results.row_reading import metric_or_none, settings_of
from rag_eval.results.verdicts import NO_VERDICT
from rag_eval.samples import NULL_REASONS, MetricId, NullReason, null_reason_named
from rag_eval.stats.repeat_noise import RepeatMoments

BASELINE_VERSION: Final = 1

_MOST: Final = sys.float_info.max

_MISSING: Final = int(NullReason.MISSING_FIELD)
_SKIPPED: Final = int(NullReason.SKIPPED)
_VERDICTS: Final[dict[Any, int]] = {
    **{True: 1, "true": 1, "True": 1, "1": 1, "1.0": 1},
    **{False: 0, "false": 0, "False": 0, "0": 0, "0.0": 0},
    **{None: NO_VERDICT, "": NO_VERDICT},
}


class ScoreRow(NamedTuple):
    """A row of scores.

    Attributes
    ----------
    place : str
        How messages call it.
    id : object
        As the file has it; None if there is none.
    scores : sequence of float
        For each of the file's metrics so far, NaN where null.
    null_reasons : sequence of int
        A :class:`~rag_eval.samples.NullReason` per score, 0 where measured.
    verdicts : sequence of int
        1 and 0 for each metric, :data:`NO_VERDICT` elsewhere.
    composite : float
    passed : int
        Of the row as a whole.
    values : sequence
        Of the columns that were asked for.
    digests : sequence of int
        Of the sample, if the source makes them; empty otherwise.
    """

    place: str
    id: Any
    scores: Sequence[float]
    null_reasons: Sequence[int]
    verdicts: Sequence[int]
    composite: float
    passed: int
    values: Sequence[Any]
    digests: Sequence[int] = ()


class ScoreSource:
    """What is wanted of a file, and what is known of its run once its rows have been read.

    Attributes
    ----------
    source : str
        How messages call it.
    metrics : list of MetricId
        In the order of the scores of a row; later rows may have more of them.
    columns : list of str
        Those asked for; of a committed baseline all that it has.
    fields : set of str
        What the first row has, for messages.
    seen : set of str
        Columns that are known to be there, also where no row has a value.
    unread : dict
        Metrics that were not asked for.
    is_baseline : bool
        A committed baseline, whose ids may come more than once.
    signature : Signature or None
        Of all rows.
    settings : VerdictSettings or None
    dataset_hash : str or None
    lower_is_better : frozenset of MetricId
    n_judgements, n_failed_judgements : int
    repeats : dict of RepeatMoments
        Of each metric that a single judge scored.

    Parameters
    ----------
    source : str
    metrics : sequence of MetricId, optional
        Those to read; of a table also columns of any name, and ``score`` for a single metric.
    columns : sequence of str
        Fields of samples, or of their metadata; columns of a table.
    id_field : str or None
        Under this name rows have their ids; None if these are not needed.
    digests : callable, optional
        Makes the digests of a sample.
    """

    def __init__(
        self,
        source: str,
        *,
        metrics: Sequence[MetricId] | None = None,
        columns: Sequence[str] = (),
        id_field: str | None = "id",
        digests: Callable[[Mapping[str, Any]], Sequence[int]] | None = None,
    ) -> None:
        self.source = source
        self.digests = digests
        self.wanted = None if metrics is None else tuple(metrics)
        self.id_field = id_field
        self.metrics: list[MetricId] = []
        self.columns = list(columns)
        self.fields: set[str] = set()
        self.seen: set[str] = set()
        self.unread: dict[str, None] = {}
        self.is_baseline = False
        self.signature: Signature | None = None
        self.settings: VerdictSettings | None = None
        self.dataset_hash: str | None = None
        self.lower_is_better: frozenset[MetricId] = frozenset()
        self.n_judgements = 0
        self.n_failed_judgements = 0
        self.repeats: dict[MetricId, RepeatMoments] = {}
        self._signed: Any = None
        self._signed_at = ""

    def sign(self, value: object, place: str) -> None:
        """The signature that a row, or the file, comes with; all must say the same."""
        if self.signature is not None and self._signed == value:
            return
        try:
            found = Signature.from_dict(value)
        except (InputError, TypeError, ValueError) as error:
            raise self.error(place, str(error)) from None
        if self.signature is None:
            self.signature, self._signed, self._signed_at = found, value, place
        elif differences := found.differences(self.signature, self.metrics):
            raise SignatureMismatchError(
                f"{self.source}, {place} was scored under different settings than "
                f"{self._signed_at} ({'; '.join(differences)})"
            )

    def error(self, place: str, fault: str) -> InputError:
        """What is wrong with a row."""
        return InputError(f"{self.source}, {place}: {fault}")

    def judged(self, *, failed: bool) -> None:
        """Count a judgement."""
        self.n_judgements += 1
        self.n_failed_judgements += failed


# ---------------------------------------------------------------------------------- result rows


class NestedRows:
    """Rows as result files have them: a sample, and metrics by their names in camelCase."""

    def __init__(self, file: ScoreSource, first: Mapping[str, Any]) -> None:
        self._file = file
        self._wanted = None if file.wanted is None else frozenset(file.wanted)
        self._names: list[str] = []
        self._known: set[str] = set()
        sample = first.get("sample")
        found = sample if isinstance(sample, Mapping) else {}
        metadata = found.get("metadata")
        file.fields = {*found, *(metadata if isinstance(metadata, Mapping) else ())}

    def row(self, row: Mapping[str, Any], place: str) -> ScoreRow:
        """A row, decoded."""
        file, sample, metrics = self._file, row.get("sample"), row.get("metrics")
        if not isinstance(sample, Mapping) or not isinstance(metrics, Mapping):
            raise file.error(place, "must have a sample and its metrics")
        if not metrics.keys() <= self._known:
            self._add_metrics(metrics)
        scores, reasons, verdicts = [], [], []
        for metric, name in zip(file.metrics, self._names, strict=True):
            entry = metrics.get(name)
            if entry is None:
                scores.append(math.nan)
                reasons.append(_SKIPPED)
                verdicts.append(NO_VERDICT)
                continue
            if not isinstance(entry, Mapping):
                raise file.error(place, f"{name} must be an object, got {glance(entry)}")
            score, why = number_of(entry.get("score"), file, place, name), 0
            if score != score:  # NaN
                why = reason_of(entry.get("nullReason"), file, place)
            scores.append(score)
            reasons.append(why)
            verdicts.append(verdict_of(entry.get("passed"), file, place, name))
            judge = entry.get("judge")
            if judge is not None:
                fell_back = isinstance(judge, Mapping) and judge.get("fallback") is True
                file.judged(failed=fell_back or why in JUDGE_FAILURES)
                # In a cascade the row has the judge's verdict or the native score.
                if isinstance(judge, Mapping) and judge.get("score") == entry.get("score"):
                    self._add_repeats(metric, judge, place, name)
        values = [metadata_of(sample, column) for column in file.columns]
        if row.get("signature") is not None:
            file.sign(row["signature"], place)
        composite = number_of(row.get("compositeScore"), file, place, "compositeScore")
        passed = verdict_of(row.get("passed"), file, place, "passed")
        row_id = sample.get(file.id_field)
        digests = () if file.digests is None else file.digests(sample)
        return ScoreRow(
            place, row_id, scores, reasons, verdicts, composite, passed, values, digests
        )

    def _add_repeats(
        self, metric: MetricId, judge: Mapping[str, Any], place: str, name: str
    ) -> None:
        by_judge = judge.get("byJudge") or [[judge.get("score")]]
        if not isinstance(by_judge, list) or not all(isinstance(each, list) for each in by_judge):
            raise self._file.error(place, f"byJudge of {name} must be lists of scores")
        if len(by_judge) > 1:
            return  # judges differ for other reasons than repeats do
        given = [number_of(score, self._file, place, name) for score in by_judge[0]]
        if scores := [score for score in given if score == score]:
            self._file.repeats.setdefault(metric, RepeatMoments()).add(scores)

    def _add_metrics(self, found: Mapping[str, Any]) -> None:
        for name in found:
            if name in self._known:
                continue
            self._known.add(name)
            metric = metric_or_none(name)
            if metric is None or (self._wanted is not None and metric not in self._wanted):
                self._file.unread[metric or name] = None
                continue
            self._names.append(name)
            self._file.metrics.append(metric)


def metadata_of(sample: Mapping[str, Any], name: str) -> Any:
    """A field of a sample, which usually is one of its metadata."""
    metadata = sample.get("metadata")
    if isinstance(metadata, Mapping) and name in metadata:
        return metadata[name]
    return sample.get(name)


# ------------------------------------------------------------------------------------ baselines


class BaselineRows:
    """Rows of a committed baseline, each value checked: people edit such files, and merge them."""

    def __init__(self, file: ScoreSource, said: Mapping[str, Any]) -> None:
        self._file = file
        file.is_baseline = True
        try:
            head = Fields(said).needed("baseline")
        except InputError as error:
            raise InputError(f"{file.source} is not a baseline: {error}") from None
        if head.get("version") != BASELINE_VERSION:
            raise InputError(
                f"{file.source} is a baseline of version {head.get('version')!r:.80}; "
                f"this release reads version {BASELINE_VERSION}"
            )
        try:
            file.metrics += _names(head, "metrics")
            columns = _names(head, "columns")
            file.lower_is_better = frozenset(_names(head, "lowerIsBetter"))
            file.settings = settings_of(head)
            file.dataset_hash = head.text_or_none("datasetHash")
            file.n_judgements = head.place_or_none("nJudgements") or 0
            file.n_failed_judgements = head.place_or_none("nFailedJudgements") or 0
        except InputError as error:
            raise InputError(f"{file.source}, {error}") from None
        if head.get("signature") is not None:
            file.sign(head.get("signature"), "signature")
        self._columns = frozenset(columns)
        file.seen.update(columns)
        file.fields.update(columns)
        file.columns = list(dict.fromkeys([*file.columns, *columns]))

    def row(self, row: Mapping[str, Any], place: str) -> ScoreRow:
        """A row, decoded."""
        name, file = row.get("id"), self._file
        if not isinstance(name, str):
            raise file.error(place, "must be an object with a text 'id'")
        try:
            return self._row(Fields(row), name, place)
        except InputError as error:
            raise file.error(f"{place} ({name!r:.80})", str(error)) from None

    def _row(self, row: Fields, name: str, place: str) -> ScoreRow:
        metrics = self._file.metrics
        scores = self._object(row, "scores", metrics)
        for metric in metrics:
            # A missing score is not a null, because nulls are written explicitly.
            scores.require(metric, "a number or null")
        reasons = self._object(row, "nullReasons", metrics)
        verdicts = self._object(row, "verdicts", metrics)
        texts = self._object(row, "columns", self._columns)
        return ScoreRow(
            place,
            name,
            [_nan(scores.number_or_none(metric)) for metric in metrics],
            [_baseline_reason(reasons, metric) for metric in metrics],
            [_VERDICTS[verdicts.flag_or_none(metric)] for metric in metrics],
            _nan(row.number_or_none("composite")),
            _VERDICTS[row.flag_or_none("passed")],
            [texts.text_or_none(column) for column in self._file.columns],
            _baseline_digests(row),
        )

    def _object(self, row: Fields, name: str, known: Iterable[str]) -> Fields:
        found = row.inner(name)
        if unknown := found.names() - set(known):
            raise InputError(
                f"{name}: {min(unknown)!r:.80} is not in the list at the top of the file"
            )
        return found


def _baseline_digests(row: Fields) -> tuple[int, ...]:
    texts = row.texts("digests")
    if not texts:
        return ()
    if (found := digests_of_texts(texts)) is None:
        raise InputError(f"digests must be three hexadecimal numbers, got {glance(list(texts))}")
    return found


def _baseline_reason(reasons: Fields, metric: MetricId) -> int:
    named = reasons.get(metric)
    found = null_reason_named(named) if isinstance(named, str) else None
    if found is None and named is not None:
        raise InputError(f"nullReasons.{metric}: unknown null reason {glance(named)}")
    return int(found or 0)


def _names(head: Fields, key: str) -> tuple[str, ...]:
    if not isinstance(head.get(key), list):
        head.refuse(key, "a list of texts")
    found = head.texts(key)
    if len(set(found)) < len(found):
        raise InputError(f"{key}: a name is repeated")
    return found


def _nan(value: float | None) -> float:
    return math.nan if value is None else float(value)


# ---------------------------------------------------------------------------------------- values


def number_of(value: Any, file: ScoreSource, place: str, name: str) -> float:
    """A score as JSON has it, or as text; NaN for null and the empty text."""
    if type(value) is float and -_MOST <= value <= _MOST:
        return value
    if value is None or value == "":
        return math.nan
    try:
        if type(value) not in (str, int) and isinstance(value, (bool, list, Mapping)):
            raise ValueError
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise file.error(place, f"{name} must be a number, got {value!r:.80}") from None
    if not math.isfinite(found):
        raise file.error(place, f"{name} must be finite, got {value!r:.80}")
    return found


def reason_of(named: Any, file: ScoreSource, place: str) -> int:
    """Why a score is null."""
    if named is None or named == "":
        return _MISSING
    found = null_reason_named(named) if isinstance(named, str) else None
    if found is None:
        known = ", ".join(list(NULL_REASONS)[1:])
        raise file.error(place, f"unknown null reason {named!r:.80} (known: {known})")
    return int(found) or _MISSING


def verdict_of(value: Any, file: ScoreSource, place: str, name: str) -> int:
    """1 and 0 for passed and failed, -1 if nothing is said."""
    try:
        return _VERDICTS[value]
    except (KeyError, TypeError):
        what = name if name == "passed" else f"passed of {name}"
        raise file.error(place, f"{what} must be true or false, got {value!r:.80}") from None
