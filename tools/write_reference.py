"""Writes docs/reference/: every command and flag from its own help, every option and public name.

    python tools/write_reference.py [--check]

``command-line.md`` is made of what click knows, ``options.md`` of the declarations of options,
``python.md`` of names whose docstrings the build of the site puts in. ``--check`` changes nothing
and exits 1 where a page is out of date.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click
from rich_click.rich_panel import RichCommandPanel, RichOptionPanel

import rag_eval
from rag_eval.cli.program import COMMANDS, program
from rag_eval.options.declared import Option, declared, for_python
from rag_eval.options.file_types import (
    BatchScorerOptions,
    ReadOptions,
    RunOptions,
    ScoreFileOptions,
)
from rag_eval.options.gate_types import PolicyOptions
from rag_eval.options.judge_types import JudgeBatchOptions, JudgeOptions
from rag_eval.options.types import (
    BatchEvaluateOptions,
    EvaluateOptions,
    HeuristicOptions,
    MetricsOptions,
    MissingOptions,
    RegressionOptions,
    SchemaOptions,
    ScoringOptions,
    WorkOptions,
)

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"
_NOTE = "<!-- made by tools/write_reference.py; change the help or the docstring instead -->"
# What is public beside the names of the package itself, by what it is for.
_MODULES = {
    "Whole runs": (
        "rag_eval.run.RunReport",
        "rag_eval.run.ScoreFileReport",
        "rag_eval.run.FileReport",
        "rag_eval.results.BatchSummary",
        "rag_eval.results.Aggregate",
    ),
    "Decisions": (
        "rag_eval.comparing.RunComparison",
        "rag_eval.gating.gate",
        "rag_eval.gating.GateReport",
    ),
    "Labels, calibration": (
        "rag_eval.calibration.Calibration",
        "rag_eval.calibration.Refit",
        "rag_eval.estimators.RagScorer",
    ),
    "Metrics of your own": ("rag_eval.own_metrics.metric",),
    "Judges": (
        "rag_eval.adapters.openai.create_openai_judge",
        "rag_eval.adapters.anthropic.create_anthropic_judge",
        "rag_eval.adapters.onnx.create_onnx_verifier",
        "rag_eval.judge.JudgeReply",
        "rag_eval.judge.Verifier",
    ),
    "Golden datasets": (
        "rag_eval.golden.run_golden_dataset",
        "rag_eval.golden.run_evals",
    ),
    "Errors": (
        "rag_eval.errors.RagEvalError",
        "rag_eval.errors.InputError",
        "rag_eval.errors.CustomMetricError",
        "rag_eval.errors.MissingExtraError",
    ),
}


def command_page() -> str:
    """Every command with its arguments and flags, grouped as in the help."""
    lines = [
        "# Command line",
        "",
        _NOTE,
        "",
        "This page lists every command with its flags, in the groups of `rag-eval --help`. Data",
        "goes to standard output, everything else to standard error.",
        "",
        "On a terminal, tables have as many columns as fit, and lines wrap at words. In a pipe or",
        "a file, tables are up to 120 characters wide, and all other lines stay whole so that they",
        "can be searched; `COLUMNS=200` sets another width.",
        "",
        *_exit_codes(),
        *_command_section("rag-eval", program, "##"),
    ]
    context = click.Context(program)
    for title, names in command_groups().items():
        lines += [f"## {title}", ""]
        for name in names:
            command = program.get_command(context, name)
            assert command is not None
            for path, inner in _commands(f"rag-eval {name}", command):
                lines += _command_section(path, inner, "###")
    return "\n".join(lines).rstrip() + "\n"


def command_groups() -> dict[str, list[str]]:
    """The commands by the panels of the program's help."""
    panels = [panel for panel in program.panels if isinstance(panel, RichCommandPanel)]
    return {panel.name: list(panel.commands) for panel in panels}


def _commands(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in sorted(command.list_commands(context)):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _commands(f"{path} {name}", inner)


def exit_codes() -> dict[str, dict[int, str]]:
    """What each exit code of each command means, by its help; groups of commands have none."""
    context = click.Context(program)
    found = {}
    for name in COMMANDS:
        command = program.get_command(context, name)
        assert command is not None
        for path, inner in _commands(name, command):
            if not isinstance(inner, click.Group) or inner.invoke_without_command:
                text = (inner.epilog or "").removeprefix("Exit codes: ")
                parts = (part.split(" ", 1) for part in text.split(" · "))
                found[path] = {int(code): meaning for code, meaning in parts}
    return found


def _exit_codes() -> list[str]:
    lines = [
        "## Exit codes",
        "",
        "| command | 0 | 1 | 2 | 3 | 4 |",
        "|---|---|---|---|---|---|",
    ]
    found = exit_codes()
    for names in command_groups().values():
        for name in names:
            for path in (path for path in found if path.split()[0] == name):
                cells = [_cell(found[path].get(code, "–")) for code in range(5)]
                lines.append(f"| `{path}` | {' | '.join(cells)} |")
    return [
        *lines,
        "",
        "Code 2 is also given for a wrong flag or argument. Every command ends with 130 after",
        "Ctrl-C and with 143 after SIGTERM; `run` writes a partial result first, and `score` keeps",
        "what was scored. It ends with 141 if the reader of its output closes the pipe, and with",
        "70 and a traceback after a defect of rag_eval itself.",
        "",
    ]


def _command_section(path: str, command: click.Command, level: str) -> list[str]:
    # As commands have them: click keeps the flag of help that it first made for a command.
    names = program.context_settings["help_option_names"]
    context = click.Context(command, info_name=path, help_option_names=names)
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    lines = [f"{level} `{path}`", "", f"    {usage}", "", *_prose(command.help or ""), ""]
    panels = [one for one in getattr(command, "panels", ()) if isinstance(one, RichOptionPanel)]
    tables: dict[str, list[str]] = {panel.name: [] for panel in panels}
    panel_of = {flag: panel.name for panel in panels for flag in panel.options}
    for option in command.params:
        row = _option_row(option, context)
        if row:
            tables.setdefault(panel_of.get(option.opts[0], "Options"), []).append(row)
    tables = {title: rows for title, rows in tables.items() if rows}
    for title, rows in tables.items():
        heading = [f"**{title}**", ""] if len(tables) > 1 else []
        lines += [*heading, "| flag | meaning | default |", "|---|---|---|", *rows, ""]
    return lines


def _prose(text: str) -> list[str]:
    """Help as Markdown: examples, and what stands below a ``\\b``, keep their lines."""
    lines: list[str] = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        kept = paragraph.startswith(("\b", "Examples:\n"))
        inside = paragraph.removeprefix("\b").strip("\n").splitlines()
        if kept:
            head = [line for line in inside if not line.startswith(" ")]
            lines += [*head, "", *(f"    {line.strip()}" for line in inside if line[:1] == " "), ""]
        else:
            lines += [*map(_cell, inside), ""]
    return lines


def _option_row(option: click.Parameter, context: click.Context) -> str:
    known = option.to_info_dict()
    if not isinstance(option, click.Option) or option.hidden:
        return ""
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    shown = "" if option.is_flag else f" {_cell(option.make_metavar(context))}"
    default = known["default"]
    nothing = (
        default is False
        or default in (None, (), "")
        or "UNSET" in repr(default)
        or callable(default)
    )
    text, _, told = (option.help or "").removesuffix("]").partition(" [default: ")
    default_cell = _cell(told) or ("–" if nothing else f"`{default}`")
    return f"| {names}{shown} | {_cell(text)} | {default_cell} |"


def _cell(text: str) -> str:
    """Help in a cell or a paragraph, none of it markup."""
    flat = " ".join(text.replace("\b", "").split())
    return re.sub(r"([\\|<>*_\[\]`])", r"\\\1", flat)


def python_page() -> str:
    """Every public name; the build of the site puts the docstrings in."""
    lines = [
        "# Python",
        "",
        _NOTE,
        "",
        "This page lists every public name: those of the package itself",
        "(`from rag_eval import evaluate`), then those of its modules.",
        "The site has their docstrings; in a terminal, `help(rag_eval.evaluate)` shows them.",
        "[Options](options.md) have a page of their own.",
        "",
        "## The package",
        "",
    ]
    public = [name for name in rag_eval.__all__ if not name.startswith("_")]
    for name in sorted(public, key=lambda name: (name[0].isupper(), name)):
        lines += [f"::: rag_eval.{name}", ""]
    for title, names in _MODULES.items():
        lines += [f"## {title}", "", *(f"::: {name}\n" for name in names)]
    return "\n".join(lines).rstrip() + "\n"


_OF_BATCH = (EvaluateOptions, WorkOptions, SchemaOptions, MissingOptions, RegressionOptions)
_OF_FILES = (WorkOptions, SchemaOptions, MissingOptions)
_OF_BATCHES = (ScoringOptions, SchemaOptions)
# Forms of options, with what they are for, and forms that they extend, which have sections already.
_FORMS: tuple[tuple[str, str, type, tuple[type, ...]], ...] = (
    ("Metrics", "`create_evaluator` and every command that scores.", MetricsOptions, ()),
    ("What is computed", "Every call that scores.", ScoringOptions, ()),
    (
        "The overlap profile",
        "Keys of `heuristic`; the only options of `compute_metric`.",
        HeuristicOptions,
        (),
    ),
    ("An LLM judge", "Every call that scores, except `BatchScorer`.", JudgeOptions, ()),
    ("Batches of an LLM judge", "`run_file`, `score_file`.", JudgeBatchOptions, ()),
    ("Many rows", "`evaluate_batch`, `run_file`, `score_file`.", WorkOptions, ()),
    (
        "Field names",
        "`evaluate_batch`, `run_file`, `score_file`, `BatchScorer`.",
        SchemaOptions,
        (),
    ),
    ("Missing fields", "`evaluate_batch`, `run_file`, `score_file`.", MissingOptions, ()),
    ("A baseline", "`evaluate_batch`, `run_file`.", RegressionOptions, ()),
    ("A gate against a baseline", "`run_file`.", PolicyOptions, ()),
    ("`evaluate_batch`", "", BatchEvaluateOptions, _OF_BATCH),
    (
        "Files",
        "`run_file`, `score_file`.",
        ReadOptions,
        (WorkOptions, SchemaOptions, MissingOptions),
    ),
    (
        "`run_file`",
        "",
        RunOptions,
        (ReadOptions, EvaluateOptions, RegressionOptions, PolicyOptions, JudgeBatchOptions),
    ),
    ("`score_file`", "", ScoreFileOptions, (ReadOptions, EvaluateOptions, JudgeBatchOptions)),
    ("`BatchScorer`", "Record batches: Spark, Ray, Dask.", BatchScorerOptions, _OF_BATCHES),
)


def options_page() -> str:
    """Every option of a call: what it does, what it takes, and where it can be given."""
    lines = [
        "# Options",
        "",
        _NOTE,
        "",
        "This page lists every option of a call in Python, with its flag of `rag-eval run` and",
        "`rag-eval score` and its key in `rag-eval.toml`. Names in camelCase are accepted too.",
        "None means the default. In the file, options of judging can also stand below `[judge]`.",
        "",
    ]
    for title, calls, form, extended in _FORMS:
        inherited = {name for other in extended for name in declared(other)}
        own = [option for name, option in declared(form).items() if name not in inherited]
        lines += [f"## {title}", "", *([calls, ""] if calls else [])]
        lines += [
            "| option | meaning | value | default | flag | `rag-eval.toml` |",
            "|" + "---|" * 6,
        ]
        in_python = form in (HeuristicOptions, BatchScorerOptions)
        lines += [*(_declared_row(option, in_python) for option in own), ""]
    return "\n".join(lines).rstrip() + "\n"


def _declared_row(option: Option, in_python: bool) -> str:
    def said(text: str) -> str:
        # Code between two backticks stays code.
        return " ".join(for_python(text).replace("``", "`").replace("|", "\\|").split())

    is_flag = isinstance(option.default, bool)
    default = str(option.default).lower() if is_flag else said(option.default_text)
    flag, key = f"`{option.flag_name}`", "yes"
    if option.table:
        flag, key = "", f"yes, below `[{option.table}]`"
    if in_python:
        flag = key = ""
    if option.no_flag:
        flag = f"no: {said(option.no_flag)}"
    if option.no_toml:
        key = f"no: {said(option.no_toml)}"
    cells = (
        f"`{option.name}`",
        said(option.text),
        option.values,
        default or "–",
        flag or "–",
        key or "–",
    )
    return f"| {' | '.join(cells)} |"


PAGES = {"command-line.md": command_page, "options.md": options_page, "python.md": python_page}


def main() -> int:
    """Write, or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if outdated")
    check = parser.parse_args().check
    outdated = False
    for name, page in PAGES.items():
        path, now = FOLDER / name, page()
        outdated |= not path.exists() or path.read_text("utf-8") != now
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(now, "utf-8")
    return int(check and outdated)


if __name__ == "__main__":
    sys.exit(main())
