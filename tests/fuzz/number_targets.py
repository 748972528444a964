"""Rankings, resamples and exact sums against their definitions."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pytest

from rag_eval.kernels.exact_moments import ExactMoments
from rag_eval.retrieval import evaluate_arrays, evaluate_rankings
from rag_eval.retrieval import kernels as ranking_door
from rag_eval.stats import resampling
from tests.differential.test_rankings import arrays_of, names_of
from tests.fuzz import hostile_texts
from tests.fuzz.running import Target
from tests.grounded_samples import Choices
from tests.oracle import rankings as oracle
from tests.oracle import resampling as resampling_oracle

_SIZES: Final = (0, 1, 2, 3, 4, 5, 62, 63, 64, 65, 66, 127, 128, 129, 190)
_IDS: Final = (0, 1, -1, 2**63 - 1, -(2**63), 2**32, 2**32 + 1, -(2**32))


def _documents(choices: Choices, n: int) -> list[int]:
    """Ids of a few kinds: close to one another, far apart, equal in their lower or upper bits."""
    step = choices.of((1, 1, 7, 2**16, 2**32, 2**48))
    return [
        choices.of(_IDS) if choices.one_in(30) else (choices.below(24) - 4) * step for _ in range(n)
    ]


def _graded(choices: Choices) -> dict[int, int]:
    n = choices.of((0, 1, 3, 12, 40))
    return {document: choices.below(7) - 2 for document in _documents(choices, n)}


def rankings(choices: Choices) -> None:
    """Integer arrays: ids that come twice, ids nobody judged, grades below 0, any cut."""
    rows = [
        (_documents(choices, choices.of((0, 1, 5, 25, 90))), _graded(choices))
        for _ in range(choices.between(1, 5))
    ]
    options: dict[str, Any] = {
        "relevance_level": choices.between(1, 4),
        "gain": choices.of(("linear", "exponential")),
        "max_grade": 5,
        "p": choices.of((0.0, 0.5, 0.95)),
    }
    cutoff = choices.of((None, 1, 3, 10, 1000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking_door, "_ROWS_PER_CALL", choices.of((1, 2, 1000)))
        found = evaluate_arrays(*arrays_of(rows), names_of(cutoff), **options)
    assert ((found.values >= 0) & (found.values <= 1 + 1e-12)).all()
    for row, (ranking, grades) in enumerate(rows):
        wanted = oracle.measures(
            ranking,
            grades,
            level=options["relevance_level"],
            exponential=options["gain"] == "exponential",
            max_grade=5,
            p=options["p"],
            cutoff=cutoff,
        )
        assert_measures(dict(zip(found.measures, found.values[row].tolist(), strict=True)), wanted)


def high_grades(choices: Choices) -> None:
    """Grades that are too many to be counted one by one, and are sorted."""
    grades = {
        document: choices.of(
            (1, 3, 255, 256, 257, 100_000, 2**31 - 1, -(2**31), choices.below(999))
        )
        for document in _documents(choices, choices.of((1, 5, 40, 300)))
    }
    ranking = choices.some([*grades, -1], 0, 60)
    cutoff = choices.of((None, 1, 5, 1000))
    names = ["ndcg" if cutoff is None else f"ndcg@{cutoff}", "bpref"]
    found = evaluate_arrays(*arrays_of([(ranking, grades)]), names, relevance_level=256)
    every = list(dict.fromkeys(ranking))
    relevant = {document for document, grade in grades.items() if grade >= 256}
    wanted = {
        "ndcg": oracle.ndcg(every[:cutoff], grades, False, cutoff),
        "bpref": oracle.bpref(every, grades, relevant),
    }
    assert_measures(dict(zip(found.measures, found.values[0].tolist(), strict=True)), wanted)


def assert_measures(found: dict[str, float], wanted: dict[str, float]) -> None:
    for name, value in found.items():
        kind = name.removeprefix("ir.").split("@")[0]
        if kind in {"ndcg", "rbp"}:
            assert math.isclose(value, wanted[kind], rel_tol=1e-13, abs_tol=1e-15), name
        else:
            assert value == wanted[kind], name


def runs(choices: Choices) -> None:
    """Mappings of scores, with ties and odd numbers, and lists; ids of any text."""
    pool = [hostile_texts.piece_of(choices, False) + str(n) for n in range(choices.between(1, 9))]
    qrels = {
        query: {document: choices.below(5) - 1 for document in choices.some(pool, 1, 6)}
        for query in range(choices.between(1, 4))
    }
    scores = (0.0, -0.0, 1.0, 1.0 + 1e-12, -1.5, math.inf, -math.inf, 1e300, 5e-324, 3)
    run: dict[Any, Any] = {}
    order: dict[Any, list[str]] = {}
    for query in qrels:
        retrieved = choices.some(pool, 0, 9)
        run[query], order[query] = retrieved, retrieved
        if choices.below(2):
            run[query] = {document: choices.of(scores) for document in retrieved}
            order[query] = trec_order(run[query])
    found = evaluate_rankings(run, qrels, names_of(5)).to_dict()
    assert list(found) == list(qrels)
    for query, row in found.items():
        assert_measures(row, oracle.measures(order[query], qrels[query], cutoff=5))


def trec_order(scored: dict[str, float]) -> list[str]:
    """Scores of 32 bits fall; of equal ones the higher id comes first, by its bytes."""
    with np.errstate(over="ignore"):
        single = {document: float(np.float32(score)) for document, score in scored.items()}
    return sorted(scored, key=lambda document: (single[document], document.encode()), reverse=True)


def resamples(choices: Choices) -> None:
    """Drawn sums at the sizes where strips of columns end."""
    n_rows, n_columns = choices.of(_SIZES), choices.between(1, 9)
    n_resamples = choices.between(1, 5)
    seed = choices.of((0, 1, choices.below(1 << 16), 2**64 - 1, 2**64, 2**200 + 3))
    chance = np.random.default_rng(choices.below(1 << 16))
    rows = chance.normal(size=(n_rows, n_columns)) * choices.of((1.0, 1e-9, 1e12))
    if n_rows:
        rows[choices.below(n_rows), choices.below(n_columns)] = choices.of((0.0, -0.0, 1e300, 1))
    if choices.one_in(2):
        rows = np.asfortranarray(rows)
    with pytest.MonkeyPatch.context() as patch:
        for name, values in (
            ("_CELLS_FOR_THREADS", (0, 1 << 22)),
            ("_DRAWS_PER_CALL", (1, 100, 1 << 20)),
        ):
            patch.setattr(resampling, name, choices.of(values))
        threads = choices.between(1, 3)
        drawn = resampling.resampled_sums(rows, n_resamples, seed, threads)
    assert drawn.shape == (n_resamples, n_columns)
    if not n_rows:
        assert not drawn.any()
        return
    assert drawn.tolist() == resampling_oracle.drawn_sums(rows.tolist(), n_resamples, seed)
    begin = choices.below(n_resamples)
    places = resampling.drawn_places(n_rows, n_resamples, seed, begin)
    assert places.tolist() == [
        resampling_oracle.drawn(n_rows, seed, resample) for resample in range(begin, n_resamples)
    ]


def exact_sums(choices: Choices) -> None:
    """Sums and squares of doubles of any exponent, in any order and in parts."""
    values = np.array([_double(choices) for _ in range(choices.of((0, 1, 3, 40, 200)))])
    measured = values[~np.isnan(values)].tolist()
    whole, parts = ExactMoments(), ExactMoments()
    whole.add(values)
    cut = choices.below(len(values) + 1)
    for part in (values[cut:][::-1], values[:cut]):
        other = ExactMoments()
        other.add(part)
        parts.merge(other)
    for moments in (whole, parts):
        assert moments.count == len(measured)
        assert Fraction(moments.total, 2**1074) == sum(map(Fraction, measured))
        assert Fraction(moments.squares, 2**2148) == sum(Fraction(value) ** 2 for value in measured)


def _double(choices: Choices) -> float:
    if choices.one_in(4):
        return choices.of((math.nan, 0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, sys.float_info.max))
    bits = [choices.below(1 << 16) for _ in range(4)]
    (found,) = np.array(bits, np.uint16).view(np.float64).tolist()
    return found if math.isfinite(found) else 0.5


TARGETS: Final[dict[str, Target]] = {
    "rankings": rankings,
    "high_grades": high_grades,
    "runs": runs,
    "resamples": resamples,
    "exact_sums": exact_sums,
}
