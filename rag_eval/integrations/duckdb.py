"""Scores as a function of DuckDB's SQL; DuckDB is imported when one is registered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from rag_eval.inputs.samples import TEXT_FIELDS
from rag_eval.integrations.columns import column_scorer
from rag_eval.outputs.arrow_rows import score_arrays
from rag_eval.plumbing.extras import package, pyarrow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_TYPES: Final = ("VARCHAR", "VARCHAR", "VARCHAR[]", "VARCHAR")


def register_rag_scores(
    connection: DuckDBPyConnection,
    metrics: str | Iterable[str] | None = None,
    *,
    name: str = "rag_scores",
    prefix: str = "",
    **options: Any,
) -> None:
    """Add a function ``rag_scores(question, answer, contexts, ground_truth)`` to a connection.

    It takes texts and a list of texts, NULL where a row has none, and returns a struct of scores.
    DuckDB passes rows as Arrow data. Needs pyarrow (``pip install 'rag-eval-native[arrow]'``).

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    metrics : str or iterable of str, optional
        The seven by default.
    name : str, default "rag_scores"
        The name of the function.
    prefix : str, default ""
        Prefix of the fields, which are the score columns of `rag_eval.distributed.BatchScorer`.
    **options
        Those of ``BatchScorer``; ``profile`` is ``grounded`` by default.

    Raises
    ------
    InputError, TypeError
        For an invalid option. A row that cannot be scored ends the query with DuckDB's own error.
    """
    duckdb, pa = package("duckdb", "register_rag_scores"), pyarrow("register_rag_scores")
    scorer = column_scorer(metrics, prefix, options)

    # DuckDB counts the arguments by their names.
    def score(question: Any, answer: Any, contexts: Any, ground_truth: Any) -> Any:
        rows = pa.Table.from_arrays([question, answer, contexts, ground_truth], list(TEXT_FIELDS))
        return pa.StructArray.from_arrays(score_arrays(pa, scorer.scores(rows)), scorer.score_names)

    kinds = {field.name: str(field.type) for field in scorer.score_schema()}
    add: Any = connection.create_function
    add(name, score, [*_TYPES], duckdb.struct_type(kinds), type="arrow", null_handling="special")
