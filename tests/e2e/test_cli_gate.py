"""``rag-eval gate``: files and stores in, a verdict and an exit code out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from rag_eval.cli.program import program

N = 120
BASE = np.random.default_rng(11).uniform(0.3, 0.7, N)
NOISE = np.random.default_rng(12).normal(0, 0.05, (4, N))
NOISE -= NOISE.mean(axis=1, keepdims=True)


def gate(*arguments: object) -> Result:
    return CliRunner().invoke(program, ["gate", *map(str, arguments)])


def write(path: Path, shift: float, noise: int = 0, **more: Any) -> Path:
    """Rows of scores as ``rag-eval score`` writes them."""
    scores = BASE + NOISE[noise] + shift
    rows = [
        {
            "id": f"q{row}",
            "faithfulness": score,
            "composite_score": score,
            "passed": bool(score > 0.25),
            "tag": "safety" if row < 3 else "other",
            **more,
        }
        for row, score in enumerate(scores.tolist())
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return write(tmp_path / "old.jsonl", 0.0)


@pytest.fixture
def worse(tmp_path: Path) -> Path:
    return write(tmp_path / "worse.jsonl", -0.06, 1)


@pytest.fixture
def same(tmp_path: Path) -> Path:
    return write(tmp_path / "same.jsonl", 0.0, 2)


def test_a_regression_exits_with_1_and_says_why(old: Path, worse: Path) -> None:
    done = gate(worse, "--baseline", old)
    assert done.exit_code == 1
    first = done.stdout.splitlines()[0]
    assert first.startswith("FAIL  REGRESSED  faithfulness changed by -0.060 [-0.0")
    assert f"(against {old})" in first
    assert "at most 5 % of unchanged builds fail" in done.stdout
    assert "note:" in done.stderr


def test_noise_exits_with_0(old: Path, same: Path) -> None:
    done = gate(same, "--baseline", old)
    assert done.exit_code == 0
    assert done.stdout.startswith(
        "PASS  INCONCLUSIVE  no evidence of a drop in 1 mean over 120 pairs"
    )


METRICS = ("faithfulness", "context_relevance", "answer_correctness")


def write_columns(path: Path, columns: dict[str, list[float | None]]) -> Path:
    rows = [
        {"id": f"q{row}", **dict(zip(columns, scores, strict=True))}
        for row, scores in enumerate(zip(*columns.values(), strict=True))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture
def columns() -> dict[str, list[float | None]]:
    """400 rows of three metrics."""
    draw = np.random.default_rng(22)
    return {name: draw.uniform(0.2, 1.0, 400).tolist() for name in METRICS}


def first_line(done: Result) -> str:
    return done.stdout.splitlines()[0]


def test_the_lowest_scores_that_vanish_fail(
    columns: dict[str, list[float | None]], tmp_path: Path
) -> None:
    """The mean rises and every pair is equal, so nothing but the nulls tells it."""
    base = write_columns(tmp_path / "base.jsonl", columns)
    scores = columns["faithfulness"]
    lowest = set(np.argsort(np.array(scores, np.float64))[:63].tolist())
    lost = [None if row in lowest else score for row, score in enumerate(scores)]
    new = write_columns(tmp_path / "new.jsonl", {**columns, "faithfulness": lost})
    done = gate(new, "--baseline", base)
    assert done.exit_code == 1, done.stdout
    assert first_line(done).startswith(
        "FAIL  MISSING SCORES  faithfulness: 63 of 400 rows lost their score (missing field: 63); "
        "null rate 0.000 → 0.158, adjusted p < 0.001, more than the allowed rise of 0.02"
    )
    assert gate(new, "--baseline", base, "--max-null-rise", "20%").exit_code == 0
    shown = rag_eval("compare", str(base), str(new))
    assert "MISSING SCORES" in shown.stdout
    assert "all scores of all gating metrics are identical" not in shown.stdout
    value = json.loads(gate(new, "--baseline", base, "--format", "json").stdout)
    nulls = value["baselines"][0]["findings"][0]["nulls"]
    assert (nulls["nLost"], nulls["reasons"]) == (63, {"missing_field": 63})
    assert (nulls["rateOld"], nulls["rateNew"], nulls["rise"]) == (0.0, 0.1575, 0.1575)
    assert (value["maxNullRise"], value["maxMissingRows"]) == (0.02, 0.01)


def test_a_metric_that_vanishes_fails(
    columns: dict[str, list[float | None]], tmp_path: Path
) -> None:
    base = write_columns(tmp_path / "base.jsonl", columns)
    left = {name: scores for name, scores in columns.items() if name != "answer_correctness"}
    new = write_columns(tmp_path / "new.jsonl", left)
    for policy in ((), ("--policy", "non-inferior", "--margin", "0.1")):
        done = gate(new, "--baseline", base, *policy)
        assert done.exit_code == 1, done.stdout
        assert first_line(done).startswith(
            "FAIL  MISSING SCORES  answer_correctness is missing in this run; the baseline's mean "
            "is 0.595. To gate without it, make a new baseline, or name the metrics that decide "
            "(--gating)"
        )
        deciding = [flag for name in left for flag in ("--gating", name)]
        assert gate(new, "--baseline", base, *policy, *deciding).exit_code == 0
    # A metric that only the new run has has no baseline, and node compares what both have.
    assert gate(base, "--baseline", new).exit_code == 0
    assert gate(new, "--baseline", base, "--policy", "node").exit_code == 0


def test_a_few_scores_that_vanish_are_a_warning_beside_the_verdict(
    columns: dict[str, list[float | None]], tmp_path: Path
) -> None:
    base = write_columns(tmp_path / "base.jsonl", columns)
    few = {**columns, "faithfulness": [None, None, *columns["faithfulness"][2:]]}
    done = gate(write_columns(tmp_path / "new.jsonl", few), "--baseline", base)
    assert done.exit_code == 0
    assert first_line(done).startswith("PASS  MISSING SCORES")
    assert "MISSING SCORES: faithfulness: 2 of 400 rows lost their score" in done.stderr


def test_rows_that_vanish_fail(columns: dict[str, list[float | None]], tmp_path: Path) -> None:
    base = write_columns(tmp_path / "base.jsonl", columns)
    gone = {name: scores[:380] for name, scores in columns.items()}
    new = write_columns(tmp_path / "new.jsonl", gone)
    done = gate(new, "--baseline", base)
    assert done.exit_code == 1, done.stdout
    assert first_line(done).startswith(f"FAIL  MISSING ROWS  20 of 400 rows of {base} are missing")
    assert gate(new, "--baseline", base, "--max-missing-rows", "0.05").exit_code == 0
    value = json.loads(gate(new, "--baseline", base, "--format", "json").stdout)
    assert (value["status"], value["baselines"][0]["status"]) == ("MISSING ROWS", "MISSING ROWS")
    assert gate(new, "--baseline", base, "--policy", "node").exit_code == 0
    shown = rag_eval("compare", str(base), str(new)).stdout
    assert "380 rows in both; 20 removed (MISSING ROWS), 0 new" in shown


def test_a_trifle_is_within_the_tolerance(
    columns: dict[str, list[float | None]], tmp_path: Path
) -> None:
    """Deterministic scores: every row fell a little, so the test is certain."""
    base = write_columns(tmp_path / "base.jsonl", columns)
    less: list[float | None]
    less = [score - 0.002 for score in columns["faithfulness"] if score is not None]
    new = write_columns(tmp_path / "new.jsonl", {**columns, "faithfulness": less})
    done = gate(new, "--baseline", base)
    assert done.exit_code == 0, done.stdout
    assert first_line(done).startswith("PASS  WITHIN TOLERANCE  faithfulness changed by -0.002")
    assert "Drops of up to 0.005 are allowed" in done.stdout
    assert "WITHIN TOLERANCE of 0.005" in rag_eval("compare", str(base), str(new)).stdout
    for tolerance in ("0.001", "faithfulness=0.001"):
        strict = gate(new, "--baseline", base, "--tolerance", tolerance)
        assert (strict.exit_code, first_line(strict)[:15]) == (1, "FAIL  REGRESSED")


def test_all_baselines_must_hold(old: Path, worse: Path, tmp_path: Path) -> None:
    also_worse = write(tmp_path / "also-worse.jsonl", -0.06, 3)
    assert gate(worse, "--baseline", also_worse).exit_code == 0
    assert gate(worse, "--baseline", also_worse, "--baseline", old).exit_code == 1


@pytest.mark.parametrize(
    ("policy", "arguments", "code"),
    [
        ("no-regression", ["--margin", "0.1"], 0),
        ("no-regression", ["--margin", "0.1", "--margin", "faithfulness=0"], 1),
        ("non-inferior", ["--margin", "0.1"], 0),
        ("non-inferior", ["--margin", "0.05"], 1),
        ("omk", [], 1),
        ("regtrace", [], 1),
        ("regtrace", ["--margin", "0.5"], 0),
        ("node", [], 1),
        ("node", ["--margin", "faithfulness=0.1"], 0),
    ],
)
def test_each_policy(old: Path, worse: Path, policy: str, arguments: list[str], code: int) -> None:
    done = gate(worse, "--baseline", old, "--policy", policy, *arguments)
    assert done.exit_code == code, done.stdout + done.stderr
    simulated = "simulated builds failed" in done.stdout
    assert simulated is (policy in ("omk", "regtrace", "node"))


def test_json_holds_all_of_it(old: Path, worse: Path) -> None:
    done = gate(worse, "--baseline", old, "--format", "json", "--min-pass-rate", "0.5", "--seed", 3)
    value = json.loads(done.stdout)
    assert (done.exit_code, value["passed"], value["status"]) == (1, False, "REGRESSED")
    assert value["baselines"][0]["findings"][0]["status"] == "REGRESSED"
    assert value["guards"][0]["gate"] == "minPassRate"
    assert value["seed"] == 3


def test_markdown_is_for_pull_requests(old: Path, worse: Path) -> None:
    done = gate(worse, "--baseline", old, "--format", "markdown")
    assert done.stdout.startswith("**Gate failed: REGRESSED.** faithfulness changed by -0.060")
    assert "| faithfulness | -0.060 [" in done.stdout


def test_guards_alone(worse: Path) -> None:
    assert gate(worse, "--min-mean", "faithfulness=0.4").exit_code == 0
    done = gate(worse, "--min-mean", "faithfulness=0.5")
    assert done.stdout.count("is below 0.50") == 1
    assert done.exit_code == 1
    assert "is below 0.50" in done.stdout
    assert gate(worse, "--max-null-rate", "0%").exit_code == 0
    assert gate(worse, "--max-null-rate", "faithfulness=0").exit_code == 0


def test_critical_rows(tmp_path: Path) -> None:
    failing = write(tmp_path / "failing-1.jsonl", -0.3)
    write(tmp_path / "failing-2.jsonl", 0.2)
    assert gate(failing, "--critical", "q0").exit_code == 1
    done = gate(failing, "--critical", "@tag=safety")
    assert done.exit_code == 1
    assert "of 3 critical rows failed" in done.stdout
    # Once in two repeats.
    both = tmp_path / "failing-*.jsonl"
    assert gate(both, "--critical", "q0", "--critical-fails", "1").exit_code == 1
    assert gate(both, "--critical", "q0", "--critical-fails", "2").exit_code == 0


def test_slices_and_clusters(old: Path, worse: Path) -> None:
    done = gate(worse, "--baseline", old, "--slice", "tag", "--cluster-by", "id")
    assert done.exit_code == 1
    assert "faithfulness [tag=other]" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no run to gate"),
        (["NEW"], "rag-eval gate has nothing to check: give --baseline"),
        (["NEW", "--run", "latest"], "--run needs --store"),
        (["NEW", "--baseline", "gone.jsonl"], "gone.jsonl"),
        (["NEW", "--baseline", "NEW", "--gating", "recall"], "recall"),
        (["NEW", "--baseline", "NEW", "--policy", "non-inferior"], "needs a margin above 0"),
        (["NEW", "--critical", "@tag"], "--critical must be an id or @FIELD=VALUE, got '@tag'"),
        (
            ["NEW", "--max-null-rate", "much"],
            "'--max-null-rate': expected a share from 0 to 1, such as 0.9 or 90%, got 'much'",
        ),
        (["NEW", "--store", "gone.db", "--baseline", "NEW"], "gone.db"),
        (["NEW", "--max-null-rise", "0.1"], "--max-null-rise needs a baseline"),
        (["NEW", "--branch", "main", "--baseline", "NEW"], "--branch needs --store"),
    ],
)
def test_bad_usage_exits_with_2(same: Path, arguments: list[str], message: str) -> None:
    done = gate(*(str(same) if each == "NEW" else each for each in arguments))
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stdout == ""


def rag_eval(*arguments: str) -> Result:
    return CliRunner().invoke(program, arguments)


def test_a_store_from_the_first_run_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    good = {"question": "red fox", "answer": "red fox.", "contexts": ["red fox."]}
    bad = {**good, "answer": "blue whale sings."}

    def kept(n_bad: int) -> None:
        rows = [{**(bad if row < n_bad else good), "id": f"q{row}"} for row in range(30)]
        Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        arguments = ("--metrics", "faithfulness", "--min-pass-rate", "0", "--quiet", "--store")
        assert rag_eval("run", "rows.jsonl", *arguments).exit_code == 0

    kept(0)
    first = gate("--store", "--run", "latest")
    assert first.exit_code == 0, first.stderr
    assert first.stdout.startswith("PASS  NEW  no baseline to compare with")
    becomes = "This run becomes the baseline for later gates: check it by hand"
    assert f"note: no baseline was found. {becomes}" in first.stderr.replace("\n  ", " ")
    kept(12)
    second = gate("--store", "--run", "latest")
    assert second.exit_code == 1, second.stdout + second.stderr
    assert "no baseline was found" not in second.stderr
    listed = json.loads(rag_eval("history", "--format", "json").stdout)["runs"]
    assert [run["status"] for run in listed] == ["failed", "passed"]
    # A run that failed is no baseline of the next.
    kept(0)
    third = gate("--store", "--run", "latest")
    assert third.exit_code == 0
    assert f"against the last passing run {listed[-1]['runId']}: " in third.stdout


def test_as_installed(old: Path, worse: Path) -> None:
    command = [sys.executable, "-m", "rag_eval", "gate", str(worse), "--baseline", str(old)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith("FAIL  REGRESSED")


def test_help_says_what_each_policy_promises() -> None:
    shown = " ".join(gate("--help").stdout.replace("│", " ").split())
    for text in ("no-regression fails if", "at most 5 % of builds fail", "Exit codes: 0 passed"):
        assert text in shown


def test_a_metric_of_ones_own_may_be_better_when_it_falls(
    old: Path, worse: Path, tmp_path: Path
) -> None:
    files = []
    for path in (old, worse):
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        files.append(tmp_path / f"own-{path.name}")
        files[-1].write_text(
            "".join(
                json.dumps(
                    {"id": row["id"], "toxicness": row["faithfulness"], "toxicness_null_reason": ""}
                )
                + "\n"
                for row in rows
            )
        )
    before, after = files
    assert gate(after, "--baseline", before).exit_code == 1
    assert gate(after, "--baseline", before, "--lower-is-better", "toxicness").exit_code == 0
    assert gate(before, "--baseline", after, "--lower-is-better", "toxicness").exit_code == 1
    unknown = gate(after, "--baseline", before, "--lower-is-better", "faithfulness")
    assert unknown.exit_code == 2
    assert "lower_is_better names 'faithfulness', which is not compared" in unknown.stderr


# ------------------------------------------------------------- what a gate must notice in a store

GOOD = "red fox {n}."
BAD = "blue whale sings."


def stored(n_bad: int, *flags: object, rows: int = 30, reworded: int = 0) -> str:
    """A run that was saved: the first rows have a bad answer, or another question."""
    found = [
        {
            "id": f"q{n}",
            "question": f"{'which' if n < reworded else 'what'} fox is {n}?",
            "answer": BAD if n < n_bad else GOOD.format(n=n),
            "contexts": [GOOD.format(n=n)],
            "ground_truth": f"fox {n}",
        }
        for n in range(rows)
    ]
    path = Path("rows.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in found), "utf-8")
    done = rag_eval(
        "run", str(path), "--metrics", "faithfulness", "--quiet", *map(str, flags), "--store"
    )
    assert done.exit_code == 0, done.stderr
    return str(listed()[0]["runId"])


def tables(name: str) -> None:
    """Tables of scores of the stored rows, one of them without digests."""
    asked = ("score", "rows.jsonl", "--metrics", "faithfulness", "--quiet")
    for target in (f"{name}.csv", f"{name}.jsonl", f"{name}.parquet"):
        assert rag_eval(*asked, target, "--digests").exit_code == 0
    assert rag_eval(*asked, f"plain-{name}.csv").exit_code == 0


def listed() -> list[dict[str, Any]]:
    runs = json.loads(rag_eval("history", "--format", "json").stdout)["runs"]
    assert isinstance(runs, list)
    return runs


@pytest.mark.parametrize("flags", [(), ("--min-mean", "faithfulness=0.5")], ids=["plain", "guards"])
def test_a_run_that_no_gate_passed_is_no_baseline(
    flags: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run whose guards held became the baseline, though nothing had compared it."""
    monkeypatch.chdir(tmp_path)
    stored(0)
    assert gate("--store", "--run", "latest").stdout.startswith("PASS  NEW")
    slipped = stored(12, *flags)
    assert listed()[0]["status"] == ("guards held" if flags else "ungated")
    stored(12)
    done = gate("--store", "--run", "latest")
    assert done.exit_code == 1, done.stdout
    assert slipped not in done.stdout
    assert [run["status"] for run in listed()][::2] == ["failed", "passed"]


def test_the_gates_of_a_release_line_share_alpha(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = stored(0)
    asked = ("--store", "--run", "latest", "--spend")
    assert gate(*asked).stdout.startswith("PASS  NEW")
    stored(0)
    done = gate(*asked)
    assert done.exit_code == 0, done.stderr
    assert (
        f"policy no-regression: if nothing changed, all gates since {first} together fail at most "
        "5 % of the time (--spend); this is gate 1, with 1.5 % against its baseline." in done.stdout
    )
    again = json.loads(gate(*asked, "--format", "json").stdout)
    assert again["spending"] == {
        "alpha": 0.05,
        "gateNumber": 1,
        "lineStart": first,
        "nBaselines": 1,
        "level": again["alpha"],
    }
    unsaved = gate("rows.jsonl", "--store", "--spend")
    assert unsaved.exit_code == 2
    assert "--spend counts the gates of stored runs" in unsaved.stderr


def test_two_profiles_in_one_store_do_not_block_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest passing run was of the other profile: exit code 2, NOT COMPARABLE."""
    monkeypatch.chdir(tmp_path)
    profiles = ("overlap", "grounded")
    first = {}
    for profile in profiles:
        first[profile] = stored(0, "--profile", profile)
        done = gate("--store", "--run", "latest")
        assert done.stdout.startswith("PASS  NEW"), done.stdout + done.stderr
    for n_bad, code in ((0, 0), (12, 1)):
        for profile in profiles:
            stored(n_bad, "--profile", profile)
            done = gate("--store", "--run", "latest")
            assert done.exit_code == code, done.stdout + done.stderr
            assert f"against the last passing run {first[profile]}" in done.stdout
            # A failed run does not replace the baseline.
            first[profile] = listed()[0]["runId"] if code == 0 else first[profile]
    stored(0, "--profile", "overlap")
    done = gate("--store", "--run", "latest")
    assert "it was scored with other settings (profile: grounded, not overlap" in done.stderr
    # The pin is one run: another profile needs its own, and the message says how.
    rag_eval("baseline", "pin", first["grounded"])
    done = gate("--store", "--run", "latest")
    assert done.exit_code == 2
    assert "add --pin NAME to the gate" in done.stderr
    assert gate("--store", "--run", "latest", "--pin", "overlap").exit_code == 0
    marked = {run["runId"] for run in listed() if run["lastPassing"]}
    assert first["grounded"] in marked
    assert len(marked) == 2


def test_reworded_questions_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """10 reworded questions, whose scores fell with them, were REGRESSED."""
    monkeypatch.chdir(tmp_path)
    first = stored(0, "--output", "old.json")
    gate("--store", "--run", "latest")
    rag_eval("baseline", "pin", "latest")
    rag_eval("baseline", "export", "pinned.json")
    tables("old")
    second = stored(10, "--output", "new.json", reworded=10)
    tables("new")
    sentence = (
        "only 20 of 30 rows were compared, because 10 were edited: all scores are identical in 20 "
        "pairs (against "
    )
    for words in (
        ("--store", "--run", "latest"),
        ("new.json", "--baseline", "old.json"),
        ("new.json", "--baseline", "pinned.json"),
        ("new.csv", "--baseline", "old.csv"),
        ("new.parquet", "--baseline", "old.jsonl"),
        ("new.jsonl", "--baseline", "pinned.json"),
    ):
        done = gate(*words)
        assert "edited rows are not noticed" not in done.stderr
        assert done.exit_code == 0, done.stdout + done.stderr
        assert done.stdout.startswith(f"PASS  NO CHANGE  {sentence}"), done.stdout
        assert (
            "note: 10 rows with the same id have another question, ground truth or relevant ids "
            "('q0', 'q1', 'q2', 'q3', 'q4', …): left out; to compare them: --edited keep"
        ) in " ".join(done.stderr.split())
        kept = gate(*words, "--edited", "keep")
        assert kept.exit_code == 1
        assert "; 10 edited rows were compared anyway (against " in kept.stdout
        assert "answers differ in 10 of 30 rows" in " ".join(kept.stderr.split())
    # A table without digests cannot tell, and is said not to.
    done = gate("plain-new.csv", "--baseline", "old.json")
    assert done.exit_code == 1, done.stdout
    assert (
        "note: plain-new.csv does not record questions and answers, so edited rows are not "
        "noticed; result files and rag-eval score --digests record them"
    ) in " ".join(done.stderr.split())
    shown = rag_eval("compare", "old.json", "new.json")
    assert "20 rows in both; 10 edited and left out" in shown.stdout
    assert "old.json  30 rows" in shown.stdout
    value = json.loads(rag_eval("compare", "old.json", "new.json", "--format", "json").stdout)
    assert (value["nPairs"], sorted(value["edited"])) == (20, sorted(f"q{n}" for n in range(10)))
    assert value["answers"] == {"nRows": 20, "nChanged": 0, "nMovedAlone": 0}
    assert [run["status"] for run in listed()] == ["failed", "passed"]
    assert [run["runId"] for run in listed()] == [second, first]


def test_a_change_of_the_answers_alone_is_no_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stored(0, "--output", "old.json")
    stored(12, "--output", "new.json")
    done = gate("new.json", "--baseline", "old.json")
    assert done.exit_code == 1
    assert "edited" not in done.stdout + done.stderr
    assert "note: answers differ in 12 of 30 rows" in done.stderr
    # The same answers with other contexts: the retriever changed, which is no edit either.
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text("utf-8").splitlines()]
    for row in rows[12:]:
        row["contexts"] = ["green whale."]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    words = ("--metrics", "faithfulness", "--quiet", "--output", "third.json")
    assert rag_eval("run", "rows.jsonl", *words).exit_code == 0
    done = gate("third.json", "--baseline", "new.json")
    assert done.exit_code == 1
    assert "answers differ in 0 of 30 rows; scores differ in 18 with the same answer" in " ".join(
        done.stderr.split()
    )


def test_no_unedited_row_in_common_is_not_comparable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stored(0, "--output", "old.json")
    stored(0, "--output", "new.json", reworded=30)
    for words in (
        ("gate", "new.json", "--baseline", "old.json"),
        ("compare", "old.json", "new.json"),
    ):
        done = rag_eval(*words)
        assert done.exit_code == 2
        assert "NOT COMPARABLE: no unedited row is in both old.json and new.json" in done.stderr
        assert rag_eval(*words, "--edited", "keep").exit_code == 0


def test_an_edited_dataset_is_compared_on_the_rows_it_shares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 10 reworded questions and no pinned run, half of the answers could break: PASS NEW."""
    monkeypatch.chdir(tmp_path)
    stored(0, rows=7)
    gate("--store", "--run", "latest")
    first = stored(0, rows=42)
    gate("--store", "--run", "latest")
    stored(20, rows=40, reworded=4)
    words = ("--store", "--run", "latest")
    done = gate(*words)
    assert done.stdout.startswith("PASS  NEW  no baseline to compare with")
    told = " ".join(done.stderr.split())
    assert "no run of this dataset has passed a gate; the nearest dataset in the store (" in told
    assert f", {first}) shares 36 of 40 rows: to compare those: --shared-rows" in told
    done = gate(*words, "--shared-rows")
    assert done.exit_code == 1
    assert done.stdout.startswith("FAIL  REGRESSED  faithfulness changed by -0.4")
    assert f"against the last passing run {first}: REGRESSED (failed)" in done.stdout
    assert "over 36 pairs" in done.stdout
    assert "shares 36 of 40 rows, which are compared" in " ".join(done.stderr.split())
    assert "; 4 edited rows were left out (against " in done.stdout
    # Two of 42 rows are not missing in it, nor in a pinned run of the other dataset.
    rag_eval("baseline", "pin", first)
    stored(4, rows=40, reworded=4)
    assert gate(*words, "--shared-rows", "--policy", "node").exit_code == 0
    assert gate(*words, "--shared-rows").stdout.startswith("PASS  NO CHANGE  all scores are ident")
    assert gate("rows.jsonl", "--min-mean", "faithfulness=0", "--shared-rows").exit_code == 2


def test_a_dataset_that_shares_no_row_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stored(0, rows=7)
    gate("--store", "--run", "latest")
    stored(0, "--profile", "grounded", rows=8)
    other_settings = gate("--store", "--run", "latest")
    stored(0, rows=8, reworded=8)
    other_rows = gate("--store", "--run", "latest", "--shared-rows")
    for done in (other_settings, other_rows):
        assert done.stdout.startswith("PASS  NEW")
        assert "nearest" not in done.stderr


@pytest.mark.parametrize("form", ["result file", "baseline file", "store"])
def test_thresholds_and_weights_that_changed_are_named(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a lower threshold the same answers passed, and `passed` was IMPROVED without a word."""
    monkeypatch.chdir(tmp_path)
    metrics = ("--metrics", "faithfulness,context_recall")
    stored(12, *metrics, "--output", "old.json")
    gate("--store", "--run", "latest")
    rag_eval("baseline", "export", "baseline.json", "--run", "last-passing")
    stored(12, *metrics, "--thresholds", "faithfulness=0", "--output", "new.json")
    if form == "store":
        words: tuple[str, ...] = ("--store", "--run", "latest")
    else:
        words = ("new.json", "--baseline", {"result file": "old.json"}.get(form, "baseline.json"))
    done = gate(*words)
    assert done.exit_code == 0, done.stdout + done.stderr
    told = (
        "note: thresholds or weights differ (threshold of faithfulness: 0, not 0.7): row verdicts "
        "are not compared; to compare them: --force"
    )
    assert told in " ".join(done.stderr.split())
    if form == "store":
        return
    old = words[2]
    compared = rag_eval("compare", old, "new.json")
    assert told in " ".join(compared.stderr.split())
    assert "composite" in compared.stdout
    assert "passed" not in compared.stdout
    forced = rag_eval("compare", old, "new.json", "--force")
    assert "settings differ: threshold of faithfulness: 0, not 0.7" in forced.stdout
    assert "passed" in forced.stdout
    asked = rag_eval("compare", old, "new.json", "--metric", "passed")
    assert asked.exit_code == 2
    assert "NOT COMPARABLE" in asked.stderr
    assert rag_eval("compare", old, "new.json", "--metric", "faithfulness").exit_code == 0


def test_composite_scores_of_other_weights_are_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    metrics = ("--metrics", "faithfulness,context_recall")
    stored(12, *metrics, "--output", "old.json")
    stored(12, *metrics, "--weights", "faithfulness=3", "--output", "new.json")
    done = rag_eval("compare", "old.json", "new.json")
    assert "composite" not in done.stdout
    assert (
        "note: thresholds or weights differ (weight of faithfulness: 3, not 1): composite scores "
        "and row verdicts are not compared; to compare them: --force"
    ) in " ".join(done.stderr.split())
    # Without ids only the means are compared, and a note says the same.
    bare = Path("bare.jsonl")
    texts = {"question": "what fox?", "answer": "red fox.", "contexts": ["red fox."]}
    sample = {**texts, "ground_truth": "red fox"}
    bare.write_text(json.dumps(sample) + "\n", "utf-8")
    for name, weight in (("a.json", "1"), ("b.json", "3")):
        flags = ("--weights", f"faithfulness={weight}", "--quiet", "--output", name)
        assert rag_eval("run", str(bare), *metrics, *flags).exit_code == 0
    means = rag_eval("compare", "a.json", "b.json")
    assert "note: weights differ (weight of faithfulness: 3, not 1), so the composite scores" in (
        " ".join(means.stderr.split())
    )
    for policy in ("omk", "regtrace"):
        refused = gate("new.json", "--baseline", "old.json", "--policy", policy)
        assert refused.exit_code == 2
        assert "the same metrics and weights" in " ".join(refused.stderr.split())
        forced = gate("new.json", "--baseline", "old.json", "--policy", policy, "--force")
        assert forced.exit_code in (0, 1)
        assert "note: settings differ: weight of faithfulness: 3, not 1" in forced.stderr


def test_a_result_file_names_its_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A result file was compared with runs without a dataset alone: PASS NEW."""
    monkeypatch.chdir(tmp_path)
    first = stored(0)
    gate("--store", "--run", "latest")
    stored(12, "--output", "new.json")
    done = gate("new.json", "--store")
    assert done.exit_code == 1, done.stdout + done.stderr
    assert f"against the last passing run {first}: REGRESSED (failed)" in done.stdout
    assert "does not name its dataset" not in done.stderr
    # One that was written without a store has no hash, but its rows tell.
    words = ("--metrics", "faithfulness", "--quiet", "--output", "bare.json")
    assert rag_eval("run", "rows.jsonl", *words).exit_code == 0
    bare = gate("bare.json", "--store")
    assert bare.stdout.startswith("PASS  NEW")
    assert f"{first}) shares 30 of 30 rows: to compare those: --shared-rows" in bare.stderr
    assert gate("bare.json", "--store", "--shared-rows").exit_code == 1
