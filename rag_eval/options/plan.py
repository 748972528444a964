"""Options: their types, their spellings, and what a call is to do once they are merged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypedDict, get_type_hints

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.kernels.grounded_settings import Stemmer
from rag_eval.kernels.overlap_settings import LARGEST_WEIGHT
from rag_eval.kernels.profiles import COMPOSITE_THRESHOLDS, Settings, settings_of
from rag_eval.metrics.contract import Metric
from rag_eval.metrics.ids import METRIC_IDS, is_scorer_id
from rag_eval.metrics.registry import judged_rule, needs_judge, to_metric_id
from rag_eval.metrics.seven import PROFILE_METRICS
from rag_eval.options.judging import JudgeOptions
from rag_eval.options.judging_plan import Judging, make_judging
from rag_eval.options.scorers import ChosenScorer, chosen_scorers
from rag_eval.plumbing.checked_values import number
from rag_eval.plumbing.spelling import snake_case
from rag_eval.samples import MetricId, Profile

ProgressFn: TypeAlias = Callable[[int, "int | None"], object]


class MetricThresholds(TypedDict, total=False):
    """Threshold per metric; a score passes from its threshold on.

    Where lower is better, as for some diagnostics, it passes up to its threshold.
    """

    faithfulness: float
    answer_relevance: float
    context_precision: float
    context_recall: float
    context_relevance: float
    answer_correctness: float
    hallucination_rate: float
    context_utilization: float
    noise_sensitivity: float
    claim_recall: float
    self_knowledge: float
    unsupported_numbers: float
    unsupported_names: float


class HeuristicOptions(TypedDict, total=False):
    """Parameters of the overlap profile; None and missing mean the default.

    Attributes
    ----------
    claim_support_threshold : float, default 0.15
        Unigram overlap from which hallucination_rate calls a sentence supported.
    chunk_relevance_threshold : float, default 0.2
        Weighted overlap from which context_relevance calls a chunk relevant.
    sentence_coverage_threshold : float, default 0.3
        Unigram overlap from which context_recall calls a sentence covered.
    ngram_weight, tfidf_weight : float, default 1
        Shares of the two parts of answer_relevance; their sum must not be 0.
    ngram_sizes : sequence of int, default (1, 2)
        N-gram sizes of the weighted overlap (faithfulness, context_relevance).
    ngram_weights : sequence of float, default (0.7, 0.3)
        One per size; a missing one and None count 1, surplus ones are ignored.
    """

    claim_support_threshold: float | None
    chunk_relevance_threshold: float | None
    sentence_coverage_threshold: float | None
    ngram_weight: float | None
    tfidf_weight: float | None
    ngram_sizes: Sequence[float] | None
    ngram_weights: Sequence[float | None] | None


class EvaluateOptions(JudgeOptions, total=False):
    """Options of :func:`rag_eval.evaluate`, besides those of judging.

    Attributes
    ----------
    profile : {"overlap", "grounded"}, default "overlap"
        How metrics are computed; each profile has default thresholds of its own.
    language : str, optional
        Grounded profile: tag of the language every sample is read in; detected where None.
    stemmer : {"light", "snowball"}, default "light"
        Grounded profile: light English stems, or Snowball's (extra ``lang``).
    calibration : Calibration, path, mapping or list of these, optional
        What :func:`rag_eval.calibrate` found. Fills ``MetricResult.probability``, and sets the
        threshold of its metric unless ``thresholds`` has one.
    """

    profile: Profile | None
    language: str | None
    stemmer: Stemmer | None
    calibration: Any
    thresholds: MetricThresholds | Mapping[str, float | None] | None
    composite_threshold: float | None
    composite_weights: Mapping[str, float | None] | None
    heuristic: HeuristicOptions | None


class BatchEvaluateOptions(EvaluateOptions, total=False):
    """Options of :func:`rag_eval.evaluate_batch`.

    Attributes
    ----------
    threads : int, optional
        Threads of native work; default: the cores this process may use. Scores do not depend on it.
    on_progress : callable or True, optional
        Called with (completed, total) at most every 50 ms and at the end; total is None for input
        without a length. True shows a bar, in a notebook or on a terminal.
    baseline_result : BatchEvalResult, mapping, str or Path, optional
        An earlier run, as an object, as loaded from its JSON file, or the name of that file.
    regression_threshold : float, default 0.05
        A mean that drops by more is a regression.
    allow_signature_mismatch : bool, default False
        Compare with a baseline of other settings all the same.
    keep_texts : bool, default True
        Keep what rows need to be opened later.
    """

    threads: int | None
    on_progress: ProgressFn | bool | None
    baseline_result: Any
    regression_threshold: float | None
    allow_signature_mismatch: bool | None
    keep_texts: bool | None


class EvaluatorConfig(BatchEvaluateOptions, total=False):
    """Options of :func:`rag_eval.create_evaluator`: those of a batch, and the metrics."""

    metrics: Sequence[str] | None


EVALUATE_KEYS: Final = frozenset(get_type_hints(EvaluateOptions))
BATCH_KEYS: Final = frozenset(get_type_hints(BatchEvaluateOptions))
CONFIG_KEYS: Final = frozenset(get_type_hints(EvaluatorConfig))
HEURISTIC_KEYS: Final = frozenset(get_type_hints(HeuristicOptions))
_BY_METRIC: Final = ("thresholds", "composite_weights", "metric_modes", "prompt_overrides")
# Overlaid key by key when a call's options meet an evaluator's; others are replaced whole.
_OVERLAID: Final = ("thresholds", "composite_weights", "heuristic")

REGRESSION_THRESHOLD: Final = 0.05


def _renamed(
    options: Mapping[str, Any], owner: str, rename: Callable[[str], str]
) -> dict[str, Any]:
    """The options under their own spelling; two spellings of one with two values are an error."""
    renamed: dict[str, Any] = {}
    for name, value in options.items():
        key = rename(name)
        if key in renamed and renamed[key] != value:
            raise InputError(f"{owner} {key!r} is given twice with different values")
        renamed[key] = value
    return renamed


def _known_options(options: Mapping[str, Any], owner: str, keys: frozenset[str]) -> dict[str, Any]:
    def rename(name: str) -> str:
        key = snake_case(name)
        if key not in keys:
            hint = suggestion(key, keys)
            if key in HEURISTIC_KEYS:
                hint = f"; it goes into heuristic={{'{key}': ...}}"
            raise TypeError(f"{owner} has no option {name!r}{hint}")
        return key

    return _renamed(options, f"{owner}: option", rename)


def _by_metric(value: object, owner: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"{owner} must be a mapping of metrics, got {type(value).__name__}")
    return _renamed(value, owner, to_metric_id)


def normalized(options: Mapping[str, Any], owner: str, keys: frozenset[str]) -> dict[str, Any]:
    """Options by their snake_case names, nested ones too.

    Raises
    ------
    TypeError
        For a name that is no option of ``owner``; the message suggests the nearest.
    InputError
        For an unknown metric, or two spellings with different values.
    """
    result = _known_options(options, owner, keys)
    for name in _BY_METRIC:
        if result.get(name) is not None:
            result[name] = _by_metric(result[name], name)
    heuristic = result.get("heuristic")
    if heuristic is not None:
        if not isinstance(heuristic, Mapping):
            raise InputError(f"heuristic must be a mapping, got {type(heuristic).__name__}")
        result["heuristic"] = _known_options(heuristic, "heuristic", HEURISTIC_KEYS)
    return result


def overlaid(config: Mapping[str, Any], call: Mapping[str, Any]) -> dict[str, Any]:
    """A call's options over an evaluator's, both normalized.

    Thresholds, composite weights and heuristic options are merged key by key, and None there
    leaves the evaluator's; any other option given in the call replaces the evaluator's, None
    with the library's default.
    """
    merged = {**config, **call}
    for name in _OVERLAID:
        if name in call:
            merged[name] = {**(config.get(name) or {}), **(call[name] or {})}
    return merged


def _weight(value: object, name: str) -> float:
    """A number whose products and sums with scores stay finite."""
    checked = number(value, name)
    if abs(checked) > LARGEST_WEIGHT:
        raise InputError(f"{name} must be at most {LARGEST_WEIGHT:g}, got {value}")
    return checked


@dataclass(frozen=True, slots=True)
class Plan:
    """What one call computes and how its scores become a verdict.

    Attributes
    ----------
    metrics : tuple of MetricId
        As asked for; a metric named twice counts twice in the composite.
    columns : tuple of MetricId
        The same without repeats: the columns of the score matrix.
    thresholds, weights : dict
        Per metric in ``columns``; a threshold of None lets every score pass.
    specs : dict of Metric
        The contracts of the columns.
    calibrations : dict of Calibration
        Per metric, where one was given.
    judging : Judging or None
        What a judge is asked; None where none is.
    scorers : dict of ChosenScorer
        The scorers among the columns that need no judge.
    """

    metrics: tuple[MetricId, ...]
    columns: tuple[MetricId, ...]
    thresholds: dict[MetricId, float | None]
    weights: dict[MetricId, float]
    composite_threshold: float
    settings: Settings
    specs: Mapping[MetricId, Metric]
    calibrations: Mapping[MetricId, Any] = field(default_factory=dict)
    judging: Judging | None = None
    scorers: Mapping[MetricId, ChosenScorer] = field(default_factory=dict)

    @property
    def native_columns(self) -> tuple[MetricId, ...]:
        """The columns that kernels compute, whoever scores them in the end."""
        if self.judging is None and not self.scorers:
            return self.columns
        return tuple(metric for metric in self.columns if not is_scorer_id(metric))

    @property
    def computed_columns(self) -> tuple[MetricId, ...]:
        """The columns that kernels and scorers compute before any judge is asked."""
        if self.judging is None:
            return self.columns
        return tuple(metric for metric in self.columns if not needs_judge(metric))

    @property
    def scorer_fields(self) -> tuple[str, ...]:
        """The fields of a sample that the scorers among the columns read."""
        specs = [chosen.spec for chosen in self.scorers.values()]
        return tuple(dict.fromkeys(name for s in specs for name in s.reads))


def metric_list(metrics: Iterable[str] | None) -> tuple[MetricId, ...]:
    """The metrics asked for, all seven for None."""
    if metrics is None:
        return METRIC_IDS
    if isinstance(metrics, (str, bytes)) or not isinstance(metrics, Iterable):
        raise InputError(f"metrics must be a list of metric ids, got {glance(metrics)}")
    return tuple(to_metric_id(name) for name in metrics)


def _thresholds(
    given: Mapping[str, Any], specs: Mapping[MetricId, Metric], columns: Iterable[MetricId]
) -> dict[MetricId, float | None]:
    checked = {name: number(value, f"thresholds[{name!r}]") for name, value in given.items()}
    return {metric: checked.get(metric, specs[metric].threshold) for metric in columns}


def _weights(
    given: Mapping[str, Any], specs: Mapping[MetricId, Metric], columns: Iterable[MetricId]
) -> dict[MetricId, float]:
    weights: dict[MetricId, float] = {}
    for metric in columns:
        weight, spec = given.get(metric), specs[metric]
        owner = f"composite_weights[{metric!r}]"
        if weight is None:
            weights[metric] = 1.0 if spec.in_composite else 0.0
            continue
        if not spec.in_composite and not is_scorer_id(metric):
            raise InputError(f"{owner}: a diagnostic has no part in the composite score")
        if is_scorer_id(metric) and (spec.range != (0.0, 1.0) or not spec.higher_is_better):
            raise InputError(
                f"{owner}: only scores from 0 to 1 of which higher is better can be part of the "
                "composite score"
            )
        weights[metric] = _weight(weight, owner)
    return weights


def _specs(
    columns: Iterable[MetricId],
    profile: Profile,
    judging: Judging | None,
    scorers: Mapping[MetricId, ChosenScorer],
) -> dict[MetricId, Metric]:
    """The contracts of the columns, by whoever scores them."""
    specs: dict[MetricId, Metric] = {}
    for metric in columns:
        if metric in scorers:
            specs[metric] = scorers[metric].spec
        elif judging is not None and metric in judging.judged and not judging.is_cascade:
            specs[metric] = judged_rule(metric).metric[judging.style]
        elif metric not in PROFILE_METRICS[profile]:
            raise InputError(f"metric {metric!r} needs profile='grounded'")
        else:
            specs[metric] = PROFILE_METRICS[profile][metric]
    return specs


def _settings(options: Mapping[str, Any], judging: Judging | None) -> Settings:
    if judging is None or not judging.is_cascade:
        return settings_of(options)
    if options.get("profile") not in (None, "grounded"):
        raise InputError("mode='cascade' needs profile='grounded', whose scores can be calibrated")
    return settings_of({**options, "profile": "grounded"})


def make_plan(metrics: Iterable[str] | None, options: Mapping[str, Any]) -> Plan:
    """The plan of a call from its normalized options."""
    asked = metric_list(metrics)
    columns = tuple(dict.fromkeys(asked))
    judging = make_judging(options, columns)
    scorers = chosen_scorers(options, columns)
    settings = _settings(options, judging)
    specs = _specs(columns, settings.profile, judging, scorers)
    threshold = options.get("composite_threshold")
    return Plan(
        metrics=asked,
        columns=columns,
        thresholds=_thresholds(options.get("thresholds") or {}, specs, columns),
        weights=_weights(options.get("composite_weights") or {}, specs, columns),
        composite_threshold=COMPOSITE_THRESHOLDS[settings.profile]
        if threshold is None
        else number(threshold, "composite_threshold"),
        settings=settings,
        specs=specs,
        judging=judging,
        scorers=scorers,
    )
