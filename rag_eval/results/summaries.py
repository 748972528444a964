"""The summary of a result file, read without its rows; two of them compared."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from rag_eval.errors import InputError, SignatureMismatchError
from rag_eval.metrics.ids import COMPOSITE, METRIC_IDS
from rag_eval.metrics.registry import higher_is_better, metric_of_file, place_of
from rag_eval.options.plan import Plan
from rag_eval.options.signature import Signature, signature_of
from rag_eval.options.verdict_settings import VerdictSettings
from rag_eval.plumbing.json_fields import Fields
from rag_eval.plumbing.json_text import number_or_null
from rag_eval.plumbing.spelling import camel_case
from rag_eval.results.reading import ResultFile
from rag_eval.results.regressions import Baseline, check_signatures, unknown_settings
from rag_eval.results.row_reading import settings_of
from rag_eval.results.score_columns import ScoreColumns
from rag_eval.results.score_files import ScoreFile
from rag_eval.results.verdicts import NO_VERDICT
from rag_eval.samples import MetricId


class _Aggregate(msgspec.Struct, rename="camel"):
    mean: float | None
    null_rate: float = 0
    higher_is_better: bool = True


@dataclass(frozen=True, slots=True)
class MeanScore:
    """A mean, and the number of rows that have a score; NaN and 0 without any.

    ``n`` and ``n_rows`` are None in a summary that came without them.
    """

    mean: float
    n: int | None
    n_rows: int | None
    higher_is_better: bool = True


@dataclass(frozen=True, slots=True)
class ResultSummary:
    """The parts of a run that are compared.

    Attributes
    ----------
    means : dict of MeanScore
        Per metric.
    composite : MeanScore
    baseline : Baseline
        The same for gates.
    settings : VerdictSettings or None
        Thresholds and weights, where the file has them.
    signature : Signature or None
        None in files of rag-eval-node-ts.
    """

    name: str
    means: dict[MetricId, MeanScore]
    composite: MeanScore
    baseline: Baseline
    settings: VerdictSettings | None = None

    @property
    def signature(self) -> Signature | None:
        """Under what settings the run was scored."""
        return self.baseline.signature


def read_summary(path: str | Path | ResultFile) -> ResultSummary:
    """Read means and signature of a file of results or scores.

    Parameters
    ----------
    path : path
        Of any form that :func:`rag_eval.runs.run_files.read_run` takes, and what
        ``run --format json`` prints. Means that a file does not say are those of its rows.

    Raises
    ------
    InputError
        When it holds neither.
    """
    file = ScoreFile(path, id_field=None)
    said, n_rows = file.said()
    if "aggregates" not in said:
        return _summary_of_rows(file)
    try:
        count = n_rows or Fields(said).place_or_none("nRows")
        baseline = Baseline.of(said)
        means = _means(said["aggregates"], count)
        found = said.get("compositeAggregate") or {"mean": None}
        mean = _mean(msgspec.convert(found, _Aggregate))
        settings = settings_of(Fields(said))
    except (ValueError, InputError) as error:
        raise InputError(f"{file.source} is not a result file: {error}") from None
    if all(math.isnan(means[metric].mean) for metric in METRIC_IDS if metric in means):
        mean = math.nan  # files hold 0 for it; diagnostics have no part in it
    # How many rows have a composite score is not in the schema.
    return ResultSummary(file.source, means, MeanScore(mean, None, count), baseline, settings)


def _summary_of_rows(file: ScoreFile) -> ResultSummary:
    columns = ScoreColumns()
    for row in file.rows():
        columns.add(row)
    aggregates = columns.aggregates(file.metrics)
    means = {
        metric: MeanScore(
            found.mean if found.n else math.nan,
            found.n,
            found.n_rows,
            metric not in file.lower_is_better,
        )
        for metric, found in sorted(aggregates.items(), key=lambda item: _usual_place(item[0]))
    }
    composite = columns.composite_aggregate()
    mean = MeanScore(composite.mean, composite.n, composite.n_rows)
    # Tables have no verdicts on metrics.
    is_table = bool((columns.matrices()[2] == NO_VERDICT).all())
    baseline = Baseline.of_means(aggregates, file.signature, is_table=is_table)
    return ResultSummary(file.source, means, mean, baseline)


def checked_baseline(
    plan: Plan, given: object, *, allow_mismatch: bool
) -> tuple[Baseline | None, list[str]]:
    """The baseline of a call and notes on it; an error before any work if it is not comparable.

    Parameters
    ----------
    plan : Plan
    given : path, BatchEvalResult, mapping or None
        A result file or its name, or a result as an object or as loaded from its file.
    allow_mismatch : bool
        Compare even if the settings of the scores differ.

    Raises
    ------
    InputError
        If it is not a result, or was scored under other settings.
    """
    if given is None:
        return None, []
    is_file = isinstance(given, (str, Path, ResultFile))
    baseline = read_summary(given).baseline if is_file else Baseline.of(given)  # type: ignore[arg-type]
    notes: list[str] = []
    if not any(metric in baseline.means for metric in plan.columns):
        found = ", ".join(baseline.means) or "no metric"
        notes.append(f"nothing was compared: the baseline has {found}, but no metric of this run")
    if allow_mismatch:
        return baseline, [*notes, "the settings of the baseline were not checked"]
    note = check_signatures(signature_of(plan), baseline, plan.columns)
    return baseline, [*notes, note] if note else notes


def _mean(aggregate: _Aggregate) -> float:
    """Its mean; columns of verdicts have none."""
    return math.nan if aggregate.mean is None else aggregate.mean


def _means(aggregates: dict[str, Any], n_rows: int | None) -> dict[MetricId, MeanScore]:
    means: dict[MetricId, MeanScore] = {}
    entries = {metric_of_file(name): entry for name, entry in aggregates.items()}
    for metric in sorted(entries, key=_usual_place):
        aggregate = msgspec.convert(entries[metric], _Aggregate)
        share = 1 - aggregate.null_rate
        n = None if n_rows is None else round(share * n_rows)
        mean = _mean(aggregate) if share else math.nan
        means[metric] = MeanScore(mean, n, n_rows, aggregate.higher_is_better)
    return means


def _usual_place(metric: MetricId) -> tuple[tuple[int, int], str]:
    """Metrics in their usual order, and then those of callers by their names."""
    return place_of(metric), metric


# ---------------------------------------------------------------------------------- comparing


@dataclass(frozen=True, slots=True)
class MeanChange:
    """One mean in two runs; ``delta`` is new minus old, NaN where one of them has none."""

    name: str
    old: MeanScore
    new: MeanScore

    @property
    def delta(self) -> float:
        """New minus old."""
        return self.new.mean - self.old.mean

    @property
    def improved(self) -> bool:
        """Whether the mean got better, in the metric's direction."""
        return self.delta > 0 if self.higher_is_better else self.delta < 0

    @property
    def higher_is_better(self) -> bool:
        """The direction of the metric, by the files and by what is known about it."""
        if self.name == COMPOSITE:
            return True
        rises = self.old.higher_is_better and self.new.higher_is_better
        return rises and higher_is_better(self.name)

    def to_dict(self) -> dict[str, Any]:
        """In the style of result files; a mean that does not exist is null."""
        return {
            "metricId": camel_case(self.name),
            "oldMean": number_or_null(self.old.mean),
            "newMean": number_or_null(self.new.mean),
            "delta": number_or_null(self.delta),
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """The means of two runs side by side.

    Attributes
    ----------
    changes : list of MeanChange
        Metrics of either run in their usual order, the composite score last.
    differences : list of str
        Settings that differ; only when the comparison was forced.
    notes : list of str
    """

    old: ResultSummary
    new: ResultSummary
    changes: list[MeanChange]
    differences: list[str]
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "old": self.old.name,
            "new": self.new.name,
            "changes": [change.to_dict() for change in self.changes],
            "signatureDifferences": self.differences,
            "notes": self.notes,
        }


def compare_files(
    old: str | Path | ResultFile, new: str | Path | ResultFile, *, force: bool = False
) -> Comparison:
    """Compare the means of two result files.

    Raises
    ------
    SignatureMismatchError
        When they were scored under different settings, unless ``force`` is true.
    InputError
        When one is not a result file, or they share no metric.
    """
    before, after = read_summary(old), read_summary(new)
    shared: list[MetricId] = [metric for metric in before.means if metric in after.means]
    if not shared:
        raise InputError(f"{before.name} and {after.name} have no metric in common")
    unsigned = [run for run in (before, after) if run.signature is None]
    tables = [run.name for run in unsigned if run.baseline.is_table]
    differences = [] if tables else setting_differences(before.signature, after.signature, shared)
    check_differences(before.name, after.name, differences, force=force)
    notes = unsigned_notes(run.name for run in unsigned if not run.baseline.is_table)
    notes += map(unknown_settings, tables)
    missing = MeanScore(math.nan, 0, 0)
    changes = [
        MeanChange(metric, before.means.get(metric, missing), after.means.get(metric, missing))
        for metric in sorted({*before.means, *after.means}, key=_usual_place)
    ]
    changes.append(MeanChange(COMPOSITE, before.composite, after.composite))
    if (set(before.means) ^ set(after.means)) & set(METRIC_IDS):
        notes.append(
            "the runs have different metrics, so their composite scores are not comparable"
        )
    elif before.settings and after.settings:
        weights = after.settings.weight_differences(before.settings)
        if weights:
            differ = "; ".join(weights)
            notes.append(f"weights differ ({differ}), so the composite scores are not comparable")
    return Comparison(before, after, changes, differences, notes)


def setting_differences(
    old: Signature | None, new: Signature | None, metrics: Iterable[MetricId]
) -> list[str]:
    """What makes scores of these metrics incomparable, as far as signatures tell.

    A result file without one is of rag-eval-node-ts and counts as profile overlap.
    """
    if old is None or new is None:
        known = new or old
        if known is not None and known.profile != "overlap":
            return [f"profile: {known.profile}, not overlap (no signature)"]
        return []
    return new.differences(old, metrics)


def unsigned_notes(names: Iterable[str]) -> list[str]:
    """What to say about result files without a signature."""
    return [
        f"{name} has no signature: it is assumed to use profile overlap with default options"
        for name in names
    ]


def check_differences(old: str, new: str, differences: Sequence[str], *, force: bool) -> None:
    """Refuse to compare two runs, named, that were scored under different settings.

    Raises
    ------
    SignatureMismatchError
        Unless ``force`` is true.
    """
    if differences and not force:
        raise SignatureMismatchError(
            f"{NOT_COMPARABLE}{new} was scored with other settings than {old} "
            f"({'; '.join(differences)}). {_way_out(old, new, differences)}"
        )


NOT_COMPARABLE: Final = "NOT COMPARABLE: "
_VERSION: Final = re.compile(r"version: (\d+), not (\d+)")


def _way_out(old: str, new: str, differences: Iterable[str]) -> str:
    """What to do; if one run has an earlier version, which one to score again."""
    found = next(filter(None, map(_VERSION.fullmatch, differences)), None)
    if found is None:
        return (
            "Use the same settings for both, or add --force (in Python: force=True) to compare "
            "them anyway"
        )
    earlier = new if int(found[1]) < int(found[2]) else old
    return (
        f"{earlier} was scored by an earlier version. Score its samples again with the same "
        f"options (such as --profile): rag-eval run SAMPLES --output {earlier}"
    )
