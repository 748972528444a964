import numpy as np
import numpy.typing as npt

def measure(texts: list[str], offsets: npt.NDArray[np.int64]) -> int: ...
def fill(
    texts: list[str],
    offsets: npt.NDArray[np.int64],
    data: npt.NDArray[np.uint8],
) -> None: ...
