import numpy as np
import numpy.typing as npt

def tokens(text: npt.NDArray[np.uint8]) -> list[str]: ...
def sentences(text: npt.NDArray[np.uint8]) -> list[str]: ...
def mark_factual(
    text_bytes: npt.NDArray[np.uint8],
    text_offsets: npt.NDArray[np.int64],
    factual: npt.NDArray[np.uint8],
) -> None: ...
def paired_tfidf(
    left_bytes: npt.NDArray[np.uint8],
    left_offsets: npt.NDArray[np.int64],
    right_bytes: npt.NDArray[np.uint8],
    right_offsets: npt.NDArray[np.int64],
    seed: int,
    begin: int,
    end: int,
    scores: npt.NDArray[np.float64],
) -> None: ...
def paired_token_f1(
    left_bytes: npt.NDArray[np.uint8],
    left_offsets: npt.NDArray[np.int64],
    right_bytes: npt.NDArray[np.uint8],
    right_offsets: npt.NDArray[np.int64],
    seed: int,
    begin: int,
    end: int,
    scores: npt.NDArray[np.float64],
) -> None: ...
def paired_overlaps(
    left_bytes: npt.NDArray[np.uint8],
    left_offsets: npt.NDArray[np.int64],
    right_bytes: npt.NDArray[np.uint8],
    right_offsets: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
    seed: int,
    begin: int,
    end: int,
    overlaps: npt.NDArray[np.float64],
) -> None: ...
