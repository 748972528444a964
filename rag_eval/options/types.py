"""Options of ``evaluate``, of batches and of evaluators."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, TypeAlias, TypedDict

from rag_eval.errors import InputError, glance
from rag_eval.kernels.settings import STEMMERS, OverlapSettings, Stemmer
from rag_eval.options.declared import (
    ANY,
    FILE_OR_OBJECT,
    FLAG,
    NUMBER,
    NUMBER_BY_METRIC,
    TEXT,
    WHOLE_FROM_ONE,
    Kind,
    Option,
    document,
)
from rag_eval.options.judge_types import JudgeOptions
from rag_eval.samples import PROFILES, Profile

ProgressFn: TypeAlias = Callable[[int, int | None], object]


class MetricThresholds(TypedDict, total=False):
    """Threshold per metric; a score passes if it is at least its threshold.

    If lower is better, as for some diagnostics, it passes if it is at most its threshold.
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


def _field_paths(value: Any, name: str) -> Mapping[str, str]:
    if not isinstance(value, Mapping):
        raise InputError(
            f"{name} must map fields to columns, as in {{'question': 'user_input'}}, "
            f"got {type(value).__name__}"
        )
    for field, path in value.items():
        if not isinstance(path, str):
            raise InputError(f"{name}: {field} must be a column or a path, got {glance(path)}")
    return value


# The settings of the profile check them, by names that say whose options they are.
_OVERLAP_NUMBER: Final = Kind("a number", (int, float))
_OVERLAP_NUMBERS: Final = Kind("an array of numbers", (list,))
_DEFAULTS: Final = OverlapSettings()


class HeuristicOptions(TypedDict, total=False):
    """Parameters of the overlap profile; None and missing mean the default."""

    claim_support_threshold: Annotated[
        float | None,
        Option(
            _OVERLAP_NUMBER,
            "Minimum unigram overlap at which hallucination_rate counts a sentence as supported.",
            default=_DEFAULTS.claim_support_threshold,
        ),
    ]
    chunk_relevance_threshold: Annotated[
        float | None,
        Option(
            _OVERLAP_NUMBER,
            "Minimum weighted overlap at which context_relevance counts a context as relevant.",
            default=_DEFAULTS.chunk_relevance_threshold,
        ),
    ]
    sentence_coverage_threshold: Annotated[
        float | None,
        Option(
            _OVERLAP_NUMBER,
            "Minimum unigram overlap at which context_recall counts a sentence as covered.",
            default=_DEFAULTS.sentence_coverage_threshold,
        ),
    ]
    ngram_weight: Annotated[
        float | None,
        Option(
            _OVERLAP_NUMBER,
            "Weight of n-grams in answer_relevance; its sum with {tfidf_weight} must not be 0.",
            default=_DEFAULTS.ngram_weight,
        ),
    ]
    tfidf_weight: Annotated[
        float | None,
        Option(
            _OVERLAP_NUMBER, "Weight of TF-IDF in answer_relevance.", default=_DEFAULTS.tfidf_weight
        ),
    ]
    ngram_sizes: Annotated[
        Sequence[float] | None,
        Option(
            _OVERLAP_NUMBERS,
            "N-gram sizes of the weighted overlap (faithfulness, context_relevance).",
            default=_DEFAULTS.ngram_sizes,
        ),
    ]
    ngram_weights: Annotated[
        Sequence[float | None] | None,
        Option(
            _OVERLAP_NUMBERS,
            "One weight per size; missing weights and None are 1, surplus weights are ignored.",
            default=_DEFAULTS.ngram_weights,
        ),
    ]


class ScoringOptions(TypedDict, total=False):
    """What is computed, without a judge; None and missing mean the default."""

    profile: Annotated[
        Profile | None,
        Option(
            Kind("a string", (str,), choices=PROFILES),
            "How metrics are computed: as rag-eval-node-ts does, or so that scores agree with "
            "people.",
            default="overlap",
            more="Each profile has its own default thresholds.",
            noted=True,
        ),
    ]
    language: Annotated[
        str | None,
        Option(
            Kind("a language tag", (str,)),
            "Language of all samples, for {profile=grounded}.",
            unset="detected for each",
            metavar="TAG",
            noted=True,
        ),
    ]
    stemmer: Annotated[
        Stemmer | None,
        Option(
            Kind("a string", (str,), choices=STEMMERS),
            "Stems of {profile=grounded}; snowball needs the extra lang.",
            default="light",
            more="The light stemmer is for English; Snowball supports many languages.",
            noted=True,
        ),
    ]
    calibration: Annotated[
        Any,
        Option(
            FILE_OR_OBJECT,
            "Thresholds and probabilities from rag-eval calibrate.",
            takes="Calibration, path, mapping or list of these",
            more="Fills ``MetricResult.probability``, and sets the threshold of its metric unless "
            "{thresholds} has one.",
        ),
    ]
    thresholds: Annotated[
        MetricThresholds | Mapping[str, float | None] | None,
        Option(NUMBER_BY_METRIC, "Minimum score that passes, per metric.", noted=True),
    ]
    composite_threshold: Annotated[
        float | None,
        Option(
            NUMBER,
            "Minimum composite score that passes.",
            unset="0.6, grounded: none",
            noted=True,
        ),
    ]
    composite_weights: Annotated[
        Mapping[str, float | None] | None,
        Option(
            NUMBER_BY_METRIC,
            "Weights in the composite score.",
            unset="1 each",
            flag="--weights",
            noted=True,
        ),
    ]
    heuristic: Annotated[
        HeuristicOptions | Mapping[str, Any] | None,
        Option(
            Kind("a table", (dict,), form=HeuristicOptions),
            "Parameters of the overlap profile.",
            takes="HeuristicOptions",
            no_flag="set it in rag-eval.toml",
            noted=True,
        ),
    ]
    scorer_options: Annotated[
        Mapping[str, Mapping[str, Any]] | None,
        Option(
            Kind("a table of scorers", (dict,)),
            "Options of scorers among the metrics, by scorer id, such as "
            '``{"mastra.noise_sensitivity": {"baseline_response": "..."}}``.',
            flag_help="Options of a scorer such as mastra.noise_sensitivity: "
            'SCORER={"name": value}.',
            metavar="SCORER=JSON",
        ),
    ]


class EvaluateOptions(ScoringOptions, JudgeOptions, total=False):
    """Options of :func:`rag_eval.evaluate`: metrics, thresholds and the judge."""


class WorkOptions(TypedDict, total=False):
    """How many rows are processed, and how progress is reported."""

    threads: Annotated[
        int | None,
        Option(
            WHOLE_FROM_ONE,
            "Number of native threads.",
            unset="all cores",
            more="Only cores available to this process count. Scores do not depend on it.",
        ),
    ]
    on_progress: Annotated[
        ProgressFn | bool | None,
        Option(
            ANY,
            "Called with (completed, total) at most every 50 ms and at the end.",
            takes="callable or True",
            more="The total is None if unknown, and for files an estimate from the share of the "
            "data that was read. True shows a progress bar in a notebook or on a terminal. If the "
            "callback has a method ``judging``, that is called first with what a judge has taken: "
            "``n_calls``, ``n_failed``, ``n_tokens``, ``cost_usd``.",
            no_flag="a command shows its own bar, unless {quiet}",
            no_toml="it is a function",
        ),
    ]


class SchemaOptions(TypedDict, total=False):
    """How fields are found in the data."""

    schema: Annotated[
        str | None,
        Option(
            TEXT,
            "Tool whose field names the data uses, such as ragas or deepeval.",
            more="Dicts in memory use our names unless {schema} or {mapping} is given.",
            unset="recognised",
            metavar="NAME",
            noted=True,
        ),
    ]
    mapping: Annotated[
        Mapping[str, str] | None,
        Option(
            Kind("a table of fields", (dict,), check=_field_paths),
            "Maps our fields to columns or paths in the data, such as "
            '``{"question": "user_input"}``, or ``"docs[].text"`` in nested data.',
            flag="--map",
            flag_help="Where a field is: question=user_input, or contexts=docs[].text in nested "
            "data.",
            metavar="FIELD=COLUMN,…",
            noted=True,
        ),
    ]


class MissingOptions(TypedDict, total=False):
    """How metrics are handled whose fields are missing from the data."""

    allow_missing: Annotated[
        bool | None,
        Option(
            FLAG,
            "Accept metrics that are null in every row because the data lacks a field they need, "
            "which are listed as not measured, and let gates accept samples without a question, an "
            "answer or contexts.",
            default=False,
            noted=True,
        ),
    ]


class RegressionOptions(TypedDict, total=False):
    """How a run is compared with an earlier one."""

    regression_threshold: Annotated[
        float | None,
        Option(
            NUMBER,
            "Maximum drop of a mean against the baseline.",
            default=0.05,
            flag_help="Maximum drop of a mean against the baseline, with --policy node.",
            noted=True,
        ),
    ]
    allow_signature_mismatch: Annotated[
        bool | None,
        Option(FLAG, "Accept a baseline that was scored under different settings.", default=False),
    ]


class BatchEvaluateOptions(
    EvaluateOptions, SchemaOptions, MissingOptions, WorkOptions, RegressionOptions, total=False
):
    """Options of :func:`rag_eval.evaluate_batch`, besides those of :func:`rag_eval.evaluate`."""

    baseline_result: Annotated[
        Any,
        Option(
            ANY,
            "An earlier run, as an object, as loaded from its JSON file, or the name of that file.",
            takes="BatchEvalResult, mapping, str or Path",
            no_flag="give {baseline} to a run",
            no_toml="use ``baseline``",
        ),
    ]
    keep_texts: Annotated[
        bool | None,
        Option(
            FLAG,
            "Keep the texts of rows, so that they can be opened later.",
            default=True,
            no_flag="a command opens no rows later",
            no_toml="a command opens no rows later",
        ),
    ]


class MetricsOptions(TypedDict, total=False):
    """The metrics to compute, if no separate argument names them."""

    metrics: Annotated[
        Sequence[str] | None,
        Option(
            Kind("an array of metric ids", (list,)),
            "Metrics to compute.",
            unset="the seven",
            metavar="A,B,…",
        ),
    ]


class EvaluatorConfig(BatchEvaluateOptions, MetricsOptions, total=False):
    """Options of :func:`rag_eval.create_evaluator`: those of a batch, and the metrics."""


document(HeuristicOptions)
document(ScoringOptions)
document(EvaluateOptions)
document(WorkOptions)
document(SchemaOptions)
document(MissingOptions)
document(RegressionOptions)
document(BatchEvaluateOptions, EvaluateOptions)
document(EvaluatorConfig, BatchEvaluateOptions)
