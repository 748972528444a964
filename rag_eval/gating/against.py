"""A run, its baselines and a policy in; whether it may pass, and why, out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rag_eval.comparing.run_comparison import RunComparison
from rag_eval.comparing.two_runs import ALL_METRICS, check_compared, compare
from rag_eval.errors import InputError
from rag_eval.gating.false_alarms import false_alarm_rate, share_tied
from rag_eval.gating.guards import Guards, check_guards
from rag_eval.gating.limits import GateOutcome
from rag_eval.gating.policies import CARE, no_regression, non_inferior
from rag_eval.gating.tool_policies import (
    Margins,
    node_verdict,
    omk_run_verdict,
    omk_solo,
    regtrace_verdict,
)
from rag_eval.gating.verdicts import (
    POLICIES,
    BaselineVerdict,
    FalseAlarmRate,
    GateReport,
    Policy,
    first_failure,
)
from rag_eval.metrics.registry import metric_or_column
from rag_eval.plumbing.checked_values import from_zero, number, one_of, positive
from rag_eval.results.batch import BatchEvalResult
from rag_eval.runs.run_files import RunSource, read_run
from rag_eval.runs.scored_run import ScoredRun

TOOLS: Final = ("omk", "regtrace", "node")
"""Policies of other tools, which state no error rate."""

GUARD: Final = "GUARD"
"""Status of a run that no baseline fails, and a guard does."""
_ALONE: Final = {"omk": "SOLO", "regtrace": "new"}


@dataclass(frozen=True, slots=True)
class NamedBaseline:
    """What a run is held against.

    Attributes
    ----------
    kind : str
        ``file``, ``run``, ``last_passing``, ``pinned``, or ``last_passing and pinned``.
    source : path, ScoredRun, BatchEvalResult, or a list of these
        A list is of repeats of one run.
    """

    kind: str
    source: RunSource


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """How a gate holds runs together, checked."""

    policy: Policy
    margin: Margins
    alpha: float
    care: float


def gate(
    new: RunSource,
    baselines: RunSource | Iterable[RunSource | NamedBaseline] = (),
    *,
    policy: Policy = "no-regression",
    margin: float | Mapping[str, float] | None = None,
    alpha: float = 0.05,
    care: float = CARE,
    gating: Iterable[str] | None = None,
    lower_is_better: Iterable[str] = (),
    slices: Sequence[str] = (),
    cluster_by: str | None = None,
    guards: Guards | None = None,
    id_field: str = "id",
    n_resamples: int = 9999,
    seed: int = 0,
    force: bool = False,
) -> GateReport:
    """Whether a run may pass: every guard holds, and every baseline's verdict does.

    Parameters
    ----------
    new : path, ScoredRun, BatchEvalResult, or a list of these
        As for :func:`rag_eval.comparing.compare`; a list is of repeats of one run.
    baselines : one of these, or an iterable of them or of NamedBaseline
        All must hold. A gate against the last run that passed alone ratchets: a run that loses a
        little, less than can be found, becomes the baseline of the next. Hold it against one that
        stays, too. With none the guards decide alone.
    policy : {"no-regression", "non-inferior", "omk", "regtrace", "node"}
        ``no-regression`` fails where a test, adjusted by Holm's rule for all metrics and slices,
        finds a mean that is worse by more than the margin: at most ``alpha`` of builds are red in
        which nothing changed. ``non-inferior`` passes where every mean is shown to be worse by less
        than the margin; few rows show nothing, and fail. The others are the rules of those tools,
        and say nothing of how often they err.
    margin : float or mapping of float, optional
        A loss of the mean that is accepted, in units of the score, 0 by default; by metric, with
        ``*`` for all others. Needed, above 0,
        for ``non-inferior``. For ``regtrace`` the tolerance (0.05 of the baseline's mean), for
        ``node`` the threshold (0.05); ``omk`` has none.
    alpha : float, default 0.05
        Of each baseline: with two the chance of a false alarm is up to twice that.
    care : float, default 0.05
        A drop that is worth finding; where rows are too few for it, the report says so.
    gating : iterable of str, optional
        The metrics that decide; by default all but diagnostics.
    lower_is_better : iterable of str
        Of metrics that this library does not know and whose file does not say so.
    slices : sequence of str
        Fields whose values are tested one by one, too, in the same family.
    cluster_by : str, optional
        Field that says which rows belong together.
    guards : Guards, optional
    id_field, n_resamples, seed, force
        As for :func:`rag_eval.comparing.compare`.

    Returns
    -------
    GateReport

    Raises
    ------
    SignatureMismatchError
        When runs were scored under different settings, unless ``force`` is true.
    InputError
        For runs that cannot be read or held together, and options that do not fit.
    """
    options = _options(policy, margin, alpha, care, slices)
    limits = Guards() if guards is None else guards
    columns = [*slices, *([cluster_by] if cluster_by else [])]
    run = read_run(new, columns=limits.columns, optional_columns=columns, id_field=id_field)
    named = [
        NamedBaseline(each.kind, read_run(each.source, optional_columns=columns, id_field=id_field))
        for each in _named(baselines)
    ]
    deciding, falling = None if gating is None else list(gating), list(lower_is_better)
    outcomes = tuple(check_guards(run, limits, [_run(each) for each in named]))
    comparisons = [
        compare(
            _run(each),
            run,
            margin=0.0 if policy in TOOLS or options.margin is None else options.margin,
            alpha=options.alpha,
            gating=deciding,
            lower_is_better=falling,
            slices=slices,
            cluster_by=cluster_by,
            n_resamples=n_resamples,
            seed=seed,
            force=force,
        )
        for each in named
    ]
    verdicts = tuple(
        _noted(_verdict(comparison, each.kind, options), comparison)
        for comparison, each in zip(comparisons, named, strict=True)
    )
    rate = None if not comparisons or policy not in TOOLS else _rate(policy, comparisons[0])
    return _report(run, options, outcomes, verdicts, rate, n_resamples=n_resamples, seed=seed)


def _options(
    policy: Policy,
    margin: float | Mapping[str, float] | None,
    alpha: float,
    care: float,
    slices: Sequence[str],
) -> _Options:
    one_of(policy, "policy", POLICIES)
    if not 0 < number(alpha, "alpha") < 0.5:
        raise InputError(f"alpha must be above 0 and below 0.5, got {alpha:g}")
    positive(care, "care")
    if policy in TOOLS and slices:
        raise InputError(f"policy {policy} knows no slices; no-regression and non-inferior do")
    if policy == "omk" and margin is not None:
        raise InputError("policy omk takes no margin")
    if policy == "non-inferior" and not margin:
        raise InputError("policy non-inferior needs a margin above 0: a loss that would not matter")
    checked: Margins = None
    if isinstance(margin, Mapping):
        checked = {
            name if name == ALL_METRICS else metric_or_column(name): from_zero(
                value, f"margin of {name}"
            )
            for name, value in margin.items()
        }
    elif margin is not None:
        checked = from_zero(margin, "margin")
    return _Options(policy=policy, margin=checked, alpha=alpha, care=care)


def _named(
    baselines: RunSource | Iterable[RunSource | NamedBaseline],
) -> list[NamedBaseline]:
    if isinstance(baselines, (str, Path, ScoredRun, BatchEvalResult, NamedBaseline)):
        baselines = [baselines]
    return [
        each if isinstance(each, NamedBaseline) else NamedBaseline(_kind(each), each)
        for each in baselines
    ]


def _kind(source: RunSource) -> str:
    return "file" if isinstance(source, (str, Path)) else "run"


def _run(baseline: NamedBaseline) -> ScoredRun:
    assert isinstance(baseline.source, ScoredRun)
    return baseline.source


def _noted(verdict: BaselineVerdict, comparison: RunComparison) -> BaselineVerdict:
    """With a notice of rows that are gone: no policy sees what became of them."""
    table = comparison.table
    n_gone = 0 if table is None else int((table.in_old & ~table.in_new).sum())
    if table is None or not n_gone:
        return verdict
    notice = (
        f"{n_gone:,} of {int(table.in_old.sum()):,} rows of {comparison.old} are not in this run: "
        "whether they got worse is not known"
    )
    return replace(verdict, notices=(*verdict.notices, notice))


def _verdict(comparison: RunComparison, kind: str, options: _Options) -> BaselineVerdict:
    if isinstance(options.margin, Mapping):
        for name in options.margin:
            if name != ALL_METRICS:
                names = [change.name for change in comparison.changes]
                check_compared(name, names, "margin")
    match options.policy:
        case "no-regression":
            return no_regression(comparison, kind, care=options.care)
        case "non-inferior":
            return non_inferior(comparison, kind, alpha=options.alpha)
        case "omk":
            return omk_run_verdict(comparison, kind)
        case "regtrace":
            return regtrace_verdict(comparison, kind, options.margin)
        case "node":
            return node_verdict(comparison, kind, options.margin)


def _rate(policy: Policy, comparison: RunComparison) -> FalseAlarmRate | None:
    return false_alarm_rate(policy, comparison.n_pairs, share_tied(comparison))


def _report(
    run: ScoredRun,
    options: _Options,
    guards: tuple[GateOutcome, ...],
    verdicts: tuple[BaselineVerdict, ...],
    rate: FalseAlarmRate | None,
    *,
    n_resamples: int,
    seed: int,
) -> GateReport:
    """All of it in one verdict: the first failure decides, guards before baselines."""
    failed = next((verdict for verdict in verdicts if not verdict.passed), None)
    decisive = failed or next(iter(verdicts), None)
    broken = first_failure(guards)
    held, notices = True, []
    if decisive is not None:
        status, held = decisive.status, failed is None
        reason = f"{decisive.reason} (against {decisive.name})"
    else:
        status, held, reason = _without_baseline(run, options.policy, len(guards))
        notices.append("no baseline was found: the guards alone decide")
    for verdict in verdicts:
        notices += [notice for notice in verdict.notices if notice not in notices]
    return GateReport(
        name=run.name,
        policy=options.policy,
        status=GUARD if held and broken is not None else status,
        passed=held and broken is None,
        reason=reason if broken is None else broken,
        baselines=verdicts,
        guards=guards,
        notices=tuple(notices),
        false_alarms=rate,
        alpha=options.alpha,
        n_resamples=n_resamples,
        seed=seed,
    )


def _without_baseline(run: ScoredRun, policy: Policy, n_guards: int) -> tuple[str, bool, str]:
    held = f"; {n_guards} guard{'' if n_guards == 1 else 's'} held" if n_guards else ""
    if policy == "omk":
        ships = omk_solo(run).ships
        verb = "reaches" if ships else "does not reach"
        return "SOLO", ships, f"no baseline: the mean composite score {verb} 3.5 of 5{held}"
    return _ALONE.get(policy, "NEW"), True, f"no baseline to compare with{held}"
