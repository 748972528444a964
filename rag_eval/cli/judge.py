"""``rag-eval judge``: how far a judge can be trusted."""

from __future__ import annotations

import os
from typing import Any

import rich_click as click

from rag_eval.cli.flags import SEED, flag_of, flags, format_flag
from rag_eval.cli.groups import CommandGroup
from rag_eval.cli.judging import ENDED_CODES
from rag_eval.cli.printing import print_json
from rag_eval.cli.scoring_flags import JUDGE_VARIABLE, options_of, say_unencrypted, scoring_flags
from rag_eval.errors import InputError, UnsupportedModeError
from rag_eval.judge.call_options import merged_call_options
from rag_eval.options.declared import declared
from rag_eval.options.file_types import JudgeCheckOptions
from rag_eval.options.judge_types import TRIAL_OPTIONS, JudgeOptions
from rag_eval.reports.plain_text import plain_lines


@click.group(
    "judge",
    cls=CommandGroup,
)
def judge_command() -> None:
    """Check a judge before you rely on its scores, and collect replies to batches."""


@judge_command.command(
    "check",
    epilog=f"Exit codes: 0 usable · 1 not usable · 2 bad usage · 3 judge unavailable or budget "
    f"reached · {ENDED_CODES}",
)
@click.argument("address", metavar="[ADDRESS]", required=False)
@flags(*(flag_of(declared(JudgeOptions)[name]) for name in TRIAL_OPTIONS))
@click.option(
    "--config", metavar="FILE", help="Read [judge] of this file (rag-eval.toml); flags win over it."
)
@click.option(
    "--probe-tokens",
    type=click.IntRange(0),
    metavar="N",
    default=4500,
    show_default=True,
    help="Length of a prompt that shows whether the server cuts long prompts; 0 leaves it out.",
)
@format_flag("text", "json")
def check_command(address: str | None, **given: Any) -> int:
    """Try a judge on a dozen built-in rows whose verdicts are known.

    ADDRESS is openai:MODEL, anthropic:MODEL or http://127.0.0.1:11434/v1#MODEL, by default
    $RAG_EVAL_JUDGE. Each row is judged for faithfulness, again with its contexts in reverse order,
    and again with a longer answer that says the same. This prints how many replies could be read,
    how many verdicts are right, the effect of order and length, and tokens, time and price. A judge
    that gives one value to all rows, repeats the form of the prompt, or has a server that cuts long
    prompts is named and not usable. A dozen rows find a broken judge; how good a judge is, only
    labels of your own data can show.

    \b
    Examples:
      rag-eval judge check openai:gpt-5
      rag-eval judge check http://127.0.0.1:11434/v1#qwen3 --judge-option seed=1
      rag-eval judge check anthropic:claude-sonnet-4-5 --judge-style rating
    """
    from rag_eval.jobs.judge_trial import try_judge

    form, config = given.pop("form"), given.pop("config")
    probe_tokens = given.pop("probe_tokens")
    judge = address or os.environ.get(JUDGE_VARIABLE)
    if not judge:
        raise InputError(
            f"no judge is named: give ADDRESS, such as openai:MODEL, or set {JUDGE_VARIABLE}"
        )
    options = {name: value for name, value in given.items() if value not in (None, {}, [], ())}
    if config is not None:
        from rag_eval.options.config_file import read_config

        below = read_config(config)
        above = options.get("judge_options", {})
        options = {name: below[name] for name in TRIAL_OPTIONS if name in below} | options
        if "judge_options" in below:
            options["judge_options"] = merged_call_options(below["judge_options"], above)
    say_unencrypted(options)
    found = try_judge(judge, probe_tokens=probe_tokens, **options)
    if form == "json":
        print_json(found.to_dict())
    else:
        print(plain_lines(found.text()))
    return 0 if found.usable else 1


@judge_command.command(
    "collect",
    epilog="Exit codes: 0 results written, no gate failed · 1 results written, a gate failed · "
    "2 bad input or usage · 3 judge unavailable or budget reached · 4 waiting for the judge's "
    f"batches · {ENDED_CODES}",
)
@click.argument("file", metavar="FILE")
@click.option(
    "--wait",
    is_flag=True,
    help="Check again until all replies have arrived. Ctrl-C stops only the waiting.",
)
@click.pass_context
def collect_command(context: click.Context, file: str, wait: bool) -> int:
    """Collect the judge's replies to the batches of run or score --judge-batch FILE.

    A judgement takes several questions, so a run takes a few rounds. This command checks the
    batches in FILE, keeps the replies that have arrived, and sends the questions that follow from
    them. Once no question is left, it writes the results of the run. You can interrupt and repeat
    it at any time: replies that were paid for are kept, and no batch is sent twice. Running the
    first command again does the same, for example with a higher --budget-usd.

    \b
    Examples:
      rag-eval run data.jsonl --mode llm --judge openai:gpt-5 --judge-batch b.db
      rag-eval judge collect b.db
      rag-eval judge collect b.db --wait
    """
    from rag_eval.cli.batches import collect

    program: Any = context.find_root().command
    return collect(file, program.call, wait=wait)


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
def debias_check_command(data: str, **given: Any) -> int:
    """Judge rows of DATA with and without the length instruction in the prompt, and compare.

    Every prompt that asks for a verdict tells the judge to ignore length. This judges the same rows
    with and without that instruction, and prints the mean difference with its interval. The
    difference measures how much the judge follows the instruction: a judge that ignores it has a
    difference of 0, however much it favours long answers. How much it favours them is better shown
    by the partial correlation of score and length, given the native score. --shuffles shows whether
    the order of the contexts changes the verdicts.

    \b
    Examples:
      rag-eval judge debias-check samples.jsonl --judge openai:gpt-5 --rows 20
      rag-eval judge debias-check data.jsonl --judge openai:gpt-5 --shuffles 2
    """
    from rag_eval.jobs.judge_checks import check_judge

    form, n_rows, n_shuffles = given.pop("form"), given.pop("rows"), given.pop("shuffles")
    seed = given.pop("seed")
    given["mode"] = "llm"
    options = options_of(given, JudgeCheckOptions)
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
