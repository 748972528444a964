"""The program around the commands: version, help, and which modules a command brings."""

from __future__ import annotations

import os
import subprocess
import sys
from inspect import cleandoc
from pathlib import Path
from typing import Any

import pytest
from click import Command, Context, Option

import rag_eval
from rag_eval._native import overlap_block
from rag_eval.cli import run
from rag_eval.cli.program import COMMANDS, program
from tests.commands import invoke
from tests.run_command import HANDBOOK

ROOT = Path(__file__).parents[2]


def test_version() -> None:
    assert invoke("--version").stdout == f"rag-eval {rag_eval.__version__}\n"


def test_every_command_has_help() -> None:
    plain = {"run", "score", "validate", "compare", "calibrate", "metrics", "history"}
    plain |= {"gate", "estimate", "report", "show"}
    golden = {"run", "validate", "diff", "split", "dedupe"}
    groups = {
        "judge": {"check", "collect", "debias-check"},
        "cache": {"info", "clear"},
        "golden": golden,
    }
    groups["baseline"] = {"pin", "unpin", "show", "export"}
    groups["labels"] = {"init", "validate", "compare", "sample"}
    groups["init"] = {"github", "gitlab"}
    context = Context(program)
    listed = {name: program.get_command(context, name) for name in program.list_commands(context)}
    assert set(listed) == plain | groups.keys()
    for name, command in listed.items():
        # What the list of commands says of it, without importing it.
        assert command.get_short_help_str(1000) == COMMANDS[name]
    commands = {name: listed[name] for name in plain}
    for group, names in groups.items():
        inner = listed[group].commands
        assert set(inner) == names
        commands |= {f"{group} {name}": inner[name] for name in names}
    for name, command in commands.items():
        page = help_of(name, command)
        assert "Exit codes:" in page
        assert page.count(f"rag-eval {name}") >= 3
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert parameter.help, f"{name} {parameter.name}"
    for name in groups:
        help_of(name, listed[name])
    assert "143 terminated" in help_of("", program)
    assert "Examples:" in invoke("-h").stdout


def help_of(name: str, command: Command) -> str:
    """The help at 80 columns. No example wraps, since it is to be copied, and no flag is cut."""
    done = invoke(*name.split(), "--help", env={"COLUMNS": "80"})
    assert done.exit_code == 0, f"{name}: {done.output} {done.exception!r}"
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    _, _, examples = cleandoc(command.help or "").partition("Examples:\n")
    for example in examples.partition("\n\n")[0].splitlines():
        assert f" {example}".rstrip() in lines, f"{name}: {example!r} wraps"
    context = Context(command)
    for flag in command.params:
        if isinstance(flag, Option) and not flag.hidden:
            shown = " " if flag.is_flag else f" {flag.make_metavar(context)} "
            found = [line for line in lines if f" {flag.opts[0]} " in line and shown in line]
            assert found, f"{name}: {flag.opts[0]}{shown}is cut"
    return done.stdout


def test_the_modules_of_a_command_come_only_with_it() -> None:
    code = "import sys, rag_eval.cli; print({'click', 'rich', 'numpy'} & sys.modules.keys())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"
    # Help is quick: no command brings arrays before it runs.
    assert brought_by_help("numpy", "scipy", "jinja2", "msgspec", "difflib") == "set()"


def test_the_help_does_without_the_table_of_emoji() -> None:
    assert brought_by_help("rich._emoji_codes") == "set()"


def brought_by_help(*names: str) -> str:
    """Those modules that ``rag-eval --help`` imports, as a set is printed."""
    code = (
        f"import atexit, sys, rag_eval.cli as cli; slow = {set(names)}; sys.argv[1:] = ['--help']; "
        "atexit.register(lambda: print(slow & sys.modules.keys())); cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "Administration" in done.stdout
    return done.stdout.splitlines()[-1]


def test_the_command_sets_python_up_for_many_rows() -> None:
    """Few searches for cycles, none at the end, and threads that soon get the GIL."""
    code = (
        "import atexit, gc, sys, rag_eval.cli as cli; sys.argv[1:] = ['--version']; "
        "usual = gc.get_threshold()[0], sys.getswitchinterval(); atexit.register(lambda: print("
        "gc.get_freeze_count() > 0 and gc.get_threshold()[0] > 100 * usual[0] "
        "and sys.getswitchinterval() < usual[1] / 5)); cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "True"


@pytest.mark.parametrize("asked", [None, "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"])
def test_matrices_take_one_thread_unless_the_user_asks_for_more(asked: str | None) -> None:
    code = (
        "import sys, rag_eval.cli as cli; sys.argv[1:] = ['--version']\n"
        "try: cli.main()\n"
        "except SystemExit: import numpy, threadpoolctl\n"
        "print({pool['num_threads'] for pool in threadpoolctl.threadpool_info()})"
    )
    env = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    if asked:
        env[asked] = "2"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == str({min(2 if asked else 1, os.cpu_count() or 1)})


def test_what_a_module_of_the_user_holds_is_written_at_the_end(tmp_path: Path) -> None:
    """Objects that hold each other are only found by that search."""
    code = (
        "class Log:\n"
        "    def __init__(self):\n"
        "        self.file, self.itself = open('log.txt', 'w'), self\n"
        "        self.file.write('written')\n"
        "LOG = Log()\n"
    )
    (tmp_path / "own_log.py").write_text(code)
    command = [sys.executable, "-m", "rag_eval", "--import", "own_log", "metrics", "faithfulness"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=True)
    assert (tmp_path / "log.txt").read_text() == "written"


def test_emoji_are_found_again_after_the_help(monkeypatch: pytest.MonkeyPatch) -> None:
    """A custom metric, or whoever calls the program, may print some with rich."""
    from rich.markup import render

    monkeypatch.delitem(sys.modules, "rich._emoji_codes", raising=False)
    assert invoke("--help").exit_code == 0
    assert render("fine :warning:").plain == "fine \u26a0"


def test_unknown_commands_are_usage_errors() -> None:
    done = invoke("runn", HANDBOOK)
    assert done.exit_code == 2
    assert done.stderr.startswith("error: No such command 'runn'")


def older(*given: Any) -> Any:
    from rag_eval._native.overlap_block import something_newer  # type: ignore[attr-defined]

    return something_newer


def with_one_more(*given: Any) -> Any:
    return overlap_block.score_block(*[None] * 40)  # type: ignore[call-arg, arg-type]


def damaged(*given: Any) -> Any:
    """As a module whose bytecode is cut off, since a disk was full when it was written."""
    raise EOFError("marshal data too short")


FAULTS = {
    "a function": None,
    "a name": older,
    "an argument": with_one_more,
    "another": None,
    "an end of data": damaged,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_compiled_modules_of_another_version_are_named(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: kernels that were older than the sources ended in a traceback of 60 lines."""
    data = tmp_path / "a.jsonl"
    data.write_text('{"question": "q", "answer": "a b", "contexts": ["a b"]}\n')
    if fault == "a function":
        monkeypatch.delattr(overlap_block, "score_block")
    else:
        monkeypatch.setattr(run, "options_of", FAULTS[fault])
    done = invoke("run", data, "--quiet")
    assert done.exit_code == 70
    said = f"error: the compiled modules do not match rag_eval {rag_eval.__version__}. Install it"
    is_other = fault in {"another", "an end of data"}
    assert done.stderr.lstrip("\n").startswith("Traceback" if is_other else said)
    assert ("Traceback" in done.stderr) == is_other
