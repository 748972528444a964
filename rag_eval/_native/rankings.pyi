import numpy as np
import numpy.typing as npt

def score_rankings(
    ids: npt.NDArray[np.int64],
    id_offsets: npt.NDArray[np.int64],
    judged: npt.NDArray[np.int64],
    grades: npt.NDArray[np.int32],
    judged_offsets: npt.NDArray[np.int64],
    kinds: npt.NDArray[np.int32],
    cutoffs: npt.NDArray[np.int64],
    level: int,
    exponential: bool,
    max_grade: int,
    persistence: float,
    seed: int,
    begin: int,
    end: int,
    scores: npt.NDArray[np.float64],
    n_relevant: npt.NDArray[np.int64],
) -> None: ...
def order_rows(
    scores: npt.NDArray[np.float64],
    offsets: npt.NDArray[np.int64],
    begin: int,
    end: int,
    order: npt.NDArray[np.int64],
    tied: npt.NDArray[np.uint8],
) -> None: ...
