"""Options of a run, and what of them can be wrong before any work is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypedDict, get_type_hints

from rag_eval.errors import InputError
from rag_eval.inputs.byte_files import MAX_ROW_BYTES
from rag_eval.inputs.opened import InputOptions
from rag_eval.kernels.grounded_settings import Stemmer
from rag_eval.options.judging import JudgeOptions
from rag_eval.options.plan import REGRESSION_THRESHOLD, Plan, ProgressFn
from rag_eval.plumbing.checked_values import number, whole_from_one
from rag_eval.plumbing.descriptors import is_standard_input
from rag_eval.plumbing.durable_files import check_kind
from rag_eval.results.regressions import Baseline
from rag_eval.results.summaries import checked_baseline
from rag_eval.results.totals import Quantiles
from rag_eval.samples import Profile


class ReadOptions(TypedDict, total=False):
    """How files are read and by how many threads; None and missing mean the default.

    Attributes
    ----------
    schema : str
        Whose field names the data has, such as ``ragas``; recognised by default.
    mapping : mapping of str
        Our field to its column or path in the data, such as ``{"question": "user_input"}``.
    gold_separator : str
        Splits a ground truth into acceptable answers, which the grounded profile takes.
    context_separator : str
        Splits a cell of CSV into contexts; by default they are a JSON array.
    max_row_bytes : int
        The longest row of a text file, unpacked: 268,435,456 (256 MiB) by default. A longer one
        ends the run. A JSON array is held in memory as a whole and may have four times as much.
    allow_changed_input : bool
        Take it for no error when a file changes between its opening and the end of the run.
    skip_invalid : bool
        Leave bad rows out and count them, where the first would end the run.
    quantiles : {"exact", "sketch"}
        How medians are found: from all scores, or within one part in 4,096 from a histogram.
    threads : int
        Default: the cores this process may use. Scores do not depend on it.
    on_progress : callable or True
        Called with (completed rows, total) at most every 50 ms and at the end; total is an estimate
        by the share of the data that was read, None where that is not known. True shows a bar, in a
        notebook or on a terminal.
    """

    schema: str | None
    mapping: Mapping[str, str] | None
    gold_separator: str | None
    context_separator: str | None
    max_row_bytes: int | None
    allow_changed_input: bool | None
    skip_invalid: bool | None
    quantiles: Quantiles | None
    threads: int | None
    on_progress: ProgressFn | bool | None


class ScoringOptions(TypedDict, total=False):
    """What is computed from the rows of files and tables; each as for :func:`rag_eval.evaluate`."""

    profile: Profile | None
    language: str | None
    stemmer: Stemmer | None
    calibration: Any
    thresholds: Mapping[str, float] | None
    composite_threshold: float | None
    composite_weights: Mapping[str, float | None] | None
    heuristic: Mapping[str, Any] | None


class JudgedScoringOptions(ScoringOptions, JudgeOptions, total=False):
    """What is computed, and what a judge is asked."""


class RunOptions(ReadOptions, JudgedScoringOptions, total=False):
    """Options of :func:`rag_eval.jobs.file_run.run_file`, besides those of reading and of scoring.

    Attributes
    ----------
    min_pass_rate : float
        Gate: least share of the scored samples that pass.
    min_mean : mapping of float
        Gate: least mean per metric.
    max_mean : mapping of float
        Gate: largest mean per metric of which lower is better.
    max_judge_failures : float
        Gate: largest share of judgements that may fail; 0 by default.
    baseline : str, Path, BatchEvalResult or mapping
        Gate: an earlier result file; no mean may drop by more than ``regression_threshold`` (0.05).
    allow_signature_mismatch : bool
        Compare with a baseline of other settings all the same.
    output : str or Path
        Result file to write: ``.json`` or ``.jsonl``, either also ``.gz``.
    details : bool
        Write the scores of chunks and sentences and their evidence into the output as well.
    worst : int
        How many of the rows that score lowest to keep, explained.
    on_row : callable
        Gets the result of each row as one line of JSON.
    store : str or Path
        Run store that gets the scores, with whether the gates held; made when it is not there.
    store_columns : sequence of str
        Fields of the samples, or of their metadata, that the store keeps beside the scores: what
        later comparisons cluster or slice by.
    view : bool
        Keep what a report shows: up to 5,000 rows with their texts, the worst and others drawn at
        random; the report has it as ``view``.
    slice_by : sequence of str
        Fields of the samples, or of their metadata, whose values the view tells apart.
    gold_dir : str or Path
        People's labels of some of the samples, a folder in omk's form or a table of ids and labels:
        the report says how far the scores agree with them.
    """

    min_pass_rate: float | None
    min_mean: Mapping[str, float] | None
    max_mean: Mapping[str, float] | None
    max_judge_failures: float | None
    baseline: Any
    regression_threshold: float | None
    allow_signature_mismatch: bool | None
    output: str | Path | None
    details: bool | None
    worst: int | None
    on_row: Callable[[bytes], object] | None
    store: str | Path | None
    store_columns: Sequence[str] | None
    gold_dir: str | Path | None
    view: bool | None
    slice_by: Sequence[str] | None


RUN_KEYS: Final = frozenset(get_type_hints(RunOptions))
# What a store notes of them: settings, by name. What could hold a text, a key or an address is
# left out; what changes a number is in the signature, too.
_KEPT_KEYS: Final = (
    *("profile", "language", "stemmer", "thresholds", "composite_threshold", "composite_weights"),
    *("heuristic", "mode", "metric_modes", "judge_style", "judge_repeat", "length_debias"),
    *("on_judge_failure", "cascade_band", "audit_share", "judge_seed", "schema", "mapping"),
    *("skip_invalid", "quantiles", "min_pass_rate", "min_mean", "max_mean", "max_judge_failures"),
    *("regression_threshold", "store_columns"),
)


def input_options(options: Mapping[str, Any]) -> InputOptions:
    """How the data is read."""
    limit = options.get("max_row_bytes")
    return InputOptions(
        schema=options.get("schema"),
        mapping=options.get("mapping") or {},
        gold_separator=_separator(options, "gold_separator"),
        context_separator=_separator(options, "context_separator"),
        max_row_bytes=MAX_ROW_BYTES if limit is None else whole_from_one(limit, "max_row_bytes"),
    )


def _separator(options: Mapping[str, Any], name: str) -> str | None:
    value = options.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        raise InputError(f"{name} must be a text that is not empty, got {value!r}")
    return value


def checked_quantiles(options: Mapping[str, Any]) -> Quantiles:
    """How medians are found."""
    value = options.get("quantiles")
    if value in (None, "exact"):
        return "exact"
    if value == "sketch":
        return "sketch"
    raise InputError(f"quantiles must be 'exact' or 'sketch', got {value!r}")


def checked_regression_threshold(options: Mapping[str, Any]) -> float:
    """By how much a mean may drop."""
    given = options.get("regression_threshold")
    return REGRESSION_THRESHOLD if given is None else number(given, "regression_threshold")


def baseline_of_run(plan: Plan, options: Mapping[str, Any]) -> tuple[Baseline | None, list[str]]:
    """The baseline, if any; a run that asks for one is to be compared with it."""
    given = options.get("baseline")
    allowed = bool(options.get("allow_signature_mismatch"))
    baseline, notes = checked_baseline(plan, given, allow_mismatch=allowed)
    if baseline is not None and not any(metric in baseline.means for metric in plan.columns):
        name = given if isinstance(given, (str, Path)) else "the baseline"
        raise InputError(
            f"{name} has none of the metrics of this run; it has "
            + (", ".join(baseline.means) or "none at all")
        )
    return baseline, notes


def checked_store_columns(options: Mapping[str, Any]) -> list[str]:
    """The fields that a store is to keep beside the scores."""
    return _names_with(options, "store_columns", "store")


def checked_slice_by(options: Mapping[str, Any]) -> list[str]:
    """The fields whose values a view tells apart."""
    return _names_with(options, "slice_by", "view")


_NEEDED: Final = {"store": "a store", "view": "a report that shows it (html, view=True)"}


def _names_with(options: Mapping[str, Any], name: str, other: str) -> list[str]:
    """A list of names that says something only beside another option."""
    given = options.get(name)
    if not given:
        return []
    if isinstance(given, str) or not all(isinstance(one, str) and one for one in given):
        raise InputError(f"{name} must be a list of names, got {given!r:.80}")
    if not options.get(other):
        raise InputError(f"{name} needs {_NEEDED[other]}")
    return list(dict.fromkeys(given))


def kept_config(options: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """What a store notes of the options of a run, as JSON values."""
    given = {name: options[name] for name in _KEPT_KEYS if options.get(name) is not None}
    return {"metrics": list(plan.metrics), **given}


def checked_row_count(value: object, name: str) -> int:
    """A whole number from 0 on; 0 for None."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(f"{name} must be a whole number from 0 on, got {value!r}")
    return value


def checked_output(output: str | Path | None, data: Iterable[str | Path]) -> Path | None:
    """The result file's name, refused when writing it would lose something else."""
    if output is None:
        return None
    path = Path(output)
    if not path.name.removesuffix(".gz").endswith((".json", ".jsonl")):
        raise InputError(
            f"{path}: cannot tell the format from the name; wanted .json or .jsonl, either also .gz"
        )
    check_target(path, data)
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {path.parent}")
    return path


def check_target(path: Path, data: Iterable[str | Path]) -> None:
    """Refuse a name that could not be written to, or is that of a file that is read."""
    check_kind(path)
    for name in data:
        file = Path(name)
        if not is_standard_input(name) and path.exists() and file.exists() and path.samefile(file):
            raise InputError(f"the output {path} is the sample file itself")
