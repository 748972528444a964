"""Runs and judgements in; measures by query, and means, out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.metrics.measure_names import Measure
from rag_eval.plumbing.checked_values import one_of
from rag_eval.retrieval.id_lists import DocId, common_kind, id_kind, whole_grades
from rag_eval.retrieval.kernels import checked_rankings, score_rankings
from rag_eval.retrieval.measures import Gain, RankingRules, parse_measure, parse_measures
from rag_eval.retrieval.packing import PackedRankings, offsets_of, row_numbers
from rag_eval.retrieval.trec_order import SCORE_TYPES, ScoreType, trec_order

Ranking: TypeAlias = Mapping[DocId, float] | Sequence[DocId]
"""Scores by document, or documents with the best first."""

Run: TypeAlias = Mapping[Any, Ranking]
Qrels: TypeAlias = Mapping[Any, Mapping[DocId, int]]

Missing: TypeAlias = Literal["skip", "zero"]
"""Judged queries that a run lacks: left out, as in trec_eval, or 0, as in ir-measures."""

MISSING: Final[tuple[Missing, ...]] = ("skip", "zero")


class RankingMean(NamedTuple):
    """Mean of a measure over queries; NaN without queries."""

    mean: float
    n_queries: int


@dataclass(frozen=True, slots=True, eq=False)
class RankingScores:
    """Measures of rankings.

    Attributes
    ----------
    queries : tuple
        Ids of the queries, in the order of the judgements; row numbers if arrays were scored.
    measures : tuple of str
        Canonical names.
    values : float64, shape (Q, M)
        From 0 to 1; 0 if a query has no relevant document, as in trec_eval.
    n_relevant : int64, shape (Q,)
        Number of relevant documents per query, retrieved or not.
    """

    queries: Sequence[Any]
    measures: tuple[str, ...]
    values: npt.NDArray[np.float64]
    n_relevant: npt.NDArray[np.int64]

    @property
    def means(self) -> dict[str, RankingMean]:
        """Mean of each measure and the number of queries; sums are correctly rounded."""
        n_queries = len(self.values)
        return {
            name: RankingMean(
                math.fsum(self.values[:, place].tolist()) / n_queries if n_queries else math.nan,
                n_queries,
            )
            for place, name in enumerate(self.measures)
        }

    def column(self, measure: str) -> npt.NDArray[np.float64]:
        """Scores of one measure, by any of its names.

        Raises
        ------
        InputError
            It was not computed.
        """
        name = parse_measure(measure).name
        if name not in self.measures:
            raise InputError(f"{name} was not computed (computed: {', '.join(self.measures)})")
        return self.values[:, self.measures.index(name)]

    def to_dict(self) -> dict[Any, dict[str, float]]:
        """Scores by query and measure."""
        rows = self.values.tolist()
        return {
            query: dict(zip(self.measures, row, strict=True))
            for query, row in zip(self.queries, rows, strict=True)
        }


def evaluate_rankings(
    run: Run,
    qrels: Qrels,
    measures: Iterable[str],
    *,
    missing: Missing = "skip",
    relevance_level: int = 1,
    gain: Gain = "linear",
    max_grade: int = 4,
    p: float = 0.8,
    score_type: ScoreType = "float32",
) -> RankingScores:
    """Score a run against judgements, as trec_eval does.

    Parameters
    ----------
    run : mapping
        Retrieved documents by query id: a mapping of document id to score, or a list of document
        ids, best first. Scores order documents as in trec_eval: decreasing, with ties by id. An id
        that occurs twice in a list counts once, at its first place.
    qrels : mapping
        Grades by document id, by query id: 0 means judged not relevant, a negative grade not
        judged. A query without judgements is left out.
    measures : iterable of str
        Names of measures; see :func:`rag_eval.retrieval.parse_measure`.
    missing : {"skip", "zero"}
        How to count judged queries that the run lacks.
    relevance_level : int
        Lowest grade of a relevant document; nDCG and ERR use the grades themselves.
    gain : {"linear", "exponential"}
        Of nDCG.
    max_grade : int
        Highest possible grade, for ERR.
    p : float
        Probability that a reader looks at the next document, for RBP.
    score_type : {"float32", "float64"}
        Precision with which scores are compared; trec_eval uses 32 bits.

    Raises
    ------
    InputError
        If ids are neither all strings nor all whole numbers, a grade is not a whole number, a score
        is not a number, or an option or measure is unknown.
    """
    chosen = parse_measures(measures)
    rules = RankingRules(relevance_level, gain, max_grade, p)
    one_of(missing, "missing", MISSING)
    one_of(score_type, "score_type", SCORE_TYPES)
    _check_mapping(run, "run")
    _check_mapping(qrels, "qrels")
    queries = tuple(
        query for query, grades in qrels.items() if grades and (missing == "zero" or query in run)
    )
    if not queries:
        _check_query_ids(run, qrels)
    packed = _packed(
        [run.get(query, ()) for query in queries], [qrels[query] for query in queries], score_type
    )
    return _scored(packed, chosen, rules, queries)


def evaluate_arrays(
    ids: npt.ArrayLike,
    id_offsets: npt.ArrayLike,
    judged: npt.ArrayLike,
    grades: npt.ArrayLike,
    judged_offsets: npt.ArrayLike,
    measures: Iterable[str],
    *,
    relevance_level: int = 1,
    gain: Gain = "linear",
    max_grade: int = 4,
    p: float = 0.8,
) -> RankingScores:
    """Score rankings that are integer arrays, one row per query.

    Parameters
    ----------
    ids : integers, shape (D,)
        Document ids of all rows end to end, best first within each row.
    id_offsets : integers, shape (Q + 1,)
        Row ``i`` is ``ids[id_offsets[i]:id_offsets[i + 1]]``.
    judged, grades : integers, shape (J,)
        Judged document ids of all rows end to end, and their grades. If an id occurs twice in a
        row, the first grade counts.
    judged_offsets : integers, shape (Q + 1,)
    measures, relevance_level, gain, max_grade, p
        As for :func:`evaluate_rankings`.

    Raises
    ------
    InputError
        If an array does not hold integers, offsets do not fit, or an option or measure is unknown.
    """
    chosen = parse_measures(measures)
    rules = RankingRules(relevance_level, gain, max_grade, p)
    packed = checked_rankings(ids, id_offsets, judged, grades, judged_offsets)
    return _scored(packed, chosen, rules, range(len(packed.id_offsets) - 1))


def _scored(
    packed: PackedRankings,
    measures: tuple[Measure, ...],
    rules: RankingRules,
    queries: Sequence[Any],
) -> RankingScores:
    values, n_relevant = score_rankings(packed, measures, rules)
    return RankingScores(queries, tuple(measure.name for measure in measures), values, n_relevant)


def _packed(
    rankings: Sequence[Ranking], qrels: Sequence[Mapping[DocId, int]], score_type: ScoreType
) -> PackedRankings:
    for row in qrels:
        _check_mapping(row, "qrels of a query")
    distinct = [_distinct(ranking) for ranking in rankings]
    grades = whole_grades(chain.from_iterable(row.values() for row in qrels), "the qrels")
    offsets = offsets_of(distinct)
    ids, judged, kinds = row_numbers(distinct, qrels)
    if kinds - {str}:
        retrieved = id_kind(chain.from_iterable(rankings), "the run")
        known = id_kind(chain.from_iterable(qrels), "the qrels")
        common_kind(retrieved, "the run", known, "the qrels")
    scored = [place for place, ranking in enumerate(rankings) if isinstance(ranking, Mapping)]
    if len(scored) == len(rankings):
        ids = ids[trec_order(distinct, score_type)]
    else:
        for place in scored:
            begin, end = offsets[place : place + 2]
            ids[begin:end] = ids[begin:end][trec_order([distinct[place]], score_type)]
    return PackedRankings(ids, offsets, judged, np.array(grades, np.int32), offsets_of(qrels))


def _distinct(ranking: Ranking) -> Mapping[DocId, Any]:
    """A ranking in which no id occurs twice; that of a list has no scores."""
    if isinstance(ranking, Mapping):
        return ranking
    if not isinstance(ranking, (list, tuple)):
        raise InputError(
            "the ranking of a query must be a mapping of scores or a list of ids, got "
            f"{type(ranking).__name__}"
        )
    # True and 1.0 equal 1, and would not be seen afterwards.
    if set(map(type, ranking)) != {str}:
        id_kind(ranking, "the run")
    return dict.fromkeys(ranking)


def _check_mapping(value: object, name: str) -> None:
    if not isinstance(value, Mapping):
        raise InputError(f"{name} must be a mapping, got {type(value).__name__}")


def _check_query_ids(run: Run, qrels: Qrels) -> None:
    """Not one query in common, and ids that cannot meet: that is a mistake."""
    kinds = [{kind.__name__ for kind in map(type, queries)} for queries in (run, qrels)]
    if all(kinds) and not kinds[0] & kinds[1]:
        run_kinds, qrels_kinds = (" and ".join(sorted(found)) for found in kinds)
        raise InputError(
            f"query ids of the run are {run_kinds} and those of the qrels {qrels_kinds}; "
            "use the same type in both"
        )
