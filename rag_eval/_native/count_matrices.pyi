import numpy as np
import numpy.typing as npt

def count_column(
    text_bytes: npt.NDArray[np.uint8],
    text_offsets: npt.NDArray[np.int64],
    seed: int,
    indptr: npt.NDArray[np.int64],
) -> tuple[bytearray, bytearray, bytearray]: ...
def paired_tfidf(
    left_indptr: npt.NDArray[np.int64],
    left_indices: npt.NDArray[np.int32],
    left_counts: npt.NDArray[np.int32],
    right_indptr: npt.NDArray[np.int64],
    right_indices: npt.NDArray[np.int32],
    right_counts: npt.NDArray[np.int32],
    n_columns: int,
    begin: int,
    end: int,
    scores: npt.NDArray[np.float64],
) -> None: ...
def paired_jaccard(
    left_indptr: npt.NDArray[np.int64],
    left_indices: npt.NDArray[np.int32],
    left_counts: npt.NDArray[np.int32],
    right_indptr: npt.NDArray[np.int64],
    right_indices: npt.NDArray[np.int32],
    right_counts: npt.NDArray[np.int32],
    n_columns: int,
    begin: int,
    end: int,
    scores: npt.NDArray[np.float64],
) -> None: ...
def weigh_rows(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int32],
    n_columns: int,
    weights_indptr: npt.NDArray[np.int64],
    weights_indices: npt.NDArray[np.int32],
    weights: npt.NDArray[np.float64],
) -> None: ...
def paired_cosine(
    left_indptr: npt.NDArray[np.int64],
    left_indices: npt.NDArray[np.int32],
    left_weights: npt.NDArray[np.float64],
    right_indptr: npt.NDArray[np.int64],
    right_indices: npt.NDArray[np.int32],
    right_weights: npt.NDArray[np.float64],
    n_columns: int,
    begin: int,
    end: int,
    scores: npt.NDArray[np.float64],
) -> None: ...
