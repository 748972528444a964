"""Repositories whose own settings name programs for git to run; each trap leaves a mark.

::

    trap = TRAPS["a filter"](tmp_path)
    trap.folder       # where a victim stands
    trap.has_sprung   # whether a program ran
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_OWN: Final = (
    *("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"),
    *("-c", "protocol.file.allow=always"),
)

_PROGRAMS: Final = (
    *("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass"),
    *("diff.external", "diff.evil.textconv", "diff.evil.command", "gpg.program"),
    "credential.helper",
)


def git(folder: Path, *words: str) -> str:
    """What git prints."""
    done = subprocess.run(
        ["git", *_OWN, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def repository(folder: Path, branch: str = "main") -> Path:
    """An ordinary one, with one commit."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", branch)
    (folder / "a.txt").write_text("one")
    git(folder, "add", "a.txt")
    git(folder, "commit", "-q", "-m", "first")
    return folder


@dataclass(frozen=True)
class Trap:
    """A repository, and the file that its programs write."""

    folder: Path
    mark: Path
    is_read: bool = True
    """Whether commit and branch are those of the repository."""
    can_be_compared: bool = False
    """Whether git can tell changed files without a program."""

    @property
    def has_sprung(self) -> bool:
        return self.mark.exists()

    def spring(self) -> None:
        """Ask git what a careless caller would ask it."""
        # Without locks it writes no index, in which the files would count as read.
        words = ("git", "--no-optional-locks", "status")
        subprocess.run(words, cwd=self.folder, capture_output=True, timeout=60, check=False)
        assert self.has_sprung
        self.mark.unlink()


def _program(folder: Path) -> tuple[Path, Path]:
    """A program that leaves a mark and fails; and the mark."""
    program, mark = folder / "program.sh", folder / "mark"
    program.write_text(f"#!/bin/sh\ntouch '{mark}'\nexit 1\n")
    program.chmod(0o755)
    return program, mark


def touched(path: Path) -> None:
    """The same text at another time: git has to read it again."""
    os.utime(path, (1, 1))


def _with_filter(folder: Path, where: Path) -> Path:
    """A repository whose files go through a filter that the file ``where`` of settings names."""
    program, mark = _program(folder)
    (folder / ".gitattributes").write_text("* filter=evil\n")
    git(folder, "config", "--file", str(where), "filter.evil.clean", str(program))
    touched(folder / "a.txt")
    return mark


def filter_in_config(folder: Path) -> Trap:
    repository(folder)
    return Trap(folder, _with_filter(folder, folder / ".git/config"))


def filter_in_included_file(folder: Path) -> Trap:
    repository(folder)
    git(folder, "config", "include.path", "../settings")
    return Trap(folder, _with_filter(folder, folder / "settings"))


def filter_in_config_of_worktree(folder: Path) -> Trap:
    repository(folder)
    git(folder, "config", "extensions.worktreeConfig", "true")
    return Trap(folder, _with_filter(folder, folder / ".git/config.worktree"))


def filter_in_submodule(folder: Path) -> Trap:
    source, outer = repository(folder / "source"), repository(folder / "outer")
    git(outer, "submodule", "add", "-q", str(source), "inner")
    git(outer, "commit", "-q", "-m", "inner")
    mark = _with_filter(outer / "inner", outer / ".git/modules/inner/config")
    return Trap(outer, mark, can_be_compared=True)


def promisor_remote(folder: Path) -> Trap:
    """The commit's tree is missing, and git fetches it from a remote that is a program."""
    repository(folder)
    program, mark = _program(folder)
    tree = git(folder, "rev-parse", "HEAD^{tree}")
    (folder / ".git/objects" / tree[:2] / tree[2:]).unlink()
    git(folder, "config", "core.repositoryFormatVersion", "1")
    git(folder, "config", "extensions.partialClone", "origin")
    git(folder, "config", "remote.origin.promisor", "true")
    git(folder, "config", "remote.origin.url", f"ext::sh {program}")
    git(folder, "config", "protocol.ext.allow", "always")
    return Trap(folder, mark)


def embedded_bare_repository(folder: Path) -> Trap:
    """A folder of an ordinary clone that git takes for a repository of its own."""
    inside = repository(folder) / "data"
    git(folder, "clone", "-q", "--bare", ".", str(inside))
    (inside / "a.txt").write_text("one")
    git(inside, "read-tree", "HEAD")
    mark = _with_filter(inside, inside / "config")
    git(inside, "config", "core.bare", "false")
    git(inside, "config", "core.worktree", str(inside))
    return Trap(inside, mark, is_read=False)


def every_other_program(folder: Path) -> Trap:
    """What settings can name beside filters: monitors, hooks, pagers, editors, differs."""
    repository(folder)
    program, mark = _program(folder)
    hooks = folder / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "query-watchman", "reference-transaction"):
        (hooks / name).symlink_to(program)
    (folder / ".git/info/attributes").write_text("* diff=evil\n")
    for name in _PROGRAMS:
        git(folder, "config", name, str(program))
    for name in ("status", "rev-parse", "symbolic-ref", "config"):
        git(folder, "config", f"alias.{name}", f"!{program}")
        git(folder, "config", f"pager.{name}", str(program))
    git(folder, "config", "core.hooksPath", str(hooks))
    git(folder, "config", "status.submoduleSummary", "true")
    touched(folder / "a.txt")
    mark.unlink(missing_ok=True)
    return Trap(folder, mark, can_be_compared=True)


TRAPS: Final[dict[str, Callable[[Path], Trap]]] = {
    "a filter": filter_in_config,
    "a filter in an included file": filter_in_included_file,
    "a filter in the settings of a worktree": filter_in_config_of_worktree,
    "a filter in a submodule": filter_in_submodule,
    "a promisor remote": promisor_remote,
    "an embedded bare repository": embedded_bare_repository,
    "every other program": every_other_program,
}
