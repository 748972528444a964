"""A mapping of scores per query in; the order of the documents as in trec_eval out."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError, glance
from rag_eval.retrieval.id_lists import DocId
from rag_eval.retrieval.kernels import order_by_score
from rag_eval.retrieval.packing import offsets_of

ScoreType: TypeAlias = Literal["float32", "float64"]
"""How exactly scores are compared: trec_eval reads them with 32 bits, closer ones are ties."""

SCORE_TYPES: Final[tuple[ScoreType, ...]] = ("float32", "float64")


def trec_order(
    scored: Sequence[Mapping[DocId, float]], score_type: ScoreType = "float32"
) -> npt.NDArray[np.int64]:
    """Where, among the documents of all rows end to end, the best of each row come from.

    Scores fall; of documents with the same score the higher id comes first, by bytes of its UTF-8,
    and of numbers by their digits: the order of trec_eval, whatever the order of the mapping.

    Raises
    ------
    InputError
        A score is not a number.
    """
    offsets = offsets_of(scored)
    scores = _scores(scored)
    if score_type == "float32":
        # What is too large becomes infinite, as in trec_eval.
        with np.errstate(over="ignore"):
            scores = scores.astype(np.float32).astype(np.float64)
    order, tied = order_by_score(scores, offsets)
    ties = np.flatnonzero(tied)
    if len(ties):
        _order_ties(order, ties, list(chain.from_iterable(scored)))
    return order


def _scores(scored: Sequence[Mapping[DocId, float]]) -> npt.NDArray[np.float64]:
    values = array("d")
    try:
        for row in scored:
            values.extend(row.values())
    except TypeError:
        kinds = {type(score).__name__ for row in scored for score in row.values()}
        raise InputError(
            f"scores of a run must be numbers, got {' and '.join(sorted(kinds))}"
        ) from None
    except OverflowError:
        raise InputError("scores of a run must be below 1.8e308") from None
    scores = np.frombuffer(values) if values else np.empty(0)
    if np.isnan(scores).any():
        pairs = chain.from_iterable(row.items() for row in scored)
        document = next(name for name, score in pairs if score != score)
        raise InputError(f"the score of document {glance(document)} is NaN")
    return scores


def _order_ties(
    order: npt.NDArray[np.int64], ties: npt.NDArray[np.int64], ids: list[DocId]
) -> None:
    """Put each run of documents with the same score into the order of their ids."""
    breaks = np.flatnonzero(np.diff(ties) > 1)
    firsts = ties[np.concatenate(([0], breaks + 1))]
    ends = ties[np.concatenate((breaks, [len(ties) - 1]))] + 2
    for first, end in zip(firsts.tolist(), ends.tolist(), strict=True):
        tied = order[first:end].tolist()
        # Code points sort as the bytes of their UTF-8 do.
        tied.sort(key=lambda place: str(ids[place]), reverse=True)
        order[first:end] = tied
