"""``rag-eval init``: a workflow that scores every pull request, ready to be committed."""

from __future__ import annotations

import json
import sys
from importlib import resources
from pathlib import Path
from typing import Final

import rich_click as click

from rag_eval.errors import InputError

_EXIT_CODES: Final = "Exit codes: 0 written · 2 the file is there already, or cannot be written"
_DATA: Final = "samples.jsonl"
_BASELINE: Final = "rag-eval-baseline.json"


def _data_flag(command: click.Command) -> click.Command:
    return click.option(
        "--data",
        metavar="FILE",
        default=_DATA,
        show_default=True,
        help="The samples to score, from the top of the repository.",
    )(command)


def _place_flags(command: click.Command) -> click.Command:
    command = click.option("--force", is_flag=True, help="Write over a file that is there.")(command)
    return click.option(
        "--directory",
        metavar="DIR",
        default=".",
        show_default=True,
        help="The top of the repository.",
    )(command)


@click.group("init")
def init_command() -> None:
    """Write a workflow for a build server, which scores each change and holds it against a baseline.

    \b
    Examples:
      rag-eval init github
      rag-eval init github --data eval/samples.jsonl --branch trunk
      rag-eval init gitlab
    """


@init_command.command("github", epilog=_EXIT_CODES)
@_data_flag
@click.option(
    "--branch",
    metavar="NAME",
    default="main",
    show_default=True,
    help="The default branch; pushes to it are scored, too.",
)
@_place_flags
def github_command(data: str, branch: str, directory: str, force: bool) -> None:
    """Write .github/workflows/rag-eval.yml for GitHub Actions.

    It runs on pull requests, those of forks among them, and on pushes to the default branch. It
    scores DATA with the grounded profile, shows what failed beside the change and on the page of
    the run, and keeps the HTML report. Where rag-eval-baseline.json is committed, a later step
    holds the scores against it. The workflow may read the repository and no more, needs no key, and
    names each action by its commit.

    \b
    Examples:
      rag-eval init github
      rag-eval init github --data eval/samples.jsonl --force
    """
    text = _filled("github.yml", data, branch)
    path = _written(Path(directory, ".github", "workflows", "rag-eval.yml"), text, force)
    _print_next_steps(path, data, "")


@init_command.command("gitlab", epilog=_EXIT_CODES)
@_data_flag
@_place_flags
def gitlab_command(data: str, directory: str, force: bool) -> None:
    """Write .gitlab/rag-eval.yml for GitLab CI.

    A job for merge requests and the default branch: scores as test results, rows that failed as
    findings of code quality, the HTML report as an artifact. Include it in .gitlab-ci.yml.

    \b
    Examples:
      rag-eval init gitlab
      rag-eval init gitlab --data eval/samples.jsonl
    """
    path = _written(Path(directory, ".gitlab", "rag-eval.yml"), _filled("gitlab.yml", data), force)
    _print_next_steps(path, data, "include it in .gitlab-ci.yml:\n\n  include:\n    - local: "
                      ".gitlab/rag-eval.yml\n")


def _filled(template: str, data: str, branch: str = "") -> str:
    """A template with its places filled in."""
    from rag_eval import __version__

    text = resources.files("rag_eval.cli").joinpath("workflows", template).read_text("utf-8")
    places = {
        "@DATA@": _yaml_text("--data", data),
        "@BRANCH@": _yaml_text("--branch", branch),
        "@VERSION@": __version__,
    }
    for place, value in places.items():
        text = text.replace(place, value)
    return text


def _yaml_text(option: str, text: str) -> str:
    # Build servers fill in what stands behind a $; a leading dash would be a flag of the command.
    if not text.isprintable() or "$" in text or text.startswith("-") or "@" in text:
        raise InputError(
            f"{option}: wanted a name without control characters, $, @ and a leading dash, "
            f"got {text!r:.100}"
        )
    return json.dumps(text, ensure_ascii=False)  # a string of JSON is one of YAML


def _written(path: Path, text: str, force: bool) -> Path:
    from rag_eval.durable_files import atomic_file

    if path.exists() and not force:
        raise InputError(f"{path} is there already; --force writes over it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    with atomic_file(path) as file:
        file.write(text.encode())
    return path


def _print_next_steps(path: Path, data: str, include: str) -> None:
    from rag_eval.reports.plain_text import plain_text

    shown = plain_text(data)
    steps = [
        f"see that {shown} is in the repository, or let a step of the workflow write it",
        f"try the limits here first: rag-eval run {shown} --profile grounded --min-pass-rate 0.9 "
        "--output results.json",
        f"choose a baseline: rag-eval baseline export {_BASELINE} --from results.json",
        f"commit {plain_text(str(path))} and {_BASELINE}",
    ]
    if include:
        steps.insert(3, include)
    print(f"wrote {plain_text(str(path))}; next:", file=sys.stderr)
    for number, step in enumerate(steps, 1):
        print(f"  {number}. {step}", file=sys.stderr)
