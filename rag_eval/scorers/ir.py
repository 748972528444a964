"""Retrieval measures as scorers.  In: ``retrieved_ids`` and ``relevant_ids``.  Out: ``ir.*``.

The numbers are those of trec_eval, except that a sample without a relevant document has no score
instead of 0.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from rag_eval.errors import InputError
from rag_eval.metrics.contract import Column, Fields, Metric, Scored, Scorer
from rag_eval.metrics.measure_names import (
    KINDS,
    WITH_CUTOFF,
    Measure,
    read_name,
)
from rag_eval.samples import MetricId, NullReason

if TYPE_CHECKING:
    from rag_eval.retrieval.id_lists import DocId
    from rag_eval.retrieval.measures import RankingRules

_LISTED: Final[tuple[MetricId, ...]] = (
    *(f"ir.{kind}@{k}" for kind in ("P", "recall", "success", "ndcg") for k in (1, 3, 5, 10)),
    *(f"ir.{kind}" for kind in KINDS if kind not in WITH_CUTOFF and kind != "err"),
    "ir.recip_rank@10",
    "ir.map@10",
    "ir.err@10",
)

_SUMMARIES: Final = {
    "P": "Share of relevant documents among {places}",
    "recall": "Share of the relevant documents that are among {places}",
    "success": "1 if a relevant document is among {places}, else 0",
    "recip_rank": "Reciprocal rank of the first relevant document among {places}, else 0",
    "map": "Average precision: the precision at each relevant document among {places}, "
    "averaged over all relevant documents",
    "ndcg": "Discounted cumulative gain of {places}, divided by the highest possible",
    "Rprec": "Precision at rank R, where R is the number of relevant documents",
    "bpref": "How rarely documents judged not relevant rank above relevant ones",
    "err": "Expected reciprocal of the rank among {places} at which a reader is satisfied",
    "rbp": "Expected rate of relevant documents for a reader who continues with probability p",
}
_LEVEL: Final[Mapping[str, Any]] = {"relevance_level": 1}
_OPTIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "ndcg": {"gain": "linear"},
    "err": {"max_grade": 4},
    "rbp": {"p": 0.8, **_LEVEL},
}
_SOURCES: Final = {
    "err": "Chapelle et al. 2009, as TREC's gdeval 1.2",
    "rbp": "Moffat and Zobel 2008",
}
_NO_RELEVANT: Final = "relevant_ids contains no relevant document"
_MOST_DETAILS: Final = 20


@functools.lru_cache(maxsize=256)
def measure_of(metric: MetricId) -> Metric | None:
    """The contract of a measure, by its canonical name; None if it is not such a name."""
    measure = read_name(metric)
    if measure is None or measure.name != metric:
        return None
    places = "all retrieved documents" if measure.cutoff is None else f"the first {measure.cutoff}"
    return Metric(
        id=metric,
        summary=_SUMMARIES[measure.kind].format(places=places),
        create=functools.partial(_create, measure),
        fields=("retrieved_ids", "relevant_ids"),
        options=_OPTIONS.get(measure.kind, _LEVEL),
        source=_SOURCES.get(measure.kind, "trec_eval 9"),
        null_when="there is no relevant document",
    )


def _create(measure: Measure, **options: Any) -> Scorer:
    from rag_eval.retrieval.measures import RankingRules

    rules = RankingRules(**options)
    return Scorer(
        functools.partial(_score, measure, rules),
        functools.partial(_column, measure, rules),
    )


def _score(measure: Measure, rules: RankingRules, fields: Fields) -> Scored:
    scores, reasons = _column(measure, rules, [fields])
    if reasons[0] != NullReason.MEASURED:
        return Scored.nothing(_NO_RELEVANT)
    ranking, judged = _row(fields)
    found = [
        {"place": place, "id": document, "grade": int(judged[document])}
        for place, document in enumerate(ranking[: measure.cutoff], 1)
        if judged.get(document, 0) >= rules.relevance_level
    ]
    n_relevant = sum(grade >= rules.relevance_level for grade in judged.values())
    of = f"{len(ranking)} places" if measure.cutoff is None else f"first {measure.cutoff}"
    first = f", the first on place {found[0]['place']}" if found else ""
    explanation = f"{len(found)} of {n_relevant} relevant documents in the {of}{first}."
    return Scored(float(scores[0]), explanation=explanation, details=found[:_MOST_DETAILS])


def _column(measure: Measure, rules: RankingRules, rows: Sequence[Fields]) -> Column:
    import numpy as np

    from rag_eval.retrieval.id_lists import whole_grades
    from rag_eval.retrieval.kernels import score_rankings
    from rag_eval.retrieval.packing import PackedRankings, offsets_of, row_numbers

    read = [_row(fields) for fields in rows]
    rankings, judged = [row[0] for row in read], [row[1] for row in read]
    grades = [g for row in judged for g in whole_grades(row.values(), "relevant_ids")]
    ids, judged_ids, _ = row_numbers(rankings, judged)
    packed = PackedRankings(
        ids, offsets_of(rankings), judged_ids, np.array(grades, np.int32), offsets_of(judged)
    )
    try:
        values, n_relevant = score_rankings(packed, [measure], rules)
    except InputError as error:
        raise InputError(f"relevant_ids: {error}") from None
    scores = np.where(n_relevant > 0, values[:, 0], np.nan)
    reasons = np.where(n_relevant > 0, NullReason.MEASURED, NullReason.NOTHING_TO_MEASURE)
    return scores, reasons.astype(np.uint8)


def _row(fields: Fields) -> tuple[list[DocId], Mapping[DocId, Any]]:
    """Distinct retrieved ids, and grades by id."""
    from rag_eval.retrieval.id_lists import check_relevant, common_kind, id_kind

    retrieved, relevant = fields["retrieved_ids"], fields["relevant_ids"]
    if not isinstance(retrieved, (list, tuple)):
        raise InputError(f"retrieved_ids must be a list, got {type(retrieved).__name__}")
    check_relevant(relevant)
    kinds = id_kind(retrieved, "retrieved_ids"), id_kind(relevant, "relevant_ids")
    common_kind(kinds[0], "retrieved_ids", kinds[1], "relevant_ids")
    judged = relevant if isinstance(relevant, Mapping) else dict.fromkeys(relevant, 1)
    return list(dict.fromkeys(retrieved)), judged


METRICS: Final = tuple(metric for metric in map(measure_of, _LISTED) if metric is not None)
"""The measures that a catalogue shows; any other cutoff may be asked for."""
