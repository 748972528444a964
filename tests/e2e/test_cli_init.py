"""``rag-eval init``: the workflows it writes, read as YAML and run as the shell would run them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from click import Context, Group
from click.testing import CliRunner, Result

import rag_eval
from rag_eval.cli.program import program

GOOD = {
    "question": "When was the lighthouse built?",
    "answer": "The lighthouse was built in 1912.",
    "contexts": ["The lighthouse was built in 1912 by the harbour company."],
    "ground_truth": "The lighthouse was built in 1912.",
}
BAD = {**GOOD, "answer": "Pizza was invented by Zelda Quux in Norwick, in 1987."}


def init(*arguments: object) -> Result:
    return CliRunner().invoke(program, ["init", *map(str, arguments)])


def invoke(*arguments: object) -> None:
    result = CliRunner().invoke(program, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output


def write_samples(path: Path, n_bad: int, n_rows: int = 20) -> None:
    rows = [{**(BAD if row < n_bad else GOOD), "id": f"q{row}"} for row in range(n_rows)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture
def github(tmp_path: Path) -> dict[str, Any]:
    result = init("github", "--directory", tmp_path)
    assert result.exit_code == 0, result.output
    return read(tmp_path / ".github" / "workflows" / "rag-eval.yml")


def read(path: Path) -> dict[str, Any]:
    found = yaml.safe_load(path.read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def scripts(workflow: dict[str, Any]) -> list[str]:
    """The shell steps but the one that installs."""
    (job,) = workflow["jobs"].values()
    return [step["run"] for step in job["steps"] if "run" in step and step["name"] != "Install"]


# ---------------------------------------------------------------------------------- what it says


def test_it_runs_on_pull_requests_with_read_access_and_no_secret(github: dict[str, Any]) -> None:
    triggers = github[True]  # YAML 1.1 takes the key "on" for a truth value
    assert triggers == {"pull_request": None, "push": {"branches": ["main"]}}
    assert github["permissions"] == {"contents": "read"}
    assert github["concurrency"]["cancel-in-progress"] is True
    (job,) = github["jobs"].values()
    assert "permissions" not in job
    assert job["timeout-minutes"] == 15
    text = json.dumps(github)
    assert "secrets" not in text
    assert "pull_request_target" not in text
    assert "github.event" not in text  # titles and branches of others stay out of shell lines


def test_every_action_is_named_by_its_commit(tmp_path: Path) -> None:
    init("github", "--directory", tmp_path)
    text = (tmp_path / ".github" / "workflows" / "rag-eval.yml").read_text()
    uses = re.findall(r"uses: (.*)", text)
    assert len(uses) == 3
    for line in uses:
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_the_package_is_pinned_and_its_extra_exists(github: dict[str, Any]) -> None:
    (job,) = github["jobs"].values()
    (line,) = [step["run"] for step in job["steps"] if step.get("name") == "Install"]
    assert f'"rag-eval-native[report]=={rag_eval.__version__}"' in line
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    assert re.search(r"(?m)^report = \[", project)


def test_the_report_is_kept_whatever_happened(github: dict[str, Any]) -> None:
    (job,) = github["jobs"].values()
    last = job["steps"][-1]
    assert last["if"] == "always()"
    assert last["with"]["path"] == "rag-eval-report/"
    assert job["steps"][0]["with"] == {"persist-credentials": False}


def command_lines(script: str) -> list[list[str]]:
    joined = script.replace("\\\n", " ")
    found = re.findall(r"(?m)^\s*(rag-eval [^|\n]*)", joined)
    return [shlex.split(line) for line in found]


@pytest.mark.parametrize("kind", ["github", "gitlab"])
def test_every_command_in_it_exists_with_its_flags(kind: str, tmp_path: Path) -> None:
    init(kind, "--directory", tmp_path)
    (path,) = tmp_path.rglob("*.yml")
    lines = command_lines(path.read_text("utf-8"))
    assert [line[1] for line in lines] == ["run", "gate"]
    for line in lines:
        assert isinstance(program, Group)
        command = program.get_command(Context(program), line[1])
        assert command is not None
        # Parsed and not run: no such flag, or a value of another kind, would raise.
        command.make_context("rag-eval", line[2:])


# --------------------------------------------------------------------------------- what it does


def run_script(script: str, folder: Path, job: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """As GitHub runs a step: bash that stops at the first failure."""
    environ = {
        **os.environ,
        **job,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
    }
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,  # a runner reads both
        text=True,
        check=False,
    )


def steps_of(path: Path) -> tuple[list[str], dict[str, str]]:
    workflow = read(path)
    (job,) = workflow["jobs"].values()
    return scripts(workflow), job["env"]


def test_its_steps_pass_on_good_samples_and_fail_on_bad_ones(tmp_path: Path) -> None:
    name = "my samples' file.jsonl"
    init("github", "--directory", tmp_path, "--data", name)
    (score, hold), env = steps_of(tmp_path / ".github" / "workflows" / "rag-eval.yml")
    assert env["DATA"] == name
    report = tmp_path / "rag-eval-report"

    none = run_script(hold, tmp_path, env)
    assert (none.returncode, none.stdout) == (
        0,
        "There are no results to compare with a baseline.\n",
    )
    write_samples(tmp_path / name, 0)
    good = run_script(score, tmp_path, env)
    assert good.returncode == 0, good.stdout
    assert "::error" not in good.stdout
    written = sorted(path.name for path in report.iterdir())
    assert written == ["junit.xml", "report.html", "results.json"]
    assert (tmp_path / "summary.md").read_text().startswith("\n## rag-eval: no verdict")
    first = run_script(hold, tmp_path, env)
    assert first.returncode == 0
    assert "There is no rag-eval-baseline.json yet" in first.stdout

    invoke("baseline", "export", tmp_path / env["BASELINE"], "--from", report / "results.json")
    write_samples(tmp_path / name, 15)
    bad = run_script(score, tmp_path, env)
    assert bad.returncode == 0, bad.stdout
    assert "::error" not in bad.stdout
    assert ElementTree.parse(report / "junit.xml").getroot().get("failures") == "15"
    worse = run_script(hold, tmp_path, env)
    assert worse.returncode == 1, worse.stdout
    assert "::error title=" in worse.stdout
    assert ElementTree.parse(report / "gate.xml").getroot().get("failures") != "0"
    assert "**Gate failed" in (tmp_path / "summary.md").read_text()


def test_the_job_of_gitlab_fails_after_it_has_written_everything(tmp_path: Path) -> None:
    init("gitlab", "--directory", tmp_path)
    job = read(tmp_path / ".gitlab" / "rag-eval.yml")["rag-eval"]
    script = job["script"][-1]
    data = tmp_path / "samples.jsonl"
    write_samples(data, 0)
    baseline = tmp_path / "rag-eval-baseline.json"
    invoke("run", data, "--profile", "grounded", "--output", baseline)
    write_samples(data, 15)
    assert run_script(script, tmp_path, job["variables"]).returncode == 1
    report = tmp_path / "rag-eval-report"
    findings = json.loads((report / "code-quality.json").read_text())
    assert findings[0]["location"]["path"] == "samples.jsonl"
    assert {path.name for path in report.glob("*.xml")} == {"junit.xml", "gate.xml"}
    assert job["artifacts"]["when"] == "always"
    assert job["artifacts"]["reports"]["codequality"] == "rag-eval-report/code-quality.json"


# ------------------------------------------------------------------------------------ the command


@pytest.mark.parametrize("kind", ["github", "gitlab"])
def test_a_file_that_is_there_is_written_over_by_force_alone(kind: str, tmp_path: Path) -> None:
    assert init(kind, "--directory", tmp_path).exit_code == 0
    (path,) = tmp_path.rglob("*.yml")
    whole = path.read_bytes()
    path.write_bytes(b"mine")
    refused = init(kind, "--directory", tmp_path)
    assert refused.exit_code == 2
    assert f"{path} already exists; to overwrite it, add --force" in refused.stderr
    assert path.read_bytes() == b"mine"
    forced = init(kind, "--directory", tmp_path, "--force")
    assert forced.exit_code == 0
    assert path.read_bytes() == whole
    assert forced.stdout == ""
    assert f"wrote {path}; next:" in forced.stderr
    assert "rag-eval baseline export rag-eval-baseline.json" in forced.stderr


@pytest.mark.parametrize("data", ["a ${{ github.token }}", "$HOME", "a\nb", "-x", "a\u202eb"])
def test_a_name_with_a_meaning_to_the_build_server_is_refused(data: str, tmp_path: Path) -> None:
    result = init("github", "--directory", tmp_path, f"--data={data}")
    assert result.exit_code == 2
    assert "--data: expected a name" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["github", "gitlab"])
def test_it_scores_with_the_config_that_was_named(kind: str, tmp_path: Path) -> None:
    config = "my settings' file.toml"
    made = init(kind, "--directory", tmp_path, "--config", config)
    (path,) = tmp_path.rglob("*.yml")
    run, _ = command_lines(path.read_text("utf-8"))
    assert run[2:5] == ["$DATA", "--config", config]
    assert "--profile" not in run
    quoted = shlex.quote(config)
    assert f"rag-eval run samples.jsonl --config {quoted} --output results.json" in made.stderr
    assert f"commit {path}, {config} and rag-eval-baseline.json" in made.stderr
    refused = init(kind, "--directory", tmp_path, "--force", "--config", "$(id)")
    assert refused.exit_code == 2
    assert "--config: expected a name" in refused.stderr


@pytest.mark.parametrize("data", ['a "b" #c: d.jsonl', "@BRANCH@", "eval\\x.jsonl", "é.jsonl"])
def test_any_other_name_stands_as_it_is(data: str, tmp_path: Path) -> None:
    assert init("github", "--directory", tmp_path, "--data", data, "--branch", "a b").exit_code == 0
    workflow = read(tmp_path / ".github" / "workflows" / "rag-eval.yml")
    assert workflow["jobs"]["rag-eval"]["env"]["DATA"] == data
    assert workflow[True]["push"]["branches"] == ["a b"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / ".github").write_text("a file")
    result = init("github", "--directory", tmp_path)
    assert result.exit_code == 2
    assert "error: cannot write" in result.stderr


def test_help_teaches() -> None:
    for arguments in (["--help"], ["github", "--help"], ["gitlab", "--help"]):
        result = init(*arguments)
        assert result.exit_code == 0
        assert "rag-eval init git" in result.output


def test_a_repository_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    result = init("github", "--directory", tmp_path / "mistyped")
    assert result.exit_code == 2
    assert f"the folder '{tmp_path / 'mistyped'}' does not exist" in result.output
    assert list(tmp_path.iterdir()) == []
