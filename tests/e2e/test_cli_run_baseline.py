"""``rag-eval run`` with a baseline, and with a configuration file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands import invoke
from tests.run_command import BAD, FAITH, GOOD, HANDBOOK, run, samples

ROOT = Path(__file__).parents[2]


@pytest.fixture
def twenty(tmp_path: Path) -> tuple[Path, Path]:
    """The result of 20 good answers, and the samples of which 10 got worse."""
    rows = [{**GOOD, "id": str(n), "question": f"red fox {n}"} for n in range(20)]
    before = tmp_path / "before.json"
    run(samples(tmp_path / "old.jsonl", *rows), *FAITH, "--output", before)
    changed = [{**row, "answer": BAD["answer"]} for row in rows[:10]]
    return before, samples(tmp_path / "new.jsonl", *changed, *rows[10:])


def test_a_baseline_is_compared_row_by_row(twenty: tuple[Path, Path], tmp_path: Path) -> None:
    before, data = twenty
    result = tmp_path / "after.json"
    done = run(data, *FAITH, "--baseline", before, "--format", "json", "--output", result)
    assert done.exit_code == 1
    summary = json.loads(done.stdout)
    (found,) = summary["gates"]
    assert (summary["verdict"], found["gate"], found["metricId"]) == (
        *("fail", "regression", "faithfulness"),
    )
    assert (found["found"], str(found["wanted"]), found["held"]) == (-0.5, "0.0", False)
    assert "over 20 pairs, p 0.00" in found["message"]
    assert "regressions" not in summary
    # It is the verdict of gate on the result file.
    gated = invoke("gate", result, "--baseline", before, "--format", "json")
    assert gated.exit_code == 1
    report = json.loads(gated.stdout)
    for name in ("status", "passed", "policy", "alpha", "reason"):
        assert summary["against"][name] == report[name]
    assert summary["against"]["baselines"][0]["findings"] == report["baselines"][0]["findings"]
    shown = run(data, *FAITH, "--baseline", before).stdout
    assert f"FAIL  {found['message'].replace(': ', '  ', 1)}\n" in shown
    assert shown.splitlines()[-1].startswith("policy no-regression: at most 5 %")
    same = run(tmp_path / "old.jsonl", *FAITH, "--baseline", before)
    assert same.exit_code == 0, same.output


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        (("--margin", 0.9), 0),
        (("--tolerance", 0.9), 0),
        (("--tolerance", "faithfulness=0.4"), 1),
        (("--margin", "faithfulness=0.9"), 0),
        (("--alpha", 0.0001), 0),
        (("--policy", "non-inferior", "--margin", 0.05), 1),
        (("--policy", "non-inferior", "--margin", 0.95), 0),
        (("--policy", "regtrace"), 1),
        (("--policy", "omk"), 1),
        (("--policy", "node"), 1),
        (("--policy", "node", "--regression-threshold", 0.5), 0),
    ],
)
def test_flags_of_the_policy(twenty: tuple[Path, Path], flags: tuple[Any, ...], code: int) -> None:
    before, data = twenty
    done = run(data, *FAITH, "--baseline", before, *flags)
    assert done.exit_code == code, done.output


def test_every_flag_of_gate_that_changes_the_verdict_works_in_run(
    twenty: tuple[Path, Path], tmp_path: Path
) -> None:
    """The same verdict and findings as those of gate on the written result."""
    before, data = twenty
    rows = [json.loads(line) for line in data.read_text("utf-8").splitlines()]
    # Two topics, and one question that was reworded.
    for number, row in enumerate(rows):
        row["topic"] = "even" if number % 2 == 0 else "odd"
    rows[3]["question"] = "A reworded question?"
    samples(data, *rows)
    after, found = tmp_path / "after.json", {}
    for flags in (
        (),
        ("--edited", "keep"),
        ("--adjust", "holm"),
        ("--slice", "topic"),
        ("--resamples", 100, "--seed", 3),
        ("--gating", "faithfulness"),
    ):
        asked = ("--baseline", before, *flags, "--format", "json")
        ran = run(data, *FAITH, *asked, "--output", after)
        gated = invoke("gate", after, *asked)
        assert (ran.exit_code, gated.exit_code) == (1, 1), (flags, ran.output, gated.output)
        against, report = json.loads(ran.stdout)["against"], json.loads(gated.stdout)
        for one in (against, report):
            del one["run"], one["notices"], one["baselines"][0]["notices"]
        assert against == report
        found[flags[:1]] = against
    assert "1 edited row was left out" in found[()]["reason"]
    assert "1 edited row was compared anyway" in found["--edited",]["reason"]
    assert "(Holm)" in found["--adjust",]["reason"]
    slices = {each["slice"] for each in found["--slice",]["baselines"][0]["findings"]}
    assert slices == {None, "topic=even", "topic=odd"}
    assert found["--resamples",]["seed"] == 3


def test_a_metric_that_is_no_longer_computed_fails(good: Path, tmp_path: Path) -> None:
    before = tmp_path / "before.json"
    run(good, "--metrics", "faithfulness,context_relevance", "--output", before)
    done = run(good, *FAITH, "--baseline", before)
    assert done.exit_code == 1, done.output
    assert "MISSING SCORES  context_relevance is missing in this run" in done.stdout
    assert run(good, *FAITH, "--baseline", before, "--gating", "faithfulness").exit_code == 0


def test_scores_and_rows_that_vanish_fail(twenty: tuple[Path, Path], tmp_path: Path) -> None:
    """Answers that decline have no faithfulness in this profile: nobody asked a judge."""
    lines = (tmp_path / "old.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    grounded = ("--metrics", "faithfulness", "--profile", "grounded")
    before = tmp_path / "grounded.json"
    run(tmp_path / "old.jsonl", *grounded, "--output", before)
    refused = [{**row, "answer": "The context does not say."} for row in rows[:9]]
    data = samples(tmp_path / "refused.jsonl", *refused, *rows[9:])
    done = run(data, *grounded, "--baseline", before)
    assert done.exit_code == 1, done.output
    assert "MISSING SCORES  faithfulness: 9 of 20 rows lost their score (refusal: 9)" in done.stdout
    assert run(data, *grounded, "--baseline", before, "--max-null-rise", 0.5).exit_code == 0
    data = samples(tmp_path / "fewer.jsonl", *rows[1:])
    done = run(data, *grounded, "--baseline", before)
    assert done.exit_code == 1, done.output
    assert "MISSING ROWS  1 of 20 rows of" in done.stdout
    assert run(data, *grounded, "--baseline", before, "--max-missing-rows", 0.05).exit_code == 0


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--regression-threshold", 0.1), "regression_threshold needs policy node"),
        (
            ("--policy", "node", "--margin", 0.1),
            "policy node takes no margin; use regression_threshold",
        ),
        (("--policy", "non-inferior"), "policy non-inferior needs a margin above 0"),
        (("--policy", "omk", "--margin", 0.1), "policy omk takes no margin"),
        (("--alpha", 0.7), "alpha must be above 0 and below 0.5, got 0.7"),
        (("--care", 0), "care must be above 0, got 0"),
        (("--policy", "node", "--max-null-rise", 0.1), "policy node takes no max_null_rise"),
        (("--policy", "node", "--edited", "keep"), "policy node compares means"),
        (
            ("--gating", "answer_relevence"),
            "gating names 'answer_relevence', which is not compared",
        ),
        (("--tolerance", -1), "tolerance of * must be at least 0, got -1"),
        (("--policy", "nodes"), "'nodes' is not one of"),
    ],
)
def test_flags_that_do_not_fit_the_policy_are_refused_before_any_work(
    twenty: tuple[Path, Path], tmp_path: Path, flags: tuple[Any, ...], message: str
) -> None:
    before, data = twenty
    output = tmp_path / "o.json"
    done = run(data, *FAITH, "--baseline", before, *flags, "--output", output)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
    assert not output.exists()


def test_results_are_kept_where_no_row_is_one_of_the_baseline(
    twenty: tuple[Path, Path], tmp_path: Path
) -> None:
    """That is known at the end alone, when a judge has been paid."""
    before, _ = twenty
    other = samples(tmp_path / "other.jsonl", {**GOOD, "id": "other"})
    output = tmp_path / "o.json"
    done = run(other, *FAITH, "--baseline", before, "--output", output)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "\nerror: no id is in both runs" in done.stderr
    written = json.loads(output.read_bytes())
    assert len(written["results"]) == 1
    assert any("not compared with the baseline" in note for note in written["notes"])


def test_baseline_by_the_rule_of_the_node_library(tmp_path: Path, good: Path, mixed: Path) -> None:
    before = tmp_path / "before.json"
    run(good, *FAITH, "--output", before)
    node = ("--baseline", before, "--policy", "node")
    done = run(mixed, *FAITH, *node)
    assert done.exit_code == 1
    expected = "FAIL  faithfulness mean 0.50 is 0.50 below the baseline's 1.00 (threshold 0.05)"
    assert done.stdout.splitlines()[-1] == expected
    assert run(mixed, *FAITH, *node, "--regression-threshold", 0.5).exit_code == 0
    assert run(good, *FAITH, *node).exit_code == 0


def test_a_summary_on_stdout_can_be_a_baseline_of_policy_node(
    tmp_path: Path, good: Path, mixed: Path
) -> None:
    before = tmp_path / "before.json"
    before.write_text(run(good, *FAITH, "--format", "json").stdout)
    assert run(mixed, *FAITH, "--baseline", before, "--policy", "node").exit_code == 1
    done = run(mixed, *FAITH, "--baseline", before)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.endswith(
        "Policy no-regression compares row by row; --policy node compares only means\n"
    )


def test_a_baseline_without_ids_names_the_policy_that_needs_none(
    tmp_path: Path, good: Path
) -> None:
    before = tmp_path / "before.json"
    run(samples(tmp_path / "nameless.jsonl", GOOD), *FAITH, "--output", before)
    done = run(good, *FAITH, "--baseline", before)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "id is missing" in done.stderr
    assert "--policy node compares only means" in done.stderr
    assert run(good, *FAITH, "--baseline", before, "--policy", "node").exit_code == 0


def test_baseline_of_the_node_library(tmp_path: Path) -> None:
    vectors = ROOT / "tests" / "conformance" / "rag_eval_node" / "samples_batch.json"
    node = tmp_path / "node.json"
    node.write_text(json.dumps(json.loads(vectors.read_text())["default"]["expected"]))
    done = run(HANDBOOK, "--baseline", node, "--policy", "node", "--format", "json")
    summary = json.loads(done.stdout)
    assert done.exit_code == 1
    assert [row["metricId"] for row in summary["regressions"]] == list(summary["aggregates"])
    assert "the baseline has no signature" in done.stderr
    assert len(summary["gates"]) == 7


def test_baseline_of_other_settings(tmp_path: Path, good: Path) -> None:
    before = tmp_path / "before.json"
    run(good, "--metrics", "hallucination_rate", "--output", before)
    config = tmp_path / "c.toml"
    config.write_text("[heuristic]\nclaim_support_threshold = 0.9")
    arguments = (good, "--metrics", "hallucination_rate", "--config", config, "--baseline", before)
    done = run(*arguments)
    assert done.exit_code == 2
    assert "claim_support_threshold: 0.9, not 0.15" in done.stderr
    forced = run(*arguments, "--allow-signature-mismatch")
    assert forced.exit_code == 0
    assert "note: the settings of the baseline were not checked" in forced.stderr
    other = run(good, *FAITH, "--baseline", before)
    assert "has none of the metrics of this run; it has hallucination_rate" in other.stderr


def test_flags_win_over_the_configuration_and_that_over_defaults(
    tmp_path: Path, mixed: Path
) -> None:
    config = tmp_path / "rag-eval.toml"
    config.write_text(
        'metrics = ["faithfulness", "answer_relevance"]\nmin_pass_rate = 0.5\n'
        "[thresholds]\nfaithfulness = 0\nanswer_relevance = 0\n"
    )
    flags = ("--composite-threshold", 0)
    assert run(mixed, "--config", config, *flags).exit_code == 0
    stricter = ("--thresholds", "faithfulness=0.9", "--format", "json")
    done = run(mixed, "--config", config, *flags, *stricter)
    aggregates = json.loads(done.stdout)["aggregates"]
    assert aggregates["faithfulness"]["passRate"] == 0.5
    assert aggregates["answerRelevance"]["passRate"] == 1
    assert run(mixed, "--config", config, *flags, *FAITH, "--min-pass-rate", 1).exit_code == 0
    config.write_text("min_pass_rat = 0.5")
    done = run(mixed, "--config", config)
    assert done.exit_code == 2
    assert done.stderr == (
        f"error: {config}: unknown key 'min_pass_rat'; did you mean 'min_pass_rate'?\n"
    )
