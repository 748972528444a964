"""A scored run: the rows of a file or a result as columns, without their texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.options.signature import Signature
from rag_eval.options.verdict_settings import VerdictSettings
from rag_eval.samples import MetricId
from rag_eval.stats.repeat_noise import RepeatMoments, RepeatNoise, noise_of_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRun:
    """Rows of scores with their ids, without their texts.

    Attributes
    ----------
    name : str
        A file or another name, for messages.
    ids : list of str
        One per row. Repeats of a row share its id.
    metrics : tuple of MetricId
    scores : float64, shape (R, M)
        NaN where null.
    null_reasons : uint8, shape (R, M)
        A :class:`~rag_eval.samples.NullReason` per score, 0 where measured.
    metric_passed : int8, shape (R, M)
        1 and 0 for verdicts, :data:`NO_VERDICT` elsewhere.
    composite : float64, shape (R,)
        NaN where null.
    passed : int8, shape (R,)
        Verdict on the row as a whole; :data:`NO_VERDICT` if unknown.
    columns : mapping of str to sequence of str or None
        Requested metadata by name, with a value per row; None if a row has none.
    signature : Signature or None
    settings : VerdictSettings or None
        Thresholds and weights; None if unknown.
    dataset_hash : str or None
        Hash of ids, questions and ground truths, in any order of the rows; None if unknown.
    digests : uint32, shape (R, 3), or None
        The :data:`~rag_eval.runs.dataset_hash.Digests` of each row; None if none is known.
    lower_is_better : frozenset of MetricId
        Lower-is-better metrics that the file declares; built-in metrics are known anyway.
    n_judgements, n_failed_judgements : int
        Number of requested and of failed judgements; 0 without a judge.
    repeats : mapping of RepeatMoments
        Of metrics that a single judge scored, how far its repeats of a row differ; empty for a file
        that does not say.
    """

    name: str
    ids: list[str]
    metrics: tuple[MetricId, ...]
    scores: npt.NDArray[np.float64] = field(repr=False)
    null_reasons: npt.NDArray[np.uint8] = field(repr=False)
    metric_passed: npt.NDArray[np.int8] = field(repr=False)
    composite: npt.NDArray[np.float64] = field(repr=False)
    passed: npt.NDArray[np.int8] = field(repr=False)
    columns: Mapping[str, Sequence[str | None]] = field(default_factory=dict, repr=False)
    signature: Signature | None = field(default=None, repr=False)
    settings: VerdictSettings | None = field(default=None, repr=False)
    dataset_hash: str | None = None
    digests: npt.NDArray[np.uint32] | None = field(default=None, repr=False)
    lower_is_better: frozenset[MetricId] = frozenset()
    n_judgements: int = 0
    n_failed_judgements: int = 0
    repeats: Mapping[MetricId, RepeatMoments] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.ids)

    def column(self, metric: MetricId) -> npt.NDArray[np.float64]:
        """The scores of one metric, shape (R,).

        Raises
        ------
        InputError
            When the run has no such metric.
        """
        if metric not in self.metrics:
            known = ", ".join(self.metrics) or "none"
            raise InputError(f"{self.name} has no scores of {metric} (metrics: {known})")
        return np.asarray(self.scores[:, self.metrics.index(metric)], np.float64)

    def repeat_noise(self, metric: MetricId) -> RepeatNoise | None:
        """What of the noise of a mean is from repeats: of rows with one id, or of the judge.

        None where no row has two scores.
        """
        return noise_of_rows(self.ids, self.column(metric), self.repeats.get(metric))
