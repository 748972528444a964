import numpy as np
import numpy.typing as npt

def widen_offsets(
    offsets: npt.NDArray[np.int32], limit: int, out: npt.NDArray[np.int64]
) -> int: ...
def check_offsets(offsets: npt.NDArray[np.int64], limit: int) -> int: ...
def first_invalid(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], begin: int, end: int
) -> int: ...
def gather(
    data: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    out: npt.NDArray[np.uint8],
) -> int: ...
def measure_views(
    views: npt.NDArray[np.uint8],
    valid: npt.NDArray[np.uint8],
    sizes: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
) -> int: ...
def gather_views(
    views: npt.NDArray[np.uint8],
    places: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    addresses: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
    out: npt.NDArray[np.uint8],
) -> int: ...
