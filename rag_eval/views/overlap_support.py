"""A text and contexts in; what the overlap profile sees in each sentence, out.

The profile keeps the best overlap of a sentence and not where it was found, so that each context is
asked by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from rag_eval.inputs.samples import FieldNeeds, SampleLike, pack_block, read_rows
from rag_eval.kernels import scoring as kernels
from rag_eval.kernels.overlap_settings import OverlapSettings
from rag_eval.metrics.seven import metric_numbers
from rag_eval.results.words_overlap import LOW_SUPPORT
from rag_eval.samples import MetricId

Rule: TypeAlias = Literal["claims", "recall"]
_METRICS: Final[tuple[MetricId, ...]] = ("faithfulness", "hallucination_rate", "context_recall")
_SETTINGS: Final = frozenset(OverlapSettings.__slots__)


@dataclass(frozen=True, slots=True)
class OverlapSentence:
    """A sentence with its best overlap and the first context that has it."""

    span: tuple[int, int]
    support: float
    chunk: int | None
    level: Literal["supported", "weak", "unsupported"]


def overlap_support(
    text: str,
    contexts: Sequence[str],
    rule: Rule,
    options: Mapping[str, Any],
) -> list[OverlapSentence]:
    """The sentences of a text, by the rules for claims of an answer or for a ground truth.

    Parameters
    ----------
    text : str
    contexts : sequence of str
    rule : {"claims", "recall"}
        Those of faithfulness and hallucination_rate, or those of context_recall.
    options : mapping
        Of the signature: settings of the profile.
    """
    known = {name: value for name, value in options.items() if name in _SETTINGS}
    settings = OverlapSettings.from_options(known)
    needs = FieldNeeds.of(_METRICS)
    texts = {"question": "", "answer": text, "groundTruth": text}
    rows: list[SampleLike] = [{**texts, "contexts": [context]} for context in contexts]
    batch = pack_block(read_rows(rows, 0, needs), needs)
    numbers = np.array(metric_numbers(_METRICS), np.int64)
    details = [kernels.overlap_details(batch, row, settings, numbers) for row in range(len(rows))]
    spans = _code_points(text, details[0].answer_spans) if details else []
    found = []
    for place, span in enumerate(spans):
        claims = [(one.support[place], one.overlap[place]) for one in details]
        covers = [one.coverage[place] for one in details]
        supports = covers if rule == "recall" else [support for support, _ in claims]
        best = max(supports)
        level = _level(rule, best, max(overlap for _, overlap in claims), settings)
        found.append(OverlapSentence(span, best, supports.index(best) if best else None, level))
    return found


def _level(
    rule: str, support: float, overlap: float, settings: OverlapSettings
) -> Literal["supported", "weak", "unsupported"]:
    if rule == "recall":
        return "supported" if support >= settings.sentence_coverage_threshold else "unsupported"
    if overlap < settings.claim_support_threshold:
        return "unsupported"
    return "weak" if support < LOW_SUPPORT else "supported"


def _code_points(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans of bytes as spans of code points."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) == len(text):
        return list(spans)
    starts = np.cumsum((np.frombuffer(data, np.uint8) & 0xC0) != 0x80)
    ends = np.concatenate(([0], starts))
    return [(int(ends[begin]), int(ends[end])) for begin, end in spans]
