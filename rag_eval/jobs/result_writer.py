"""Scored blocks -> the results of their rows as JSON, for a result file, a callback or both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from rag_eval.inputs.blocks import SampleBlock
from rag_eval.inputs.json_blocks import JsonBlock
from rag_eval.options.plan import Plan
from rag_eval.plumbing import json_text
from rag_eval.plumbing.durable_files import atomic_file, followed, is_replaced
from rag_eval.results.files import row_json
from rag_eval.results.row import EvalResult
from rag_eval.results.row_lines import RowLines, sample_json
from rag_eval.scoring.engine import ScoredBlock
from rag_eval.scoring.explaining import explained_rows, scored_rows
from rag_eval.scoring.scorer_columns import row_fields


class ResultWriter:
    """A sink that explains every row.

    Writes what :func:`rag_eval.results.files.json_parts` gives. A file named ``.jsonl`` gets one
    row a line, any other the rows as an array and the summary.

    Parameters
    ----------
    plan : Plan
    evaluated_at : str
    path : Path, optional
        The result file.
    on_row : callable, optional
        Gets each row as one line of JSON.
    details : bool
        With the scores of chunks and sentences and their evidence.
    """

    def __init__(
        self,
        plan: Plan,
        evaluated_at: str,
        *,
        path: Path | None,
        on_row: Callable[[bytes], object] | None,
        details: bool,
    ) -> None:
        self._plan = plan
        self._evaluated_at = evaluated_at
        self._path = path
        self._on_row = on_row
        self._details = details
        self._file: IO[bytes] | None = None
        self._is_lines = path is not None and _unpacked(path).name.endswith(".jsonl")
        self._before = b"" if self._is_lines else b'{"results":[\n'
        self._between = b"\n" if self._is_lines else b",\n"
        self._lines = RowLines(plan, evaluated_at, details, self._between)

    def written(self, *, interrupted: bool) -> Path | None:
        """Where the result file goes; never over an older one when the run was interrupted."""
        if self._path is None or not interrupted or not is_replaced(self._path):
            return self._path
        output = followed(self._path) if self._path.is_symlink() else self._path
        whole = _unpacked(output)
        packed = output.name.removeprefix(whole.name)
        return whole.with_name(f"{whole.stem}.partial{whole.suffix}{packed}")

    @contextmanager
    def opened(self, is_interrupted: Callable[[], bool]) -> Iterator[None]:
        """The result file, which takes its name when the block ends well."""
        if self._path is None:
            yield
            return
        with atomic_file(
            self._path, place=lambda: self.written(interrupted=is_interrupted()) or Path()
        ) as self._file:
            yield

    @property
    def explains(self) -> bool:
        """Whether somebody takes the rows."""
        return self._path is not None or self._on_row is not None

    def prepare(self, scored: ScoredBlock, first_row: int) -> None:
        """Explain the rows of a block."""
        if not self.explains:
            return
        self._lines.clear()
        alone = _RowsAlone(scored, first_row, self._plan, self._evaluated_at, self._details)
        if scored.details is not None and RowLines.can_fill(self._plan):
            scores, samples = (scored.scores, scored.null_reasons), _samples(scored.rows)
            self._lines.fill(samples, scored.details, scored.batch, *scores, alone.row)
        else:
            for place in range(len(scored.scores)):
                self._lines.add(alone.row(place))
        if self._on_row is not None:
            for row in self._lines.rows:
                self._on_row(row)

    def add(self, scored: ScoredBlock, first_row: int) -> None:
        """Append the rows of the block that was explained last."""
        if self._file is None or not len(scored.scores):
            return
        self._file.write(self._before)
        self._lines.write_to(self._file.write)
        self._before = self._between

    def finish(self, summary: Callable[[], Mapping[str, Any]]) -> None:
        """Write what comes after the rows, if there was at least one."""
        if self._file is not None:
            end = b"\n" if self._is_lines else b"\n]," + json_text.dumps(summary())[1:] + b"\n"
            self._file.write(end)


class _RowsAlone:
    """Rows of a block with more than kernels tell, or that cannot be written with the others."""

    def __init__(
        self, scored: ScoredBlock, first_row: int, plan: Plan, evaluated_at: str, details: bool
    ) -> None:
        self._scored = scored
        self._first_row = first_row
        self._plan = plan
        self._evaluated_at = evaluated_at
        self._details = details

    def row(self, place: int) -> bytes:
        """One of them as JSON."""
        return row_json(self._results[place], self._first_row + place, details=self._details)

    @cached_property
    def _results(self) -> list[EvalResult]:
        scored, every = self._scored, range(len(self._scored.scores))
        found = scored_rows(
            [scored.rows.sample(place) for place in every],
            scored.batch,
            self._plan,
            scored.judged or [{} for _ in every],
            [row_fields(scored.rows, place, self._plan) for place in every],
            scored.details,
        )
        for place, row in enumerate(found):
            row.same_as(self._first_row + place, scored.scores[place])
        return explained_rows(found, self._evaluated_at, lazily=True)


def _samples(rows: SampleBlock) -> list[bytes | None]:
    """Each row as it is echoed; None where it has to be written with its result."""
    samples = rows.echoed() if isinstance(rows, JsonBlock) else [None] * len(rows)
    return [
        sample_json(rows.sample(place)) if sample is None else sample
        for place, sample in enumerate(samples)
    ]


def _unpacked(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(".gz"))
