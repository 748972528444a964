import numpy as np
import numpy.typing as npt

def add_column(
    values: npt.NDArray[np.float64],
    sums: npt.NDArray[np.int64],
    squares: npt.NDArray[np.int64],
) -> tuple[int, int, int]: ...
def give_verdicts(
    scores: npt.NDArray[np.float64],
    null_reasons: npt.NDArray[np.uint8] | None,
    limits: npt.NDArray[np.float64],
    kinds: npt.NDArray[np.uint8],
    reads_truth: npt.NDArray[np.uint8],
    composed: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    need: int,
    composite_limit: float,
    composite: npt.NDArray[np.float64],
    metric_passed: npt.NDArray[np.uint8],
    passed: npt.NDArray[np.uint8],
) -> None: ...
