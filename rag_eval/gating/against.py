"""A run, its baselines and a policy in; whether the run passes, and why, out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rag_eval.comparing.pairing import Edited
from rag_eval.comparing.run_comparison import RunComparison
from rag_eval.comparing.statuses import Status
from rag_eval.comparing.tested_changes import FamilyRule
from rag_eval.comparing.two_runs import ALL_METRICS, TOLERANCE, check_compared, compare
from rag_eval.errors import InputError
from rag_eval.gating.guards import Guards, check_guards
from rag_eval.gating.limits import GateOutcome
from rag_eval.gating.policies import CARE, Missing, no_regression, non_inferior
from rag_eval.gating.tools.policies import (
    TOOL_POLICIES,
    Margins,
    false_alarm_rate,
    share_tied,
)
from rag_eval.gating.verdicts import (
    NO_BASELINE,
    BaselineVerdict,
    FalseAlarmRate,
    GateReport,
    first_failure,
)
from rag_eval.metrics.registry import metric_or_column
from rag_eval.plumbing.checked_values import from_zero, level, one_of, positive, share
from rag_eval.plumbing.spelling import counted
from rag_eval.results.batch import BatchEvalResult
from rag_eval.results.reading import ResultFile
from rag_eval.runs.run_files import RunSource, read_run
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import POLICIES, Policy

# Edited rows are named first in the verdict if they are a larger share of all rows.
_FEW_EDITED: Final = 0.1


@dataclass(frozen=True, slots=True)
class NamedBaseline:
    """A run to compare with.

    Attributes
    ----------
    kind : str
        ``file``, ``run``, ``last_passing``, ``pinned``, or ``last_passing and pinned``.
    source : path, ScoredRun, BatchEvalResult, or a list of these
        A list holds repeats of one run.
    """

    kind: str
    source: RunSource


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """Checked options of a gate."""

    policy: Policy
    margin: Margins
    tolerance: float | Mapping[str, float]
    missing: Missing
    alpha: float
    care: float
    n_resamples: int = 9999
    seed: int = 0

    @classmethod
    def of(
        cls,
        policy: Policy = "no-regression",
        margin: float | Mapping[str, float] | None = None,
        alpha: float = 0.05,
        care: float = CARE,
        *,
        tolerance: float | Mapping[str, float] | None = None,
        max_null_rise: float | None = None,
        max_missing_rows: float | None = None,
        slices: Sequence[str] = (),
        n_resamples: int = 9999,
        seed: int = 0,
    ) -> GateOptions:
        """Options of :func:`gate`; raises an InputError if they do not fit the policy."""
        found = _checked_margin(policy, margin, slices)
        _check_taken(policy, tolerance, max_null_rise, max_missing_rows)
        kept = Missing()
        level(alpha, "alpha")
        return cls(
            policy=policy,
            margin=found,
            tolerance=TOLERANCE if tolerance is None else _by_metric(tolerance, "tolerance"),
            missing=Missing(
                kept.null_rise if max_null_rise is None else share(max_null_rise, "max_null_rise"),
                kept.rows
                if max_missing_rows is None
                else share(max_missing_rows, "max_missing_rows"),
            ),
            alpha=alpha,
            care=positive(care, "care"),
            n_resamples=n_resamples,
            seed=seed,
        )


def gate(
    new: RunSource,
    baselines: RunSource | Iterable[RunSource | NamedBaseline] = (),
    *,
    policy: Policy = "no-regression",
    margin: float | Mapping[str, float] | None = None,
    tolerance: float | Mapping[str, float] | None = None,
    max_null_rise: float | None = None,
    max_missing_rows: float | None = None,
    alpha: float = 0.05,
    care: float = CARE,
    gating: Iterable[str] | None = None,
    lower_is_better: Iterable[str] = (),
    slices: Sequence[str] = (),
    cluster_by: str | None = None,
    adjust: FamilyRule = "max-t",
    guards: Guards | None = None,
    id_field: str = "id",
    n_resamples: int = 9999,
    seed: int = 0,
    edited: Edited = "drop",
    force: bool = False,
) -> GateReport:
    """Decide whether a run passes: it must pass every guard and every baseline.

    Parameters
    ----------
    new : path, ScoredRun, BatchEvalResult, or a list of these
        As for :func:`rag_eval.comparing.compare`; a list holds repeats of one run.
    baselines : one of these, or an iterable of them or of NamedBaseline
        The run must pass against each. With only the last passing run as baseline, losses too
        small to detect add up, since each run becomes the baseline of the next; add a fixed
        baseline. Without baselines only the guards decide.
    policy : {"no-regression", "non-inferior", "omk", "regtrace", "node"}
        ``no-regression`` fails if a test, adjusted for all metrics and slices,
        shows a mean to be worse by more than the margin and the tolerance, or more nulls; if
        nothing changed, a build fails with a probability of at most ``alpha``. ``non-inferior``
        passes if any loss of every mean is shown to be smaller than the margin, so it fails with
        too few rows. The others are the rules of those tools, which state no error rate.
    margin : float or mapping of float, optional
        Largest accepted loss of the mean, in units of the score, 0 by default; by metric, with
        ``*`` for all others. ``non-inferior`` requires a margin above 0. For ``regtrace`` it is
        the tolerance (default 0.05 of the baseline's mean), for ``node`` the threshold (default
        0.05); ``omk`` takes none.
    tolerance : float or mapping of float, optional
        For ``no-regression``: a drop that the test shows but that is no larger passes as WITHIN
        TOLERANCE. Default 0.005; by metric like a margin.
    max_null_rise : float, optional
        Accepted rise of a metric's share of null scores, in the rows of both runs: default 0.02. A
        larger one fails as MISSING SCORES if a test in the same family shows that scores were
        lost. A metric without any score left fails without a test.
    max_missing_rows : float, optional
        Accepted share of the baseline's rows that are missing in the run: default 0.01. A larger
        one fails as MISSING ROWS. The policies of other tools take neither limit.
    alpha : float, default 0.05
        Significance level for each baseline: with two, a false alarm is up to twice as likely.
    care : float, default 0.05
        Smallest drop that matters to you; the report says where the rows are too few to detect it.
    gating : iterable of str, optional
        The metrics that decide. Default: all except diagnostics.
    lower_is_better : iterable of str
        Lower-is-better metrics that this library does not know and whose file does not say so.
    slices : sequence of str
        Fields whose values are also tested one by one, in the same family.
    cluster_by : str, optional
        Field whose equal values mark rows that belong together.
    adjust : {"max-t", "holm"}
        How p values are adjusted for the number of tests; see :func:`rag_eval.comparing.compare`.
    guards : Guards, optional
    id_field, n_resamples, seed, edited, force
        As for :func:`rag_eval.comparing.compare`.

    Returns
    -------
    GateReport

    Raises
    ------
    SignatureMismatchError
        When runs were scored under different settings, unless ``force`` is true.
    InputError
        For runs that cannot be read or compared, or options that do not fit.
    """
    options = GateOptions.of(
        policy,
        margin,
        alpha,
        care,
        tolerance=tolerance,
        max_null_rise=max_null_rise,
        max_missing_rows=max_missing_rows,
        slices=slices,
        n_resamples=n_resamples,
        seed=seed,
    )
    limits = Guards() if guards is None else guards
    columns = [*slices, *([cluster_by] if cluster_by else [])]
    run = read_run(new, columns=limits.columns, optional_columns=columns, id_field=id_field)
    named = [
        (each.kind, read_run(each.source, optional_columns=columns, id_field=id_field))
        for each in _named(baselines)
    ]
    deciding, falling = None if gating is None else list(gating), list(lower_is_better)
    outcomes = tuple(check_guards(run, limits))
    tested = policy not in TOOL_POLICIES
    comparisons = [
        compare(
            baseline,
            run,
            margin=options.margin if tested and options.margin is not None else 0.0,
            tolerance=options.tolerance,
            alpha=alpha,
            gating=deciding,
            lower_is_better=falling,
            slices=slices,
            cluster_by=cluster_by,
            adjust=adjust,
            n_resamples=n_resamples,
            seed=seed,
            edited=edited,
            force=force,
        )
        for _, baseline in named
    ]
    verdicts = tuple(
        _noted(_verdict(comparison, kind, options), comparison, tested)
        for comparison, (kind, _) in zip(comparisons, named, strict=True)
    )
    rate = None
    if comparisons and not tested:
        rate = false_alarm_rate(policy, comparisons[0].n_pairs, share_tied(comparisons[0]))
    report = _report(run, options, outcomes, verdicts, rate)
    return replace(report, adjust=adjust, comparisons=tuple(comparisons))


def _checked_margin(
    policy: Policy, margin: float | Mapping[str, float] | None, slices: Sequence[str]
) -> Margins:
    """The margin by metric; checks the policy, and that it takes the margin and the slices."""
    one_of(policy, "policy", POLICIES)
    tool = TOOL_POLICIES.get(policy)
    if tool is not None and slices:
        raise InputError(f"policy {policy} takes no slices; use no-regression or non-inferior")
    if tool is not None and not tool.takes_margin and margin is not None:
        raise InputError(f"policy {policy} takes no margin")
    if policy == "non-inferior" and not margin:
        raise InputError(
            "policy non-inferior needs a margin above 0, the largest loss that you accept: "
            "--margin 0.02"
        )
    return None if margin is None else _by_metric(margin, "margin")


def _by_metric(given: float | Mapping[str, float], option: str) -> float | dict[str, float]:
    if not isinstance(given, Mapping):
        return from_zero(given, option)
    return {
        name if name == ALL_METRICS else metric_or_column(name): from_zero(
            value, f"{option} of {name}"
        )
        for name, value in given.items()
    }


def _check_taken(policy: Policy, tolerance: object, *limits: object) -> None:
    if policy != "no-regression" and tolerance is not None:
        raise InputError(f"policy {policy} takes no tolerance; use no-regression")
    if policy in TOOL_POLICIES and any(limit is not None for limit in limits):
        raise InputError(
            f"policy {policy} takes no max_null_rise and no max_missing_rows; use no-regression or "
            "non-inferior"
        )


def _named(
    baselines: RunSource | Iterable[RunSource | NamedBaseline],
) -> list[NamedBaseline]:
    if isinstance(baselines, (str, Path, ResultFile, ScoredRun, BatchEvalResult, NamedBaseline)):
        baselines = [baselines]
    return [
        each if isinstance(each, NamedBaseline) else NamedBaseline(_kind(each), each)
        for each in baselines
    ]


def _kind(source: RunSource) -> str:
    return "file" if isinstance(source, (str, Path)) else "run"


def _noted(verdict: BaselineVerdict, comparison: RunComparison, tested: bool) -> BaselineVerdict:
    """With the settings that differ, rows that are missing, and the number of edited rows."""
    noted = [f"settings differ: {text}" for text in comparison.differences]
    if not tested and comparison.missing_rows_text:
        noted.append(f"{comparison.missing_rows_text} and not compared")
    verdict = replace(verdict, notices=(*verdict.notices, *noted))
    n_edited, n_pairs = len(comparison.edited), comparison.n_pairs
    if not n_edited:
        return verdict
    was = "was" if n_edited == 1 else "were"
    if comparison.options.edited == "keep":
        reason = f"{verdict.reason}; {counted(n_edited, 'edited row')} {was} compared anyway"
    elif n_edited <= _FEW_EDITED * (n_edited + n_pairs):
        reason = f"{verdict.reason}; {counted(n_edited, 'edited row')} {was} left out"
    else:
        rows = counted(n_edited + n_pairs, "row")
        reason = f"only {n_pairs:,} of {rows} were compared, because {n_edited:,} {was} edited: "
        reason += verdict.reason
    return replace(verdict, reason=reason)


def _verdict(comparison: RunComparison, kind: str, options: GateOptions) -> BaselineVerdict:
    if isinstance(options.margin, Mapping):
        for name in options.margin:
            if name != ALL_METRICS:
                names = [change.name for change in comparison.changes]
                check_compared(name, names, "margin")
    tool = TOOL_POLICIES.get(options.policy)
    if tool is not None:
        return tool.verdict(comparison, kind, options.margin)
    if options.policy == "non-inferior":
        return non_inferior(comparison, kind, alpha=options.alpha, missing=options.missing)
    return no_regression(comparison, kind, care=options.care, missing=options.missing)


def _report(
    run: ScoredRun,
    options: GateOptions,
    guards: tuple[GateOutcome, ...],
    verdicts: tuple[BaselineVerdict, ...],
    rate: FalseAlarmRate | None,
) -> GateReport:
    """The report with one verdict: the first baseline that fails decides, or else a guard."""
    failed = next((verdict for verdict in verdicts if not verdict.passed), None)
    decisive = failed or next(iter(verdicts), None)
    broken = first_failure(guards)
    held, notices = True, []
    if decisive is not None:
        status, held = decisive.status, failed is None
        reason = f"{decisive.reason} (against {decisive.name})"
    else:
        status, held, reason = _without_baseline(run, options.policy, len(guards))
    if broken is not None:
        reason = broken if held else f"{reason}; {broken}"
    for verdict in verdicts:
        notices += [notice for notice in verdict.notices if notice not in notices]
    is_ours = options.policy not in TOOL_POLICIES
    return GateReport(
        name=run.name,
        policy=options.policy,
        status=Status.GUARD if held and broken is not None else status,
        passed=held and broken is None,
        reason=reason,
        baselines=verdicts,
        guards=guards,
        notices=tuple(notices),
        false_alarms=rate,
        alpha=options.alpha,
        max_null_rise=options.missing.null_rise if is_ours else None,
        max_missing_rows=options.missing.rows if is_ours else None,
        n_resamples=options.n_resamples,
        seed=options.seed,
    )


def _without_baseline(run: ScoredRun, policy: Policy, n_guards: int) -> tuple[str, bool, str]:
    tool = TOOL_POLICIES.get(policy)
    status, passed, reason = (Status.NEW, True, NO_BASELINE) if tool is None else tool.alone(run)
    held = f"; {counted(n_guards, 'guard')} held" if n_guards else ""
    return status, passed, reason + held
