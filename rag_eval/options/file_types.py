"""Options of calls on files and tables: reading, runs, files of scores, record batches."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from rag_eval.inputs.encodings import checked_encoding
from rag_eval.options.declared import (
    ANY,
    FILE,
    FILE_OR_OBJECT,
    FLAG,
    NAMES,
    NUMBER_BY_METRIC,
    SEPARATOR,
    SHARE,
    TEXT,
    WHOLE_FROM_ONE,
    WHOLE_FROM_ZERO,
    Kind,
    Option,
    choice,
    document,
)
from rag_eval.options.gate_types import PolicyOptions
from rag_eval.options.judge_types import JudgeBatchOptions
from rag_eval.options.types import (
    EvaluateOptions,
    MetricsOptions,
    MissingOptions,
    RegressionOptions,
    SchemaOptions,
    ScoringOptions,
    WorkOptions,
)

Quantiles: TypeAlias = Literal["exact", "sketch"]
"""How medians are found."""

_WRITES: Final = "output files are named when the run is started"
_FUNCTION: Final = "it is a function"


class FileOptions(SchemaOptions, MissingOptions, total=False):
    """How files are read."""

    gold_separator: Annotated[
        str | None,
        Option(SEPARATOR, "Splits a ground truth into acceptable answers, for {profile=grounded}."),
    ]
    context_separator: Annotated[
        str | None,
        Option(
            SEPARATOR,
            "Splits a cell of CSV into contexts.",
            unset="a cell is a JSON array, or one context",
        ),
    ]
    max_row_bytes: Annotated[
        int | None,
        Option(
            WHOLE_FROM_ONE,
            "Maximum length of a row of a text file in bytes, unpacked; a longer row is an error.",
            unset="268435456, which is 256 MiB",
            more="A JSON array is held entirely in memory and may be four times as long.",
        ),
    ]
    encoding: Annotated[
        str | None,
        Option(
            Kind("the name of an encoding", (str,), "NAME", checked_encoding),
            "Encoding of text files, such as latin-1, cp1252 or utf-16.",
            unset="utf-8",
        ),
    ]
    allow_changed_input: Annotated[
        bool | None,
        Option(
            FLAG,
            "Accept input files that change during the run.",
            default=False,
            flag_help="Accept input files that change during the run; else the exit code is 2.",
        ),
    ]


class ReadOptions(FileOptions, WorkOptions, total=False):
    """How files are read and by how many threads; None and missing mean the default."""

    skip_invalid: Annotated[
        bool | None,
        Option(
            FLAG,
            "Skip and count invalid samples; otherwise the first one ends the run.",
            default=False,
            noted=True,
        ),
    ]
    quantiles: Annotated[
        Quantiles | None,
        Option(
            choice("exact", "sketch"),
            "Compute medians exactly, or from a histogram with a relative error of 1/4096.",
            default="exact",
            noted=True,
        ),
    ]
    on_found: Annotated[
        Callable[[str], object] | None,
        Option(
            ANY,
            "Called with each line about the data, such as its fields, before the first score "
            "is computed.",
            takes="callable",
            no_flag="they are on standard error",
            no_toml=_FUNCTION,
        ),
    ]


class RunOptions(
    ReadOptions,
    EvaluateOptions,
    RegressionOptions,
    PolicyOptions,
    JudgeBatchOptions,
    total=False,
):
    """Options of :func:`rag_eval.run_file`, besides those of reading and of evaluating."""

    min_pass_rate: Annotated[
        float | None,
        Option(
            SHARE,
            "Minimum share of samples that pass.",
            noted=True,
        ),
    ]
    min_mean: Annotated[
        Mapping[str, float] | None,
        Option(NUMBER_BY_METRIC, "Minimum mean of a metric.", noted=True),
    ]
    max_mean: Annotated[
        Mapping[str, float] | None,
        Option(NUMBER_BY_METRIC, "Maximum allowed mean for a lower-is-better metric.", noted=True),
    ]
    max_judge_failures: Annotated[
        float | None,
        Option(
            SHARE,
            "Maximum share of failed judgements.",
            unset="0 if another gate is set",
            noted=True,
        ),
    ]
    baseline: Annotated[
        Any,
        Option(
            FILE_OR_OBJECT,
            "Compare row by row with this earlier run (a result file or a table of scores), by "
            "{policy}.",
            takes="str, Path, BatchEvalResult or mapping",
            more="A mapping or a file without rows has only means, which are enough for "
            "{policy=node}.",
        ),
    ]
    output: Annotated[
        str | Path | None,
        Option(
            FILE,
            "Write all rows to this .json or .jsonl file, optionally with .gz.",
            flag_help="Write all rows to FILE: .json or .jsonl, optionally with .gz.",
            no_toml=_WRITES,
        ),
    ]
    details: Annotated[
        bool | None,
        Option(
            FLAG,
            "Add the scores of contexts and sentences, with their evidence, to rows.",
            default=False,
        ),
    ]
    worst: Annotated[
        int | None,
        Option(
            WHOLE_FROM_ZERO,
            "Number of rows with the lowest composite scores to keep with explanations.",
            flag_help="Show the N rows with the lowest composite scores and their findings.",
            default=0,
        ),
    ]
    on_row: Annotated[
        Callable[[bytes], object] | None,
        Option(
            ANY,
            "Called with the result of each row as one line of JSON.",
            takes="callable",
            no_flag="{format=jsonl} prints them",
            no_toml=_FUNCTION,
        ),
    ]
    store: Annotated[
        str | Path | None,
        Option(
            FILE,
            "Keep the run in this store for later gates and comparisons; about 10 bytes per score, "
            "no texts.",
            more="It is created if missing, and records whether the gates passed, if any was set.",
            metavar="[FILE]",
            no_toml=_WRITES,
        ),
    ]
    store_columns: Annotated[
        Sequence[str] | None,
        Option(
            NAMES,
            "Fields of the samples, or of their metadata, that the store keeps with the scores: "
            "fields to cluster or slice by.",
            no_toml=_WRITES,
            noted=True,
        ),
    ]
    gold_dir: Annotated[
        str | Path | None,
        Option(
            FILE,
            "Human labels of some samples, a folder in omk's format or a table of ids and labels; "
            "the report shows how well the scores agree with them.",
            flag_help="Human labels, as created by rag-eval labels init: show how well the scores "
            "agree with them.",
            metavar="DIR",
            no_toml="labels are named when the run is started",
        ),
    ]
    view: Annotated[
        bool | None,
        Option(
            FLAG,
            "Keep the data for a report: up to 20,000 rows with their texts, the worst and a "
            "random sample; the report has it as ``view``.",
            default=False,
            no_flag="{html} and the flags of other reports imply it",
            no_toml=_WRITES,
        ),
    ]
    cluster_by: Annotated[
        str | None,
        Option(
            TEXT,
            "Field of the samples, or of their metadata, whose equal values mark rows that belong "
            "together: confidence intervals of means are by clusters. `document` stands for rows "
            "with the same contexts where there is no such field. Keeps all scores in memory.",
            flag_help="Field of the samples or their metadata whose equal values mark rows that "
            "belong together, for confidence intervals; document stands for the same contexts "
            "where there is no such field.",
            metavar="FIELD",
        ),
    ]
    slice_by: Annotated[
        Sequence[str] | None,
        Option(
            NAMES,
            "Fields of the samples, or of their metadata, to slice the view by.",
            flag_help="Show means per value of this field of the samples or their metadata in "
            "reports (repeatable).",
            metavar="FIELD",
            no_toml=_WRITES,
        ),
    ]


class ConfigOptions(RunOptions, MetricsOptions, total=False):
    """What ``rag-eval.toml`` may give, but for options that say why not."""


class StreamOptions(ReadOptions, EvaluateOptions, JudgeBatchOptions, total=False):
    """Options of scores that are written as rows, wherever they go."""

    columns: Annotated[
        Sequence[str] | None,
        Option(
            NAMES,
            "Columns of the input, or of its rows' metadata, to copy into the output, beside the "
            "id.",
            metavar="A,B,…",
            no_toml=_WRITES,
        ),
    ]
    prefix: Annotated[
        str | None,
        Option(TEXT, "Prefix of the score columns.", no_toml=_WRITES),
    ]
    digests: Annotated[
        bool | None,
        Option(
            FLAG,
            "Add a column of short digests of each row's question, ground truth, relevant ids and "
            "answer, by which compare and gate notice edited rows.",
            default=False,
            more="26 characters a row.",
            no_toml=_WRITES,
        ),
    ]


class ScoreFileOptions(StreamOptions, total=False):
    """Options of :func:`rag_eval.score_file`, besides those of reading and of evaluating."""

    resume: Annotated[
        bool | None,
        Option(
            FLAG,
            "Resume an interrupted run, or start a new one.",
            default=False,
            flag_help="Resume an interrupted run of DST.",
            no_toml=_WRITES,
        ),
    ]
    restart: Annotated[
        bool | None,
        Option(
            FLAG,
            "Discard the rows of an interrupted run.",
            default=False,
            flag_help="Discard the rows of an interrupted run.",
            no_toml=_WRITES,
        ),
    ]
    checkpoint_rows: Annotated[
        int | None,
        Option(
            WHOLE_FROM_ONE,
            "Number of rows after which scores are saved to disk.",
            unset="10 s or 64 MiB",
            flag_help="Save scores to disk after every N rows.",
            no_toml=_WRITES,
        ),
    ]


class BatchScorerOptions(ScoringOptions, SchemaOptions, MissingOptions, total=False):
    """Options of :class:`rag_eval.distributed.BatchScorer`, besides those of scoring.

    None and missing mean the default. Calibration files are read when the scorer is created, not on
    the workers.
    """

    columns: Annotated[
        Sequence[str] | None, Option(NAMES, "Columns of the input to keep.", unset="all")
    ]
    prefix: Annotated[str | None, Option(TEXT, "Prefix of the score columns.")]
    threads: Annotated[
        int | None,
        Option(
            WHOLE_FROM_ONE,
            "Native threads per task; scores do not depend on it.",
            unset="the cores of a task",
            more="They are ``spark.task.cpus`` in Spark and else 1. In Ray it is also the CPUs "
            "that a task asks for.",
        ),
    ]


class JudgeCheckOptions(ReadOptions, EvaluateOptions, total=False):
    """Options of the checks of a judge: what is read, and what the judge is asked."""


document(ReadOptions)
document(
    RunOptions, ReadOptions, EvaluateOptions, RegressionOptions, PolicyOptions, JudgeBatchOptions
)
document(ScoreFileOptions, ReadOptions, EvaluateOptions, JudgeBatchOptions)
document(BatchScorerOptions, ScoringOptions)
