"""Datasets of Spark, Ray and Dask -> the same with their scores, or the statistics of all rows.

Scores are those of a single process to the last bit, and so are statistics, however the rows are
parted. An engine is imported when a function of its own is called, and not before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Unpack

from rag_eval.errors import InputError, MissingExtraError
from rag_eval.jobs.record_batches import (
    BatchScorer,
    merged_totals,
    partition_totals,
    score_record_batch,
)
from rag_eval.options.file_types import BatchScorerOptions
from rag_eval.plumbing.clock import Clock
from rag_eval.plumbing.extras import pyarrow
from rag_eval.results.batch import BatchSummary

if TYPE_CHECKING:
    import dask.dataframe
    import pandas as pd
    import pyarrow as pa
    import pyspark.sql
    import ray.data

__all__ = [
    "BatchScorer",
    "BatchScorerOptions",
    "merged_totals",
    "partition_totals",
    "score_dask",
    "score_ray",
    "score_record_batch",
    "score_spark",
    "totals_dask",
    "totals_ray",
    "totals_spark",
]

_TOTALS: Final = "totals"


# ------------------------------------------------------------------------------------- Spark


def score_spark(
    df: pyspark.sql.DataFrame,
    metrics: Iterable[str] | None = None,
    **options: Unpack[BatchScorerOptions],
) -> pyspark.sql.DataFrame:
    """A data frame of Spark with its scores, as :class:`BatchScorer` gives them (mapInArrow).

    Names and options are checked at once, rows when the frame is computed. Spark keeps no metadata
    of a schema: the signature is that of :func:`totals_spark`.
    """
    types = _engine("pyspark.sql.types", "spark")
    arrow_types = _engine("pyspark.sql.pandas.types", "spark")
    scorer = _scorer(metrics, options, _spark_task_cores(df))
    scorer.output_schema(arrow_types.to_arrow_schema(df.schema))
    kept = [df.schema.fields[place] for place in scorer.kept_places(df.columns)]
    scores = [
        types.StructField(field.name, arrow_types.from_arrow_type(field.type))
        for field in scorer.score_schema()
    ]

    def score(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return map(scorer, batches)

    return df.mapInArrow(score, types.StructType([*kept, *scores]))


def totals_spark(
    df: pyspark.sql.DataFrame,
    metrics: Iterable[str] | None = None,
    **options: Unpack[BatchScorerOptions],
) -> BatchSummary:
    """Statistics of all rows of a data frame of Spark; see :meth:`BatchScorer.summary`."""
    clock = Clock()
    scorer = _scorer(metrics, options, _spark_task_cores(df))

    def total(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield _one_cell(scorer.totals(batches)).to_batches()[0]

    rows = df.mapInArrow(total, f"{_TOTALS} string").collect()
    return scorer.summary((row[_TOTALS] for row in rows), clock)


def _spark_task_cores(df: pyspark.sql.DataFrame) -> int:
    return int(df.sparkSession.conf.get("spark.task.cpus", "1"))


# --------------------------------------------------------------------------------------- Ray


def score_ray(
    ds: ray.data.Dataset,
    metrics: Iterable[str] | None = None,
    **options: Unpack[BatchScorerOptions],
) -> ray.data.Dataset:
    """A dataset of Ray with its scores, as :class:`BatchScorer` gives them (map_batches).

    Each task asks for as many CPUs as ``threads``, 1 by default. Options are checked at once, names
    and rows when the dataset is computed.
    """
    scorer = _scorer(metrics, options, 1)

    def score(table: pa.Table) -> pa.Table:  # Ray takes no methods
        return scorer.table(table)

    return _ray_batches(ds, score, options)


def totals_ray(
    ds: ray.data.Dataset,
    metrics: Iterable[str] | None = None,
    **options: Unpack[BatchScorerOptions],
) -> BatchSummary:
    """Statistics of all rows of a dataset of Ray; see :meth:`BatchScorer.summary`."""
    clock = Clock()
    scorer = _scorer(metrics, options, 1)

    def total(table: pa.Table) -> pa.Table:
        return _one_cell(scorer.totals(table.to_batches()))

    rows = _ray_batches(ds, total, options).take_all()
    return scorer.summary((row[_TOTALS] for row in rows), clock)


def _ray_batches(
    ds: ray.data.Dataset, call: Callable[[pa.Table], pa.Table], options: BatchScorerOptions
) -> ray.data.Dataset:
    _engine("ray.data", "ray")
    return ds.map_batches(
        call,
        batch_format="pyarrow",
        batch_size=None,
        zero_copy_batch=True,
        num_cpus=options.get("threads") or 1,
    )


# -------------------------------------------------------------------------------------- Dask


def score_dask(
    ddf: dask.dataframe.DataFrame,
    metrics: Iterable[str] | None = None,
    **options: Unpack[BatchScorerOptions],
) -> dask.dataframe.DataFrame:
    """A data frame of Dask with its scores, as :class:`BatchScorer` gives them (map_partitions).

    The columns that are kept stay what they are, index included; scores are NaN where null. One
    thread scores a partition, as Dask runs a task on one thread of a worker.

    Where Dask makes a frame from one of pandas, it turns columns of objects into texts, lists among
    them, unless ``dask.config.set({"dataframe.convert-string": False})`` came before. Lists of
    strings that became texts are read as lists.
    """
    pandas = _engine("pandas", "dask")
    places = _scorer(metrics, options, 1).kept_places([str(name) for name in ddf.columns])
    scorer = _scorer(metrics, {**options, "columns": ()}, 1)

    def score(frame: pd.DataFrame) -> pd.DataFrame:
        scores = scorer.table(_table_of(frame)).to_pandas(ignore_metadata=True)
        scores.index = frame.index
        return pandas.concat([frame.iloc[:, places], scores], axis=1)

    return ddf.map_partitions(score, meta=score(ddf._meta))


def totals_dask(
    ddf: dask.dataframe.DataFrame,
    metrics: Iterable[str] | None = None,
    **options: Unpack[BatchScorerOptions],
) -> BatchSummary:
    """Statistics of all rows of a data frame of Dask; see :meth:`BatchScorer.summary`."""
    clock = Clock()
    dask = _engine("dask", "dask")
    scorer = _scorer(metrics, options, 1)

    def total(frame: pd.DataFrame) -> str:
        return scorer.totals(_table_of(frame).to_batches())

    tasks = [dask.delayed(total)(part) for part in ddf.to_delayed()]
    return scorer.summary(dask.compute(*tasks), clock)


def _table_of(frame: pd.DataFrame) -> pa.Table:
    pa = pyarrow("scoring frames of pandas")
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except pa.ArrowException as error:
        raise InputError(f"cannot read a partition as Arrow data: {error}") from None


# ------------------------------------------------------------------------------ what they share


def _engine(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"this needs {module.partition('.')[0]}: pip install 'rag-eval-native[{extra}]' "
            f"({error})"
        ) from None


def _scorer(metrics: Iterable[str] | None, options: BatchScorerOptions, cores: int) -> BatchScorer:
    threads = options.get("threads")
    on_worker: BatchScorerOptions = {**options, "threads": cores if threads is None else threads}
    return BatchScorer(metrics, **on_worker)


def _one_cell(totals: str) -> pa.Table:
    return pyarrow("totals").table({_TOTALS: [totals]})
