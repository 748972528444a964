"""Null scores in; how many rows lack a question, an answer or contexts, out.

Such a row has no score of the metrics that read the text, and may pass by the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import compress
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.metrics.seven import OVERLAP_METRICS
from rag_eval.plumbing.spelling import counted
from rag_eval.samples import MetricId, NullReason

TEXTS: Final = ("question", "answer", "contexts")
"""The texts of a sample that nearly every dataset has in each row."""
_TRUTH: Final = "ground_truth"  # which many rows of sound datasets lack
_MISSING: Final = int(NullReason.MISSING_FIELD)

_Reasons: TypeAlias = npt.NDArray[np.uint8]
_Flags: TypeAlias = npt.NDArray[np.bool_]

_BITS: Final = 1 << np.arange(len(TEXTS))
_NO_ROWS: Final = np.empty(0, np.intp)


def _no_counts() -> list[int]:
    return [0] * (1 << len(TEXTS))


@dataclass(slots=True)
class MissingTexts:
    """Rows by the texts that they lack, as far as their null scores tell.

    Attributes
    ----------
    rows, passed : list of int
        How many rows lack each set of texts, and how many of these pass: bit ``k`` of a place
        stands for the ``k``-th of question, answer and contexts. If no metric tells two texts
        apart, a row that lacks one of them counts as lacking both.
    """

    rows: list[int] = field(default_factory=_no_counts)
    passed: list[int] = field(default_factory=_no_counts)

    @classmethod
    def of(
        cls, metrics: tuple[MetricId, ...], null_reasons: _Reasons, passed: _Flags
    ) -> MissingTexts:
        """The counts of some rows."""
        found = cls()
        found.add(metrics, null_reasons, passed)
        return found

    def add(self, metrics: tuple[MetricId, ...], null_reasons: _Reasons, passed: _Flags) -> None:
        """Count rows; ``null_reasons`` has a column per metric."""
        if not len(lacked := lacked_texts(metrics, null_reasons)):
            self.rows[0] += len(null_reasons)
            return
        for texts, n in enumerate(np.bincount(lacked).tolist()):
            self.rows[texts] += n
        for texts, n in enumerate(np.bincount(lacked[passed]).tolist()):
            self.passed[texts] += n

    def merge(self, other: MissingTexts) -> None:
        """Add the rows of ``other``."""
        for mine, theirs in ((self.rows, other.rows), (self.passed, other.passed)):
            for texts, n in enumerate(theirs):
                mine[texts] += n

    def lack(self, metrics: Iterable[MetricId]) -> bool:
        """Whether a row lacks a text which one of the metrics reads."""
        return any(self._lacking(self.rows, metrics))

    def lack_and_pass(self, metrics: Iterable[MetricId]) -> bool:
        """Whether such a row passes."""
        return any(self._lacking(self.passed, metrics))

    def text(self, metrics: Collection[MetricId]) -> str:
        """``34 of 100 samples have no answer``, for texts that the metrics read; or nothing."""
        by_text: dict[str, int] = {}
        for texts, n in enumerate(self._lacking(self.rows, metrics)):
            if n:
                what = " or ".join(_names(texts))
                by_text[what] = by_text.get(what, 0) + n
        if not by_text:
            return ""
        (what, n), *others = by_text.items()
        has = "has" if n == 1 else "have"
        parts = [f"{n:,} of {counted(sum(self.rows), 'sample')} {has} no {what}"]
        parts += [f"{n:,} {'has' if n == 1 else 'have'} no {what}" for what, n in others]
        return ", ".join(parts)

    def note(self, metrics: Collection[MetricId]) -> list[str]:
        """What to tell about a run in which some rows lack a text."""
        if not any(self.rows[1:]) or not (text := self.text(metrics)):
            return []
        found = enumerate(self._lacking(self.rows, metrics))
        lacking = {name for texts, n in found if n for name in _names(texts)}
        null = [name for name in metrics if _read([name]) & lacking]
        these = "this metric is" if len(null) == 1 else "these metrics are"
        them = "it" if text.startswith("1 of") else "them"
        return [f"{text}, so {these} null for {them}: {', '.join(null)}"]

    def _lacking(self, counts: list[int], metrics: Iterable[MetricId]) -> list[int]:
        """The counts by texts that the metrics read and that not every row lacks."""
        read, n_rows, kept = _read(metrics), sum(self.rows), 0
        for bit, name in enumerate(TEXTS):
            n = sum(n for texts, n in enumerate(self.rows) if texts >> bit & 1)
            kept |= (name in read and n < n_rows) << bit
        found = _no_counts()
        for texts, n in enumerate(counts):
            found[texts & kept] += n
        found[0] = 0
        return found


def lacked_texts(metrics: tuple[MetricId, ...], null_reasons: _Reasons) -> npt.NDArray[np.intp]:
    """Per row the bits of the texts that it lacks; empty if no row lacks any."""
    if not null_reasons.any():
        return _NO_ROWS
    needed, read = _columns(metrics)
    missing = null_reasons == _MISSING
    # A text is there in a row if another metric that reads it was measured.
    lacks = (missing @ needed) & ~(~missing @ read)
    return lacks @ _BITS if lacks.any() else _NO_ROWS


@lru_cache(maxsize=64)
def _columns(metrics: tuple[MetricId, ...]) -> tuple[_Flags, _Flags]:
    """Which metrics without a ground truth need each text, and which of all read it."""
    fields = [_fields(name) for name in metrics]
    read = np.array([[text in one for text in TEXTS] for one in fields], np.bool_)
    read = read.reshape(len(metrics), len(TEXTS))
    return read & np.array([[_TRUTH not in one] for one in fields], np.bool_), read


def _fields(metric: MetricId) -> tuple[str, ...]:
    """What one of the seven needs, in either profile; nothing of other metrics."""
    return OVERLAP_METRICS[metric].fields if metric in OVERLAP_METRICS else ()


def _read(metrics: Iterable[MetricId]) -> set[str]:
    return {name for metric in metrics for name in _fields(metric)}


def _names(texts: int) -> list[str]:
    return list(compress(TEXTS, (texts >> bit & 1 for bit in range(len(TEXTS)))))
