"""``rag-eval golden``: datasets of inputs and expected outputs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from rag_eval.cli.flags import SEED, format_flag
from rag_eval.cli.groups import CommandGroup
from rag_eval.cli.judging import ENDED_CODES
from rag_eval.cli.parameters import A_SHARE
from rag_eval.cli.printing import print_json
from rag_eval.plumbing.spelling import counted

if TYPE_CHECKING:
    from rag_eval.golden.datasets import GoldenDataset
    from rag_eval.golden.results import EvalRunResult


@click.group(
    "golden",
    cls=CommandGroup,
    guessed={
        "check": "validate",
        "lint": "validate",
        "compare": "diff",
        "test": "run",
        "evaluate": "run",
    },
    epilog=f"Exit codes: 0 done · 1 a run failed · 2 bad input or usage · {ENDED_CODES}",
)
def golden_command() -> None:
    """Run, check, compare, split and clean golden datasets.

    A golden dataset is a JSON or YAML file of inputs and expectations on the outputs, in the format
    of HazelJS, Regtrace or omk.

    \b
    Examples:
      rag-eval golden validate golden.yaml
      rag-eval golden run golden.yaml --runner my_app:answer --ci
      rag-eval golden dedupe golden.yaml -o clean.json
    """


@golden_command.command(
    "run",
    epilog=f"Exit codes: 0 done · 1 the run failed · 2 bad input or usage · {ENDED_CODES}",
)
@click.argument("file", metavar="FILE")
@click.option(
    "--runner",
    metavar="MODULE:FUNCTION",
    help="Function that answers; the current folder is searched too. Without it, FILE is only "
    "checked.",
)
@click.option(
    "--concurrency",
    type=int,
    default=1,
    show_default=True,
    metavar="N",
    help="Number of cases to run at once.",
)
@click.option(
    "--min-average-score",
    type=A_SHARE,
    default=0.7,
    show_default=True,
    metavar="X",
    help="Threshold for each case and for the average.",
)
@click.option(
    "--timeout", type=float, metavar="S", help="Time limit per case in seconds. [default: no limit]"
)
@click.option("--ci", is_flag=True, help="Print one line per case, for the log of a CI job.")
@click.option("--gate", is_flag=True, help="Fail on low scores even without --runner.")
@format_flag("table", "json")
def run_command(
    file: str,
    runner: str | None,
    concurrency: int,
    min_average_score: float,
    timeout: float | None,
    ci: bool,
    gate: bool,
    form: str,
) -> int:
    """Run every case of FILE and score the outputs.

    The runner is a function, plain or async, that takes a mapping with "input", "id" and
    "metadata". It returns a string, or a mapping with "output", "toolCalls" and "retrievedIds".
    What it prints goes to stderr. Without --runner the recorded output of each case is scored, or
    its input if there is none. This only checks FILE, so low scores do not fail the run unless you
    add --gate.

    \b
    Examples:
      rag-eval golden run examples/golden.json
      rag-eval golden run golden.json --runner my_app:answer --ci
    """
    from contextlib import redirect_stdout

    from rag_eval.errors import Interrupted
    from rag_eval.golden.loading import load_golden_dataset
    from rag_eval.golden.runner import run_golden_dataset

    dataset = load_golden_dataset(file)
    stdout, partial = sys.stdout, None
    with redirect_stdout(sys.stderr):
        function = _echo(dataset) if runner is None else _runner(runner)
        try:
            result = run_golden_dataset(
                dataset,
                function,
                concurrency=concurrency,
                min_average_score=min_average_score,
                timeout_s=timeout,
            )
        except Interrupted as interrupted:
            result, partial = interrupted.partial, interrupted
    is_echo = runner is None and not gate
    _print_result(result, "ci" if ci and form == "table" else form, stdout, is_echo=is_echo)
    if partial is not None:
        raise partial
    if is_echo:
        print(
            "no --runner was given: the recorded outputs, or else the inputs, were scored, which "
            "only checks the file",
            file=sys.stderr,
        )
        return 0
    return 0 if result.passed else 1


def _echo(dataset: GoldenDataset) -> Callable[[Any], str]:
    recorded = {case.id: case.actual_output for case in dataset}

    def echo(case: Any) -> str:
        output = recorded[case["id"]]
        return str(case["input"]) if output is None else output

    return echo


def _runner(name: str) -> Callable[..., Any]:
    from rag_eval.cli.user_code import imported_function

    return imported_function(name, "--runner")


def _print_result(result: EvalRunResult, form: str, stdout: Any, *, is_echo: bool = False) -> None:
    if form == "json":
        from rag_eval.plumbing import json_text

        print(json_text.dumps(result.to_dict()).decode(), file=stdout)
    elif form == "ci":
        from rag_eval.reports.golden import write_golden_lines

        write_golden_lines(result, stdout, is_echo=is_echo)
    else:
        from rag_eval.reports.console import console_for
        from rag_eval.reports.golden import print_golden_run

        print_golden_run(result, console_for(stdout), is_echo=is_echo)


@golden_command.command("validate", epilog="Exit codes: 0 valid · 2 invalid, or cannot be read")
@click.argument("file", metavar="FILE")
@format_flag("table", "json")
def validate_command(file: str, form: str) -> int:
    """List all errors in FILE with their positions.

    FILE is JSON or YAML in the format of HazelJS, Regtrace or omk, which is detected.

    \b
    Examples:
      rag-eval golden validate examples/golden.json
      rag-eval golden validate golden.yaml --format json
    """
    from rag_eval.golden.loading import read_golden_dataset
    from rag_eval.reports.plain_text import plain_text

    dataset, faults = read_golden_dataset(file)
    if form == "json":
        listed = [{"place": f.place, "wanted": f.wanted, "found": f.found} for f in faults]
        found = {"valid": not faults, "faults": listed}
        if dataset is not None:
            found |= {"format": dataset.format, "cases": len(dataset)}
        print_json(found)
    else:
        for fault in faults:
            print(plain_text(str(fault)))
        if dataset is not None:
            n_cases = counted(len(dataset), "case")
            print(f"{plain_text(dataset.name)}: valid, {n_cases}, {dataset.format} format")
        else:
            print(counted(len(faults), "error"))
    return 2 if faults else 0


@golden_command.command("diff", epilog="Exit codes: 0 compared · 2 a file cannot be read")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@format_flag("table", "json")
def diff_command(old: str, new: str, form: str) -> None:
    """List the cases that were added, removed or changed from OLD to NEW.

    Cases are matched by id; their order does not matter.

    \b
    Examples:
      rag-eval golden diff golden-v1.json golden-v2.json
      rag-eval golden diff old.yaml new.json --format json | jq '.changed[].id'
    """
    from rag_eval.golden.diff import diff_golden_datasets
    from rag_eval.golden.loading import load_golden_dataset
    from rag_eval.reports.golden import diff_lines

    found = diff_golden_datasets(load_golden_dataset(old), load_golden_dataset(new))
    if form == "json":
        print_json(found.to_dict())
    else:
        print("\n".join(diff_lines(found)))


@golden_command.command("split", epilog="Exit codes: 0 written · 2 bad input or usage")
@click.argument("file", metavar="FILE")
@click.option(
    "--holdout",
    type=A_SHARE,
    default=0.2,
    show_default=True,
    metavar="SHARE",
    help="Share of the cases to hold out.",
)
@SEED
@click.option(
    "--by",
    type=click.Choice(["tags"]),
    help="Hold out this share of the cases with each set of tags.",
)
@click.option(
    "--rest-file", metavar="FILE", help="File for the other cases. [default: NAME.rest.json]"
)
@click.option(
    "--holdout-file",
    metavar="FILE",
    help="File for the held-out cases. [default: NAME.holdout.json]",
)
def split_command(
    file: str,
    holdout: float,
    seed: int,
    by: Any,
    rest_file: str | None,
    holdout_file: str | None,
) -> None:
    """Split FILE into a part to work with and a held-out part, as two JSON files.

    The choice depends only on the ids and the seed, not on order, time or machine.

    \b
    Examples:
      rag-eval golden split golden.yaml --by tags
      rag-eval golden split golden.json --holdout 0.3 --holdout-file held.json
    """
    from rag_eval.golden.loading import load_golden_dataset
    from rag_eval.golden.split import split_golden_dataset
    from rag_eval.reports.plain_text import plain_text

    parts = split_golden_dataset(load_golden_dataset(file), holdout, seed=seed, by=by)
    stem = Path(file).with_suffix("")
    targets = (rest_file or f"{stem}.rest.json", holdout_file or f"{stem}.holdout.json")
    _check_targets("FILE, --rest-file and --holdout-file", file, *targets)
    for part, target in zip(parts, targets, strict=True):
        _write(part, target)
        print(f"{plain_text(target)}: {counted(len(part), 'case')}")
    if not len(parts.holdout):
        print("warning: the share is too small to hold out a case", file=sys.stderr)


def _check_targets(named: str, *files: str) -> None:
    from rag_eval.errors import InputError
    from rag_eval.plumbing.durable_files import followed

    paths = [followed(Path(name)) for name in files]
    if len(set(paths)) < len(paths):
        raise InputError(f"{named} must be different files")


def _write(dataset: GoldenDataset, target: str) -> None:
    from rag_eval.plumbing import json_text
    from rag_eval.plumbing.durable_files import atomic_file

    with atomic_file(target) as out:
        out.write(json_text.dumps(dataset.to_document(), indent=2) + b"\n")


@golden_command.command("dedupe", epilog="Exit codes: 0 done · 2 bad input or usage")
@click.argument("file", metavar="FILE")
@click.option(
    "--threshold",
    type=A_SHARE,
    default=0.8,
    show_default=True,
    metavar="X",
    help="Minimum word overlap of near duplicates.",
)
@click.option(
    "--ngrams",
    type=int,
    default=1,
    show_default=True,
    metavar="N",
    help="Compare sequences of N words.",
)
@click.option(
    "--output", "-o", metavar="FILE", help="Write FILE without the near duplicates, as JSON."
)
@format_flag("table", "json")
def dedupe_command(file: str, threshold: float, ngrams: int, output: str | None, form: str) -> None:
    """List the cases whose input is almost the same as that of an earlier case.

    The overlap of two inputs is the Jaccard similarity of their words.

    \b
    Examples:
      rag-eval golden dedupe examples/golden.json
      rag-eval golden dedupe golden.yaml --threshold 0.6 -o clean.json
    """
    from rag_eval.golden.loading import load_golden_dataset
    from rag_eval.golden.near_duplicates import near_duplicates
    from rag_eval.reports.golden import duplicate_lines

    if output is not None:
        _check_targets("FILE and --output", file, output)
    dataset = load_golden_dataset(file)
    found = near_duplicates(dataset, threshold, n=ngrams)
    if output is not None:
        dropped = {duplicate.id for duplicate in found}
        _write(dataset.with_cases([case for case in dataset if case.id not in dropped]), output)
    if form == "json":
        listed = [duplicate.to_dict() for duplicate in found]
        print_json({"cases": len(dataset), "nearDuplicates": listed})
    else:
        print("\n".join(duplicate_lines(found, len(dataset))))
