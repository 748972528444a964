"""Checks of a judge on rows of a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.jobs.judge_checks import check_judge
from tests.fluent_judge import FluentJudge, read_prompt

ROWS = [
    {
        "id": f"q{n}",
        "question": "What grows here?",
        "answer": "Rye grows here. " * (1 + n % 5) + "Barley, oats, hops. " * (n % 3 == 0),
        "contexts": [f"Field {n} is rye.", f"Field {n} was wheat.", "Nothing else."],
    }
    for n in range(30)
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


class Swayed(FluentJudge):
    """Gives long answers the best rating, unless it is told that length is no merit."""

    def __call__(self, prompt: str) -> str:
        told = "Length is no merit" in prompt
        answer = read_prompt(prompt).texts("answer")[0]
        level = 0.5 if told or len(answer) < 40 else 1.0
        return FluentJudge(lambda text: level)(prompt)


def checked(data: Path, judge: Any, **options: Any) -> Any:
    return check_judge(data, judge=judge, judge_style="rating", **options)


def test_a_judge_that_the_words_move_is_told_from_one_they_do_not(data: Path) -> None:
    moved = checked(data, Swayed())
    assert moved.debias.level == "strong"
    assert moved.debias.scores.difference.low > 0
    steady = checked(data, FluentJudge(lambda text: 0.5))
    assert steady.debias.level == "none"


def test_score_and_length_are_compared_at_equal_native_score(data: Path) -> None:
    class Counting(FluentJudge):
        def __call__(self, prompt: str) -> str:
            length = len(read_prompt(prompt).texts("answer")[0])
            return FluentJudge(lambda text: min(1.0, length / 80))(prompt)

    found = checked(data, Counting())
    assert found.length.given_native
    assert found.length.correlation is not None
    assert found.length.correlation.estimate > 0.9


def test_shuffled_chunks_are_judged_as_rows_of_their_own(data: Path) -> None:
    class First(FluentJudge):
        def __call__(self, prompt: str) -> str:
            first = read_prompt(prompt).texts("chunk")[0]
            return FluentJudge(lambda text: float("rye" in first))(prompt)

    judge = First()
    found = checked(data, judge, n_rows=12, n_shuffles=2)
    assert found.n_rows == 12
    assert found.position is not None
    assert found.position.flipped
    assert found.position.scores.difference.estimate < 0
    assert found.llm_calls == 12 * 4
    assert checked(data, First(), n_rows=12).position is None


def test_the_draw_follows_the_seed(data: Path) -> None:
    def drawn(seed: int) -> set[str]:
        judge = FluentJudge()
        found = checked(data, judge, n_rows=5, seed=seed)
        return {pair.row for pair in found.debias.scores.pairs}

    assert drawn(1) == drawn(1)
    assert len(drawn(1)) == 5
    assert drawn(1) != drawn(2)


def test_a_seed_that_cannot_be_is_refused_before_any_call(data: Path) -> None:
    judge = FluentJudge()
    for seed in (-1, 2**256):
        with pytest.raises(InputError, match="seed must be"):
            check_judge(data, judge=judge, seed=seed)
    assert judge.n_calls == 0


def test_a_metric_about_order_is_not_shuffled(data: Path) -> None:
    with pytest.raises(InputError, match="depends on the order of contexts"):
        check_judge(data, "context_precision", n_shuffles=1, judge=FluentJudge())


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text("")
    with pytest.raises(InputError, match="holds no samples"):
        check_judge(path, judge=FluentJudge())


def test_the_report_is_json_and_text(data: Path) -> None:
    found = checked(data, FluentJudge(), n_rows=6, n_shuffles=1)
    assert json.loads(json.dumps(found.to_dict()))["metricId"] == "faithfulness"
    assert "sensitivity to the wording" in found.text()
    assert "order of contexts" in found.text()
