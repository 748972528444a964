"""Rows and the texts that each lacks in; how many lack a question, an answer or contexts, out.

Such a row has no score of the metrics that need the text, and may pass by the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import compress
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.kernels.columns import GIVEN
from rag_eval.metrics.seven import PROFILE_METRICS, needed_fields
from rag_eval.plumbing.spelling import counted
from rag_eval.samples import MetricId, NullReason

TEXTS: Final = tuple(GIVEN)
"""The texts of a sample that nearly every dataset has in each row; bit ``k`` is the ``k``-th."""
_TRUTH: Final = "ground_truth"  # which many rows of sound datasets lack
_MISSING: Final = int(NullReason.MISSING_FIELD)
_NAMED: Final = bytes([_MISSING])
_BITS: Final = 1 << np.arange(len(TEXTS), dtype=np.uint8)

_Bits: TypeAlias = npt.NDArray[np.uint8]
_Flags: TypeAlias = npt.NDArray[np.bool_]


def _no_counts() -> list[int]:
    return [0] * (1 << len(TEXTS))


@dataclass(slots=True)
class MissingTexts:
    """Rows by the texts that they lack.

    Attributes
    ----------
    rows, passed : list of int
        How many rows lack each set of texts, and how many of those that lack some pass; the bits
        of a place are those of :data:`TEXTS`.
    """

    rows: list[int] = field(default_factory=_no_counts)
    passed: list[int] = field(default_factory=_no_counts)

    @classmethod
    def of(cls, lacked: _Bits, passed: _Flags) -> MissingTexts:
        """The counts of some rows, as of :meth:`add`."""
        found = cls()
        found.add(lacked, passed)
        return found

    def add(self, lacked: _Bits, passed: _Flags) -> None:
        """Count rows; ``lacked`` has the bits of the texts that each lacks."""
        if not np.count_nonzero(lacked):
            self.rows[0] += len(lacked)
            return
        for texts, n in enumerate(np.bincount(lacked).tolist()):
            self.rows[texts] += n
        for texts, n in enumerate(np.bincount(lacked[passed]).tolist()):
            self.passed[texts] += n if texts else 0

    def merge(self, other: MissingTexts) -> None:
        """Add the rows of ``other``."""
        for mine, theirs in ((self.rows, other.rows), (self.passed, other.passed)):
            for texts, n in enumerate(theirs):
                mine[texts] += n

    @property
    def any(self) -> bool:
        """Whether a row lacks a text."""
        return any(self.rows[1:])

    def lack(self, metrics: Iterable[MetricId]) -> bool:
        """Whether a row lacks a text which one of the metrics needs."""
        return any(self._lacking(self.rows, metrics))

    def lack_and_pass(self, metrics: Iterable[MetricId]) -> bool:
        """Whether such a row passes."""
        return any(self._lacking(self.passed, metrics))

    def text(self, metrics: Collection[MetricId]) -> str:
        """``34 of 100 samples have no answer``, for texts that the metrics need; or nothing."""
        found = [(texts, n) for texts, n in enumerate(self._lacking(self.rows, metrics)) if n]
        if not found:
            return ""
        (first, n), *others = found
        n_rows = counted(sum(self.rows), "sample")
        parts = [f"{n:,} of {n_rows} {_has(n)} no {_or(first)}"]
        return ", ".join([*parts, *(f"{n:,} {_has(n)} no {_or(texts)}" for texts, n in others)])

    def note(self, metrics: Collection[MetricId]) -> list[str]:
        """What to tell about a run of these metrics in which some rows lack a text."""
        if not (text := self.text(metrics)):
            return []
        found = [texts for texts, n in enumerate(self._lacking(self.rows, metrics)) if n]
        if len(found) > 1:
            return [f"{text}; metrics that need these texts are null for them"]
        null = [name for name in metrics if _needed([name]).intersection(_names(found[0]))]
        these = "this metric is" if len(null) == 1 else "these metrics are"
        them = "it" if text.startswith("1 of") else "them"
        return [f"{text}, so {these} null for {them}: {', '.join(null)}"]

    def _lacking(self, counts: list[int], metrics: Iterable[MetricId]) -> list[int]:
        """The counts by texts that the metrics need and that not every row lacks."""
        needed, n_rows, kept = _needed(metrics), sum(self.rows), 0
        for bit, name in enumerate(TEXTS):
            n = sum(n for texts, n in enumerate(self.rows) if texts >> bit & 1)
            kept |= (name in needed and n < n_rows) << bit
        found = _no_counts()
        for texts, n in enumerate(counts):
            found[texts & kept] += n
        found[0] = 0
        return found


def inferred_texts(metrics: tuple[MetricId, ...], null_reasons: _Bits) -> _Bits:
    """The bits of the texts that rows seem to lack, where only their null reasons are known.

    If no score tells two texts apart, a row that lacks one of them counts as lacking both.

    Parameters
    ----------
    metrics : tuple of MetricId
    null_reasons : uint8, shape (R, M)
    """
    # Batches of one row are common, and calls of numpy are slow: these are the fastest.
    if _NAMED not in null_reasons.tobytes():
        return np.zeros(len(null_reasons), np.uint8)
    missing = null_reasons == _MISSING
    needed, read = _columns(metrics)
    # A text is there in a row if a metric that needs it has a score. Other reasons, such as a
    # question without words, may hide that another text is missing.
    lacks = (missing @ needed) & ~((null_reasons == 0) @ read)
    found: _Bits = lacks.astype(np.uint8) @ _BITS
    return found


@lru_cache(maxsize=64)
def _columns(metrics: tuple[MetricId, ...]) -> tuple[_Flags, _Flags]:
    """Which metrics without a ground truth need each text, and which of all do."""
    fields = [_fields(name) for name in metrics]
    read = np.array([text in one for one in fields for text in TEXTS], np.bool_)
    read = read.reshape(len(metrics), len(TEXTS))
    without_truth = np.array([_TRUTH not in one for one in fields], np.bool_)
    return read & without_truth[:, np.newaxis], read


def _fields(metric: MetricId) -> tuple[str, ...]:
    """What a metric of the kernels needs; nothing of other metrics, which may do without."""
    spec = PROFILE_METRICS["grounded"].get(metric)
    return () if spec is None else needed_fields(spec)


def _needed(metrics: Iterable[MetricId]) -> set[str]:
    return {name for metric in metrics for name in _fields(metric)}


def _names(texts: int) -> list[str]:
    return list(compress(TEXTS, (texts >> bit & 1 for bit in range(len(TEXTS)))))


def _or(texts: int) -> str:
    return " or ".join(_names(texts))


def _has(n: int) -> str:
    return "has" if n == 1 else "have"
