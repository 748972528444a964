from typing import TypeAlias

import numpy as np
import numpy.typing as npt

_Units: TypeAlias = npt.NDArray[np.uint16]
_Offsets: TypeAlias = npt.NDArray[np.int64]

def measure(texts: list[str], offsets: _Offsets) -> int: ...
def fill(texts: list[str], offsets: _Offsets, begin: int, end: int, units: _Units) -> None: ...
def dice_similarities(
    left_units: _Units,
    left_offsets: _Offsets,
    right_units: _Units,
    right_offsets: _Offsets,
    seed: int,
    begin: int,
    end: int,
    scores: npt.NDArray[np.float64],
) -> None: ...
def align(
    left_units: _Units,
    left_offsets: _Offsets,
    right_units: _Units,
    right_offsets: _Offsets,
    edits: bool,
    max_cells: float,
    begin: int,
    end: int,
    counts: npt.NDArray[np.int64],
    stop: bytearray | None = None,
    handles_signals: bool = False,
) -> None: ...
