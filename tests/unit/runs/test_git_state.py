"""Commit and branch of a run, from git and from the variables of CI systems."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rag_eval.runs import git_state as module
from rag_eval.runs.git_state import (
    GitState,
    current_branch,
    detect_branch,
    git_state,
    sanitize_branch,
)
from tests.hostile_repositories import TRAPS, filter_in_submodule, git, touched
from tests.hostile_repositories import repository as a_repository
from tests.tables import every_row

SHA = "8f3a2c" + "0" * 34


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_repository(tmp_path, "feat/ü")


def test_commit_and_branch_of_a_repository(repository: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    assert git_state(repository, {}) == GitState(head, "feat/ü", dirty=False)


def test_a_changed_file_is_dirt_and_a_new_one_is_not(repository: Path) -> None:
    (repository / "new.txt").write_text("new")
    assert git_state(repository, {}).dirty is False
    (repository / "a.txt").write_text("two")
    assert git_state(repository, {}).dirty is True


def test_a_commit_without_a_branch(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")
    found = git_state(repository, {})
    assert (found.branch, found.commit) == (None, git(repository, "rev-parse", "HEAD"))
    # As CI systems check out, and then say the branch.
    assert git_state(repository, {"GITHUB_HEAD_REF": "feat/y"}).branch == "feat/y"


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    assert git_state(tmp_path, {}) == GitState(None, "main", dirty=False)


def test_no_repository_leaves_the_environment(tmp_path: Path) -> None:
    assert git_state(tmp_path, {}) == GitState()
    found = git_state(tmp_path, {"CI_COMMIT_SHA": SHA, "CI_COMMIT_BRANCH": "b"})
    assert found == GitState(SHA, "b", None)
    assert git_state(tmp_path, {"GITHUB_SHA": "$(rm -rf /)"}).commit is None
    assert git_state(tmp_path / "gone", {}) == GitState()


def test_without_git_a_run_goes_on(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert git_state(repository, {}) == GitState()


def test_a_git_that_hangs_is_given_up(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "bin"
    slow.mkdir()
    (slow / "git").write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    (slow / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(slow))
    monkeypatch.setattr(module, "_TIMEOUT_S", 0.1)
    assert git_state(repository, {}) == GitState()


def test_a_git_in_the_folder_one_stands_in_is_not_started(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "git").write_text("#!/bin/sh\ntouch mark\n")
    (repository / "git").chmod(0o755)
    monkeypatch.chdir(repository)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.environ['PATH']}{os.pathsep}")
    assert git_state(".", {}).branch == "feat/ü"
    assert not (repository / "mark").exists()


@every_row("name", TRAPS)
def test_no_program_that_a_repository_names_is_started(name: str, tmp_path: Path) -> None:
    trap = TRAPS[name](tmp_path)
    trap.spring()
    found = git_state(trap.folder, {})
    assert current_branch(trap.folder, {}) == found.branch
    assert not trap.has_sprung
    head = git(trap.folder, "rev-parse", "HEAD")
    wanted = ("main", head) if trap.is_read else (None, None)
    assert (found.branch, found.commit) == wanted
    assert found.dirty is (False if trap.can_be_compared else None)


def test_the_settings_of_a_submodule_are_not_asked_for_its_files(tmp_path: Path) -> None:
    trap = filter_in_submodule(tmp_path)
    (trap.folder / "a.txt").write_text("two")
    assert git_state(trap.folder, {}).dirty is True
    assert not trap.has_sprung


def test_a_filter_of_the_users_own_is_not_started_either(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a filter obeys settings of the repository: git-lfs runs what lfs.extension names."""
    settings, mark = tmp_path / "user-settings", tmp_path / "mark"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    git(repository, "config", "--global", "filter.lfs.clean", f"touch '{mark}'")
    touched(repository / "a.txt")
    assert git_state(repository, {}).dirty is False
    (repository / ".git/info/attributes").write_text("*.txt filter=lfs\n")
    assert git_state(repository, {}).dirty is None
    assert not mark.exists()
    subprocess.run(["git", "status"], cwd=repository, capture_output=True, check=True)
    assert mark.exists()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("filter.unused.clean", "cat"),
        ("remote.origin.promisor", "true"),
        ("remote.a.b.partialCloneFilter", "blob:none"),
        ("extensions.partialClone", "origin"),
    ],
)
def test_a_repository_that_names_filters_or_fetches_late_is_not_compared(
    setting: str, value: str, repository: Path
) -> None:
    git(repository, "config", setting, value)
    assert git_state(repository, {}).dirty is None


def test_other_settings_than_those_in_force_are_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = TRAPS["a filter"](tmp_path)
    (tmp_path / "harmless").write_text("[core]\n\tbare = false\n")
    monkeypatch.setenv("GIT_CONFIG", str(tmp_path / "harmless"))
    assert git_state(trap.folder, {}).dirty is None
    assert not trap.has_sprung


def test_our_own_variable_comes_first(tmp_path: Path) -> None:
    env = {"CIRCLE_BRANCH": "c", "REGTRACE_BRANCH": "r", "RAG_EVAL_BRANCH": " ours "}
    assert git_state(tmp_path, env).branch == "ours"
    assert detect_branch({**env, "RAG_EVAL_BRANCH": " "}, tmp_path) == "r"


def test_the_branch_as_part_of_a_file_name(repository: Path, tmp_path: Path) -> None:
    assert detect_branch({}, repository) == "feat-_"
    assert detect_branch({}, "/") == "default"
    assert sanitize_branch("../../etc/passwd\n") == "__-__-etc-passwd_"
