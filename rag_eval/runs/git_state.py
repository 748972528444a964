"""Where the code of a run stands.  In: a folder and the environment.  Out: commit and branch.

Asked of ``git``, and of the variables that CI systems set; whatever goes wrong, a run goes on.
"""

from __future__ import annotations

import os
import re
import subprocess
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
# One call for all that is asked. No index is written, and no program that the repository's own
# settings name is started.
_STATUS: Final = (
    "git",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "status",
    "--porcelain=v2",
    "--branch",
    "--untracked-files=no",
)
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
        Files that git keeps were changed since the commit; None where git was not asked.
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
    found = _asked_of_git(Path(folder))
    return GitState(
        commit=found.commit or _commit_of_environment(env),
        branch=branch_of_environment(env) or found.branch,
        dirty=found.dirty,
    )


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
    found = branch_of_environment(environment) or _asked_of_git(Path(folder)).branch
    return sanitize_branch(found or _NO_BRANCH)


def sanitize_branch(branch: str) -> str:
    """A slash as ``-``, and all but letters of English, digits, ``_`` and ``-`` as ``_``."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", branch.replace("/", "-"))


def _commit_of_environment(environment: Mapping[str, str]) -> str | None:
    named = (environment.get(name, "").strip() for name in COMMIT_VARIABLES)
    return next((commit for commit in named if _COMMIT.fullmatch(commit)), None)


def _asked_of_git(folder: Path) -> GitState:
    try:
        done = subprocess.run(  # words of ours alone
            _STATUS,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return GitState()
    if done.returncode != 0:
        return GitState()
    return _parsed(done.stdout.decode("utf-8", "replace"))


def _parsed(text: str) -> GitState:
    """What ``git status --porcelain=v2 --branch`` says."""
    heads = {}
    dirty = False
    for line in text.splitlines():
        mark, _, rest = line.partition(" ")
        if mark == "#":
            name, _, value = rest.partition(" ")
            heads[name] = value
        elif mark:
            dirty = True
    commit = heads.get("branch.oid", "")
    branch = heads.get("branch.head", "")
    return GitState(
        commit=commit if _COMMIT.fullmatch(commit) else None,
        branch=None if branch in ("", "(detached)") else branch,
        dirty=dirty,
    )
