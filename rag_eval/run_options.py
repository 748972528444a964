"""Options of a run, and what of them can be wrong before any work is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypedDict, get_type_hints

from rag_eval.errors import InputError
from rag_eval.grounded_settings import Stemmer
from rag_eval.options import REGRESSION_THRESHOLD, Plan, ProgressFn, number
from rag_eval.regressions import Baseline, check_signatures
from rag_eval.result_summaries import read_summary
from rag_eval.sample_files import STANDARD_INPUT
from rag_eval.samples import Profile
from rag_eval.signature import Signature


class RunOptions(TypedDict, total=False):
    """Options of :func:`rag_eval.run.run_file`; None and missing mean the default.

    Attributes
    ----------
    profile, language, stemmer, calibration
    thresholds, composite_threshold, composite_weights, heuristic
        As for :func:`rag_eval.evaluate`.
    min_pass_rate : float
        Gate: least share of the scored samples that pass.
    min_mean : mapping of float
        Gate: least mean per metric.
    baseline : str or Path
        Gate: an earlier result file; no mean may drop by more than ``regression_threshold`` (0.05).
    allow_signature_mismatch : bool
        Compare with a baseline of other settings all the same.
    output : str or Path
        Result file to write: ``.json`` or ``.jsonl``, either also ``.gz``.
    details : bool
        Write the scores of chunks and sentences and their evidence into the output as well.
    worst : int
        How many of the rows that score lowest to keep, explained.
    threads : int
        Default: the cores this process may use. Scores do not depend on it.
    skip_invalid : bool
        Leave bad rows out and count them, where the first would end the run.
    on_progress : callable
        Called with (completed rows, None) at most every 50 ms and at the end.
    on_row : callable
        Gets the result of each row as one line of JSON.
    """

    profile: Profile | None
    language: str | None
    stemmer: Stemmer | None
    calibration: Any
    thresholds: Mapping[str, float] | None
    composite_threshold: float | None
    composite_weights: Mapping[str, float | None] | None
    heuristic: Mapping[str, Any] | None
    min_pass_rate: float | None
    min_mean: Mapping[str, float] | None
    baseline: str | Path | None
    regression_threshold: float | None
    allow_signature_mismatch: bool | None
    output: str | Path | None
    details: bool | None
    worst: int | None
    threads: int | None
    skip_invalid: bool | None
    on_progress: ProgressFn | None
    on_row: Callable[[bytes], object] | None


RUN_KEYS: Final = frozenset(get_type_hints(RunOptions))


def checked_regression_threshold(options: Mapping[str, Any]) -> float:
    """By how much a mean may drop."""
    given = options.get("regression_threshold")
    threshold = REGRESSION_THRESHOLD if given is None else number(given, "regression_threshold")
    if threshold < 0:
        raise InputError(f"regression_threshold must be at least 0, got {given}")
    return threshold


def checked_baseline(plan: Plan, options: Mapping[str, Any]) -> tuple[Baseline | None, list[str]]:
    """The baseline, if any, refused before any work when it cannot be compared with."""
    path = options.get("baseline")
    if path is None:
        return None, []
    baseline = read_summary(path).baseline
    if not any(metric in baseline.means for metric in plan.columns):
        raise InputError(
            f"{path} has none of the metrics of this run; it has "
            + (", ".join(baseline.means) or "none at all")
        )
    if options.get("allow_signature_mismatch"):
        return baseline, ["settings of the baseline were not checked"]
    note = check_signatures(Signature.of(plan.columns, plan.settings), baseline, plan.columns)
    return baseline, [note] if note else []


def checked_row_count(value: object, name: str) -> int:
    """A whole number from 0 on; 0 for None."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(f"{name} must be a whole number from 0 on, got {value!r}")
    return value


def checked_output(output: str | Path | None, data: str | Path) -> Path | None:
    """The result file's name, refused when writing it would lose something else."""
    if output is None:
        return None
    path = Path(output)
    if not path.name.removesuffix(".gz").endswith((".json", ".jsonl")):
        raise InputError(
            f"{path}: cannot tell the format from the name; wanted .json or .jsonl, either also .gz"
        )
    # A rename would put a plain file in place of a folder's, a device's or a pipe's name.
    if path.exists() and not path.is_file():
        raise InputError(f"cannot write {path}: it is not a regular file")
    if (
        str(data) != STANDARD_INPUT
        and path.exists()
        and Path(data).exists()
        and path.samefile(data)
    ):
        raise InputError(f"the output {path} is the sample file itself")
    return path
