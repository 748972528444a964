"""Commit and branch of a run, from git and from the variables of CI systems."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rag_eval.runs import git_state as module
from rag_eval.runs.git_state import GitState, detect_branch, git_state, sanitize_branch

SHA = "8f3a2c" + "0" * 34


def git(folder: Path, *words: str) -> str:
    settings = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *settings, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "feat/ü")
    (tmp_path / "a.txt").write_text("one")
    git(tmp_path, "add", "a.txt")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


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


def test_our_own_variable_comes_first(tmp_path: Path) -> None:
    env = {"CIRCLE_BRANCH": "c", "REGTRACE_BRANCH": "r", "RAG_EVAL_BRANCH": " ours "}
    assert git_state(tmp_path, env).branch == "ours"
    assert detect_branch({**env, "RAG_EVAL_BRANCH": " "}, tmp_path) == "r"


def test_the_branch_as_part_of_a_file_name(repository: Path, tmp_path: Path) -> None:
    assert detect_branch({}, repository) == "feat-_"
    assert detect_branch({}, "/") == "default"
    assert sanitize_branch("../../etc/passwd\n") == "__-__-etc-passwd_"
