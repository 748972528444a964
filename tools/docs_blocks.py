"""Code blocks of pages.  In: a page.  Out: its tagged blocks, and the page with what they print.

A comment above each fence says how the block is treated::

    <!-- block: run -->                  executed as it stands
    <!-- block: run file=my_app.py -->   written to that file, for the blocks below it
    <!-- block: loopback-judge -->       executed with a scripted judge on 127.0.0.1
    <!-- block: judge-server -->         has a test that runs it against a server like the named one
    <!-- block: engine -->               wants a cluster engine, which has tests of its own
    <!-- block: illustration -->         shown alone: another tool, or a machine that is not here

The blocks of a page run in its order, in a folder with a copy of ``examples/``: Python in one
namespace, ``sh`` and ``console`` blocks by bash, except that ``rag-eval`` with plain arguments is
called in this process, which has it loaded. ``<!-- setup: COMMAND -->`` runs a command that readers
need not see, such as one that makes data they would have of their own.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
TAGS: Final = ("run", "loopback-judge", "judge-server", "engine", "illustration")
_EXECUTED: Final = ("run", "loopback-judge")
_FENCE: Final = re.compile(r"^ *(`{3,}|~{3,}) *([\w+-]*)")
_TAG: Final = re.compile(r"^ *<!-- block: ([a-z-]+)(?: file=([\w./-]+))? -->$")
_SETUP: Final = re.compile(r"^<!-- setup: (.*) -->$")
_COMMAND: Final = re.compile(r"^\$ (.*(?:\\\n.*)*)$", re.MULTILINE)
# Text without a special meaning in bash: words, and quoted texts.
_PLAIN: Final = re.compile(r"""rag-eval(?= )(?:[\w@%+=:,./ -]|(?<! )#|'[^']*'|"[^"$`\\]*")*""")
_LEFT_ALONE: Final = ("pip", "make", "source", ".")  # these would change the machine
# What pytest prints anew each time: how long it took, and where objects lie.
_SETTLED: Final = (
    (re.compile(r"\bin \d+\.\d\ds(?: \(\d+:\d\d:\d\d\))?"), "in 0.05s"),
    (re.compile(r"\bat 0x[0-9a-f]{6,}"), "at 0x7f0000000000"),
)
# With these, of a build server or of the tests around this one, commands print other things.
_NOT_OURS: Final = re.compile(
    r"RAG_EVAL|^(CI$|BUILD_|GITHUB_|GITLAB_|PYTEST_|PY_COLORS$|FORCE_COLOR$)"
)
_SHELLS: Final = ("sh", "bash", "console")


class PageError(Exception):
    """A block of a page does not do what the page says."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page.

    Attributes
    ----------
    tag : str or None
        One of ``TAGS``; None where the line above the fence is no tag.
    file : str or None
        The file that the text is written to.
    language : str
        What the fence says, ``setup`` for a command of a setup comment.
    line : int
        The number of the fence's line, from 1.
    begin, end : int
        The lines of its text, half-open, from 0.
    """

    tag: str | None
    file: str | None
    language: str
    text: str
    line: int
    begin: int
    end: int


def page_blocks(text: str) -> list[Block]:
    """The blocks and the setup commands of a page, in order."""
    lines = text.splitlines()
    blocks, at = [], 0
    while at < len(lines):
        fence, setup = _FENCE.match(lines[at]), _SETUP.match(lines[at])
        if setup:
            blocks.append(Block("run", None, "setup", setup[1], at + 1, at, at))
        if fence:
            end = at + 1
            while end < len(lines) and lines[end].strip() != fence[1]:
                end += 1
            tag = _TAG.match(lines[at - 1]) if at else None
            inside = "".join(f"{line}\n" for line in lines[at + 1 : end])
            name, file = (tag[1], tag[2]) if tag else (None, None)
            blocks.append(Block(name, file, fence[2], inside, at + 1, at + 1, end))
            at = end
        at += 1
    return blocks


def untagged(text: str) -> list[int]:
    """The lines of fences that have no tag, or none that is known."""
    return [block.line for block in page_blocks(text) if block.tag not in TAGS]


def executed(page: Path) -> str:
    """Run the blocks of a page; the page with the outputs of its commands as they are now."""
    text = page.read_text("utf-8")
    blocks = [block for block in page_blocks(text) if block.tag in _EXECUTED]
    lines = text.splitlines()
    outputs: list[tuple[Block, str]] = []
    with tempfile.TemporaryDirectory() as name, _judge(blocks) as judge:
        folder = Path(name)
        shutil.copytree(ROOT / "examples", folder / "examples")
        run = _PageRun(page, folder, judge)
        with contextlib.chdir(folder), _own_imports(folder):
            outputs += [(block, run.output(block)) for block in blocks]
    for block, output in reversed(outputs):
        lines[block.begin : block.end] = output.splitlines()
    return "".join(f"{line}\n" for line in lines)


class _PageRun:
    """What the blocks of one page share: a folder, a namespace, an environment."""

    def __init__(self, page: Path, folder: Path, judge: Mapping[str, str]) -> None:
        self._page = page
        self._folder = folder
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._judge = judge
        self._environment = _environment()

    def output(self, block: Block) -> str:
        """Execute a block; its text as it should be."""
        if block.file is not None:
            target = self._folder / block.file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, "utf-8")
            return block.text
        judge = self._judge if block.tag == "loopback-judge" else {}
        if block.language == "python":
            with _environ({**os.environ, **judge}):
                self._python(block)
            return block.text
        if block.language == "console":
            return self._console(block, judge)
        if block.language not in (*_SHELLS, "setup"):
            raise PageError(f"{self._place(block)}: {block.language!r} cannot be run")
        commands = block.text.replace("\\\n", "").splitlines()
        if not all(map(_PLAIN.fullmatch, commands)):
            commands = [f"set -e\n{block.text}"]
        for command in commands:
            self._shell(block, command, judge, (0,))
        return block.text if block.language != "setup" else ""

    def _python(self, block: Block) -> None:
        if not block.text.startswith(">>>"):
            exec(compile(block.text, self._place(block), "exec"), self._names)
            return
        test = doctest.DocTestParser().get_doctest(
            block.text, self._names, self._page.name, str(self._page), block.line
        )
        test.globs = self._names
        told = io.StringIO()
        runner = doctest.DocTestRunner(verbose=False)
        if runner.run(test, out=told.write, clear_globs=False).failed:
            raise PageError(f"{self._place(block)}\n{told.getvalue()}")

    def _console(self, block: Block, judge: Mapping[str, str]) -> str:
        parts = []
        for command in _COMMAND.findall(block.text):
            parts.append(f"$ {command}\n")
            if command.split()[0] not in _LEFT_ALONE:
                parts.append(self._shell(block, command, judge, (0, 1)))
        return "".join(parts)

    def _shell(
        self, block: Block, script: str, judge: Mapping[str, str], allowed: tuple[int, ...]
    ) -> str:
        call = _called if _PLAIN.fullmatch(script.replace("\\\n", "")) else _by_bash
        code, printed, said = call(script, {**self._environment, **judge})
        # A gate that fails says so; a command that ends this way in silence broke down.
        if code not in allowed or (code and not printed):
            told = printed + said
            raise PageError(f"{self._place(block)}: {script}\nended with {code}\n{told}")
        for changing, settled in _SETTLED:
            printed = changing.sub(settled, printed)
        return "".join(f"{line.rstrip()}\n" for line in printed.splitlines())

    def _place(self, block: Block) -> str:
        return f"{self._page.name}:{block.line}"


def _by_bash(script: str, environment: Mapping[str, str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a script."""
    done = subprocess.run(
        ["bash", "-c", script],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def _called(command: str, environment: Mapping[str, str]) -> tuple[int, str, str]:
    """The same of a ``rag-eval`` command, without a process of its own."""
    from click.testing import CliRunner

    from rag_eval.cli.program import program

    words = shlex.split(command.replace("\\\n", ""))
    with _environ(environment):
        done = CliRunner().invoke(program, words[1:], prog_name="rag-eval")
    return done.exit_code, done.stdout, done.stderr


def _environment() -> dict[str, str]:
    """The environment of a reader who has the package installed, at 100 columns."""
    known = {name: value for name, value in os.environ.items() if not _NOT_OURS.search(name)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{known.get('PATH', '')}"
    return known | {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONPATH": str(ROOT), "PATH": path}


@contextlib.contextmanager
def _own_imports(folder: Path) -> Iterator[None]:
    """Modules of the folder can be imported; afterwards they, and their metrics, are gone."""
    from rag_eval.metrics.catalogue import catalogue
    from rag_eval.metrics.registry import unregister

    own = {entry.id for entry in catalogue() if entry.family == "own"}
    modules = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - modules:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
                del sys.modules[name]
        for entry in catalogue():
            if entry.family == "own" and entry.id not in own:
                unregister(entry.id)


@contextlib.contextmanager
def _judge(blocks: list[Block]) -> Iterator[dict[str, str]]:
    """The environment that names a scripted judge, when a block asks for one."""
    if all(block.tag != "loopback-judge" for block in blocks):
        yield {}
        return
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from tests.fluent_judge import FluentJudge
    from tests.judge_servers import JudgeServer

    with JudgeServer(FluentJudge()) as server:
        yield {
            "RAG_EVAL_JUDGE": f"{server.openai_url}#scripted",
            "RAG_EVAL_JUDGE_API_KEY": "none-is-needed",
        }


@contextlib.contextmanager
def _environ(wanted: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(wanted)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
