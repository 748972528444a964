"""A folder and the environment in; commit and branch of the code out.

The sources are ``git`` and the variables that CI systems set; a failure never stops a run.

A folder may come from somebody else, and its git settings can name programs: filters, monitors,
hooks, remotes. None of them is started. Commit and branch are read from refs only. Whether files
were changed is determined only where git needs no program for it, and is unknown elsewhere.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

BRANCH_VARIABLES: Final = (
    "RAG_EVAL_BRANCH",
    "REGTRACE_BRANCH",
    "GITHUB_HEAD_REF",
    "GITHUB_REF_NAME",
    "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME",
    "CI_COMMIT_BRANCH",
    "CIRCLE_BRANCH",
)
"""The first of these that is not empty names the branch."""

COMMIT_VARIABLES: Final = ("GITHUB_SHA", "CI_COMMIT_SHA", "CIRCLE_SHA1")

_NO_BRANCH: Final = "default"
_TIMEOUT_S: Final = 5.0
# Writes no index and starts no monitor, hook or pager. A folder that merely looks like a bare
# repository may have come with a clone and is ignored (git 2.38 and later).
_GIT: Final = (
    *("--no-pager", "--no-optional-locks"),
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
)
# Fetches nothing: git 2.44 and later know the first, all versions the second.
_ENVIRONMENT: Final = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
}
_HEAD: Final = ("rev-parse", "--verify", "--quiet", "HEAD")
_REF: Final = ("symbolic-ref", "--quiet", "HEAD")
_SETTINGS: Final = ("config", "--list", "--null", "--show-scope", "--name-only")
_FILTERED: Final = ("ls-files", "--", ":(top)", ":(top,exclude,attr:!filter)")
_STATUS: Final = (
    "status",
    "--porcelain",
    "--untracked-files=no",
    "--ignore-submodules=all",
    "--no-renames",
)
_FILTER: Final = re.compile(r"filter\.")
# A remote from which git would fetch missing objects.
_PROMISOR: Final = re.compile(
    r"extensions\.partialclone|remote\..*\.(promisor|partialclonefilter)", re.DOTALL
)
# The scopes of the user's own settings; all others come with the repository.
_OF_THE_USER: Final = frozenset({"system", "global", "command"})
_BRANCHES: Final = "refs/heads/"
_COMMIT: Final = re.compile(r"[0-9a-f]{7,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class GitState:
    """The state of the code that made a run.

    Attributes
    ----------
    commit : str or None
        The full hash.
    branch : str or None
        Name of the branch; None on a detached commit.
    dirty : bool or None
        Whether tracked files were changed since the commit, not counting submodules. None if
        unknown: without git, or if git would have to run a filter or fetch.
    """

    commit: str | None = None
    branch: str | None = None
    dirty: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {"commit": self.commit, "branch": self.branch, "dirty": self.dirty}


def git_state(folder: str | Path = ".", environment: Mapping[str, str] | None = None) -> GitState:
    """Commit and branch of the code in a folder; never fails.

    The branch comes from the environment (:data:`BRANCH_VARIABLES`), because CI systems check out a
    commit without a branch; otherwise from git. The commit comes from git, otherwise from the
    environment.
    """
    env = os.environ if environment is None else environment
    git = _Git(folder)
    return GitState(
        commit=git.commit() or _commit_of_environment(env),
        branch=branch_of_environment(env) or git.branch(),
        dirty=git.dirty(),
    )


def current_branch(
    folder: str | Path = ".", environment: Mapping[str, str] | None = None
) -> str | None:
    """The branch, as found by :func:`git_state`; never fails."""
    env = os.environ if environment is None else environment
    return branch_of_environment(env) or _Git(folder).branch()


def branch_of_environment(environment: Mapping[str, str]) -> str | None:
    """The branch that a CI system or the caller names; None if neither does."""
    for name in BRANCH_VARIABLES:
        if branch := environment.get(name, "").strip():
            return branch
    return None


def detect_branch(environment: Mapping[str, str], folder: str | Path = ".") -> str:
    """The branch in a form that is safe in file names, found as in Regtrace.

    From the environment, otherwise from git, otherwise ``default``.
    """
    return sanitize_branch(current_branch(folder, environment) or _NO_BRANCH)


def sanitize_branch(branch: str) -> str:
    """Replace a slash by ``-``, and all but ASCII letters, digits, ``_`` and ``-`` by ``_``."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", branch.replace("/", "-"))


def _commit_of_environment(environment: Mapping[str, str]) -> str | None:
    named = (environment.get(name, "").strip() for name in COMMIT_VARIABLES)
    return next((commit for commit in named if _COMMIT.fullmatch(commit)), None)


class _Git:
    """Queries to git about a folder; together they take at most five seconds."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = folder
        self._program = _program()
        self._ends_at = time.monotonic() + _TIMEOUT_S

    def commit(self) -> str | None:
        """The full hash of the commit."""
        found = (self._asked(_HEAD) or "").strip()
        return found if _COMMIT.fullmatch(found) else None

    def branch(self) -> str | None:
        """The branch; None on a detached commit."""
        return (self._asked(_REF) or "").strip().removeprefix(_BRANCHES) or None

    def dirty(self) -> bool | None:
        """Whether files were changed; None if git might need a program to tell."""
        if not self._can_compare():
            return None
        status = self._asked(_STATUS)
        return None if status is None else status != ""

    def _can_compare(self) -> bool:
        """Whether git can compare files with the commit without another program.

        Even a filter from the user's own settings may obey the repository's settings, as git-lfs
        does, so no file may go through a filter.
        """
        listed = self._asked(_SETTINGS)
        if listed is None:
            return False
        words = listed.split("\0")
        settings = list(zip(words[::2], words[1::2], strict=False))
        if any(_PROMISOR.fullmatch(name) for _, name in settings):
            return False
        scopes = {scope for scope, name in settings if _FILTER.match(name)}
        if not scopes:
            return True
        return scopes <= _OF_THE_USER and self._asked(_FILTERED) == ""

    def _asked(self, question: tuple[str, ...]) -> str | None:
        """The output of git; None if it fails."""
        if self._program is None:
            return None
        try:
            done = subprocess.run(
                [self._program, *_GIT, *question],
                cwd=self._folder,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=max(0.0, self._ends_at - time.monotonic()),
                check=False,
            )
        except (OSError, ValueError, subprocess.SubprocessError):
            return None
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def _environment() -> dict[str, str]:
    # With GIT_CONFIG, "git config" would list the settings of another file.
    own = {name: value for name, value in os.environ.items() if name != "GIT_CONFIG"}
    return {**own, **_ENVIRONMENT}


def _program() -> str | None:
    """The path of git; a program of that name in the current folder is ignored."""
    folders = [folder for folder in os.get_exec_path() if Path(folder).is_absolute()]
    found = shutil.which("git", path=os.pathsep.join(folders))
    return found if found is not None and Path(found).is_absolute() else None
