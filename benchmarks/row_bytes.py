"""Bytes per row: of samples, of their scores in each form, and of the parts of a run.

Files of rows of 1 KB are generated; rows of 7 KB are those of the set ``bench_typical``. All seven
metrics of the ``overlap`` profile, with ids and without other columns.

    python -m benchmarks.row_bytes > benchmarks/ROW_BYTES.md
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks import memory
from benchmarks.corpora import Sample, benchmark_set
from benchmarks.rendering import table
from rag_eval.distributed import partition_totals
from rag_eval.jobs import file_scoring
from rag_eval.jobs.file_scoring import score_file
from rag_eval.outputs.parts import PartedFile

N_SMALL: Final = 20_000
FORMS: Final = ("jsonl", "jsonl.gz", "csv", "parquet", "arrow")
HEAD: Final = ("", "JSONL", "JSONL.gz", "CSV", "Parquet", "Arrow")


def small_rows(n_rows: int) -> list[Sample]:
    """Generated rows of 1 KB."""
    return [json.loads(line) for line in memory.lines(n_rows)]


def large_rows() -> list[Sample]:
    """Rows of 7 KB, named."""
    rows = benchmark_set("typical").rows
    return [{**row, "id": f"t{number}"} for number, row in enumerate(rows)]


def input_cells(rows: Sequence[Sample], folder: Path, *, has_csv: bool) -> list[str]:
    """Bytes per row of the samples in each form."""
    lines = b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
    cells = [per_row(len(data), rows) for data in (lines, gzip.compress(lines))]
    cells.append(per_row(_csv_bytes(rows, folder), rows) if has_csv else "")
    kinds = ("snappy",) if has_csv else ("snappy", "zstd")
    packed = (f"{per_row(_parquet_bytes(rows, folder, kind), rows)} ({kind})" for kind in kinds)
    return [*cells, ", ".join(packed), ""]


def per_row(n_bytes: int, rows: Sequence[object]) -> str:
    """Bytes per row, whole."""
    return f"{n_bytes / len(rows):,.0f}"


def _csv_bytes(rows: Sequence[Sample], folder: Path) -> int:
    path = folder / "rows.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow({**row, "contexts": json.dumps(row["contexts"], ensure_ascii=False)})
    return path.stat().st_size


def _parquet_bytes(rows: Sequence[Sample], folder: Path, compression: str) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    path = folder / "rows.parquet"
    parquet.write_table(
        pa.Table.from_pylist(list(rows)), path, compression=compression, use_dictionary=False
    )
    return path.stat().st_size


class _Weighed(PartedFile):
    """Knows how much its parts took before they were joined."""

    n_bytes = 0

    def complete(self) -> None:
        type(self).n_bytes = sum(path.stat().st_size for path in self.folder.iterdir())
        super().complete()


def output_cells(rows: Sequence[Sample], folder: Path) -> tuple[list[str], list[str]]:
    """Bytes per row of the scores and of the parts that are kept until the end, in each form."""
    source = folder / "rows.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    outputs, parts = [], []
    for form in FORMS:
        target = folder / f"scores.{form}"
        with _weighing():
            score_file(source, target)
        outputs.append(per_row(target.stat().st_size, rows))
        parts.append(per_row(_Weighed.n_bytes, rows))
    return outputs, parts


@contextmanager
def _weighing() -> Iterator[None]:
    """Parts are weighed before they are joined."""
    file_scoring.PartedFile, kept = _Weighed, file_scoring.PartedFile  # type: ignore[misc]
    try:
        yield
    finally:
        file_scoring.PartedFile = kept  # type: ignore[misc]


def totals_kilobytes(rows: Sequence[Sample]) -> str:
    """Kilobytes of the totals of all rows as JSON."""
    import pyarrow as pa

    return f"{len(partition_totals(pa.Table.from_pylist(list(rows)).to_batches())) / 1e3:,.0f}"


def page(n_small: int = N_SMALL) -> str:
    """The page of results."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small, large = small_rows(n_small), large_rows()
        samples, scores = [], []
        parts: list[str] = []
        for size, rows in (("1 KB", small), ("7 KB", large)):
            samples.append([f"in, {size} rows", *input_cells(rows, folder, has_csv=rows is small)])
            cells, of_parts = output_cells(rows, folder)
            scores.append([f"out, {size} rows", *cells])
            parts = parts or of_parts
        both = zip(scores[0][1:], scores[1][1:], strict=True)
        billion = ["–".join(sorted({low, high}, key=int)) + " GB" for low, high in both]
        rows_of_table = [
            *samples,
            *scores,
            ["out, 10⁹ rows, *est.*", *billion],
            ["parts until the end", *parts],
        ]
        return "\n".join(
            [
                "# Bytes per row",
                "",
                "Written by `python -m benchmarks.row_bytes`; do not edit.",
                "",
                f"{len(small):,} generated rows of 1 KB and {len(large):,} rows of 7 KB; all seven "
                "metrics, ids, no `--columns`.",
                "",
                *table(HEAD, rows_of_table),
                f"Totals of {len(small):,} rows as JSON: {totals_kilobytes(small)} KB.",
                "",
            ]
        )


def main() -> None:
    """Print the page."""
    sys.stdout.write(page())


if __name__ == "__main__":
    main()
