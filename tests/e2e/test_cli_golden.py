"""``rag-eval golden``: run, validate, diff, split and dedupe, as people and CI call them."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rag_eval.cli.program import program
from tests.warm_processes import WarmProcess, run_warm

EXAMPLE = Path(__file__).parents[2] / "examples" / "golden.json"

APP = '''
"""Answers for tests."""
import asyncio

ANSWERS = {"a": {"output": "yes", "toolCalls": ["t"]}, "b": "no"}


def answer(case):
    print("talk of", case["id"])
    return ANSWERS[case["id"]]


async def later(case):
    await asyncio.sleep(0)
    return ANSWERS[case["id"]]


def garbage(case):
    return 5


def exits(case):
    raise SystemExit(0)


class Bot:
    def answer(self, case):
        return "yes"


bot = Bot()
number = 5
'''


def golden(*arguments: object, **options: Any) -> Result:
    return CliRunner().invoke(program, ["golden", *map(str, arguments)], **options)


def written(folder: Path, name: str, cases: list[dict[str, Any]]) -> Path:
    path = folder / name
    path.write_text(json.dumps({"name": "d", "version": "1", "cases": cases}), "utf-8")
    return path


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "golden_app.py").write_text(APP, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "golden_app", raising=False)
    cases: list[dict[str, Any]] = [
        {"id": "a", "input": "q", "expectedOutput": "yes", "expectedToolCalls": ["t"]},
        {"id": "b", "input": "q", "expectedOutput": "yes"},
    ]
    return written(tmp_path, "golden.json", cases)


# ------------------------------------------------------------------------------------------ run


@pytest.mark.parametrize("function", ["answer", "later"])
def test_a_run_in_ci(app: Path, function: str) -> None:
    done = golden("run", app, "--runner", f"golden_app:{function}", "--ci")
    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        "FAIL 0.000 b",
        "     0.000 expected_output",
        "PASS 1.000 a",
        "FAILED d 1: 1 of 2 cases passed, average 0.500 (threshold 0.7)",
    ]
    talk = ["talk of a", "talk of b"] if function == "answer" else []
    assert done.stderr.splitlines() == talk


def test_a_run_as_a_table_and_as_json(app: Path) -> None:
    table = golden("run", app, "--runner", "golden_app:answer", "--min-average-score", "0")
    assert table.exit_code == 0
    assert "expected_output 1.000, expected_tool_calls 1.000" in table.stdout
    assert "PASSED d 1: 2 of 2 cases passed" in table.stdout
    data = golden("run", app, "--runner", "golden_app:bot.answer", "--format", "json", "--ci")
    found = json.loads(data.stdout)
    assert (data.exit_code, found["average"], found["passedCases"]) == (1, 0.75, 1)


@pytest.mark.parametrize(
    ("function", "error"),
    [("garbage", "must return a str or a mapping"), ("exits", "0")],
)
def test_runners_that_fail_fail_the_run(app: Path, function: str, error: str) -> None:
    done = golden("run", app, "--runner", f"golden_app:{function}", "--ci")
    assert done.exit_code == 1
    assert error in done.stdout.splitlines()[0]
    assert "0 of 2 cases passed, 2 with errors" in done.stdout


@pytest.mark.parametrize(
    ("runner", "message"),
    [
        ("golden_app", "expected MODULE:FUNCTION, got 'golden_app'"),
        ("golden_app:", "expected MODULE:FUNCTION"),
        ("no_such_app:answer", "no_such_app: found no such module here"),
        ("golden_app:anser", "golden_app has no 'anser'; did you mean 'answer'?"),
        ("golden_app:number", "golden_app:number is not a function but int"),
        ("broken_app:answer", "broken_app: cannot be imported: ZeroDivisionError: division"),
        ("needing_app:answer", "needing_app: cannot be imported: No module named 'no_such"),
        ("golden_app.x:answer", "golden_app.x: found no such module"),
    ],
)
def test_a_runner_that_is_not_there_is_explained(app: Path, runner: str, message: str) -> None:
    (app.parent / "broken_app.py").write_text("1 / 0", "utf-8")
    (app.parent / "needing_app.py").write_text("import no_such_package", "utf-8")
    done = golden("run", app, "--runner", runner)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: --runner")
    assert message in done.stderr


def test_without_a_runner_it_is_a_smoke_check() -> None:
    done = golden("run", EXAMPLE, "--ci")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1] == (
        "NO VERDICT observatory-visitors 1.0.0: 0 of 5 cases passed, average 0.000 (threshold 0.7)"
    )
    assert done.stderr == (
        "no --runner was given: the recorded outputs, or else the inputs, were scored, which only "
        "checks the file\n"
    )
    assert golden("run", EXAMPLE, "--gate").exit_code == 1


def test_recorded_outputs_stand_in_for_a_runner(tmp_path: Path) -> None:
    case = {"id": "a", "input": "q", "expectedOutput": "yes", "actualOutput": "yes, sure"}
    done = golden("run", written(tmp_path, "golden.json", [case]), "--gate", "--ci")
    assert (done.exit_code, done.stdout.splitlines()[0]) == (0, "PASS 1.000 a")


def test_what_a_dataset_says_cannot_move_the_cursor_or_command_ci(tmp_path: Path) -> None:
    case = {
        "id": "::error::x\x1b[2J\n##[section]\u202e",
        "input": "q",
        "expectedOutput": "yes",
    }
    done = golden("run", written(tmp_path, "golden.json", [case]), "--ci")
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    assert done.stdout.splitlines()[0] == (r"FAIL 0.000 \x3a:error::x\x1b[2J #\x23[section]\u202e")
    assert not any(line.startswith(("::", "##")) for line in done.stdout.splitlines())


def test_a_case_that_takes_too_long_ctrl_c_and_sigterm(tmp_path: Path) -> None:
    (tmp_path / "slow_app.py").write_text(
        "import threading\ndef answer(case):\n    print(case['id'], flush=True)\n"
        "    threading.Event().wait(60 if case['id'] == 'b' else 0)\n    return 'yes'\n",
        "utf-8",
    )
    cases = [{"id": name, "input": "q", "expectedOutput": "yes"} for name in "abc"]
    path = written(tmp_path, "golden.json", cases)
    command = ("golden", "run", path, "--ci", "--runner", "slow_app:answer")
    timed = run_warm(*command, "--timeout", "0.2", cwd=tmp_path, text=True)
    assert timed.returncode == 1
    assert timed.stdout.splitlines()[0] == "FAIL 0.000 b: timed out after 0.2 s"
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        with WarmProcess(*command, cwd=tmp_path, text=True) as process:
            assert process.stderr is not None
            assert [process.stderr.readline() for _ in range(2)] == ["a\n", "b\n"]
            process.send_signal(number)
            stdout, stderr = process.communicate()
        assert process.returncode == code
        assert "FAIL 0.000 b: interrupted before it was run" in stdout
        assert "PASS 1.000 a" in stdout
        assert stderr == "\ninterrupted; 1 of 3 cases were run\n"


# ------------------------------------------------------------------------------------- the others


def test_validate_lists_every_fault_with_its_place(tmp_path: Path) -> None:
    path = written(tmp_path, "golden.json", [{"id": "a"}, {"id": 5, "input": "q", "tags": "x"}])
    done = golden("validate", path)
    assert done.exit_code == 2
    assert done.stdout.splitlines() == [
        "cases[0].input is missing; it must be a string",
        "cases[1].id must be a non-empty string, got int 5",
        "cases[1].tags must be a list, got 'x'",
        "3 errors",
    ]
    data = json.loads(golden("validate", path, "--format", "json").stdout)
    assert (data["valid"], len(data["faults"])) == (False, 3)
    assert data["faults"][0] == {
        "place": "cases[0].input",
        "wanted": "a string",
        "found": "nothing",
    }


def test_validate_of_a_sound_file() -> None:
    done = golden("validate", EXAMPLE)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == "observatory-visitors: valid, 5 cases, hazel format\n"
    data = json.loads(golden("validate", EXAMPLE, "--format", "json").stdout)
    assert data == {"valid": True, "faults": [], "format": "hazel", "cases": 5}


@pytest.mark.parametrize("command", ["run", "validate", "split", "dedupe"])
def test_a_file_that_cannot_be_read(command: str, tmp_path: Path) -> None:
    done = golden(command, tmp_path / "none.json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: cannot read ")


def test_diff_lists_cases_by_what_became_of_them(tmp_path: Path) -> None:
    old = written(tmp_path, "old.json", [{"id": "a", "input": "q"}, {"id": "b", "input": "q"}])
    new = written(tmp_path, "new.json", [{"id": "c", "input": "q"}, {"id": "b", "input": "p"}])
    done = golden("diff", old, new)
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "added    c",
        "removed  a",
        "changed  b: input",
        "1 added, 1 removed, 1 changed, 0 unchanged",
    ]
    assert json.loads(golden("diff", old, new, "--format", "json").stdout)["added"] == ["c"]


def test_split_writes_two_files_that_share_no_case(tmp_path: Path) -> None:
    cases = [{"id": f"c{n}", "input": "q", "note": n} for n in range(10)]
    path = written(tmp_path, "golden.json", cases)
    done = golden("split", path, "--holdout", "0.3")
    rest, held = tmp_path / "golden.rest.json", tmp_path / "golden.holdout.json"
    assert done.stdout.splitlines() == [f"{rest}: 7 cases", f"{held}: 3 cases"]
    parts = [json.loads(part.read_text("utf-8"))["cases"] for part in (rest, held)]
    assert sorted(parts[0] + parts[1], key=lambda case: case["note"]) == cases
    before = held.read_bytes()
    golden("split", path, "--holdout", "0.3")
    assert held.read_bytes() == before


def test_split_overwrites_no_input(tmp_path: Path) -> None:
    path = written(tmp_path, "golden.json", [{"id": "a", "input": "q"}])
    for flags in (["--rest-file", path], ["--rest-file", "x", "--holdout-file", "x"]):
        done = golden("split", path, *flags)
        assert done.exit_code == 2
        assert "must be different files" in done.stderr
    assert json.loads(path.read_text("utf-8"))["name"] == "d"


def test_a_share_too_small_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, "golden.json", [{"id": "a", "input": "q"}])
    done = golden("split", path)
    assert done.exit_code == 0
    assert done.stderr == "warning: the share is too small to hold out a case\n"


def test_dedupe_lists_near_duplicates_and_can_drop_them(tmp_path: Path) -> None:
    clean = tmp_path / "clean.json"
    done = golden("dedupe", EXAMPLE, "-o", clean)
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "adult-ticket is a near duplicate of ticket-price (1.00), with a different expectation",
        "5 cases, 1 near duplicate",
    ]
    assert len(json.loads(clean.read_text("utf-8"))["cases"]) == 4
    own = tmp_path / "own.json"
    own.write_bytes(Path(EXAMPLE).read_bytes())
    refused = golden("dedupe", own, "-o", own)
    assert (refused.exit_code, refused.stderr) == (
        2,
        "error: FILE and --output must be different files\n",
    )
    assert own.read_bytes() == Path(EXAMPLE).read_bytes()
    data = json.loads(golden("dedupe", EXAMPLE, "--format", "json").stdout)
    assert data["nearDuplicates"][0]["of"] == "ticket-price"
    assert golden("dedupe", EXAMPLE, "--threshold", "2").exit_code == 2
