"""Scored blocks -> the results of their rows as JSON, for a result file, a callback or both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from rag_eval.inputs.blocks import SampleBlock
from rag_eval.inputs.json_blocks import JsonBlock
from rag_eval.options.plan import Plan
from rag_eval.plumbing import json_text
from rag_eval.plumbing.durable_files import atomic_file, followed, is_replaced
from rag_eval.results.files import row_json
from rag_eval.results.row_lines import RowLines, sample_json
from rag_eval.scoring.engine import ScoredBlock
from rag_eval.scoring.explaining import explained_rows, native_facts, scored_rows
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
        self._lines: RowLines | None = None
        if RowLines.can_write(plan):
            self._lines = RowLines(plan, evaluated_at, details)
        self._rows: list[bytes] = []
        self._file: IO[bytes] | None = None
        self._is_lines = path is not None and _unpacked(path).name.endswith(".jsonl")
        self._before = b"" if self._is_lines else b'{"results":[\n'

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
        self._rows = self._explained(scored, first_row)
        if self._on_row is not None:
            for row in self._rows:
                self._on_row(row)

    def _explained(self, scored: ScoredBlock, first_row: int) -> list[bytes]:
        rows: list[bytes | None] = [None] * len(scored.scores)
        if self._lines is not None and scored.details is not None:
            facts = native_facts(scored.details, scored.batch, self._plan.settings)
            samples = _samples(scored.rows)
            rows = self._lines.lines(samples, facts, scored.scores, scored.null_reasons)
        left = [place for place, row in enumerate(rows) if row is None]
        for place, row in zip(left, self._one_by_one(scored, left, first_row), strict=True):
            rows[place] = row
        return cast("list[bytes]", rows)

    def _one_by_one(
        self, scored: ScoredBlock, places: Sequence[int], first_row: int
    ) -> Iterator[bytes]:
        """Rows with more than kernels tell, or that cannot be written with the others."""
        if not places:
            return
        every = range(len(scored.scores))
        found = scored_rows(
            [scored.rows.sample(place) for place in every],
            scored.batch,
            self._plan,
            scored.judged or [{} for _ in every],
            [row_fields(scored.rows, place, self._plan) for place in every],
            scored.details,
        )
        rows = [found[place].same_as(first_row + place, scored.scores[place]) for place in places]
        results = explained_rows(rows, self._evaluated_at)
        for place, result in zip(places, results, strict=True):
            yield row_json(result, first_row + place, details=self._details)

    def add(self, scored: ScoredBlock, first_row: int) -> None:
        """Append the rows of the block that was explained last."""
        if self._file is None or not self._rows:
            return
        separator = b"\n" if self._is_lines else b",\n"
        self._file.write(self._before)
        self._file.write(separator.join(self._rows))
        self._before = separator

    def finish(self, summary: Callable[[], Mapping[str, Any]]) -> None:
        """Write what comes after the rows, if there was at least one."""
        if self._file is not None:
            end = b"\n" if self._is_lines else b"\n]," + json_text.dumps(summary())[1:] + b"\n"
            self._file.write(end)


def _samples(rows: SampleBlock) -> list[bytes | None]:
    """Each row as it is echoed; None where it has to be written with its result."""
    samples = rows.echoed() if isinstance(rows, JsonBlock) else [None] * len(rows)
    return [
        sample_json(rows.sample(place)) if sample is None else sample
        for place, sample in enumerate(samples)
    ]


def _unpacked(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(".gz"))
