"""What calls on files and tables are asked for: reading, runs, files of scores, record batches."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from rag_eval.inputs.encodings import checked_encoding
from rag_eval.options.declared import (
    ANY,
    FILE,
    FILE_OR_OBJECT,
    FLAG,
    MARGIN,
    NAMES,
    NUMBER,
    NUMBER_BY_METRIC,
    POSITIVE,
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
from rag_eval.options.types import (
    EvaluateOptions,
    MetricsOptions,
    MissingOptions,
    RegressionOptions,
    SchemaOptions,
    ScoringOptions,
    WorkOptions,
)
from rag_eval.samples import POLICIES, Policy

Quantiles: TypeAlias = Literal["exact", "sketch"]
"""How medians are found."""

_WRITES: Final = "what a run writes is named where it is started"
_FUNCTION: Final = "it is a function"


class FileOptions(SchemaOptions, MissingOptions, total=False):
    """How files are read."""

    gold_separator: Annotated[
        str | None,
        Option(SEPARATOR, "Splits a ground truth into acceptable answers, for {profile=grounded}."),
    ]
    context_separator: Annotated[
        str | None, Option(SEPARATOR, "Splits a cell of CSV into contexts.", unset="a JSON array")
    ]
    max_row_bytes: Annotated[
        int | None,
        Option(
            WHOLE_FROM_ONE,
            "Longest row of a text file, in bytes, unpacked; a longer one ends the command.",
            unset="268435456, which is 256 MiB",
            more="A JSON array is held in memory as a whole and may have four times as much.",
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
            "Let a file change between its opening and the end.",
            default=False,
            flag_help="Let a file change between its opening and the end; else the exit code is 2.",
        ),
    ]


class ReadOptions(FileOptions, WorkOptions, total=False):
    """How files are read and by how many threads; None and missing mean the default."""

    skip_invalid: Annotated[
        bool | None,
        Option(
            FLAG,
            "Leave bad samples out and count them; else the first ends the run.",
            default=False,
            noted=True,
        ),
    ]
    quantiles: Annotated[
        Quantiles | None,
        Option(
            choice("exact", "sketch"),
            "Medians from all scores, or from a histogram, within one part in 4,096.",
            default="exact",
            noted=True,
        ),
    ]


class RunOptions(ReadOptions, EvaluateOptions, RegressionOptions, total=False):
    """Options of :func:`rag_eval.run_file`, besides those of reading and of evaluating."""

    min_pass_rate: Annotated[
        float | None,
        Option(
            SHARE,
            "Gate: least share of samples that pass.",
            noted=True,
        ),
    ]
    min_mean: Annotated[
        Mapping[str, float] | None,
        Option(NUMBER_BY_METRIC, "Gate: least mean of a metric.", noted=True),
    ]
    max_mean: Annotated[
        Mapping[str, float] | None,
        Option(
            NUMBER_BY_METRIC, "Gate: maximum allowed mean for a lower-is-better metric.", noted=True
        ),
    ]
    max_judge_failures: Annotated[
        float | None,
        Option(
            SHARE,
            "Gate: largest share of judgements that may fail.",
            unset="0 when another gate is set",
            noted=True,
        ),
    ]
    baseline: Annotated[
        Any,
        Option(
            FILE_OR_OBJECT,
            "Gate: compare row by row with this earlier run, any file that compare reads, by "
            "{policy}.",
            takes="str, Path, BatchEvalResult or mapping",
            more="A mapping or a file without rows has means alone, which are enough for "
            "{policy=node}.",
        ),
    ]
    policy: Annotated[
        Policy | None,
        Option(
            choice(*POLICIES),
            "Rule by which a run is compared with its baseline: see rag-eval gate.",
            default="no-regression",
            noted=True,
        ),
    ]
    margin: Annotated[
        float | Mapping[str, float] | None,
        Option(
            MARGIN,
            "A loss of the mean that is accepted, for all metrics or for one.",
            takes="float or mapping of float",
            flag_help="A loss of the mean that is accepted, for all metrics or for one (again for "
            "more).",
            noted=True,
        ),
    ]
    alpha: Annotated[
        float | None,
        Option(
            NUMBER,
            "Chance of a false alarm, over all tests together.",
            default=0.05,
            noted=True,
        ),
    ]
    care: Annotated[
        float | None,
        Option(
            POSITIVE,
            "A drop that is worth finding; the report says where rows are too few for it.",
            default=0.05,
            noted=True,
        ),
    ]
    output: Annotated[
        str | Path | None,
        Option(
            FILE,
            "Write all rows to this file: .json or .jsonl, either also .gz.",
            flag_help="Write all rows to FILE: .json or .jsonl, either also .gz.",
            no_toml=_WRITES,
        ),
    ]
    details: Annotated[
        bool | None,
        Option(
            FLAG, "Rows with the scores of chunks and sentences and their evidence.", default=False
        ),
    ]
    worst: Annotated[
        int | None,
        Option(
            WHOLE_FROM_ZERO,
            "How many of the rows with the lowest composite score to keep, explained.",
            flag_help="Show the N rows with the lowest composite score, with their signals.",
            default=0,
        ),
    ]
    on_row: Annotated[
        Callable[[bytes], object] | None,
        Option(
            ANY,
            "Gets the result of each row as one line of JSON.",
            takes="callable",
            no_flag="{format=jsonl} prints them",
            no_toml=_FUNCTION,
        ),
    ]
    store: Annotated[
        str | Path | None,
        Option(
            FILE,
            "Keep the run in this store, for gates and comparisons to come; some 10 bytes a score, "
            "no texts.",
            more="It is made when it is not there, and notes whether the gates held, where any was "
            "set.",
            metavar="[FILE]",
            no_toml=_WRITES,
        ),
    ]
    store_columns: Annotated[
        Sequence[str] | None,
        Option(
            NAMES,
            "Fields of the samples, or of their metadata, that the store keeps beside the scores: "
            "what gates cluster or slice by.",
            no_toml=_WRITES,
            noted=True,
        ),
    ]
    gold_dir: Annotated[
        str | Path | None,
        Option(
            FILE,
            "People's labels of some of the samples, a folder in omk's form or a table of ids and "
            "labels: the report says how far the scores agree with them.",
            flag_help="People's labels, as rag-eval labels init begins them: show how far scores "
            "agree with them.",
            metavar="DIR",
            no_toml="what a run is held against by eye is named where it is started",
        ),
    ]
    view: Annotated[
        bool | None,
        Option(
            FLAG,
            "Keep what a report shows: up to 5,000 rows with their texts, the worst and others "
            "drawn at random; the report has it as ``view``.",
            default=False,
            no_flag="{html} and the flags of other reports ask for it",
            no_toml=_WRITES,
        ),
    ]
    slice_by: Annotated[
        Sequence[str] | None,
        Option(
            NAMES,
            "Fields of the samples, or of their metadata, whose values the view tells apart.",
            flag_help="Let reports show the means of the rows with each value of this field, of "
            "the samples or of their metadata (again for more).",
            metavar="FIELD",
            no_toml=_WRITES,
        ),
    ]


class ConfigOptions(RunOptions, MetricsOptions, total=False):
    """What ``rag-eval.toml`` may give, but for options that say why not."""


class StreamOptions(ReadOptions, EvaluateOptions, total=False):
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
        Option(TEXT, "Put this before the names of the columns of scores.", no_toml=_WRITES),
    ]


class ScoreFileOptions(StreamOptions, total=False):
    """Options of :func:`rag_eval.score_file`, besides those of reading and of evaluating."""

    resume: Annotated[
        bool | None,
        Option(
            FLAG,
            "Go on with a run that was cut short; begin where there is none.",
            default=False,
            flag_help="Go on with a run of DST that was cut short.",
            no_toml=_WRITES,
        ),
    ]
    restart: Annotated[
        bool | None,
        Option(
            FLAG,
            "Leave behind what a run that was cut short has kept.",
            default=False,
            flag_help="Leave behind what such a run has kept.",
            no_toml=_WRITES,
        ),
    ]
    checkpoint_rows: Annotated[
        int | None,
        Option(
            WHOLE_FROM_ONE,
            "Make sure after so many rows that they survive a crash.",
            unset="10 s or 64 MiB",
            flag_help="Keep what is scored after every N rows.",
            no_toml=_WRITES,
        ),
    ]


class BatchScorerOptions(ScoringOptions, SchemaOptions, total=False):
    """Options of :class:`rag_eval.distributed.BatchScorer`, besides those of scoring.

    None and missing mean the default. Files of calibrations are read where the scorer is made, not
    on the workers.
    """

    columns: Annotated[
        Sequence[str] | None, Option(NAMES, "Columns of the input to keep.", unset="all")
    ]
    prefix: Annotated[str | None, Option(TEXT, "Comes before the names of the columns of scores.")]
    threads: Annotated[
        int | None,
        Option(
            WHOLE_FROM_ONE,
            "Threads of native work in one task; scores do not depend on it.",
            unset="the cores that a task has",
            more="They are ``spark.task.cpus`` in Spark and else 1. In Ray it is also the CPUs "
            "that a task asks for.",
        ),
    ]


class JudgeCheckOptions(ReadOptions, EvaluateOptions, total=False):
    """Options of the checks of a judge: what is read, and what the judge is asked."""


document(ReadOptions)
document(RunOptions, ReadOptions, EvaluateOptions, RegressionOptions)
document(ScoreFileOptions, ReadOptions, EvaluateOptions)
document(BatchScorerOptions, ScoringOptions)
