import numpy as np
import numpy.typing as npt

def pack(texts: list[str], offsets: npt.NDArray[np.int64]) -> bytes: ...
