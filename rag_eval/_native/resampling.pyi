import numpy as np
import numpy.typing as npt

def words(streams: npt.NDArray[np.uint64], first: int, out: npt.NDArray[np.uint64]) -> None: ...
def drawn_sums(
    rows: npt.NDArray[np.float64],
    streams: npt.NDArray[np.uint64],
    begin: int,
    end: int,
    sums: npt.NDArray[np.float64],
) -> None: ...
