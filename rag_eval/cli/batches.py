"""Commands whose judge is asked in batches: what they were, and how they are run again."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from click import get_current_context

from rag_eval.cli.printing import say
from rag_eval.errors import InputError
from rag_eval.judge.failures import JudgePendingError

ARGUMENTS: Final = "rag_eval.arguments"
"""Where a context keeps the words of its command."""

_FIRST_WAIT_S: Final = 5.0
_LONGEST_WAIT_S: Final = 300.0
_GROWTH: Final = 1.5


def keep_command(options: Mapping[str, Any]) -> None:
    """Keep this command in its batch file, so that it can be run again to collect replies."""
    path = options.get("judge_batch")
    if path is None:
        return
    if options.get("judge_options", {}).get("extra_headers"):
        raise InputError(
            "--judge-batch keeps the command in its file, and extra_headers can hold keys, which "
            "are never written. Use rag_eval.run_file in Python, or a server without such headers"
        )
    from rag_eval.jobs.judge_batches import opened_ledger

    words = _without(get_current_context().meta[ARGUMENTS], "--judge-batch")
    if "judge" in options:
        # It may be that of an environment variable.
        words = [*_without(words, "--judge"), "--judge", options["judge"]]
    with opened_ledger(path) as ledger:
        place = _place(ledger.path)
        ledger.keep_command({"arguments": words, "folder": str(Path.cwd()), "place": place})


def collect(file: str, call: Callable[[list[str]], int], *, wait: bool) -> int:
    """Run the command of a batch file again; with ``wait`` until all replies are there."""
    path = Path(file).absolute()
    command = _kept_command(path)
    words = [*command["arguments"], "--judge-batch", str(path)]
    say(f"collecting for: {shlex.join(['rag-eval', *command['arguments']])}")
    waits, before = _waits(), ""
    with contextlib.chdir(command["folder"]):
        while True:
            try:
                return call(words)
            except JudgePendingError as error:
                if not wait:
                    raise
                if str(error) != before:
                    waits, before = _waits(), str(error)
                    say(before)
            _wait(next(waits), path)


def how_to_collect(path: str) -> str:
    """What to do about replies that are not there yet."""
    return f"collect them with: rag-eval judge collect {shlex.quote(path)}"


def _kept_command(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InputError(f"{path} does not exist; give the FILE of --judge-batch FILE")
    from rag_eval.jobs.judge_batches import opened_ledger

    with opened_ledger(path) as ledger:
        found = ledger.command
    if found is None:
        raise InputError(f"{path} was not made by a command; call the function again that made it")
    # Who can send a file must not be able to choose what is run.
    if found.get("place") != _place(path):
        raise InputError(
            f"{path} was copied from another place, so its command is not trusted. Run the command "
            "itself again, with --judge-batch and this file, to collect its replies"
        )
    if not Path(found["folder"]).is_dir():
        raise InputError(f"the folder {found['folder']}, in which the run was begun, is not there")
    return found


def _without(words: Iterable[str], flag: str) -> list[str]:
    """The words of a command without a flag and its value."""
    left, is_value = [], False
    for word in words:
        if not is_value and word != flag and not word.startswith(f"{flag}="):
            left.append(word)
        is_value = not is_value and word == flag
    return left


def _place(path: Path) -> list[int]:
    """What a file has as long as it is not copied, and nobody can choose."""
    found = path.stat()
    return [found.st_dev, found.st_ino]


def _waits() -> Iterator[float]:
    """The seconds between looks at batches."""
    seconds = _FIRST_WAIT_S
    while True:
        yield seconds
        seconds = min(seconds * _GROWTH, _LONGEST_WAIT_S)


def _wait(seconds: float, path: Path) -> None:
    try:
        with _shown(f"next look in {seconds:.0f} s; Ctrl-C does not end the batches"):
            _sleep(seconds)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"the batches go on without this command; {how_to_collect(os.fspath(path))}"
        ) from None


def _shown(text: str) -> contextlib.AbstractContextManager[Any]:
    if not sys.stderr.isatty():
        return contextlib.nullcontext()
    from rag_eval.reports.console import console_for

    return console_for(sys.stderr).status(text)


def _sleep(seconds: float) -> None:
    time.sleep(seconds)
