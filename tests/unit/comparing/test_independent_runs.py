"""Runs on different rows: what is described, and what is not decided; nulls at their worst."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from click.testing import CliRunner

from rag_eval.cli.compare import compare_command
from rag_eval.comparing import compare, compare_independent
from rag_eval.errors import InputError
from rag_eval.stats.differences import independent_difference
from tests.scored_runs import scored_run
from tests.tables import every_row

OLD = [0.2, 0.4, 0.9, 0.5, 0.7, 0.1]
NEW = [0.6, 0.8, 0.7, 0.9, 1.0]


def test_the_interval_is_welchs() -> None:
    theirs = scipy.stats.ttest_ind(NEW, OLD, equal_var=False).confidence_interval(0.9)
    found = independent_difference(OLD, [*NEW, np.nan], level=0.9)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert found.estimate == pytest.approx(np.mean(NEW) - np.mean(OLD))


@every_row(("left", "right"), [([0.5], NEW), ([0.5] * 4, [0.7] * 3), ([], NEW)])
def test_too_few_or_constant_scores_have_no_interval(left: list[float], right: list[float]) -> None:
    found = independent_difference(left, right)
    assert (found.low, found.high, found.too_few) == (None, None, True)


def test_two_runs_are_described_and_not_tested() -> None:
    old = scored_run("old", {"faithfulness": OLD, "mastra.hallucination": OLD})
    new = scored_run("new", {"faithfulness": NEW, "mastra.hallucination": NEW})
    found = compare_independent(old, new)
    assert (found.n_old, found.n_new) == (6, 5)
    faithfulness, hallucination = found.changes
    assert (faithfulness.higher_is_better, hallucination.higher_is_better) == (True, False)
    # 25 pairs are above, 3 below, 2 tie.
    above = sum(new > old for new in NEW for old in OLD)
    below = sum(new < old for new in NEW for old in OLD)
    assert faithfulness.cliffs_delta == pytest.approx((above - below) / 30)
    assert faithfulness.hedges_g is not None
    assert faithfulness.hedges_g > 1
    assert "the runs share 5 ids; pairing them is more precise" in found.notes


@every_row("which", [0, 1])
def test_either_run_may_say_that_less_is_better(which: int) -> None:
    runs = [scored_run("a", {"latency": OLD}), scored_run("b", {"latency": NEW})]
    assert compare_independent(*runs).changes[0].higher_is_better
    runs[which] = replace(runs[which], lower_is_better=frozenset({"latency"}))
    assert not compare_independent(*runs).changes[0].higher_is_better


def test_runs_without_a_common_metric_are_refused() -> None:
    old, new = scored_run("a", {"faithfulness": OLD}), scored_run("b", {"context_recall": OLD})
    with pytest.raises(InputError, match="a and b have no metric in common"):
        compare_independent(old, new)


def test_the_command_says_it_in_every_form(tmp_path) -> None:  # noqa: ANN001
    for name, scores in (("old", OLD), ("new", NEW)):
        lines = [f'{{"id": "{name}{i}", "faithfulness": {x}}}\n' for i, x in enumerate(scores)]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    files = [str(tmp_path / "old.jsonl"), str(tmp_path / "new.jsonl"), "--independent"]
    shown = CliRunner().invoke(compare_command, files)
    assert "Cliff's" in shown.stdout
    assert "+0.333 [" in shown.stdout
    (change,) = json.loads(CliRunner().invoke(compare_command, [*files, "--format=json"]).stdout)[
        "changes"
    ]
    assert change["delta"] == pytest.approx(np.mean(NEW) - np.mean(OLD))
    markdown = CliRunner().invoke(compare_command, [*files, "--format", "markdown"]).stdout
    assert "| faithfulness | 0.47 (6/6) | 0.80 (5/5) |" in markdown
    refused = CliRunner().invoke(compare_command, [*files, "--slice", "topic"])
    assert refused.exit_code == 2
    assert "remove --slice" in refused.output


def test_nulls_at_their_worst_bound_the_difference() -> None:
    old = scored_run("old", {"faithfulness": [0.5, 0.5, None, 0.5], "context_recall": OLD[:4]})
    new = scored_run("new", {"faithfulness": [0.7, None, 0.7, 0.7], "context_recall": OLD[:4]})
    found = compare(old, new)
    # Two differences are known; 0.5 became something, and something became 0.7.
    assert found.worst_case_of(found.change("faithfulness")) == pytest.approx(
        ((0.2 + 0.2 - 0.5 - 0.3) / 4, (0.2 + 0.2 + 0.5 + 0.7) / 4)
    )
    assert found.worst_case_of(found.change("context_recall")) is None
    # Scores that came into being leave as much unknown as scores that went.
    gained = scored_run("full", {"faithfulness": [0.7] * 4, "context_recall": OLD[:4]})
    risen = compare(old, gained)
    assert risen.worst_case_of(risen.change("faithfulness")) == pytest.approx((0.075, 0.325))
    told = found.to_dict(worst_case=True)["changes"]
    assert [change["worstCase"] is None for change in told][:2] == [False, True]
