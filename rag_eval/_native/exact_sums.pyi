import numpy as np
import numpy.typing as npt

def add_column(
    values: npt.NDArray[np.float64],
    sums: npt.NDArray[np.int64],
    squares: npt.NDArray[np.int64],
) -> tuple[int, int, int]: ...
