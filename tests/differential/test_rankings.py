"""The kernel of rankings against the oracle, trec_eval and ir-measures."""

from __future__ import annotations

import math
import random
from typing import Any

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.metrics.measure_names import KINDS, WITH_CUTOFF, WITHOUT_CUTOFF
from rag_eval.retrieval import evaluate_arrays, evaluate_rankings
from rag_eval.retrieval import kernels as door
from tests.oracle.rankings import measures as oracle_measures
from tests.tables import every_row

Run = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, int]]

CUTOFFS = (1, 3, 10, 1_000)
TREC = {
    "P@5": "P_5",
    "P@30": "P_30",
    "recall@5": "recall_5",
    "success@1": "success_1",
    "success@10": "success_10",
    "recip_rank": "recip_rank",
    "map": "map",
    "map@10": "map_cut_10",
    "ndcg": "ndcg",
    "ndcg@5": "ndcg_cut_5",
    "ndcg@200": "ndcg_cut_200",
    "Rprec": "Rprec",
    "bpref": "bpref",
}
REQUESTED = {"P", "recall", "success", "recip_rank", "map", "map_cut", "ndcg", "ndcg_cut"} | {
    "Rprec",
    "bpref",
}


def names_of(cutoff: int | None) -> list[str]:
    if cutoff is None:
        return [kind for kind in KINDS if kind not in WITH_CUTOFF]
    return [f"{kind}@{cutoff}" for kind in KINDS if kind not in WITHOUT_CUTOFF]


rows = st.lists(
    st.tuples(
        st.lists(st.integers(-3, 12), max_size=25),
        st.dictionaries(st.integers(-3, 15), st.integers(-2, 4), max_size=12),
    ),
    min_size=1,
    max_size=6,
)


def arrays_of(rows: list[tuple[list[int], dict[int, int]]]) -> list[Any]:
    def offsets(sizes: list[int]) -> list[int]:
        return np.cumsum([0, *sizes]).tolist()

    return [
        [document for ranking, _ in rows for document in ranking],
        offsets([len(ranking) for ranking, _ in rows]),
        [document for _, grades in rows for document in grades],
        [grade for _, grades in rows for grade in grades.values()],
        offsets([len(grades) for _, grades in rows]),
    ]


@given(
    rows,
    st.sampled_from((None, *CUTOFFS)),
    st.integers(1, 4),
    st.sampled_from(("linear", "exponential")),
    st.sampled_from((0.0, 0.5, 0.95)),
)
def test_the_kernel_is_the_oracle(
    rows: list[tuple[list[int], dict[int, int]]],
    cutoff: int | None,
    level: int,
    gain: Any,
    p: float,
) -> None:
    """Repeated ids among the retrieved and unjudged grades below 0 too."""
    names = names_of(cutoff)
    got = evaluate_arrays(
        *arrays_of(rows), names, relevance_level=level, gain=gain, max_grade=5, p=p
    )
    for row, (ranking, grades) in enumerate(rows):
        want = oracle_measures(
            ranking,
            grades,
            level=level,
            exponential=gain == "exponential",
            max_grade=5,
            p=p,
            cutoff=cutoff,
        )
        assert got.n_relevant[row] == sum(grade >= level for grade in grades.values())
        for name, found in zip(got.measures, got.values[row].tolist(), strict=True):
            kind = name.removeprefix("ir.").split("@")[0]
            if kind in {"ndcg", "rbp"}:
                assert math.isclose(found, want[kind], rel_tol=1e-13, abs_tol=1e-15), name
            else:
                assert found == want[kind], name


@pytest.mark.parametrize("rows_per_call", [1, 2, 1_000])
def test_rows_do_not_depend_on_the_cut(rows_per_call: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(rows_per_call)
    rows = [
        (
            [rng.randrange(40) for _ in range(rng.randrange(30))],
            {rng.randrange(40): rng.randrange(-1, 4) for _ in range(rng.randrange(20))},
        )
        for _ in range(7)
    ]
    names = [*names_of(None), *names_of(3)]
    whole = evaluate_arrays(*arrays_of(rows), names)
    one_by_one = [evaluate_arrays(*arrays_of([row]), names).values for row in rows]
    monkeypatch.setattr(door, "_ROWS_PER_CALL", rows_per_call)
    cut = evaluate_arrays(*arrays_of(rows), names)
    assert cut.values.tobytes() == whole.values.tobytes()
    assert np.concatenate(one_by_one).tobytes() == whole.values.tobytes()
    assert cut.n_relevant.tolist() == whole.n_relevant.tolist()


def test_grades_beyond_those_that_are_counted_are_sorted() -> None:
    grades = {1: 3, 2: 100_000, 3: 255, 4: 256, 5: 2**31 - 1, 6: 256}
    ranking = [5, 2, 4, 6, 3, 1]
    assert evaluate_arrays(*arrays_of([(ranking, grades)]), ["ndcg"]).values[0, 0] == 1.0
    ranking.reverse()
    found = evaluate_arrays(*arrays_of([(ranking, grades)]), ["ndcg@4"]).values[0, 0]
    assert found == pytest.approx(oracle_measures(ranking, grades, cutoff=4)["ndcg"], rel=1e-13)


# ------------------------------------------------------------------------- trec_eval, ir-measures


def generated(seed: int, *, ties: bool, n_queries: int = 60) -> tuple[Run, Qrels]:
    """A run and judgements that share most of their queries.

    Grades are from -1 to 4; at lower ones pytrec_eval reads memory that is not its own.
    """
    rng = random.Random(seed)
    run: Run = {}
    qrels: Qrels = {}
    for number in range(n_queries):
        # Ids whose order by bytes is not that by number, and some that are not ASCII.
        pool = [f"{rng.choice(['d', 'D', 'é', '好', '𝒟'])}{i}" for i in range(80)]
        retrieved = rng.sample(pool, rng.choice([1, 5, 30, 60]))
        judged = rng.sample(pool, rng.choice([1, 4, 20, 50]))
        if number and rng.random() < 0.95:
            run[f"q{number}"] = {
                document: float(rng.randrange(5)) if ties else rng.uniform(-1, 1)
                for document in retrieved
            }
        if number != 1 and rng.random() < 0.95:
            qrels[f"q{number}"] = {document: rng.randint(-1, 4) for document in judged}
    run["empty"], qrels["empty"] = {}, {"a": 1}
    run["nothing relevant"], qrels["nothing relevant"] = {"a": 1.0, "b": 2.0}, {"a": 0, "b": -1}
    return run, qrels


@every_row("level", [1, 2, 4])
@every_row("ties", [False, True])
@every_row("seed", range(5))
def test_equal_to_trec_eval(seed: int, ties: bool, level: int) -> None:
    run, qrels = generated(seed, ties=ties)
    oracle = pytrec_eval.RelevanceEvaluator(qrels, REQUESTED, relevance_level=level)
    wanted = oracle.evaluate(run)
    got = evaluate_rankings(run, qrels, TREC, relevance_level=level)
    assert set(got.queries) == set(wanted)
    found = got.to_dict()
    for query, row in wanted.items():
        for name, trec_name in TREC.items():
            assert found[query][f"ir.{name}"] == pytest.approx(row[trec_name], rel=0, abs=1e-14)
    means = got.means
    for name, trec_name in TREC.items():
        mean = np.mean([row[trec_name] for row in wanted.values()])
        assert means[f"ir.{name}"].mean == pytest.approx(mean, abs=1e-12)
        assert means[f"ir.{name}"].n_queries == len(wanted)


def test_scores_closer_than_32_bits_tell_are_ties_as_in_trec_eval() -> None:
    run = {"q": {"a": 1.0 + 1e-12, "b": 1.0}}
    qrels = {"q": {"a": 1, "b": 0}}
    wanted = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run)
    assert wanted["q"]["recip_rank"] == 0.5
    assert evaluate_rankings(run, qrels, ["mrr"]).values[0, 0] == 0.5
    assert evaluate_rankings(run, qrels, ["mrr"], score_type="float64").values[0, 0] == 1.0


def test_a_ranking_in_order_scores_like_its_scores() -> None:
    run, qrels = generated(99, ties=False)
    ordered = {
        query: sorted(scores, key=lambda name: scores[name], reverse=True)
        for query, scores in run.items()
    }
    by_order = evaluate_rankings(ordered, qrels, TREC)
    by_score = evaluate_rankings(run, qrels, TREC, score_type="float64")
    assert by_order.values.tobytes() == by_score.values.tobytes()
    mixed = {q: ordered[q] if place % 2 else run[q] for place, q in enumerate(run)}
    again = evaluate_rankings(mixed, qrels, TREC, score_type="float64")
    assert again.values.tobytes() == by_score.values.tobytes()


@pytest.mark.parametrize("seed", range(3))
def test_missing_as_zero_is_equal_to_ir_measures(seed: int) -> None:
    run, qrels = generated(seed + 100, ties=False)
    assert qrels.keys() - run.keys()
    names = ["nDCG", "nDCG@10", "AP", "AP@5", "RR", "RR@3", "P@5", "R@5", "Success@5", "Rprec"]
    names.append("Bpref")
    # Its own parser of names fails on Python 3.14.
    parts = [name.partition("@") for name in names]
    measures = [
        getattr(ir_measures, kind) @ int(k) if k else getattr(ir_measures, kind)
        for kind, _, k in parts
    ]
    got = evaluate_rankings(run, qrels, names, missing="zero").to_dict()
    assert set(got) == set(qrels)
    canonical = dict(zip(names, next(iter(got.values())), strict=True))
    n_compared = 0
    for metric in ir_measures.iter_calc(measures, qrels, run):
        found = got[metric.query_id][canonical[str(metric.measure)]]
        assert found == pytest.approx(metric.value, rel=0, abs=1e-14), metric
        n_compared += 1
    assert n_compared >= len(names) * len(qrels) * 0.9
