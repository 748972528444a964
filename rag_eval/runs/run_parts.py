"""A scored run to the bytes that a store keeps of it and back, bit for bit.

Numbers are little-endian arrays, column after column; texts are their lengths followed by their
UTF-8, which keeps lone surrogates. Everything is compressed by zlib.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import astuple, fields
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.results.verdicts import NO_VERDICT
from rag_eval.runs.dataset_hash import UNKNOWN
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import MetricId, NullReason
from rag_eval.stats.repeat_noise import RepeatMoments

_MATRICES: Final = {"scores": "<f8", "null_reasons": "<u1", "metric_passed": "<i1"}
_COLUMNS: Final = {"composite": "<f8", "passed": "<i1"}
# A run without them has no such parts.
_DIGESTS: Final = "digests"
_DIGEST_KIND: Final = "<u4"
_REPEATS: Final = "repeats"
_REPEATED: Final = "repeated_metrics"
_MOMENTS: Final = tuple(field.name for field in fields(RepeatMoments))
_NO_TEXT: Final = -1
# Twice as fast as the default, for a tenth more bytes.
_LEVEL: Final = 3
# Largest unpacked size of texts, in bytes or as a multiple of the packed size: a few bytes could
# otherwise unpack to all memory. A column of one value for 30 million rows is below the limit.
_MOST_TEXT_BYTES: Final = 256 << 20
_MOST_TIMES: Final = 100


def parts_of(run: ScoredRun) -> dict[str, bytes]:
    """The bytes that a store keeps of a run's rows, by the names of the parts.

    Raises
    ------
    InputError
        For arrays whose shape does not fit the ids and metrics, or ids that are not strings.
    """
    shape = (len(run.ids), len(run.metrics))
    parts = {
        "name": _packed_texts([run.name], "name"),
        "ids": _packed_texts(run.ids, "ids"),
        "column_names": _packed_texts(list(run.columns), "columns"),
        "column_values": _packed_texts(_flat(run.columns, shape[0]), "columns"),
    }
    if None in run.ids:
        raise InputError(f"{run.name}: every row needs an id to be saved in a store")
    for name, kind in _MATRICES.items():
        parts[name] = _packed_array(getattr(run, name), shape, kind, name)
    for name, kind in _COLUMNS.items():
        parts[name] = _packed_array(getattr(run, name), shape[:1], kind, name)
    if run.digests is not None:
        parts[_DIGESTS] = _packed_array(
            run.digests, (shape[0], len(UNKNOWN)), _DIGEST_KIND, _DIGESTS
        )
    if run.repeats:
        moments = np.array([astuple(found) for found in run.repeats.values()], np.float64)
        shape = (len(run.repeats), len(_MOMENTS))
        parts[_REPEATED] = _packed_texts(list(run.repeats), "repeats")
        parts[_REPEATS] = _packed_array(moments, shape, "<f8", "repeats")
    return parts


def run_of_parts(
    parts: Mapping[str, bytes],
    *,
    metrics: Sequence[MetricId],
    n_rows: int,
    **others: Any,
) -> ScoredRun:
    """The run from the parts of :func:`parts_of`; ``others`` are its other fields.

    Raises
    ------
    InputError
        When a part is missing or damaged.
    """
    try:
        names = [str(name) for name in _unpacked_texts(parts["column_names"])]
        values = _unpacked_texts(parts["column_values"])
        ids = _unpacked_texts(parts["ids"])
        (name,) = _unpacked_texts(parts["name"])
        # Checked before arrays of this many rows are unpacked.
        if len(ids) != n_rows or len(values) != n_rows * len(names):
            raise ValueError(f"{len(ids)} ids for {n_rows} rows")
        arrays: dict[str, Any] = {
            part: _unpacked_array(parts[part], (len(metrics), n_rows), kind).T.copy()
            for part, kind in _MATRICES.items()
        }
        for part, kind in _COLUMNS.items():
            arrays[part] = _unpacked_array(parts[part], (n_rows,), kind).copy()
        if _DIGESTS in parts:
            found = _unpacked_array(parts[_DIGESTS], (len(UNKNOWN), n_rows), _DIGEST_KIND)
            arrays[_DIGESTS] = found.T.copy()
        _check_values(arrays)
        repeats = _unpacked_repeats(parts) if _REPEATED in parts else {}
    except (KeyError, ValueError, TypeError, IndexError, zlib.error) as error:
        raise InputError(f"the stored rows are damaged: {error}") from None
    return ScoredRun(
        name=str(name),
        ids=[str(each) for each in ids],
        metrics=tuple(metrics),
        columns={
            column: values[place * n_rows : (place + 1) * n_rows]
            for place, column in enumerate(names)
        },
        repeats=repeats,
        **arrays,
        **others,
    )


def _unpacked_repeats(parts: Mapping[str, bytes]) -> dict[MetricId, RepeatMoments]:
    names = [str(name) for name in _unpacked_texts(parts[_REPEATED])]
    moments = _unpacked_array(parts[_REPEATS], (len(_MOMENTS), len(names)), "<f8").T
    n_rows, n_scores, inverse_counts, within, _, squares = moments.T
    sound = (n_rows >= 1) & (n_scores >= n_rows) & (inverse_counts > 0) & (within >= 0)
    if not (np.isfinite(moments).all() and sound.all() and (squares >= 0).all()):
        raise ValueError("the repeats hold a number that no run can have")
    return {
        name: RepeatMoments(int(rows), int(scores), *others)
        for name, (rows, scores, *others) in zip(names, moments.tolist(), strict=True)
    }


def _flat(columns: Mapping[str, Sequence[str | None]], n_rows: int) -> list[str | None]:
    values: list[str | None] = []
    for name, column in columns.items():
        if len(column) != n_rows:
            raise InputError(f"column {name!r} has {len(column)} values for {n_rows} rows")
        values += column
    return values


def _packed_array(values: Any, shape: tuple[int, ...], kind: str, name: str) -> bytes:
    found = np.asarray(values)
    if found.shape != shape:
        raise InputError(f"{name} must have the shape {shape}, got {found.shape}")
    # Values of one column are alike and compress well.
    return zlib.compress(np.ascontiguousarray(found.T, kind).tobytes(), _LEVEL)


def _unpacked_array(data: bytes, shape: tuple[int, ...], kind: str) -> npt.NDArray[Any]:
    n_bytes = math.prod(shape) * np.dtype(kind).itemsize
    found = np.frombuffer(_unpacked(data, n_bytes), kind).reshape(shape)
    return found.astype(found.dtype.newbyteorder("="), copy=False)


def _unpacked(data: bytes, most: int) -> bytes:
    """Decompressed data, if within the limit."""
    unpacker = zlib.decompressobj()
    found = unpacker.decompress(data, most + 1)
    if len(found) > most:
        raise ValueError(f"it unpacks to more than {most:,} bytes")
    if not unpacker.eof:
        raise ValueError("the data are truncated")
    return found


def _check_values(arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Raise an error for values that no run can have."""
    if arrays["null_reasons"].max(initial=0) > max(NullReason):
        raise ValueError("unknown null reason")
    for name in ("metric_passed", "passed"):
        if not np.isin(arrays[name], (NO_VERDICT, 0, 1)).all():
            raise ValueError(f"{name} holds a value that is not a verdict")


def _packed_texts(texts: Sequence[str | None], name: str) -> bytes:
    try:
        encoded = [
            None if text is None else text.encode("utf-8", "surrogatepass") for text in texts
        ]
    except AttributeError:
        raise InputError(f"{name} must be strings") from None
    lengths = [_NO_TEXT if text is None else len(text) for text in encoded]
    head = np.array([len(lengths), *lengths], "<i8").tobytes()
    return zlib.compress(head + b"".join(text for text in encoded if text is not None), _LEVEL)


def _unpacked_texts(data: bytes) -> list[str | None]:
    content = _unpacked(data, max(_MOST_TEXT_BYTES, _MOST_TIMES * len(data)))
    count = int(np.frombuffer(content, "<i8", 1)[0])
    lengths = np.frombuffer(content, "<i8", count, offset=8)
    ends = (8 * (count + 1) + np.cumsum(np.maximum(lengths, 0))).tolist()
    if count and ends[-1] != len(content):
        raise ValueError("the lengths of the texts do not match")
    return [
        None if length == _NO_TEXT else content[end - length : end].decode("utf-8", "surrogatepass")
        for end, length in zip(ends, lengths.tolist(), strict=True)
    ]
