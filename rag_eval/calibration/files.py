"""Calibrations as JSON, one or several to a file, with every field checked on the way in."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from rag_eval.calibration.inputs import Objective, calibrated_metric
from rag_eval.calibration.probabilities import IsotonicMap, LogisticMap, Method, ProbabilityMap
from rag_eval.calibration.refitting import N_SHARES, Refit
from rag_eval.calibration.result import FORMAT_VERSION, Calibration
from rag_eval.errors import InputError
from rag_eval.inputs.byte_files import file_bytes
from rag_eval.kernels.settings import FAITHFULNESS_WEIGHTS, SHIPPED_WEIGHTS, weights_digest
from rag_eval.metrics.registry import to_metric_id
from rag_eval.options.signature import Signature
from rag_eval.plumbing import json_text
from rag_eval.plumbing.durable_files import atomic_file
from rag_eval.plumbing.spelling import camel_case
from rag_eval.samples import MetricId
from rag_eval.stats.intervals import Interval

_LARGEST: Final = sys.float_info.max
_ROUNDING: Final = 1e-9
_READABLE: Final = range(1, FORMAT_VERSION + 1)

_Number: TypeAlias = Annotated[float, msgspec.Meta(ge=-_LARGEST, le=_LARGEST)]  # finite
_Share: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1)]
_Inside: TypeAlias = Annotated[float, msgspec.Meta(gt=0, lt=1)]
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
_FromOne: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
_Slope: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=_LARGEST)]

CALIBRATIONS: Final = "calibrations"
"""The key of a file that holds several."""


class _Fields(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Types and ranges of an object; what does not fit is named by its path."""


class _Interval(_Fields):
    estimate: _Number
    low: _Number | None
    high: _Number | None
    level: _Inside
    n_resamples: _Count
    n_groups: _FromOne


class _Signature(msgspec.Struct):
    """The types alone: what else a signature may hold is up to :class:`Signature`."""

    profile: str
    version: int
    unicode: str
    options: dict[str, Any]


class _IsotonicMap(_Fields):
    scores: Annotated[tuple[_Number, ...], msgspec.Meta(min_length=1)]
    probabilities: tuple[_Share, ...]


class _LogisticMap(_Fields):
    coefficient: _Slope
    intercept: _Number


class _Weights(_Fields):
    """By loss; the first six are shares."""

    window: _Share
    bigram: _Share
    skip: _Share
    number: _Share
    name: _Share
    near: _Share
    contradiction: _Slope
    new_name: _Slope


class _Refit(_Fields):
    used: bool
    weights: _Weights
    slope: _Slope
    intercept: _Number
    shipped_auroc: _Share
    refitted_auroc: _Share
    gain: _Interval


class _Calibration(_Fields):
    format_version: int
    metric_id: str
    signature: dict[str, Any] | None
    method: Method
    map: dict[str, Any]
    objective: Objective
    precision: _Share | None
    threshold: _Interval
    balanced_accuracy: _Interval
    cross_validated_balanced_accuracy: _Share | None
    n_labels: _FromOne
    n_groups: _FromOne
    n_null: _Count
    share_good: _Inside
    refit: _Refit | None


# ------------------------------------------------------------------------------------- writing


def write_calibrations(calibrations: Calibration | Iterable[Calibration], path: str | Path) -> None:
    """Write one calibration, or several of different metrics, to a JSON file.

    Raises
    ------
    InputError
        For two of one metric, or when the file cannot be written.
    """
    if isinstance(calibrations, Calibration):
        value = calibrations.to_dict()
    else:
        found = read_calibrations(list(calibrations))
        value = {
            "formatVersion": FORMAT_VERSION,
            CALIBRATIONS: {camel_case(name): one.to_dict() for name, one in found.items()},
        }
    with atomic_file(path) as file:
        file.write(json_text.dumps(value, indent=1) + b"\n")


# ------------------------------------------------------------------------------------- reading


def read_calibrations(source: object) -> dict[MetricId, Calibration]:
    """Calibrations by their metric, from whatever a caller has.

    Parameters
    ----------
    source : Calibration, path, mapping, or a list of these
        A path names a file of one or several calibrations. A mapping is what such a file holds, or
        has a Calibration, or its :meth:`~Calibration.to_dict`, under each metric.

    Raises
    ------
    InputError
        Naming the file or the entry and what is wrong with it; also for two different
        calibrations of one metric.
    """
    if isinstance(source, Calibration):
        return {source.metric: source}
    if isinstance(source, (str, Path)):
        return _in_file(_file_object(source), str(source))
    if isinstance(source, Mapping):
        if CALIBRATIONS in source or "metricId" in source:
            return _in_file(source, "calibration")
        return _by_metric(source, "calibration")
    if not isinstance(source, (list, tuple)):
        raise InputError(
            "calibration must be a Calibration, the path of a file, a mapping, or a list of these; "
            f"got {type(source).__name__}"
        )
    merged: dict[MetricId, Calibration] = {}
    for element in source:
        for metric, found in read_calibrations(element).items():
            if merged.setdefault(metric, found) != found:
                raise InputError(f"found two different calibrations of {metric}")
    return merged


def read_one(path: str | Path) -> Calibration:
    """The calibration in a file that holds one; an InputError for any other."""
    found = read_calibrations(path)
    if len(found) != 1:
        raise InputError(
            f"{path} holds calibrations of {', '.join(found) or 'no metric'}; give a file with "
            "exactly one"
        )
    return next(iter(found.values()))


def calibration_from_dict(value: object, source: str = "calibration") -> Calibration:
    """Read what :meth:`Calibration.to_dict` gives; ``source`` is how errors call it."""
    try:
        return _checked(value)
    except ValueError as error:  # half a character in a key is no ValidationError
        raise InputError(f"{source} is not a calibration: {error}") from None


_MADE_BY: Final = "make one with: rag-eval calibrate SCORES LABELS --metric METRIC --output FILE"


def _file_object(path: str | Path) -> Mapping[str, Any]:
    data = file_bytes(path)
    try:
        value = json_text.loads(data)
    except (ValueError, RecursionError) as error:
        fault = json_text.syntax_fault(error)
        raise InputError(
            f"{path} is not a calibration file: it is not valid JSON ({fault}); {_MADE_BY}"
        ) from None
    if not isinstance(value, Mapping):
        raise InputError(f"{path} is not a calibration file: it holds no JSON object; {_MADE_BY}")
    return value


def _in_file(value: Mapping[str, Any], source: str) -> dict[MetricId, Calibration]:
    """What a file holds: one calibration, or several by their metrics."""
    if CALIBRATIONS not in value:
        found = calibration_from_dict(value, source)
        return {found.metric: found}
    _check_version(value.get("formatVersion"), source)
    entries = value[CALIBRATIONS]
    if not isinstance(entries, Mapping):
        raise InputError(
            f"{source} is not a calibration: {CALIBRATIONS} must be an object of metrics"
        )
    return _by_metric(entries, source)


def _by_metric(entries: Mapping[str, Any], source: str) -> dict[MetricId, Calibration]:
    calibrations: dict[MetricId, Calibration] = {}
    for name, entry in entries.items():
        try:
            metric = to_metric_id(name)
        except InputError as error:
            raise InputError(f"{source}: {error}") from None
        place = f"{source}[{name!r}]"
        found = entry if isinstance(entry, Calibration) else calibration_from_dict(entry, place)
        if found.metric != metric:
            raise InputError(f"{place} is the calibration of {found.metric}")
        if calibrations.setdefault(metric, found) != found:
            raise InputError(f"{source} has two different calibrations of {metric}")
    return calibrations


def _check_version(version: object, source: str) -> None:
    if version not in _READABLE or isinstance(version, bool):
        raise InputError(
            f"{source} has format version {version!r}; this library reads {_READABLE[0]} to "
            f"{_READABLE[-1]}: calibrate again, or install the version that wrote it"
        )


# ------------------------------------------------------------------------------------ checking


def _checked(value: object) -> Calibration:
    if isinstance(value, Mapping) and "formatVersion" in value:
        # Before its fields: those of another version may be others.
        _check_version(value["formatVersion"], "it")
        if value["formatVersion"] == 1:
            value = {"refit": None, **value}
    fields = msgspec.convert(value, _Calibration)
    if (fields.objective == "precision") != (fields.precision is not None):
        raise InputError(
            "precision is required with the objective 'precision', and not allowed otherwise"
        )
    metric = calibrated_metric(to_metric_id(fields.metric_id))
    signature = None if fields.signature is None else _signature(fields.signature)
    return Calibration(
        metric=metric,
        signature=signature,
        probability_map=_map(fields.method, fields.map),
        objective=fields.objective,
        precision=fields.precision,
        threshold_interval=_interval("threshold", fields.threshold),
        balanced_accuracy_interval=_interval("balancedAccuracy", fields.balanced_accuracy),
        cross_validated_balanced_accuracy=fields.cross_validated_balanced_accuracy,
        n_labels=fields.n_labels,
        n_groups=fields.n_groups,
        n_null=fields.n_null,
        share_good=fields.share_good,
        refit=_refit(fields.refit, metric, signature),
    )


def _signature(value: dict[str, Any]) -> Signature:
    try:
        msgspec.convert(value, _Signature)
    except msgspec.ValidationError as error:
        raise InputError(f"signature: {error}") from None
    return Signature.from_dict(value)


def _refit(value: _Refit | None, metric: MetricId, signature: Signature | None) -> Refit | None:
    named = None if signature is None else signature.options.get(FAITHFULNESS_WEIGHTS)
    weights = SHIPPED_WEIGHTS if value is None else msgspec.structs.astuple(value.weights)
    if value is not None:
        if metric != "faithfulness" or signature is None:
            raise InputError("refit: only faithfulness with a signature can have fitted weights")
        if abs(sum(weights[:N_SHARES]) - 1.0) > _ROUNDING:
            raise InputError("refit: the weights from window to near must add up to 1")
    used = value is not None and value.used
    if named != (weights_digest(weights) if used else None):
        raise InputError("refit: the weights differ from those in the signature")
    if value is None:
        return None
    checked = {"weights": weights, "gain": _interval("refit.gain", value.gain)}
    return Refit(**{**msgspec.structs.asdict(value), **checked})


def _map(method: Method, value: dict[str, Any]) -> ProbabilityMap:
    try:
        if method == "logistic":
            logistic = msgspec.convert(value, _LogisticMap)
            return LogisticMap(logistic.coefficient, logistic.intercept)
        isotonic = msgspec.convert(value, _IsotonicMap)
    except msgspec.ValidationError as error:
        raise InputError(f"map: {error}") from None
    scores, probabilities = isotonic.scores, isotonic.probabilities
    if len(scores) != len(probabilities):
        raise InputError(f"map: {len(scores)} scores and {len(probabilities)} probabilities")
    if not all(left < right for left, right in pairwise(scores)):
        raise InputError("map: scores must be in increasing order")
    if not all(left <= right for left, right in pairwise(probabilities)):
        raise InputError("map: probabilities must not decrease")
    return IsotonicMap(scores, probabilities)


def _interval(name: str, value: _Interval) -> Interval:
    if (value.low is None) != (value.high is None):
        raise InputError(f"{name}: low and high must both be given, or both be null")
    if value.low is not None and value.high is not None and value.low > value.high:
        raise InputError(f"{name}: low {value.low} is above high {value.high}")
    return Interval(**msgspec.structs.asdict(value))
