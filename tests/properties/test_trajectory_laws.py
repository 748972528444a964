"""Laws of trajectories and calls of tools, whatever the agent did."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rag_eval.scorers.mastra.tool_call_accuracy_code import order_kept
from rag_eval.trajectory import (
    check_trajectory_blacklist,
    compare_trajectories,
    create_trajectory_scorer_code,
    tool_call_accuracy,
    trajectory_score,
)

NAMES = st.sampled_from("abc")
CALLS = st.lists(NAMES, max_size=8)
ORDERINGS = st.sampled_from(["relaxed", "strict", "unordered"])

values = st.one_of(st.none(), st.integers(0, 1), st.lists(st.integers(0, 1), max_size=1))


@st.composite
def steps(draw: st.DrawFn, deepest: int = 2) -> list[dict[str, Any]]:
    """Steps of a few names, types and arguments, with others within them."""
    found = []
    for name in draw(st.lists(NAMES, max_size=5)):
        step: dict[str, Any] = {"name": name}
        step["stepType"] = draw(st.sampled_from(["tool_call", "model_generation", "agent_run"]))
        if draw(st.booleans()):
            step["toolArgs"] = draw(values)
        step["success"] = draw(st.booleans())
        if deepest and draw(st.integers(0, 3)) == 0:
            step["children"] = draw(steps(deepest - 1))
        found.append(step)
    return found


# So few that steps are often alike.
FEW_STEPS = st.lists(
    st.sampled_from(
        [
            {"name": "a", "stepType": "tool_call"},
            {"name": "a", "stepType": "tool_call", "toolArgs": 1},
            {"name": "a", "stepType": "agent_run"},
            {"name": "b", "stepType": "tool_call", "toolArgs": 1, "success": False},
        ]
    ),
    max_size=6,
)

expectations = st.fixed_dictionaries(
    {},
    optional={
        "steps": steps(),
        "ordering": ORDERINGS,
        "allowRepeatedSteps": st.booleans(),
        "maxSteps": st.integers(0, 4),
        "noRedundantCalls": st.booleans(),
        "maxRetriesPerTool": st.integers(0, 2),
        "blacklistedTools": st.lists(NAMES, max_size=1),
        "blacklistedSequences": st.lists(CALLS, max_size=2),
    },
)


def matches(expected: dict[str, Any], actual: dict[str, Any]) -> bool:
    """Whether steps are alike, by the definition; only these types and fields occur."""
    if expected["name"] != actual["name"]:
        return False
    if expected["stepType"] != actual["stepType"]:
        return False
    names = ("toolArgs", "success") if expected["stepType"] == "tool_call" else ()
    absent = object()
    return all(actual.get(n, absent) == expected[n] for n in names if n in expected)


def n_matched(actual: list[dict[str, Any]], expected: list[dict[str, Any]], ordering: str) -> int:
    """How many expected steps are matched, by looking each up from the start."""
    if ordering == "strict":
        return sum(matches(*pair) for pair in zip(expected, actual, strict=False))
    free = list(range(len(actual)))
    hits = 0
    for wanted in expected:
        place = next((place for place in free if matches(wanted, actual[place])), None)
        if place is None:
            continue
        hits += 1
        free = [n for n in free if n > place or (ordering == "unordered" and n != place)]
    return hits


@given(FEW_STEPS, FEW_STEPS, ORDERINGS)
def test_steps_are_matched_as_if_each_was_looked_for_from_the_start(
    actual: list[dict[str, Any]], expected: list[dict[str, Any]], ordering: str
) -> None:
    found = compare_trajectories(actual, expected, ordering=ordering)
    assert found.matched_steps == n_matched(actual, expected, ordering)
    assert len(found.missing_steps) == len(expected) - found.matched_steps
    assert 0 <= found.score <= 1


@given(steps(), ORDERINGS)
def test_what_was_expected_scores_1(expected: list[dict[str, Any]], ordering: str) -> None:
    found = compare_trajectories(expected, expected, ordering=ordering)
    assert found.score == 1
    assert found.missing_steps == found.extra_steps == found.out_of_order_steps == ()


@given(steps(0), steps(0).filter(bool), steps(0))
def test_more_steps_at_the_end_never_help_where_the_order_is_strict(
    actual: list[dict[str, Any]], expected: list[dict[str, Any]], more: list[dict[str, Any]]
) -> None:
    full = [*actual, *expected[len(actual) :]]
    before = compare_trajectories(full, expected, ordering="strict").score
    assert compare_trajectories([*full, *more], expected, ordering="strict").score <= before


@given(steps(0), steps(0).filter(bool), steps(0))
def test_more_steps_at_the_end_never_hurt_where_no_order_counts(
    actual: list[dict[str, Any]], expected: list[dict[str, Any]], more: list[dict[str, Any]]
) -> None:
    before = compare_trajectories(actual, expected, ordering="unordered").score
    assert compare_trajectories([*actual, *more], expected, ordering="unordered").score >= before


def test_one_more_step_may_hurt_where_the_order_is_relaxed() -> None:
    """The first step that fits is taken: a late ``b`` leaves those before it without a place."""
    expected = [{"name": name, "stepType": "tool_call"} for name in "abaa"]
    actual = [expected[0], expected[2], expected[3]]
    assert compare_trajectories(actual, expected, ordering="relaxed").score == 0.75
    assert compare_trajectories([*actual, expected[1]], expected, ordering="relaxed").score == 0.5


@given(steps(), expectations)
def test_all_in_one_is_a_score_and_what_is_forbidden_takes_it(
    taken: list[dict[str, Any]], expected: dict[str, Any]
) -> None:
    run = {"output": {"steps": taken}, "expectedTrajectory": expected}
    # Children of expected steps that are lists of steps are expectations of them.
    result = create_trajectory_scorer_code().run(run)
    assert result.score is not None
    assert 0 <= result.score <= 1
    assert result.score == round(result.score, 2)
    found = result.preprocess_result
    if "blacklist" in found and found["blacklist"]["score"] == 0:
        assert result.score == 0


@given(CALLS, st.lists(CALLS, max_size=3))
def test_forbidden_sequences_are_found_as_slices_are(
    names: list[str], sequences: list[list[str]]
) -> None:
    found = check_trajectory_blacklist(
        [{"name": name} for name in names], blacklisted_sequences=sequences
    )
    slices = {tuple(names[i:j]) for i in range(len(names)) for j in range(i + 1, len(names) + 1)}
    wanted = [tuple(sequence) for sequence in sequences if tuple(sequence) in slices]
    assert list(found.violated_sequences) == wanted


@given(CALLS, CALLS)
def test_calls_made_in_order_are_called(actual: list[str], expected: list[str]) -> None:
    ordered, called = trajectory_score(actual, expected), tool_call_accuracy(actual, expected)
    assert 0 <= ordered <= 1
    assert 0 <= called <= 1
    kept = order_kept(actual, expected, strict=False)
    assert kept == (ordered == 1)
    if kept:
        assert called == 1
    assert order_kept(actual, expected, strict=True) == (actual == expected)


@given(CALLS, CALLS, CALLS)
def test_more_calls_never_hurt(actual: list[str], expected: list[str], more: list[str]) -> None:
    for score in (trajectory_score, tool_call_accuracy):
        assert score([*actual, *more], expected) >= score(actual, expected)
    assert trajectory_score(expected, expected) == 1
