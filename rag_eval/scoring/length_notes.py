"""Length bias of judges.  In: judged blocks of a run.  Out: a warning per metric.

Judges are known to prefer long answers. A score that rises with length although the native score
does not is no proof of bias but a reason to check, so every judged run is checked.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from rag_eval.results.judged import JudgedRowScores
from rag_eval.results.row import sample_dict
from rag_eval.samples import MetricId
from rag_eval.scoring.engine import ScoredBlock

if TYPE_CHECKING:
    from rag_eval.judge.length_correlation import LengthCorrelation

MOST_ROWS: Final = 1000
"""Rows that are looked at: enough to see a correlation of 0.1, few beside what judging takes."""

LEAST_ROWS: Final = 20
LEAST_CORRELATION: Final = 0.2
"""Below it nothing is said, however sure it is: in a large run any correlation is."""


# Stands for no score: rows are sorted, and None cannot be compared with numbers.
_NONE: Final = math.inf


class _Row(NamedTuple):
    """Length of the answer, and per metric the scores of judge and kernels."""

    key: int
    length: int
    scores: tuple[tuple[float, float], ...]


class LengthNotes:
    """Collects lengths and scores of judged rows, at most a thousand of them.

    Of more rows those are kept whose ids (with their answers) have the smallest hashes: a sample
    that does not depend on the order of the rows.
    """

    def __init__(self, metrics: Sequence[MetricId]) -> None:
        self._metrics = tuple(metrics)
        self._rows: list[_Row] = []

    def add(self, block: ScoredBlock) -> None:
        """Take the judged rows of a block."""
        if block.judged is None or not any(block.judged):
            return
        names = block.rows.ids()
        for index, judged in enumerate(block.judged):
            answer = sample_dict(block.rows.sample(index)).get("answer") if judged else None
            if isinstance(answer, str):
                self.add_row(names[index], answer, judged)

    def add_row(self, name: object, answer: str, judged: JudgedRowScores) -> None:
        """Take a judged row, by its id or None."""
        text = f"{'' if name is None else name}\0{answer}".encode("utf-8", "surrogatepass")
        key = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")
        self._rows.append(_Row(key, len(answer), tuple(self._scores(judged))))
        if len(self._rows) >= 2 * MOST_ROWS:
            self._rows = self._kept()

    def _kept(self) -> list[_Row]:
        return sorted(self._rows)[:MOST_ROWS]

    def _scores(self, judged: JudgedRowScores) -> Iterator[tuple[float, float]]:
        for metric in self._metrics:
            found = judged.get(metric)
            pair = (None, None) if found is None else (found.judge_score, found.native_score)
            yield _NONE if pair[0] is None else pair[0], _NONE if pair[1] is None else pair[1]

    def notes(self) -> list[str]:
        """A sentence for each metric whose judged score correlates with length."""
        rows = self._kept()
        notes = [
            _note(metric, [(row.length, *row.scores[place]) for row in rows])
            for place, metric in enumerate(self._metrics)
        ]
        return [note for note in notes if note]


def _note(metric: MetricId, rows: Sequence[tuple[int, float, float]]) -> str:
    """The note about a metric from lengths, judged scores and native scores."""
    rows = [row for row in rows if row[1] != _NONE]
    with_native = [row for row in rows if row[2] != _NONE]
    has_native = len(with_native) >= LEAST_ROWS
    if has_native:
        rows = with_native
    if len(rows) < LEAST_ROWS:
        return ""
    # Imported where there is a judge: it brings numpy's resamples.
    from rag_eval.judge.length_correlation import length_partial_correlation
    from rag_eval.stats.index_sources import Resampling

    lengths, judged, native = zip(*rows, strict=True)
    given = native if has_native else None
    # An interval only where it can matter: it takes a thousand times as long.
    once = Resampling(n_resamples=1)
    glance = length_partial_correlation(judged, lengths, given, resampling=once)
    if glance.correlation is None or abs(glance.correlation.estimate) < LEAST_CORRELATION:
        return ""
    return _sentence(metric, length_partial_correlation(judged, lengths, given))


def _sentence(metric: MetricId, found: LengthCorrelation) -> str:
    one = found.correlation
    if one is None or one.low is None or one.high is None or one.low <= 0 <= one.high:
        return ""
    side = "rises" if one.estimate > 0 else "falls"
    given = " at equal native score" if found.given_native else ""
    why = "" if found.given_native else "; no native score shows whether such answers are better"
    return (
        f"{metric} by the judge {side} with the length of the answer{given}: rank correlation "
        f"{one.estimate:.2f} ({one.low:.2f} to {one.high:.2f}) over {found.n_rows:,} rows{why}"
    )
