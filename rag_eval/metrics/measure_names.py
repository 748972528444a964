"""Names of retrieval measures.  In: any spelling, ``ndcg_cut_10``.  Out: ``ir.ndcg@10``."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

PREFIX: Final = "ir."

KINDS: Final = (
    "P",
    "recall",
    "success",
    "recip_rank",
    "map",
    "ndcg",
    "Rprec",
    "bpref",
    "err",
    "rbp",
)
"""The measures, named as in trec_eval; the compiled kernel numbers them in this order."""

WITH_CUTOFF: Final = frozenset({"P", "recall", "success"})
"""Measures that need a cutoff."""

WITHOUT_CUTOFF: Final = frozenset({"Rprec", "bpref"})
"""Measures that have none."""

_ALIASES: Final = {
    "P": ("precision",),
    "recall": ("r",),
    "success": ("hit", "hit_rate", "hitrate"),
    "recip_rank": ("reciprank", "rr", "mrr", "reciprocal_rank", "mean_reciprocal_rank"),
    "map": ("ap", "average_precision", "averageprecision", "mean_average_precision"),
    "ndcg": (),
    "Rprec": ("r_prec", "r_precision", "rprecision"),
    "bpref": (),
    "err": ("expected_reciprocal_rank",),
    "rbp": ("rank_biased_precision",),
}
_KIND_OF: Final = {
    word: kind for kind, words in _ALIASES.items() for word in (kind.lower(), *words)
}
# trec_eval writes P_10, ndcg_cut_10 and, as a parameter, ndcg_cut.10. Nine digits are more than
# any ranking has places.
_NAME: Final = re.compile(r"(ir\.)?([a-z_]+?)(?:(?:@|_cut_|_cut\.|_at_|_|\.)([1-9][0-9]{0,8}))?")


class Measure(NamedTuple):
    """A measure of rankings.

    Attributes
    ----------
    name : str
        Canonical, ``ir.ndcg@10``.
    kind : str
        One of :data:`KINDS`.
    cutoff : int or None
        Number of places that count; None for all.
    """

    name: str
    kind: str
    cutoff: int | None


def read_name(name: object) -> Measure | None:
    """The measure of that name, in any spelling and case; None if it names none."""
    found = _NAME.fullmatch(name.lower()) if isinstance(name, str) else None
    if found is None:
        return None
    kind = _KIND_OF.get(found[2])
    cutoff = None if found[3] is None else int(found[3])
    if kind is None or (kind in WITH_CUTOFF if cutoff is None else kind in WITHOUT_CUTOFF):
        return None
    name = PREFIX + kind + ("" if cutoff is None else f"@{cutoff}")
    return Measure(name, kind, cutoff)


def canonical_name(name: object) -> str | None:
    """The one spelling of a measure's name; None if it names none.

    Parameters
    ----------
    name : str
        ``ir.ndcg@10``, ``ndcg@10``, ``nDCG@10``, trec_eval's ``ndcg_cut_10``, or a common word
        such as ``precision@5``, ``hit_rate@5``, ``mrr`` and ``average_precision``. Precision,
        recall and success need a cutoff, R-precision and bpref have none.
    """
    found = read_name(name)
    return None if found is None else found.name
