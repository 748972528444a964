"""What the measures of rankings mean; places count from 1."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence


def measures(
    ranking: Sequence[object],
    grades: Mapping[object, int],
    *,
    level: int = 1,
    exponential: bool = False,
    max_grade: int = 4,
    p: float = 0.8,
    cutoff: int | None = None,
) -> dict[str, float]:
    """All measures of one ranking, those with a cutoff at that cutoff."""
    every = list(dict.fromkeys(ranking))
    seen = every[:cutoff]
    k = math.inf if cutoff is None else cutoff
    relevant = {document for document, grade in grades.items() if grade >= level}
    hits = [place for place, document in enumerate(seen, 1) if document in relevant]
    n_relevant = len(relevant)
    return {
        "P": len(hits) / k,
        "recall": len(hits) / n_relevant if n_relevant else 0.0,
        "success": 1.0 if hits else 0.0,
        "recip_rank": 1.0 / hits[0] if hits else 0.0,
        "map": added(n / place for n, place in enumerate(hits, 1)) / n_relevant if hits else 0.0,
        "ndcg": ndcg(seen, grades, exponential, cutoff),
        "Rprec": len(relevant & set(every[:n_relevant])) / n_relevant if n_relevant else 0.0,
        "bpref": bpref(every, grades, relevant),
        "err": expected_reciprocal_rank(seen, grades, max_grade),
        "rbp": added((1 - p) * p ** (place - 1) for place in hits),
    }


def ndcg(
    seen: Sequence[object], grades: Mapping[object, int], exponential: bool, cutoff: int | None
) -> float:
    """Discounted gain over that of the best order."""

    def discounted(order: Sequence[int]) -> float:
        gains = [2.0**grade - 1.0 if exponential else float(grade) for grade in order]
        return added(gain / math.log2(place + 1) for place, gain in enumerate(gains, 1))

    positive = {document: grade for document, grade in grades.items() if grade > 0}
    best = discounted(sorted(positive.values(), reverse=True)[:cutoff])
    return discounted([positive.get(document, 0) for document in seen]) / best if best else 0.0


def added(terms: Iterable[float]) -> float:
    """The sum, one by one; ``sum()`` compensates from Python 3.12 on."""
    total = 0.0
    for term in terms:
        total += term
    return total


def bpref(every: Sequence[object], grades: Mapping[object, int], relevant: set[object]) -> float:
    """How seldom what was judged not relevant comes before what is relevant."""
    wrong = {document for document, grade in grades.items() if grade >= 0} - relevant
    total = 0.0
    for place, document in enumerate(every):
        if document in relevant:
            n_before = min(len(wrong & set(every[:place])), len(relevant))
            total += 1.0 - n_before / min(len(relevant), len(wrong)) if n_before else 1.0
    return total / len(relevant) if relevant else 0.0


def expected_reciprocal_rank(
    seen: Sequence[object], grades: Mapping[object, int], max_grade: int
) -> float:
    """A reader goes down the list until satisfied."""
    total, reaches = 0.0, 1.0
    for place, document in enumerate(seen, 1):
        satisfied = (2.0 ** max(0, grades.get(document, 0)) - 1.0) / 2.0**max_grade
        total += reaches * satisfied / place
        reaches *= 1.0 - satisfied
    return total
