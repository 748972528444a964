"""``rag-eval judge``: how far a judge can be trusted."""

from __future__ import annotations

import sys
from typing import Any

import rich_click as click

from rag_eval.cli.judge_flags import judge_flags
from rag_eval.cli.parameters import ENDED_CODES
from rag_eval.cli.reading import reading_flags
from rag_eval.cli.scoring_flags import options_of, scoring_flags
from rag_eval.errors import InputError


@click.group("judge")
def judge_command() -> None:
    """Look at a judge before its scores are relied on."""


@judge_command.command(
    "debias-check",
    epilog=f"Exit codes: 0 done · 2 bad input or usage · 3 judge unavailable · {ENDED_CODES}",
)
@click.argument("data", metavar="DATA")
@scoring_flags
@judge_flags
@reading_flags
@click.option("--rows", type=int, metavar="N", help="Rows to draw from DATA [100].")
@click.option(
    "--shuffles",
    type=int,
    metavar="N",
    help="Judge each row N times more with its chunks in another order [0].",
)
@click.option("--seed", type=int, metavar="N", help="Of draws, shuffles and intervals [0].")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Form of stdout.",
)
def debias_check_command(data: str, **flags: Any) -> int:
    """Judge rows of DATA with and without the words on length, and compare.

    Every prompt that asks for a verdict says that length is no merit. This judges the same rows
    with and without these words, and gives the mean difference with its interval. That is the
    judge's sensitivity to the wording: a judge that ignores the words shows none, however much it
    favours long answers. The partial correlation of score and length, given the native score, says
    more of that; and --shuffles tells whether the order of the chunks moves the judge.

    \b
    Examples:
      rag-eval judge debias-check samples.jsonl --judge openai:gpt-5 --metrics faithfulness
      rag-eval judge debias-check samples.jsonl --judge openai:gpt-5 --rows 50 --shuffles 2
    """
    from rag_eval.jobs.judge_checks import N_ROWS, check_judge

    form, n_rows, n_shuffles = flags.pop("form"), flags.pop("rows"), flags.pop("shuffles")
    seed = flags.pop("seed")
    flags["mode"] = "llm"
    options = options_of(flags)
    metrics = options.pop("metrics", ["faithfulness"])
    if len(metrics) != 1:
        raise InputError(f"--metrics must name one metric, got {', '.join(metrics)}")
    options.pop("dry_run", None)
    found = check_judge(
        data,
        metrics[0],
        n_rows=N_ROWS if n_rows is None else n_rows,
        n_shuffles=n_shuffles or 0,
        seed=seed or 0,
        **options,
    )
    if form == "json":
        from rag_eval.plumbing import json_text

        sys.stdout.buffer.write(json_text.dumps(found.to_dict()) + b"\n")
    else:
        print(f"{found.metric} of {found.n_rows:,} rows, {found.llm_calls:,} calls\n")
        print(found.text())
    return 0
