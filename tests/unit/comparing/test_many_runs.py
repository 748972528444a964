"""Leaderboards: who is listed where, which rows count, and what letters and ranks say."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval import compare_runs, evaluate
from rag_eval.comparing import Leaderboard
from rag_eval.comparing.leaderboard import group_letters, wins_of
from rag_eval.errors import InputError, SignatureMismatchError
from rag_eval.options.signature import Signature
from rag_eval.results.verdicts import NO_VERDICT
from rag_eval.runs.scored_run import ScoredRun

N = 80


def run_of(name: str, *, ids: Any = None, columns: Any = None, **scores: Any) -> ScoredRun:
    table = np.stack([np.asarray(column, np.float64) for column in scores.values()], axis=1)
    n = len(table)
    return ScoredRun(
        name=name,
        ids=[f"q{row}" for row in range(n)] if ids is None else ids,
        metrics=tuple(scores),
        scores=table,
        null_reasons=np.isnan(table).astype(np.uint8),
        metric_passed=np.full(table.shape, NO_VERDICT, np.int8),
        composite=np.full(n, np.nan),
        passed=np.full(n, NO_VERDICT, np.int8),
        columns=columns or {},
    )


def runs(*shifts: float, metric: str = "faithfulness") -> list[ScoredRun]:
    generator = np.random.default_rng(1)
    base = generator.uniform(0.3, 0.6, N)
    return [
        run_of(f"run{number}", **{metric: base + shift + generator.normal(0, 0.05, N)})
        for number, shift in enumerate(shifts)
    ]


def listed(board: Leaderboard, metric: str = "faithfulness") -> list[tuple[str, str, int, int]]:
    return [
        (board.runs[place.run], place.groups, place.best_rank, place.worst_rank)
        for place in board.board(metric).places
    ]


def test_runs_are_listed_best_first_with_the_ranks_that_are_open() -> None:
    found = compare_runs(runs(0.0, 0.2, 0.001, 0.1), n_resamples=999)
    assert listed(found) == [
        ("run1", "a", 1, 1),
        ("run3", "b", 2, 2),
        ("run2", "c", 3, 4),
        ("run0", "c", 3, 4),
    ]
    difference, low, high = found.board("faithfulness").difference(0, 1)
    assert low is not None
    assert high is not None
    assert low < difference < high < 0
    assert difference == pytest.approx(-0.2, abs=0.03)


def test_where_lower_is_better_the_lowest_leads() -> None:
    low = {"lower_is_better": ["own.noise"]}
    found = compare_runs(runs(0.0, 0.2, 0.1, metric="own.noise"), n_resamples=499, **low)  # type: ignore[arg-type]
    assert [name for name, *_ in listed(found, "own.noise")] == ["run0", "run2", "run1"]
    assert found.board("own.noise").wins[0, 1] > N / 2


def test_a_row_counts_where_every_run_has_a_score() -> None:
    first, second, third = runs(0.0, 0.0, 0.0)
    third.scores[:10] = np.nan
    second = run_of("run1", ids=[*second.ids[5:], *"abcde"], faithfulness=second.scores[:, 0])
    found = compare_runs([first, second, third], n_resamples=99)
    board = found.board("faithfulness")
    assert (found.n_shared, board.n, board.n_incomplete) == (N - 5, N - 10, 5)
    assert found.notes == (
        "run0 has 5 rows that other runs lack",
        "run1 has 5 rows that other runs lack",
        "run2 has 5 rows that other runs lack",
        "faithfulness: 5 rows left out, because a run has no score for them",
    )


def test_slices_and_clusters() -> None:
    systems = runs(0.0, 0.1, 0.2)
    topics = {"topic": ["a", "b"] * (N // 2), "document": [f"d{row // 4}" for row in range(N)]}
    named = [
        run_of(
            run.name,
            columns=topics,
            faithfulness=run.scores[:, 0],
            answer_relevance=0.5 + 0 * run.scores[:, 0],
        )
        for run in systems
    ]
    found = compare_runs(named, slices=["topic"], cluster_by="document", n_resamples=999)
    assert [(board.name, str(board.slice), board.n) for board in found.boards] == [
        ("faithfulness", "None", N),
        ("answer_relevance", "None", N),
        ("faithfulness", "topic=a", N // 2),
        ("answer_relevance", "topic=a", N // 2),
        ("faithfulness", "topic=b", N // 2),
        ("answer_relevance", "topic=b", N // 2),
    ]
    assert {groups for _, groups, *_ in listed(found, "answer_relevance")} == {"a"}


def test_what_does_not_gate_has_a_family_of_its_own() -> None:
    both = [
        run_of(run.name, faithfulness=run.scores[:, 0], context_recall=run.scores[:, 0])
        for run in runs(0.0, 0.03)
    ]
    found = compare_runs(both, gating=["context_recall"], n_resamples=999)
    alone = compare_runs(runs(0.0, 0.03), n_resamples=999)
    for metric in ("faithfulness", "context_recall"):
        pairs = found.board(metric).pairs
        np.testing.assert_array_equal(pairs.low, alone.board("faithfulness").pairs.low)


def test_any_form_of_runs_and_their_errors() -> None:
    first, second = runs(0.0, 0.1)
    assert compare_runs({"x": first, "y": second}, n_resamples=9).runs == ("x", "y")
    wrong: list[tuple[Any, str]] = [
        ([first], "two or more runs, got 1"),
        ("runs.json", "runs must be a list of runs"),
        ([first, first], "run0 is given 2 times"),
        ([first, run_of("z", ids=list("ab"), faithfulness=[0, 1])], "no id is in all runs"),
        ([first, run_of("z", context_recall=[0, 1])], "run0 and z have no metric in common"),
    ]
    for given_runs, message in wrong:
        with pytest.raises(InputError, match=message):
            compare_runs(given_runs)


def test_as_json_and_as_a_frame() -> None:
    pytest.importorskip("pandas")
    found = compare_runs(runs(0.0, 0.2, 0.2), n_resamples=99, ranks=True)
    [board] = found.to_dict()["boards"]
    assert [place["run"] for place in board["places"]][2] == "run0"
    assert {(pair["run"], pair["other"]) for pair in board["pairs"]} == {
        ("run1", "run0"),
        ("run2", "run0"),
        ("run2", "run1"),
    }
    assert all(pair["wins"] + pair["ties"] + pair["losses"] == N for pair in board["pairs"])
    assert board["ranks"]["pValue"] < 0.001
    frame = found.to_pandas()
    assert frame["run"].tolist() == [place["run"] for place in board["places"]]
    assert frame["behind_best"].tolist()[0] == 0


def test_wins_are_more_than_epsilon() -> None:
    scores = np.array([[0.5, 0.5 + 1e-12], [0.1, 0.2], [0.3, 0.0]])
    assert wins_of(scores, 1e-9).tolist() == [[0, 1], [1, 0]]


@given(st.integers(1, 7), st.data())
def test_two_share_a_letter_if_and_only_if_they_are_not_told_apart(k: int, data: Any) -> None:
    apart = np.zeros((k, k), np.bool_)
    for a in range(k):
        for b in range(a):
            apart[a, b] = apart[b, a] = data.draw(st.booleans())
    letters = group_letters(range(k), apart)
    for a in range(k):
        assert letters[a]
        for b in range(a):
            assert bool(set(letters[a]) & set(letters[b])) != apart[a, b]


def test_other_settings_are_refused_unless_forced() -> None:
    first, second, third = runs(0.0, 0.1, 0.2)
    signed = [replace(run, signature=sign("overlap")) for run in (first, second)]
    other = replace(third, signature=sign("grounded"))
    with pytest.raises(SignatureMismatchError, match="run2"):
        compare_runs([*signed, other])
    found = compare_runs([*signed, other], force=True, n_resamples=9)
    assert all(text.startswith("run0 and run2: ") for text in found.differences)
    assert found.differences


def sign(profile: Any) -> Signature:
    sample = {"question": "a b", "answer": "a", "contexts": ["a"]}
    signature = evaluate(sample, ["faithfulness"], profile=profile).signature
    assert signature is not None
    return signature


def test_nothing_measured_in_common_is_said() -> None:
    first, second, third = runs(0.0, 0.1, 0.2)
    first.scores[::2] = np.nan
    second.scores[1::2] = np.nan
    board = compare_runs([first, second, third], n_resamples=9).board("faithfulness")
    assert board.n == 0
    assert all(math.isnan(place.mean.estimate) for place in board.places)
