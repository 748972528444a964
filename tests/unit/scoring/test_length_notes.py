"""The warning that a judge goes by length: when it comes, of which rows, and what it costs."""

from __future__ import annotations

import random
from typing import Any

import rag_eval
from rag_eval.results.judged import JudgedScore
from rag_eval.samples import NullReason
from rag_eval.scoring.length_notes import LEAST_ROWS, MOST_ROWS, LengthNotes
from tests.fluent_judge import FluentJudge


def judged(score: float | None, native: float | None) -> dict[str, JudgedScore]:
    found = JudgedScore(
        score=score,
        null_reason=NullReason.MEASURED,
        mode="llm",
        judge_score=score,
        native_score=native,
    )
    return {"faithfulness": found}


def rows(
    n: int, *, by_length: float = 0.0, by_native: float = 0.0, seed: int = 1, native: bool = True
) -> list[tuple[str, str, dict[str, JudgedScore]]]:
    """Judged rows whose score goes with length, with the native score, or with neither."""
    chance = random.Random(seed)
    found = []
    for row in range(n):
        length, own, noise = chance.random(), chance.random(), chance.random()
        # Better answers are longer ones.
        n_characters = 10 + int(300 * (length + own))
        score = noise + by_length * length + by_native * own
        found.append((f"q{row}", "x" * n_characters, judged(score, own if native else None)))
    return found


def notes(given: list[tuple[str, str, dict[str, JudgedScore]]]) -> list[str]:
    found = LengthNotes(["faithfulness"])
    for row in given:
        found.add_row(*row)
    return found.notes()


def test_a_judge_that_likes_length_is_named_with_the_interval() -> None:
    (note,) = notes(rows(200, by_length=1.0))
    assert note.startswith(
        "faithfulness by the judge rises with the length of the answer at equal native score: "
        "rank correlation 0."
    )
    assert note.endswith("over 200 rows")
    assert " to 0." in note


def test_a_judge_that_likes_short_answers_is_named_too() -> None:
    (note,) = notes(rows(200, by_length=-1.5))
    assert "falls with the length" in note
    assert "rank correlation -0." in note


def test_length_that_comes_of_being_better_is_no_bias() -> None:
    """Plainly these scores rise with length; at equal native score they do not."""
    better = rows(300, by_native=2.0)
    assert notes(better) == []
    (note,) = notes(
        [(name, text, judged(s["faithfulness"].score, None)) for name, text, s in better]
    )
    assert "at equal native score" not in note
    assert note.endswith("no native score shows whether such answers are better")


def test_chance_few_rows_and_a_flat_judge_give_no_warning() -> None:
    # At 25 rows a third of all correlations are beyond 0.2 by chance, few of them for sure.
    assert sum(len(notes(rows(25, seed=seed))) for seed in range(30)) <= 4
    assert notes(rows(LEAST_ROWS - 1, by_length=9.0)) == []
    assert notes([(f"q{n}", "x" * n, judged(1.0, 0.5)) for n in range(100)]) == []
    failed = [(name, text, judged(None, 0.5)) for name, text, _ in rows(100)]
    assert notes(failed) == []


def test_a_sure_but_weak_correlation_is_not_spoken_of() -> None:
    assert notes(rows(1000, by_length=0.15)) == []


def test_of_many_rows_the_same_are_looked_at_in_any_order() -> None:
    given = rows(5 * MOST_ROWS // 2, by_length=1.0)
    given += given[:50]  # repeats of a row
    given += [(name, text, judged(None, None)) for name, text, _ in given[50:80]]
    forwards, backwards = notes(given), notes(given[::-1])
    assert forwards == backwards
    n_rows = int(forwards[0].partition(" over ")[2].split()[0].replace(",", ""))
    # Those that the judge failed on have no score to look at.
    assert 0.97 * MOST_ROWS < n_rows <= MOST_ROWS


def samples(n: int) -> list[dict[str, str | list[str]]]:
    return [
        {
            "id": f"q{row}",
            "question": "What is there?",
            "answer": "There is a tower. " * (row % 9 + 1) + f"It is number {row}.",
            "contexts": ["There is a tower."],
        }
        for row in range(n)
    ]


def test_every_judged_batch_is_looked_at() -> None:
    def by_length(text: str) -> float:
        return min(1.0, len(text) / 200)

    options: dict[str, Any] = {"mode": "llm", "judge_style": "rating"}
    found = rag_eval.evaluate_batch(
        samples(60), ["answer_relevance"], judge=FluentJudge(by_length), **options
    )
    assert found.judging is not None
    (note,) = [note for note in found.judging.notes if "length of the answer" in note]
    assert note.startswith("answer_relevance by the judge rises with the length of the answer")
    assert note in found.judging.to_dict()["notes"]
    fair = rag_eval.evaluate_batch(
        samples(60), ["answer_relevance"], judge=FluentJudge(lambda _: 1.0), **options
    )
    assert fair.judging is not None
    assert not [note for note in fair.judging.notes if "length of the answer" in note]


def test_scores_of_kernels_alone_are_not_looked_at() -> None:
    assert rag_eval.evaluate_batch(samples(30), ["answer_relevance"]).judging is None
