"""Where the code of a run stands.  In: a folder and the environment.  Out: commit and branch.

Asked of ``git``, and of the variables that CI systems set; whatever goes wrong, a run goes on.

A folder may be somebody else's, and its settings can name programs: filters, monitors, hooks,
remotes. None of them is started. Commit and branch are read from refs alone. Whether files were
changed is asked only where git has no program to run for the answer, and is unknown elsewhere.
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
"""Looked at in this order; the first that is not empty names the branch."""

COMMIT_VARIABLES: Final = ("GITHUB_SHA", "CI_COMMIT_SHA", "CIRCLE_SHA1")

_NO_BRANCH: Final = "default"
_TIMEOUT_S: Final = 5.0
# No index is written, and no monitor, hook or pager is started. A folder of files that looks like
# a repository without a work tree may have come with a clone, and is none (git 2.38 and later).
_GIT: Final = (
    *("--no-pager", "--no-optional-locks"),
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
)
# Nothing is fetched: the first is known from git 2.44 on, the second to all.
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
# A remote that missing objects are fetched from.
_PROMISOR: Final = re.compile(
    r"extensions\.partialclone|remote\..*\.(promisor|partialclonefilter)", re.DOTALL
)
# Of all settings those that are the user's own; any others come with the repository.
_OF_THE_USER: Final = frozenset({"system", "global", "command"})
_BRANCHES: Final = "refs/heads/"
_COMMIT: Final = re.compile(r"[0-9a-f]{7,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class GitState:
    """What is known of the code that a run was made with.

    Attributes
    ----------
    commit : str or None
        Its full hash.
    branch : str or None
        As it is called there; None on a commit without a branch.
    dirty : bool or None
        Files that git keeps were changed since the commit, those of submodules left out. None
        where that is unknown: without git, or where git would have to run a filter or to fetch.
    """

    commit: str | None = None
    branch: str | None = None
    dirty: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {"commit": self.commit, "branch": self.branch, "dirty": self.dirty}


def git_state(folder: str | Path = ".", environment: Mapping[str, str] | None = None) -> GitState:
    """Commit and branch of the code in a folder; never fails.

    The branch is the one that the environment names (:data:`BRANCH_VARIABLES`), as CI systems check
    out a commit without one; else git's. The commit is git's, else the environment's.
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
    """The branch alone, as :func:`git_state` finds it; never fails."""
    env = os.environ if environment is None else environment
    return branch_of_environment(env) or _Git(folder).branch()


def branch_of_environment(environment: Mapping[str, str]) -> str | None:
    """The branch that a CI system, or the caller, names; None where nobody does."""
    for name in BRANCH_VARIABLES:
        if branch := environment.get(name, "").strip():
            return branch
    return None


def detect_branch(environment: Mapping[str, str], folder: str | Path = ".") -> str:
    """The branch in a form that can be part of a file name, as Regtrace finds it.

    The environment's, else that of git, else ``default``.
    """
    return sanitize_branch(current_branch(folder, environment) or _NO_BRANCH)


def sanitize_branch(branch: str) -> str:
    """A slash as ``-``, and all but letters of English, digits, ``_`` and ``-`` as ``_``."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", branch.replace("/", "-"))


def _commit_of_environment(environment: Mapping[str, str]) -> str | None:
    named = (environment.get(name, "").strip() for name in COMMIT_VARIABLES)
    return next((commit for commit in named if _COMMIT.fullmatch(commit)), None)


class _Git:
    """Questions to git about a folder; all answers together take five seconds at most."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = folder
        self._program = _program()
        self._ends_at = time.monotonic() + _TIMEOUT_S

    def commit(self) -> str | None:
        """The commit's full hash."""
        found = (self._asked(_HEAD) or "").strip()
        return found if _COMMIT.fullmatch(found) else None

    def branch(self) -> str | None:
        """The branch; None on a commit without one."""
        return (self._asked(_REF) or "").strip().removeprefix(_BRANCHES) or None

    def dirty(self) -> bool | None:
        """Whether files were changed; None where an answer may need a program."""
        if not self._can_compare():
            return None
        status = self._asked(_STATUS)
        return None if status is None else status != ""

    def _can_compare(self) -> bool:
        """Whether git can compare files with the commit by itself.

        A filter of the user's own is no program of the repository, but may obey its settings, as
        git-lfs does: no file may go through one.
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
        """What git prints; None where it fails."""
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
    # With GIT_CONFIG, "git config" would list another file's settings than those in force.
    own = {name: value for name, value in os.environ.items() if name != "GIT_CONFIG"}
    return {**own, **_ENVIRONMENT}


def _program() -> str | None:
    """Where git is; a program of that name in the folder one stands in is not looked at."""
    folders = [folder for folder in os.get_exec_path() if Path(folder).is_absolute()]
    found = shutil.which("git", path=os.pathsep.join(folders))
    return found if found is not None and Path(found).is_absolute() else None
