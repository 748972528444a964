"""``rag-eval init``: write a CI workflow that scores every pull request."""

from __future__ import annotations

import json
import re
import shlex
import sys
from importlib import resources
from pathlib import Path
from typing import Final

import rich_click as click

from rag_eval.cli.groups import CommandGroup
from rag_eval.errors import InputError

_EXIT_CODES: Final = "Exit codes: 0 written · 2 the file already exists, or cannot be written"
_DATA: Final = "samples.jsonl"
_PLACE: Final = re.compile(r"@([A-Z]+)@")
_BASELINE: Final = "rag-eval-baseline.json"


_data_flag = click.option(
    "--data",
    metavar="FILE",
    default=_DATA,
    show_default=True,
    help="Samples to score, relative to the root of the repository.",
)
_config_flag = click.option(
    "--config",
    metavar="FILE",
    help="Score with the options in this TOML file. [default: --profile grounded]",
)
_directory_flag = click.option(
    "--directory", metavar="DIR", default=".", show_default=True, help="Root of the repository."
)
_force_flag = click.option("--force", is_flag=True, help="Overwrite an existing file.")


@click.group(
    "init",
    cls=CommandGroup,
    guessed={"gh": "github", "actions": "github", "gitlab-ci": "gitlab"},
)
def init_command() -> None:
    """Write a CI workflow that scores each change and compares it with a baseline.

    Afterwards the next steps are printed: which samples and which baseline to commit.

    \b
    Examples:
      rag-eval init github
      rag-eval init github --data eval/samples.jsonl --branch trunk
      rag-eval init gitlab
    """


@init_command.command("github", epilog=_EXIT_CODES)
@_data_flag
@_config_flag
@click.option(
    "--branch",
    metavar="NAME",
    default="main",
    show_default=True,
    help="Default branch; pushes to it are scored too.",
)
@_directory_flag
@_force_flag
def github_command(data: str, config: str | None, branch: str, directory: str, force: bool) -> None:
    """Write .github/workflows/rag-eval.yml for GitHub Actions.

    The workflow runs on pull requests, including those from forks, and on pushes to the default
    branch. It scores DATA with the profile grounded, shows failed rows beside the change and in the
    summary of the run, and keeps the HTML report. Once rag-eval-baseline.json is committed, a later
    step fails if scores regressed against it; until then nothing fails. The workflow has read
    access only, needs no key, and pins each action to a commit.

    \b
    Examples:
      rag-eval init github
      rag-eval init github --data eval/samples.jsonl --config rag-eval.toml
    """
    text = _filled("github.yml", data, config, branch)
    path = _written(directory, ".github/workflows/rag-eval.yml", text, force)
    _print_next_steps(path, data, config)


@init_command.command("gitlab", epilog=_EXIT_CODES)
@_data_flag
@_config_flag
@_directory_flag
@_force_flag
def gitlab_command(data: str, config: str | None, directory: str, force: bool) -> None:
    """Write .gitlab/rag-eval.yml for GitLab CI.

    The job runs for merge requests and the default branch. It shows scores as test results and
    failed rows as code quality findings, and keeps the HTML report as an artifact. Include the file
    in .gitlab-ci.yml.

    \b
    Examples:
      rag-eval init gitlab
      rag-eval init gitlab --data eval/samples.jsonl
    """
    path = _written(directory, ".gitlab/rag-eval.yml", _filled("gitlab.yml", data, config), force)
    include = "put into .gitlab-ci.yml: include: [{local: .gitlab/rag-eval.yml}]"
    _print_next_steps(path, data, config, include)


def _filled(template: str, data: str, config: str | None, branch: str = "") -> str:
    """A template with its places filled in."""
    from rag_eval._version import __version__

    text = resources.files("rag_eval.cli").joinpath("workflows", template).read_text("utf-8")
    places = {
        "DATA": _yaml_text("--data", data),
        "SETTINGS": _settings(config),
        "BRANCH": _yaml_text("--branch", branch),
        "VERSION": __version__,
    }
    # In one go: a name may look like a place.
    return _PLACE.sub(lambda found: places[found[1]], text)


def _settings(config: str | None) -> str:
    """How samples are scored, as words of a shell."""
    if config is None:
        return "--profile grounded"
    _check_name("--config", config)
    return f"--config {shlex.quote(config)}"


def _yaml_text(option: str, text: str) -> str:
    _check_name(option, text)
    return json.dumps(text, ensure_ascii=False)  # a string of JSON is one of YAML


def _check_name(option: str, text: str) -> None:
    # Build servers fill in what stands behind a $; a leading dash would be a flag of the command.
    if not text.isprintable() or "$" in text or text.startswith("-"):
        raise InputError(
            f"{option}: expected a name without control characters, $ and a leading dash, "
            f"got {text!r:.100}"
        )


def _written(directory: str, name: str, text: str, force: bool) -> Path:
    from rag_eval.plumbing.durable_files import atomic_file, followed

    path = Path(directory, name)
    if not Path(directory).is_dir():
        raise InputError(
            f"cannot write {path}: the folder '{directory}' does not exist; create it first"
        )
    if not followed(path).is_relative_to(followed(Path(directory))):
        raise InputError(
            f"cannot write {path}: a link in the repository leads out of it, to {followed(path)}"
        )
    if path.exists() and not force:
        raise InputError(f"{path} already exists; to overwrite it, add --force")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    with atomic_file(path) as file:
        file.write(text.encode())
    return path


def _print_next_steps(path: Path, data: str, config: str | None, include: str = "") -> None:
    from rag_eval.reports.plain_text import plain_text

    shown = plain_text(shlex.quote(data))
    settings = plain_text(_settings(config))
    committed = [plain_text(str(path)), *([] if config is None else [plain_text(config)])]
    steps = [
        f"commit the samples in {shown}, or let a step of the workflow write them",
        f"score them here first: rag-eval run {shown} {settings} --output results.json",
        f"make these scores the baseline: rag-eval baseline export {_BASELINE} --from results.json",
        f"commit {', '.join(committed)} and {_BASELINE}",
    ]
    if include:
        steps.insert(3, include)
    print(f"wrote {plain_text(str(path))}; next:", file=sys.stderr)
    for number, step in enumerate(steps, 1):
        print(f"  {number}. {step}", file=sys.stderr)
