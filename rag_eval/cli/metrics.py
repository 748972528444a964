"""``rag-eval metrics``: list the metrics and their definitions."""

from __future__ import annotations

import sys

import rich_click as click

from rag_eval.cli.flags import format_flag
from rag_eval.cli.parameters import completed_metrics
from rag_eval.cli.printing import print_json
from rag_eval.errors import InputError
from rag_eval.metrics.catalogue import FAMILY_NAMES
from rag_eval.metrics.registry import to_metric_id
from rag_eval.samples import PROFILES, Profile


@click.command("metrics", epilog="Exit codes: 0 printed · 2 unknown metric")
@click.argument("ids", metavar="[METRIC…]", nargs=-1, shell_complete=completed_metrics)
@click.option(
    "--family",
    type=click.Choice(FAMILY_NAMES),
    metavar="FAMILY",
    help="Only metrics of one family: mastra, hazel, regtrace or omk (tools), ir (retrieval), "
    "rag_eval (this library), own (your modules).",
)
@click.option(
    "--kind",
    type=click.Choice(["deterministic", "statistical", "judged"]),
    metavar="KIND",
    help="Only metrics of one kind: deterministic, statistical, or judged (by an LLM judge).",
)
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    help="Profile for which the metrics of this library are described. [default: overlap; for "
    "METRIC, each]",
)
@format_flag("table", "json", "ids", text="Output format; ids: one per line.")
def metrics_command(
    ids: tuple[str, ...], family: str | None, kind: str | None, profile: Profile | None, form: str
) -> None:
    """List the metrics with kind, cost, range, direction, and the fields of a sample they need.

    With METRIC, all details of these metrics are shown. Retrieval measures take any cutoff; the
    list has the usual ones. A star marks metrics that an LLM judge can score too.

    \b
    Examples:
      rag-eval metrics --family regtrace
      rag-eval metrics ir.ndcg@7 mastra.completeness
      rag-eval metrics faithfulness --profile grounded
      rag-eval metrics --format json | jq '.[].id'
    """
    from rag_eval.metrics.catalogue import catalogue, entry_of, profiles_of

    chosen = profile or "overlap"
    if ids:
        if family is not None or kind is not None:
            raise InputError("--family and --kind have no effect on metrics that are named")
        metrics = [to_metric_id(name) for name in dict.fromkeys(ids)]
        entries = [entry_of(metric, chosen) for metric in metrics]
    else:
        entries = [
            entry
            for entry in catalogue(chosen)
            if family in (None, entry.family) and kind in (None, entry.kind)
        ]
    if form == "json":
        print_json([entry.to_dict() for entry in entries], indent=2)
    elif form == "ids":
        sys.stdout.writelines(f"{entry.id}\n" for entry in entries)
    else:
        from rag_eval.reports.console import console_for
        from rag_eval.reports.metric_table import print_metric, print_metrics

        if ids:
            for metric in metrics:
                for name in (profile,) if profile else profiles_of(metric) or (chosen,):
                    shown = name if name in profiles_of(metric) else ""
                    print_metric(entry_of(metric, name), console_for(), shown)
        else:
            print_metrics(entries, console_for())
            other = next(name for name in PROFILES if name != chosen)
            click.echo(
                f"metrics of rag_eval are described as in the {chosen} profile; for {other}: "
                f"--profile {other}",
                err=True,
            )
