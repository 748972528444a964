"""Repeats, several judges, and who stands behind them."""

from __future__ import annotations

import json
import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError
from rag_eval.judge.agreement import agreement_of, reliability
from rag_eval.judge.repeats import is_flaky, mean_of, measured, passes, spread_of
from rag_eval.judge.replies import JudgeIdentity
from rag_eval.judge.server_urls import independence_warnings
from rag_eval.stats import pearson
from rag_eval.stats.index_sources import Resampling
from rag_eval.stats.krippendorff import krippendorff_alpha
from tests.tables import every_row

SCORES = st.one_of(st.none(), st.floats(0, 1))

# ------------------------------------------------------------------------------------ repeats


@given(st.lists(SCORES, max_size=8))
def test_mean_and_spread_are_over_the_repeats_that_gave_a_score(
    scores: list[float | None],
) -> None:
    mean, spread = mean_of(scores), spread_of(scores)
    known = [score for score in scores if score is not None]
    if not known:
        assert mean is None
    else:
        assert mean == pytest.approx(statistics.fmean(known), rel=1e-15)
        assert min(known) <= mean <= max(known)
    if len(known) < 2:
        assert spread is None
    else:
        assert spread == pytest.approx(statistics.stdev(known), rel=1e-9, abs=1e-12)


def test_equal_repeats_have_their_score_as_mean_and_no_spread() -> None:
    """0.7 three times by three is less than 0.7."""
    for score in (0.1, 0.7, 1 / 3):
        assert (mean_of([score] * 3), spread_of([score] * 3)) == (score, 0)


def test_a_failed_repeat_is_no_zero() -> None:
    assert mean_of(map(measured, [1.0, None, 0.5, math.nan])) == 0.75
    assert spread_of([1.0, None, 0.5, math.nan]) == pytest.approx(math.sqrt(0.125))
    assert (mean_of([None]), spread_of([None]), is_flaky([None], 0.5)) == (None, None, False)
    assert mean_of([]) is None
    assert measured(math.nan) is None
    assert measured(0.0) == 0


@every_row(
    ("scores", "threshold", "flaky"),
    [
        ([0.4, 0.6], 0.5, True),
        ([0.5, 0.6], 0.5, False),
        ([0.5, 0.4], 0.5, True),
        ([0.4, None, 0.3], 0.5, False),
        ([0.0, 1.0], None, False),
        ([], 0.5, False),
    ],
)
def test_a_row_is_flaky_when_its_verdicts_differ(
    scores: list[float | None], threshold: float | None, flaky: bool
) -> None:
    assert is_flaky(scores, threshold) is flaky


def test_a_score_on_the_threshold_passes_on_either_side() -> None:
    assert passes(0.5, 0.5)
    assert passes(0.5, 0.5, higher_is_better=False)
    assert not passes(0.6, 0.5, higher_is_better=False)
    assert not is_flaky([0.5, 0.4], 0.5, higher_is_better=False)
    assert is_flaky([0.5, 0.6], 0.5, higher_is_better=False)


# ------------------------------------------------------------------------------ several judges


def test_judges_that_agree() -> None:
    found = agreement_of([[0.0, 0.5, 1.0]] * 3, judges=["a", "b", "c"], threshold=0.5)
    assert (found.mean_abs_diff, found.alpha_ordinal) == (0, 1)
    assert found.pearson == pytest.approx(1)
    assert found.alpha_verdicts == 1
    assert found.alpha is not None
    assert found.alpha.estimate == 1
    assert [(pair.left, pair.right) for pair in found.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]


def test_pairs_are_compared_on_the_rows_that_both_have_scored() -> None:
    found = agreement_of([[0.0, 0.5, None, 1.0], [0.2, None, 0.3, 0.6], [None, 0.9, None, None]])
    assert found.judges == ("judge 1", "judge 2", "judge 3")
    first, second, third = found.pairs
    assert (first.n_rows, second.n_rows, third.n_rows) == (2, 1, 0)
    assert first.mean_abs_diff == pytest.approx(0.3)
    assert first.pearson == pytest.approx(1)
    assert (second.mean_abs_diff, second.pearson) == (pytest.approx(0.4), None)
    assert (third.mean_abs_diff, third.pearson) == (None, None)
    # The mean of the pairs where there is one.
    assert found.mean_abs_diff == pytest.approx(0.35)
    assert found.pearson == pytest.approx(1)
    assert (found.n_rows, found.n_complete) == (4, 0)
    assert found.means == (0.5, pytest.approx(1.1 / 3), 0.9)


def test_a_judge_that_always_says_the_same_correlates_with_nobody() -> None:
    found = agreement_of([[0.7, 0.7, 0.7], [0.1, 0.5, 0.9], [0.2, 0.4, 0.9]])
    assert [pair.pearson is None for pair in found.pairs] == [True, True, False]
    assert found.pearson == found.pairs[2].pearson


def test_pearson_needs_two_rows() -> None:
    assert pearson([], []) is None
    assert pearson([1.0], [2.0]) is None
    assert pearson([1.0, 2.0], [5.0, 3.0]) == pytest.approx(-1)


def test_alpha_of_scores_and_of_verdicts() -> None:
    scores = [[0.1, 0.6, 0.9, 0.5, None], [0.2, 0.4, 0.8, 0.3, 0.5]]
    found = agreement_of(
        scores, threshold=0.5, resampling=Resampling(seed=3, n_resamples=200, level=0.9)
    )
    assert found.alpha is not None
    assert found.alpha.estimate == krippendorff_alpha(scores)
    assert (found.alpha.level, found.alpha.n_groups) == (0.9, 4)
    assert found.alpha_ordinal == krippendorff_alpha(scores, measurement="ordinal")
    verdicts = [[0, 1, 1, 1, None], [0, 0, 1, 0, 1]]
    assert found.alpha_verdicts == krippendorff_alpha(verdicts, measurement="nominal")
    assert agreement_of(scores).alpha_verdicts is None
    assert agreement_of(scores, threshold=0.0).alpha_verdicts is None  # all pass
    below = agreement_of(scores, threshold=0.5, higher_is_better=False)
    assert below.alpha_verdicts == krippendorff_alpha(
        [[1, 0, 0, 1, None], [1, 1, 0, 1, 1]], measurement="nominal"
    )


def test_an_array_of_scores_is_read_as_lists_are() -> None:
    scores = [[0.1, None, 0.9], [0.2, 0.4, 0.8]]
    assert agreement_of(np.array(scores, np.float64)) == agreement_of(scores)


def test_no_rows_and_no_scores_give_no_agreement() -> None:
    for scores in ([[], []], [[None, None], [None, None]]):
        found = agreement_of(scores, threshold=0.5)
        assert (found.alpha, found.pearson, found.mean_abs_diff) == (None, None, None)
        assert "–" in found.text()


@every_row(
    ("scores", "judges", "message"),
    [
        ([[1.0, 2.0]], None, "at least two judges, got 1"),
        ([[1.0, 2.0], [1.0]], None, "a score or None for every row"),
        ([[1.0], [1.0]], ["a"], "2 judges have 1 names"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    scores: list[list[float]], judges: list[str] | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        agreement_of(scores, judges=judges)


def test_the_report_in_words_and_as_json() -> None:
    scores = [[0.0, 0.5, 1.0, 0.5], [0.0, 0.5, 1.0, 0.25]]
    found = agreement_of(scores, judges=["openai:a", "anthropic:b"], threshold=0.5)
    text = found.text()
    assert "2 judges on 4 rows, 4 scored by all: mean openai:a 0.50, anthropic:b 0.44" in text
    assert "mean difference between two judges 0.06, Pearson 0.96" in text
    assert found.alpha is not None
    assert f"Krippendorff's alpha 0.95 (95 % interval {found.alpha.low:.2f} to" in text
    assert "lower bound: worse than chance" in text
    value = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert value["judges"] == ["openai:a", "anthropic:b"]
    assert value["pairs"][0]["nRows"] == 4
    assert value["alpha"]["nGroups"] == 4


@every_row(
    ("alpha", "words"),
    [
        (0.8, "reliable"),
        (0.7999, "enough for tentative conclusions"),
        (0.667, "enough for tentative conclusions"),
        (0.5, "poor"),
        (0.0, "barely better than chance"),
        (-0.01, "worse than chance"),
    ],
)
def test_what_an_alpha_means(alpha: float, words: str) -> None:
    assert reliability(alpha) == words


# ------------------------------------------------------------------------------- independence


@every_row(
    ("judges", "vendor"),
    [
        ([], None),
        (["openai"], None),
        (["openai", "openai"], "openai"),
        (["anthropic"] * 3, "anthropic"),
        (["openai", "anthropic"], None),
        (["openai", "callable"], None),
        (["callable", "callable"], None),
    ],
)
def test_who_is_independent(judges: list[str], vendor: str | None) -> None:
    found = independence_warnings([JudgeIdentity(provider, "m") for provider in judges])
    assert len(found) == (vendor is not None)
    if vendor is not None:
        assert found[0].startswith(f"all {len(judges)} judges are from one vendor ({vendor}): they")


def test_a_server_of_ones_own_is_of_no_known_vendor() -> None:
    local = JudgeIdentity("openai", "llama", "http://127.0.0.1:11434/v1")
    assert independence_warnings([local, local]) == ()
    own = JudgeIdentity("openai", "gpt", "https://api.openai.com/v1")
    assert len(independence_warnings([own, JudgeIdentity("openai", "gpt-2")])) == 1
