"""``rag-eval judge``: how far a judge can be trusted."""

from __future__ import annotations

from typing import Any

import rich_click as click

from rag_eval.cli.flags import SEED, format_flag
from rag_eval.cli.groups import CommandGroup
from rag_eval.cli.judging import ENDED_CODES
from rag_eval.cli.printing import print_json
from rag_eval.cli.scoring_flags import options_of, scoring_flags
from rag_eval.errors import InputError, UnsupportedModeError
from rag_eval.options.file_types import JudgeCheckOptions


@click.group(
    "judge",
    cls=CommandGroup,
)
def judge_command() -> None:
    """Check a judge before you rely on its scores."""


@judge_command.command(
    "debias-check",
    epilog=f"Exit codes: 0 done · 2 bad input or usage · 3 judge unavailable · {ENDED_CODES}",
)
@click.argument("data", metavar="DATA")
@scoring_flags
@click.option(
    "--rows", type=int, metavar="N", default=100, show_default=True, help="Rows to draw from DATA."
)
@click.option(
    "--shuffles",
    type=int,
    metavar="N",
    default=0,
    show_default=True,
    help="Judge each row N times more with its contexts in another order.",
)
@SEED
@format_flag("text", "json")
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
    from rag_eval.jobs.judge_checks import check_judge

    form, n_rows, n_shuffles = flags.pop("form"), flags.pop("rows"), flags.pop("shuffles")
    seed = flags.pop("seed")
    flags["mode"] = "llm"
    options = options_of(flags, JudgeCheckOptions)
    metrics = options.pop("metrics", ["faithfulness"])
    if len(metrics) != 1:
        raise InputError(f"--metrics must name one metric, got {', '.join(metrics)}")
    options.pop("dry_run", None)
    try:
        found = check_judge(
            data, metrics[0], n_rows=n_rows, n_shuffles=n_shuffles, seed=seed, **options
        )
    except UnsupportedModeError:
        raise InputError(
            "rag-eval judge debias-check needs a judge. Add --judge openai:MODEL or set "
            "RAG_EVAL_JUDGE"
        ) from None
    if form == "json":
        print_json(found.to_dict())
    else:
        print(f"{found.metric} of {found.n_rows:,} rows, {found.llm_calls:,} calls\n")
        print(found.text())
    return 0
