"""Files whose rows a kernel finds, read so, and with the rows decoded one by one: both the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rag_eval._native import line_scans
from rag_eval.inputs import csv_files, json_files
from rag_eval.inputs.blocks import FileOrigin
from rag_eval.inputs.opened import START, Input, InputOptions, Position
from rag_eval.inputs.row_blocks import RowBlock
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.inputs.scanned_blocks import ScannedBlock
from rag_eval.kernels.scoring import metric_numbers, score_batch
from rag_eval.kernels.settings import settings_of
from rag_eval.metrics.ids import ALL_METRIC_IDS, METRIC_IDS
from rag_eval.scoring.faulty_rows import pack_file_block

NEEDS = [
    FieldNeeds.of(METRIC_IDS),
    FieldNeeds.of(("answer_relevance",)),
    FieldNeeds.of(("context_recall", "answer_correctness")),
    FieldNeeds.of(("context_precision",)),
    FieldNeeds.of(()),
    FieldNeeds.of(ALL_METRIC_IDS, "grounded"),
    FieldNeeds.of((), "grounded"),
]


class Read(NamedTuple):
    """All that can be told of the rows of an input."""

    rows: list[str]
    ids: list[Any]
    names: list[str]
    places: list[tuple[int, int, int]]
    extra: list[Any]
    faults: list[list[str]]
    scores: list[list[bytes]]
    n_scanned: int


@contextmanager
def buffers_of(n_bytes: int, *, scanned: bool) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (csv_files, json_files):
            patch.setattr(module, "BLOCK_BYTES", n_bytes)
        if not scanned:
            patch.setattr(json_files.LineBlocks, "scan", lambda lines, fields: None)
            patch.setattr(csv_files.CellReader, "scanner", lambda read, table: None)
            # Then the standard library reads every record.
            patch.setattr(line_scans, "cut_record", lambda *lines: None)
        yield


def read(
    path: Path,
    n_bytes: int,
    *,
    scanned: bool,
    options: InputOptions | None = None,
    start: Position = START,
    needs: Sequence[FieldNeeds] = NEEDS,
) -> Read:
    found = Read([], [], [], [], [], [[] for _ in needs], [[] for _ in needs], 0)
    n_scanned = 0
    with buffers_of(n_bytes, scanned=scanned):
        for block in Input(path, options).blocks(start):
            origin = block.origin
            assert isinstance(origin, FileOrigin)
            assert isinstance(block, RowBlock if not scanned else (RowBlock, ScannedBlock))
            n_scanned += len(block) * isinstance(block, ScannedBlock)
            for faults, scores, wanted in zip(found.faults, found.scores, needs, strict=True):
                sound, batch = pack_file_block(block, wanted, skip_invalid=True)
                assert sound.origin is not None
                faults += map(repr, sound.origin.faults)
                scores += scores_of(batch, wanted)
            found.ids.extend(block.ids())
            for index in range(len(block)):
                found.rows.append(repr(block.sample(index)))
                found.names.append(block.name(index))
                place = (origin.numbers[index], origin.ordinals[index])
                assert set(map(type, place)) == {int}
                found.places.append((*place, block.first_row + index))
            found.extra.extend(zip(block.values("extra"), block.values("response"), strict=True))
    return found._replace(n_scanned=n_scanned)


def scores_of(batch: Any, needs: FieldNeeds) -> list[bytes]:
    """Scores and null reasons, row by row, to the bit."""
    metrics = metric_numbers(tuple(sorted(needs.metrics)))
    scores, reasons = score_batch(batch, settings_of({"profile": needs.profile}), metrics)
    return [row.tobytes() + why.tobytes() for row, why in zip(scores, reasons, strict=True)]


def check_same(path: Path, data: bytes, n_bytes: int, options: InputOptions | None = None) -> Read:
    """Hold both ways against one another; what was read."""
    path.write_bytes(data)
    found = read(path, n_bytes, scanned=True, options=options)
    wanted = read(path, n_bytes, scanned=False, options=options)
    # Blocks with faults begin elsewhere; all else is the same.
    if any(map(len, wanted.faults)):
        found, wanted = (
            each._replace(places=[place[:2] for place in each.places])  # type: ignore[misc]
            for each in (found, wanted)
        )
    assert found._replace(n_scanned=0) == wanted
    return found
