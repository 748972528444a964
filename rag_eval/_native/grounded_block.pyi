from typing import TypeAlias

import numpy as np
import numpy.typing as npt

_Bytes: TypeAlias = npt.NDArray[np.uint8]
_Offsets: TypeAlias = npt.NDArray[np.int64]
_Span: TypeAlias = tuple[int, int]
_Pair: TypeAlias = tuple[str, str]
_Evidence: TypeAlias = tuple[
    _Span,
    float,
    int | None,
    _Span | None,
    float,
    tuple[str, ...],
    _Pair | None,
    tuple[str, ...],
    tuple[_Pair, ...],
    bool,
    tuple[float, ...],
]

def score_block(
    question_bytes: _Bytes,
    question_offsets: _Offsets,
    answer_bytes: _Bytes,
    answer_offsets: _Offsets,
    truth_bytes: _Bytes,
    truth_offsets: _Offsets,
    row_truths: _Offsets,
    context_bytes: _Bytes,
    context_offsets: _Offsets,
    row_contexts: _Offsets,
    given: _Bytes,
    languages: npt.NDArray[np.int8],
    word_bytes: _Bytes,
    word_offsets: _Offsets,
    stem_bytes: _Bytes,
    stem_offsets: _Offsets,
    weights: npt.NDArray[np.float64],
    metrics: npt.NDArray[np.int64],
    seed: int,
    begin: int,
    end: int,
    scores: npt.NDArray[np.float64],
    reasons: npt.NDArray[np.uint8],
    losses: npt.NDArray[np.float64],
    stop: bytearray | None = None,
    handles_signals: bool = False,
) -> None: ...
def explained_block(
    question_bytes: _Bytes,
    question_offsets: _Offsets,
    answer_bytes: _Bytes,
    answer_offsets: _Offsets,
    truth_bytes: _Bytes,
    truth_offsets: _Offsets,
    row_truths: _Offsets,
    context_bytes: _Bytes,
    context_offsets: _Offsets,
    row_contexts: _Offsets,
    given: _Bytes,
    languages: npt.NDArray[np.int8],
    word_bytes: _Bytes,
    word_offsets: _Offsets,
    stem_bytes: _Bytes,
    stem_offsets: _Offsets,
    weights: npt.NDArray[np.float64],
    metrics: npt.NDArray[np.int64],
    seed: int,
    begin: int,
    end: int,
    scores: npt.NDArray[np.float64],
    reasons: npt.NDArray[np.uint8],
    stop: bytearray | None = None,
    handles_signals: bool = False,
) -> tuple[bytes, bytes, bytes, bytes]: ...
def kept_row(
    numbers: bytes, values: bytes, texts: bytes, number: int, value: int, text: int
) -> tuple[
    list[float],
    list[int],
    list[int],
    int,
    list[float] | None,
    list[float] | None,
    list[_Evidence] | None,
    int | None,
    list[_Evidence] | None,
    tuple[float, ...] | None,
    tuple[bool, bool] | None,
    bool,
]: ...
def row_words(
    question_bytes: _Bytes,
    question_offsets: _Offsets,
    answer_bytes: _Bytes,
    answer_offsets: _Offsets,
    truth_bytes: _Bytes,
    truth_offsets: _Offsets,
    row_truths: _Offsets,
    context_bytes: _Bytes,
    context_offsets: _Offsets,
    row_contexts: _Offsets,
    given: _Bytes,
    languages: npt.NDArray[np.int8],
    seed: int,
    begin: int,
    end: int,
) -> dict[int, set[bytes]]: ...
