"""``rag-eval gate``: a run against limits and earlier runs, to an exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from rag_eval.cli.flags import TEST_FLAGS, flag_of, format_flag
from rag_eval.cli.judging import ENDED_CODES
from rag_eval.cli.parameters import (
    A_SHARE,
    completed_metric,
    completed_number,
    metric_numbers,
    number_of,
)
from rag_eval.cli.printing import print_found
from rag_eval.cli.report_flags import ci_flags, report_files
from rag_eval.errors import InputError
from rag_eval.options.declared import declared
from rag_eval.options.file_types import RunOptions
from rag_eval.runs.store_names import DEFAULT_PIN, DEFAULT_STORE

if TYPE_CHECKING:
    from rag_eval.gating.guards import Guards
    from rag_eval.gating.verdicts import GateReport


_GATES: Final = declared(RunOptions)


@click.command(
    "gate", epilog=f"Exit codes: 0 passed · 1 failed · 2 bad input or usage · {ENDED_CODES}"
)
@click.argument("new", metavar="[NEW]", required=False)
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="FILE",
    help="Hold NEW against this run (again for more: all must hold).",
)
@click.option(
    "--store",
    metavar="[FILE]",
    is_flag=False,
    flag_value=DEFAULT_STORE,
    help="Hold it against the last run that passed and the pinned one of this store "
    f"[{DEFAULT_STORE}].",
)
@click.option(
    "--run",
    "run_id",
    metavar="ID",
    help="Gate this run of the store, an id or latest, and note there whether it passed.",
)
@click.option("--pin", default=DEFAULT_PIN, show_default=True, help="Name of the pinned run.")
@click.option("--branch", help="Branch whose last passing run counts first [that of the run].")
@flag_of(
    _GATES["policy"],
    default="no-regression",
    show_default=True,
    help="Rule by which it is compared with them; see above.",
)
@TEST_FLAGS
@flag_of(_GATES["care"], default=0.05, show_default=True)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="METRIC",
    shell_complete=completed_metric,
    help="Let this metric decide (again for more) [all but diagnostics].",
)
@flag_of(_GATES["min_mean"], help="Guard: least mean of a metric.")
@flag_of(_GATES["max_mean"], help="Guard: maximum allowed mean for a lower-is-better metric.")
@flag_of(_GATES["min_pass_rate"], help="Guard: least share of samples that pass.")
@click.option(
    "--max-null-rate",
    shell_complete=completed_number,
    multiple=True,
    metavar="X|METRIC=X",
    help="Guard: largest share of rows without a score, of all metrics or of one.",
)
@click.option(
    "--max-null-rise",
    type=A_SHARE,
    metavar="X",
    help="Guard: by how much that share may rise against a baseline.",
)
@click.option(
    "--critical",
    multiple=True,
    metavar="ID|@FIELD=VALUE",
    help="Guard: this row, or rows with this value of a field, must not fail (again for more).",
)
@click.option(
    "--critical-fails",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="K",
    help="A critical row counts when it fails in K of its repeats or more.",
)
@flag_of(
    _GATES["max_judge_failures"],
    default=0.0,
    show_default=True,
    help="Guard: largest share of judgements that may fail.",
)
@format_flag("table", "json", "markdown", text="Form of the verdict on stdout.")
@ci_flags
def gate_command(new: str | None, **flags: Any) -> int:
    """Say whether a run may pass: against limits, and against earlier runs by a policy.

    NEW and the baselines are what rag-eval compare reads; a pattern in quotes stands for repeats of
    one run. Or gate a run that rag-eval run --store has kept: --store --run latest. Give NEW before
    --store: what follows it is taken for its file.

    Policies, and what each promises:

    no-regression fails when a test finds a mean that is worse by more than the margin (0). Its p
    values are adjusted for all metrics and slices: when nothing changed, at most 5 of 100 builds
    are red. IMPROVED, NO CHANGE, INCONCLUSIVE and TOO FEW ROWS pass; the smallest drop that would
    be found 8 times in 10 stands beside them.

    non-inferior passes when every mean is shown to be worse by less than the margin, which has to
    be given. It is the one to take when a wrong pass costs more than a wrong stop: few rows fail.

    omk, regtrace and node are the rules of those tools. omk passes on shown progress alone.
    regtrace fails when the mean composite falls by more than 0.05 of itself. node fails when a mean
    falls by more than 0.05, or rises where lower is better. They state no error rate, so the one
    that was simulated is printed.

    Against one baseline that moves, small losses add up: each run loses less than can be found, and
    becomes the next baseline. With a store the last run that passed and the pinned one must both
    hold; pin one with rag-eval baseline pin. Without any baseline the guards alone decide.

    \b
    Examples:
      rag-eval gate today.jsonl --baseline main.jsonl
      rag-eval gate 'today-*.jsonl' --baseline main.jsonl --critical q-17 --critical-fails 2
      rag-eval gate --store --run latest --min-pass-rate 0.9
      rag-eval gate today.json --baseline main.json --policy non-inferior --margin 0.02
      rag-eval gate today.jsonl --baseline main.jsonl --critical @tag=safety --format markdown
      rag-eval gate today.json --baseline main.json --junit gate.xml --github
    """
    form = flags.pop("form")
    files = report_files(flags, new, flags["baselines"])
    report = _report(new, flags)
    from rag_eval.reports.console import console_for
    from rag_eval.reports.gate import gate_markdown, print_gate

    if files.wanted:
        from rag_eval.views.outcomes import verdict_outcomes

        files.write_outcomes(verdict_outcomes(report), lambda: gate_markdown(report))
    print_found(
        form,
        report.to_dict,
        lambda: print_gate(report, console_for()),
        markdown=lambda: gate_markdown(report),
        notes=report.notices,
    )
    return report.exit_code


def _report(new: str | None, flags: dict[str, Any]) -> GateReport:
    from rag_eval.gating.against import NamedBaseline, gate
    from rag_eval.gating.stored import gate_against_store, gate_stored
    from rag_eval.runs.store import RunStore

    guards = _guards(flags)
    names = ("policy", "alpha", "care", "lower_is_better", "slices", "cluster_by", "id_field")
    options = {name: flags[name] for name in (*names, "n_resamples", "seed", "force")}
    options |= {"gating": flags["metrics"] or None, "margin": flags["margin"] or None}
    options["guards"] = guards
    store, run_id = flags["store"], flags["run_id"]
    files = [NamedBaseline("file", name) for name in flags["baselines"]]
    if run_id is not None and store is None:
        raise InputError("--run names a run of a store; give --store too")
    if new is not None and run_id is not None:
        raise InputError("give one run to gate: NEW, a file, or --run, and not both")
    of_store = {"branch": flags["branch"], "pin": flags["pin"], "extra": files}
    if run_id is not None:
        return gate_stored(RunStore(store, create=False), run_id, **of_store, **options)
    if new is None:
        raise InputError("give a run to gate: NEW, a file, or --store with --run ID")
    if store is not None:
        kept = RunStore(store, create=False)
        return gate_against_store(new, kept, **of_store, **options)
    if flags["branch"] is not None and store is None:
        raise InputError("--branch says which runs of a store count; give --store too")
    if guards.max_null_rise is not None and store is None and not files:
        raise InputError("--max-null-rise needs runs to hold NEW against: --baseline or --store")
    if not files and not guards.given:
        raise InputError("nothing to gate by: give --baseline, --store or a guard")
    return gate(new, files, **options)


def _guards(flags: dict[str, Any]) -> Guards:
    from rag_eval.gating.guards import Guards

    ids, tags = _critical(flags["critical"])
    return Guards(
        min_mean=flags["min_mean"],
        max_mean=flags["max_mean"],
        min_pass_rate=flags["min_pass_rate"],
        max_null_rate=_null_rates(flags["max_null_rate"]),
        max_null_rise=flags["max_null_rise"],
        critical=ids,
        critical_tags=tags,
        critical_fails=flags["critical_fails"],
        max_judge_failures=flags["max_judge_failures"],
    )


def _critical(given: tuple[str, ...]) -> tuple[list[str], dict[str, list[str]]]:
    """``q-17`` is an id, ``@tag=safety`` a value of a field."""
    ids, tags = [], dict[str, list[str]]()
    for text in given:
        if not text.startswith("@"):
            ids.append(text)
            continue
        name, equals, value = text[1:].partition("=")
        if not name or not equals:
            raise InputError(f"--critical: wanted an id or @FIELD=VALUE, got {text!r}")
        tags.setdefault(name, []).append(value)
    return ids, tags


def _null_rates(given: tuple[str, ...]) -> float | dict[str, float] | None:
    if not given:
        return None
    if "=" in given[0] or len(given) > 1:
        return dict(metric_numbers("--max-null-rate", given))
    try:
        return number_of(given[0])
    except ValueError:
        raise InputError(
            f"--max-null-rate: wanted a share such as 0.05 or 5%, or METRIC=share, got {given[0]!r}"
        ) from None
