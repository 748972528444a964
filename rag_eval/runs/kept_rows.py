"""Scored blocks, as a run makes them, in; a scored run out, without the texts of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.inputs.blocks import values_or_metadata
from rag_eval.kernels.verdicts import verdicts_of
from rag_eval.metrics.registry import higher_is_better
from rag_eval.options.plan import Plan
from rag_eval.options.signature import Signature
from rag_eval.options.verdict_settings import VerdictSettings
from rag_eval.plumbing import json_text
from rag_eval.results.verdicts import NO_VERDICT
from rag_eval.runs.dataset_hash import DatasetHash, is_id, known_digests
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import MetricId
from rag_eval.scoring.engine import ScoredBlock
from rag_eval.scoring.faulty_rows import origin_of
from rag_eval.stats.repeat_noise import RepeatMoments


class KeptRows:
    """The rows of a run to be saved: ids, scores, null reasons and requested metadata.

    In memory a row takes its id, 10 bytes for each metric, 21 more, and 8 for each column.

    A row without an id is named by a digest of its question and ground truths, so a later run over
    the same dataset finds it again, whatever the order. Rows that share both count as repeats.

    Parameters
    ----------
    plan : Plan
    columns : sequence of str
        Fields of the samples or of their metadata.
    """

    def __init__(self, plan: Plan, columns: Sequence[str] = ()) -> None:
        self._plan = plan
        self._ids: list[str] = []
        self._scores: list[npt.NDArray[np.float64]] = []
        self._null_reasons: list[npt.NDArray[np.uint8]] = []
        self._columns: dict[str, list[str | None]] = {name: [] for name in columns}
        self._hash = DatasetHash()
        self._digests: list[npt.NDArray[np.uint32]] = []
        self._reads_relevant_ids = "relevant_ids" in plan.scorer_fields
        self._n_nameless = 0

    def add(self, scored: ScoredBlock) -> None:
        """Add the rows of a block."""
        block = scored.rows
        columns = {name: _texts_of(scored, name) for name in self._columns}
        self._n_nameless += sum(not is_id(found) for found in block.ids())
        ids, digests = self._hash.add_block(block, relevant_ids=self._reads_relevant_ids)
        self._ids += ids
        self._digests.append(digests)
        self._scores.append(scored.scores)
        self._null_reasons.append(scored.null_reasons)
        for name, values in columns.items():
            self._columns[name] += values

    @property
    def dataset_hash(self) -> str:
        """Hash of the rows so far."""
        return self._hash.hexdigest()

    def notes(self) -> list[str]:
        """Notes on the rows for the reader."""
        notes = [
            f"column {name!r} is null in every row"
            for name, values in self._columns.items()
            if not any(value is not None for value in values)
        ]
        if self._n_nameless:
            rows = "row has" if self._n_nameless == 1 else "rows have"
            notes.append(
                f"{self._n_nameless:,} {rows} no id; the store names them by a digest of question "
                "and ground truth"
            )
        return notes

    def run(
        self,
        name: str,
        *,
        signature: Signature | None = None,
        n_judgements: int = 0,
        n_failed_judgements: int = 0,
        repeats: Mapping[MetricId, RepeatMoments] | None = None,
    ) -> ScoredRun:
        """All rows as a run."""
        metrics = self._plan.columns
        shape = (-1, len(metrics))
        scores = np.concatenate(self._scores).reshape(shape)
        null_reasons = np.concatenate(self._null_reasons).reshape(shape)
        verdicts = verdicts_of(scores, self._plan.rule, null_reasons)
        metric_passed = verdicts.metric_passed.astype(np.int8)
        metric_passed[np.isnan(scores)] = NO_VERDICT
        for place, metric in enumerate(metrics):
            if self._plan.thresholds[metric] is None:
                metric_passed[:, place] = NO_VERDICT
        return ScoredRun(
            name=name,
            ids=self._ids,
            metrics=tuple(metrics),
            scores=scores,
            null_reasons=null_reasons,
            metric_passed=metric_passed,
            composite=verdicts.composite,
            passed=verdicts.passed.astype(np.int8),
            columns=self._columns,
            signature=signature,
            settings=VerdictSettings.of(self._plan),
            dataset_hash=self.dataset_hash,
            digests=known_digests(np.concatenate(self._digests)),
            lower_is_better=frozenset(m for m in metrics if not higher_is_better(m)),
            n_judgements=n_judgements,
            n_failed_judgements=n_failed_judgements,
            repeats=repeats or {},
        )


def _texts_of(scored: ScoredBlock, name: str) -> list[str | None]:
    """A field of each row of a block (or of its metadata) as text."""
    found = values_or_metadata(scored.rows, name)
    return [_text(value, name, scored, row) for row, value in enumerate(found)]


def _text(value: Any, name: str, scored: ScoredBlock, row: int) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, int, float)):
        try:
            return json_text.dumps(value).decode()
        except ValueError:
            pass  # NaN and the infinities
    origin = origin_of(scored.rows)
    raise InputError(
        f"{origin.name(row, scored.rows.sample(row))}: {name} must be a string, a number or a "
        f"boolean to be kept, got {type(value).__name__}"
    )
