"""Record batches in; the same rows with scores, or mergeable statistics, out.

This is independent of clusters: an engine with Arrow data calls a scorer on each worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from rag_eval.calibration.applied import planned
from rag_eval.calibration.files import read_calibrations
from rag_eval.errors import InputError, UnsupportedModeError, suggestion
from rag_eval.inputs.arrow.arrays import open_arrow
from rag_eval.inputs.arrow.blocks import arrow_blocks
from rag_eval.inputs.samples import FieldNeeds, SampleError
from rag_eval.inputs.schemas.fields import FieldMap, column_map
from rag_eval.inputs.schemas.maps import FoundFields
from rag_eval.metrics.registry import needs_judge
from rag_eval.options.declared import declared, normalized
from rag_eval.options.file_types import BatchScorerOptions
from rag_eval.options.judge_types import JudgeOptions
from rag_eval.options.plan import metric_list
from rag_eval.options.signature import signature_of
from rag_eval.outputs.arrow_rows import score_arrays, signature_metadata
from rag_eval.outputs.columns import RowScores, ScoreColumns
from rag_eval.plumbing import json_text
from rag_eval.plumbing.checked_values import whole_from_one
from rag_eval.plumbing.clock import Clock
from rag_eval.plumbing.extras import pyarrow
from rag_eval.plumbing.spelling import snake_case
from rag_eval.results.batch import BatchSummary
from rag_eval.results.summary import summary_of
from rag_eval.results.totals import ScoreTotals
from rag_eval.scoring.batch import ScoreMatrix
from rag_eval.scoring.engine import block_scorer, score_blocks
from rag_eval.scoring.loop import ScoringLoop
from rag_eval.scoring.measurable import Measurability

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa


def _check_native(metrics: Iterable[str] | None, options: Mapping[str, Any]) -> None:
    """Raise an error, with the reason, for options that need a judge.

    Raises
    ------
    UnsupportedModeError
    """
    asked = sorted({snake_case(name) for name in options} & declared(JudgeOptions).keys())
    scorers = [metric for metric in metric_list(metrics) if needs_judge(metric)]
    if (asked and options.get(asked[0]) != "heuristic") or scorers:
        raise UnsupportedModeError(
            f"{(asked + scorers)[0]}: record batches are scored without a judge, because "
            "the tasks of an engine cannot share its limits and budget, and a repeated task would "
            "be paid for twice. For a judge use score_file or evaluate_batch"
        )


class BatchScorer:
    """Scores record batches; can be pickled and is then recreated from its options.

    Parameters
    ----------
    metrics : iterable of str, optional
        Metric ids. Default: all seven.
    **options : BatchScorerOptions
        See there.

    Raises
    ------
    InputError, TypeError
        For an invalid or unknown option, before it reaches a worker.
    """

    __slots__ = (
        "_columns",
        "_kept",
        "_measured",
        "_metrics",
        "_needs",
        "_notes",
        "_options",
        "_plan",
    )

    def __init__(
        self, metrics: Iterable[str] | None = None, **options: Unpack[BatchScorerOptions]
    ) -> None:
        _check_native(metrics, options)
        known = normalized(options, "BatchScorer", BatchScorerOptions)
        if known.get("calibration") is not None:
            # Read here, because a worker may not have the file.
            known["calibration"] = read_calibrations(known["calibration"])
        self._metrics = metric_list(metrics)
        if not self._metrics:
            raise InputError("metrics must name at least one metric")
        self._options = known
        self._plan, self._notes = planned(self._metrics, known)
        self._needs = FieldNeeds.of(self._plan.native_columns, self._plan.settings.profile)
        self._columns = ScoreColumns(self._plan, (), known.get("prefix") or "")
        kept = known.get("columns")
        self._kept = None if kept is None else tuple(kept)
        self._measured = Measurability(self._plan, metrics, known, in_memory=True)
        if known.get("threads") is not None:
            whole_from_one(known["threads"], "threads")

    def __reduce__(self) -> tuple[Any, ...]:
        return _batch_scorer, (self._metrics, self._options)

    def __repr__(self) -> str:
        return f"BatchScorer({list(self._metrics)!r}, **{self._options!r})"

    def output_schema(self, input_schema: pa.Schema) -> pa.Schema:
        """The output schema for batches with these columns.

        Raises
        ------
        InputError
            When the fields cannot be identified, a column to keep is missing, or its name is that
            of a score column.
        """
        self._fields(open_arrow(input_schema.empty_table()).paths())
        return self._output_schema(input_schema)

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Score the rows of a batch.

        Parameters
        ----------
        batch : pyarrow.RecordBatch
            Columns may be named as in any of ``schemas.fields.SCHEMA_NAMES``.

        Returns
        -------
        pyarrow.RecordBatch
            The kept columns, unchanged; then for each metric the score; for each metric the reason
            of a null; the composite score; whether the row passed; and for each calibrated metric
            the probability that the row is good. The schema's metadata has the signature.

        Raises
        ------
        InputError
            For a row that cannot be scored, with its number in the batch and its id; and as for
            :meth:`output_schema`.
        """
        pa = pyarrow("scoring record batches")
        if not isinstance(batch, pa.RecordBatch):
            raise InputError(f"must be a pyarrow record batch, got {type(batch).__name__}")
        schema = self._output_schema(batch.schema)
        kept = [batch.column(place) for place in self.kept_places(batch.schema.names)]
        return pa.RecordBatch.from_arrays(
            [*kept, *score_arrays(pa, self.scores(batch))], schema=schema
        )

    def table(self, table: pa.Table) -> pa.Table:
        """Score each chunk of a table like a batch."""
        schema = self._output_schema(table.schema)
        pa = pyarrow("scoring tables")
        return pa.Table.from_batches([self(batch) for batch in table.to_batches()], schema)

    def scores(self, batch: pa.RecordBatch | pa.Table | pl.DataFrame) -> RowScores:
        """The scores, null reasons and verdicts of a batch of any library with Arrow data."""
        return self._columns.scores_of(*self._matrix(batch).stacked())

    def _matrix(self, batch: pa.RecordBatch | pa.Table | pl.DataFrame) -> ScoreMatrix:
        matrix = ScoreMatrix(self._plan.columns)
        # Empty batches may have untyped columns, in which nested fields cannot be found.
        if len(batch):
            source = open_arrow(batch)
            fields = self._fields(source.paths())
            blocks = arrow_blocks(source, fields.paths)
            threads = self._options.get("threads") or 1
            scorer = block_scorer(self._plan, self._needs)
            has_scorers = bool(self._plan.scorers)
            scored = score_blocks(blocks, scorer, threads, has_scorers=has_scorers)
            loop = ScoringLoop(self._plan, scored)
            try:
                loop.score(matrix)
            except SampleError as error:
                where = error.where.replace("sample", "row", 1)
                raise SampleError(f"{where} of its batch", error.fault) from None
            loop.raise_stopped()
            # A misspelt column would be a column of nulls.
            self._measured.check_first(matrix.stacked()[1], FoundFields("", fields, {}))
        return matrix

    def totals(self, batches: Iterable[pa.RecordBatch]) -> str:
        """Statistics of some batches as JSON, to send elsewhere; see :meth:`summary`."""
        totals = ScoreTotals(self._plan)
        for batch in batches:
            matrix = self._matrix(batch)
            totals.add(*matrix.stacked(), matrix.lacked_texts())
        return json_text.dumps(totals.to_dict()).decode()

    def summary(self, parts: Iterable[str], clock: Clock | None = None) -> BatchSummary:
        """The summary of all rows from the :meth:`totals` of their parts, in any order.

        Medians have a relative error of at most 1/4,096, as the signature says (``quantiles``:
        sketch). Everything else is exact and does not depend on the partition.
        """
        clock = clock or Clock()
        totals = ScoreTotals(self._plan)
        for part in parts:
            totals.merge(ScoreTotals.from_dict(self._plan, json_text.loads(part)))
        return summary_of(
            self._plan,
            totals,
            None,
            evaluated_at=clock.now(),
            duration_ms=clock.elapsed_ms,
            notes=list(self._notes),
            judging=None,
        )

    def kept_places(self, names: Sequence[str]) -> list[int]:
        """The input columns to keep.

        Raises
        ------
        InputError
            For a missing column, or one with the name of a score column.
        """
        known = list(names)
        for name in self._kept or ():
            if known.count(name) != 1:
                fault = "more than one" if name in known else "no"
                raise InputError(
                    f"there is {fault} column {name!r}{suggestion(name, known)} "
                    f"(columns: {', '.join(known)})"
                )
        kept = known if self._kept is None else self._kept
        for name in kept:
            self._columns.check_apart(name, "prefix=")
        return list(range(len(known))) if self._kept is None else [*map(known.index, self._kept)]

    def _output_schema(self, input_schema: pa.Schema) -> pa.Schema:
        pa = pyarrow("scoring record batches")
        places = self.kept_places(input_schema.names)
        metadata = signature_metadata(signature_of(self._plan))
        fields = [*(input_schema.field(place) for place in places), *self.score_schema()]
        return pa.schema(fields, {**(input_schema.metadata or {}), **metadata})

    def score_schema(self) -> pa.Schema:
        """The score columns."""
        pa = pyarrow("scoring record batches")
        arrays = score_arrays(pa, self.no_scores())
        columns = zip(self.score_names, arrays, strict=True)
        return pa.schema([(name, array.type) for name, array in columns])

    @property
    def score_names(self) -> list[str]:
        """The names of the score columns."""
        return self._columns.score_names

    def no_scores(self) -> RowScores:
        """The scores of no rows."""
        return self._columns.scores_of(*ScoreMatrix(self._plan.columns).stacked())

    def _fields(self, paths: Sequence[str]) -> FieldMap:
        return column_map(
            paths, schema=self._options.get("schema"), mapping=self._options.get("mapping")
        )


def _batch_scorer(metrics: Sequence[str], options: Mapping[str, Any]) -> BatchScorer:
    return BatchScorer(metrics, **options)


def score_record_batch(
    batch: pa.RecordBatch,
    metrics: Iterable[str] | None = None,
    **options: Unpack[BatchScorerOptions],
) -> pa.RecordBatch:
    """Score the rows of one record batch; see :class:`BatchScorer`."""
    return BatchScorer(metrics, **options)(batch)


def partition_totals(
    batches: Iterable[pa.RecordBatch],
    metrics: Iterable[str] | None = None,
    **options: Unpack[BatchScorerOptions],
) -> str:
    """Statistics of some batches as JSON, for :func:`merged_totals`."""
    return BatchScorer(metrics, **options).totals(batches)


def merged_totals(
    parts: Iterable[str],
    metrics: Iterable[str] | None = None,
    **options: Unpack[BatchScorerOptions],
) -> BatchSummary:
    """The summary of all rows from the totals of their parts, made with the same options."""
    return BatchScorer(metrics, **options).summary(parts)
