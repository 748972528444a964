"""The command group, and how errors are reported: one line on stderr and an exit code."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper
from types import ModuleType
from typing import Any, Final, NoReturn

import click
import rich_click
from click.shell_completion import CompletionItem

from rag_eval._version import __version__
from rag_eval.cli.batches import ARGUMENTS, how_to_collect
from rag_eval.cli.groups import CommandGroup, hint
from rag_eval.cli.judging import (
    BAD_INPUT,
    ENDED_CODES,
    INTERRUPTED,
    PENDING,
    TERMINATED,
    UNAVAILABLE,
)
from rag_eval.cli.panels import arrange
from rag_eval.cli.printing import say
from rag_eval.cli.user_code import imported
from rag_eval.errors import RagEvalError
from rag_eval.judge.failures import JudgePendingError, JudgeUnavailableError
from rag_eval.plumbing.interrupts import Termination
from rag_eval.reports.plain_text import plain_lines, plain_text

_DEFECT: Final = 70  # EX_SOFTWARE of sysexits.h
_KERNELS: Final = "rag_eval._native"
_OTHER_KERNELS: Final = (
    f"the compiled modules do not match rag_eval {__version__}. Install it again with pip install "
    "--force-reinstall rag-eval-native, or in a clone build them with pip install -e ."
)
_BROKEN_PIPE: Final = 141  # what a shell reports for a command that SIGPIPE ended

# Their first sentences; each has a module of its name, which is imported when it is asked for.
COMMANDS: Final = {
    "baseline": "Choose the baseline for later runs: a run in a store, or a file to commit.",
    "cache": "Show or delete cached replies of LLM judges.",
    "calibrate": "Fit a threshold and probabilities for a metric from human labels.",
    "compare": "Compare runs row by row: how much their means differ, and whether that is more "
    "than chance.",
    "estimate": "Estimate the mean label of all rows, from the scores of all rows and labels of a "
    "few.",
    "gate": "Decide whether a run passes: check it against limits and compare it with baselines.",
    "golden": "Run, check, compare, split and clean golden datasets.",
    "history": "List the runs that were saved by run --store, newest first, and how their means "
    "moved.",
    "init": "Write a CI workflow that scores each change and compares it with a baseline.",
    "judge": "Check a judge before you rely on its scores, and collect replies to batches.",
    "labels": "Label samples by hand, check the labels, and compare scores with them.",
    "metrics": "List the metrics with kind, cost, range, direction, and the fields of a sample "
    "they need.",
    "report": "Write reports of RESULT, an output of run, without scoring again.",
    "run": "Score every sample in DATA, print statistics per metric, and check the gates that you "
    "set.",
    "score": "Score every sample in SRC and write a row of scores for each to DST.",
    "show": "Show a result file: its statistics and worst rows, or all details of one row.",
    "validate": "List every sample in DATA that cannot be scored, each with its first fault.",
}
# What to give where an argument is missing.
_MEANT: Final = {
    "DATA": ", the file of samples",
    "SRC": ", the file of samples",
    "DST": ", the file to write the scores to, such as scores.csv",
    "RESULT": ", the result file",
    "SCORES": ", the file of scores",
    "LABELS": ", the file of labels",
    "N": ", the number of rows to draw",
}
_LISTING: Final = "rag_eval.listing"
# What other tools call these.
_GUESSED: Final = {
    **dict.fromkeys(("evaluate", "eval", "evals", "test", "assess", "start", "execute"), "run"),
    **dict.fromkeys(("check", "lint", "verify"), "validate"),
    **dict.fromkeys(("diff", "comparison", "regression"), "compare"),
    **dict.fromkeys(("view", "open", "inspect", "explain", "display", "cat"), "show"),
    **dict.fromkeys(("html", "export", "render"), "report"),
    **dict.fromkeys(("list", "log", "runs", "ls"), "history"),
    **dict.fromkeys(("ci", "setup", "github", "gitlab"), "init"),
    **dict.fromkeys(("dataset", "datasets"), "golden"),
    **dict.fromkeys(("annotate", "label", "annotations"), "labels"),
    **{name: f"golden {name}" for name in ("split", "dedupe")},
    **{name: f"baseline {name}" for name in ("pin", "unpin")},
    "sample": "labels sample",
    "debias-check": "judge debias-check",
}


class Program(CommandGroup):
    """A group that prints errors as ``error: …`` on stderr and imports its commands when needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return sorted({*COMMANDS, *self.commands})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name; while commands are listed, a stand-in that imports nothing."""
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        if ctx.meta.get(_LISTING):
            return click.Command(cmd_name, help=COMMANDS[cmd_name])
        module = import_module(f"rag_eval.cli.{cmd_name}")
        return arrange(getattr(module, f"{cmd_name}_command"))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The completions of a word; imports no command."""
        ctx.meta[_LISTING] = True
        return super().shell_complete(ctx, incomplete)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of the program; imports no command."""
        ctx.meta[_LISTING] = True
        with _without_emoji():
            super().format_help(ctx, formatter)  # type: ignore[arg-type]

    def main(  # type: ignore[override]  # never returns
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run a command and exit with its code."""
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:  # it was closed by whoever started the process
                setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                # Lone surrogates, and what the terminal's encoding lacks, as escapes.
                stream.reconfigure(errors="backslashreplace")
        termination = Termination()
        try:
            with termination.heard():
                code = self._exit_code(args, prog_name, extra)
        except KeyboardInterrupt:  # once more, while the first was told
            code = INTERRUPTED
        try:
            sys.stdout.flush()
        except OSError:  # told by now; Python, at its end, would make another code of it
            _drop_stdout()
        sys.exit(TERMINATED if code == INTERRUPTED and termination.has_come else code)

    def _exit_code(
        self, args: Sequence[str] | None, prog_name: str | None, extra: dict[str, Any]
    ) -> int:
        extra["standalone_mode"] = False
        try:
            code = super().main(args=args, prog_name=prog_name, **extra)
            return code if isinstance(code, int) else 0
        except click.UsageError as error:
            return _fail(_usage_text(error))
        except click.ClickException as error:
            return _fail(error.format_message())
        except (click.Abort, KeyboardInterrupt) as error:
            if isinstance(
                error.__context__, EOFError
            ):  # click treats it as the end of terminal input
                return _fail_with(error.__context__)
            say(f"interrupted; {_what_is_left(error)}")
            return INTERRUPTED
        except JudgeUnavailableError as error:
            _fail(str(error))
            return UNAVAILABLE
        except JudgePendingError as error:
            say(str(error))
            say(how_to_collect(error.path))
            return PENDING
        except RagEvalError as error:
            return _fail(str(error))
        except OSError as error:
            name = f": {error.filename}" if error.filename else ""
            return _fail(f"{error.strerror or error}{name}")
        except MemoryError:
            return _fail("not enough memory")
        except Exception as error:
            return _fail_with(error)

    def call(self, arguments: Sequence[str]) -> int:
        """Run a command within another one, and return its exit code; errors are raised."""
        code = super().main(args=list(arguments), standalone_mode=False)
        return code if isinstance(code, int) else 0

    def make_context(
        self, info_name: str | None, args: list[str], *more: Any, **extra: Any
    ) -> click.Context:
        """The context of a call, which knows the words that it was made with."""
        given = list(args)
        context = super().make_context(info_name, args, *more, **extra)
        context.meta[ARGUMENTS] = given
        return context

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; if the reader of stdout closes it, end silently."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            return _BROKEN_PIPE
        return code


@contextmanager
def _without_emoji() -> Iterator[None]:
    """Let rich find no names of emoji, such as ``:warning:``, in texts that have none.

    To load its table of them takes a tenth of the time of the help.
    """
    name = "rich._emoji_codes"
    if name in sys.modules:
        yield
        return
    table: Any = ModuleType(name)
    table.EMOJI = {}
    sys.modules[name] = table
    try:
        yield
    finally:
        del sys.modules[name]


def _drop_stdout() -> None:
    """Discard what is left in stdout: Python flushes it at exit and would complain again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _lacks_kernels(error: Exception) -> bool:
    """Whether a compiled module lacks what this version calls, as an older build of it does."""
    if isinstance(error, ImportError):
        return (error.name or "").startswith(_KERNELS)
    if isinstance(error, TypeError):  # it takes other arguments
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        is_of_kernels = str(frame.f_globals.get("__name__")).startswith(_KERNELS)
        return is_of_kernels and " argument" in str(error)
    whose = error.obj if isinstance(error, AttributeError) else None
    return isinstance(whose, ModuleType) and whose.__name__.startswith(_KERNELS)


def _fail_with(defect: Exception) -> int:
    """Report a defect; Python itself would exit with 1, which means that a gate failed."""
    if _lacks_kernels(defect):
        say(f"error: {_OTHER_KERNELS} ({plain_text(str(defect))})")
    else:
        print(plain_lines("".join(traceback.format_exception(defect))), file=sys.stderr)
    return _DEFECT


def _what_is_left(error: BaseException) -> str:
    """The message of an interrupt, which may be wrapped or be the last of several."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt) and cause.args:
            return str(cause)
        cause = cause.__cause__ or cause.__context__
    return "nothing was written"


def _fail(message: str) -> int:
    say(f"error: {message}")
    return BAD_INPUT


def _usage_text(error: click.UsageError) -> str:
    if isinstance(error, click.NoSuchOption) and error.option_name == "--import":
        return "--import must come before the command: rag-eval --import MODULE run …"
    where = f"; see {error.ctx.command_path} --help" if error.ctx is not None else ""
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        known = [name for flag in error.ctx.command.params for name in flag.opts]
        meant = hint(error.option_name, known)
        if not meant and error.ctx.command is program:
            meant = (
                ". The options of a command follow its name: rag-eval run DATA --profile grounded"
            )
        return f"No such option {error.option_name!r}{meant}{where}"
    if extra := re.fullmatch(r"Got unexpected extra arguments? \((.*)\)", error.message):
        taken = _taken(error)
        text = f"Unexpected extra argument {extra[1]!r}: the command takes {taken}"
        if "DATA" in taken or "SRC" in taken:
            text += '. To read several files, give one pattern in quotes, such as "runs/*.jsonl"'
        return text + where
    return error.format_message().rstrip(".") + _what_to_give(error) + where


def _taken(error: click.UsageError) -> str:
    """The arguments of the command that an error is about."""
    context = error.ctx
    pieces = [] if context is None else context.command.collect_usage_pieces(context)
    arguments = [piece for piece in pieces if piece != "[OPTIONS]"]
    return f"only {' '.join(arguments)}" if arguments else "no argument"


def _what_to_give(error: click.UsageError) -> str:
    """A hint at what to give for a missing or surplus argument or flag."""
    command = error.ctx.command if error.ctx is not None else None
    if error.ctx is None or command is None:
        return ""
    usage = f"{error.ctx.command_path} {' '.join(command.collect_usage_pieces(error.ctx))}"
    if isinstance(error, click.BadParameter) and isinstance(error.param, click.Argument):
        if not isinstance(error, click.MissingParameter):
            return f"; usage: {usage}"
        if store := error.ctx.params.get("store"):
            return (
                f": --store took {store!r} as its own value. Put --store after the file: "
                f"{error.ctx.command_path} {store} --store"
            )
        meant = _MEANT.get(error.param.metavar or "", "")
        return f"{meant}; usage: {usage}"
    parameter = error.param if isinstance(error, click.BadParameter) else None
    if parameter is not None and isinstance(parameter.type, click.Choice):
        given = re.match(r"'(.*)' is not one of", error.message)
        return hint(given[1], parameter.type.choices) if given else ""
    if isinstance(error, click.MissingParameter) and isinstance(error.param, click.Option):
        text = (error.param.help or "").rstrip(".")
        text = f"{text[:1].lower()}{text[1:]}"
        if error.param.metavar == "METRIC":
            return f", the {text}, for example {error.param.opts[0]} faithfulness"
        return f": {text}" if text else ""
    return ""


@rich_click.group(
    "rag-eval",
    cls=Program,
    guessed=_GUESSED,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 pass · 1 a gate failed · 2 bad input or usage · 3 judge unavailable "
    f"or budget reached · 4 waiting for the judge's batches · {ENDED_CODES}",
)
@rich_click.command_panel(
    "Score and inspect", commands=["run", "score", "validate", "show", "report", "metrics"]
)
@rich_click.command_panel("Decide", commands=["gate", "compare", "baseline", "history"])
@rich_click.command_panel("LLM judge", commands=["judge", "cache"])
@rich_click.command_panel(
    "Datasets and labels", commands=["golden", "labels", "calibrate", "estimate"]
)
@rich_click.command_panel("Administration", commands=["init"])
@rich_click.rich_config(
    help_config={"text_paragraph_linebreaks": "\n\n", "padding_helptext_first_line": (0, 0, 1, 0)}
)
@rich_click.version_option(__version__, message="rag-eval %(version)s")
@click.option(
    "--import",
    "modules",
    metavar="MODULE",
    multiple=True,
    help="Import this module first, so that the custom metrics it registers can be used. It "
    "may be in the current folder or installed.",
)
def program(modules: tuple[str, ...]) -> None:
    """Score the outputs of retrieval-augmented generation, at native speed and without a model.

    Each sample is a JSON object with a question, an answer, the contexts retrieved and, where
    known, the ground truth. Data goes to stdout, everything else to stderr.

    \b
    Examples:
      rag-eval validate samples.jsonl
      rag-eval run samples.jsonl --profile grounded --output today.json
      rag-eval show today.json
      rag-eval gate today.json --baseline main.json
      rag-eval --import my_metrics run samples.jsonl --metrics brevity
    """
    for name in modules:
        imported(name, "--import")
