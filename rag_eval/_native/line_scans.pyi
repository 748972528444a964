import numpy as np
import numpy.typing as npt

def scan_lines(
    lines: bytes,
    begin: int,
    keys: npt.NDArray[np.uint8],
    key_offsets: npt.NDArray[np.int64],
    key_fields: npt.NDArray[np.uint8],
    rows: npt.NDArray[np.int64],
    places: npt.NDArray[np.int64],
    marks: npt.NDArray[np.uint8],
    items: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
) -> int: ...
def lay_texts(
    lines: bytes | npt.NDArray[np.uint8],
    begins: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    offsets: npt.NDArray[np.int64],
    data: npt.NDArray[np.uint8],
) -> None: ...
def echoed_objects(
    lines: bytes,
    begins: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    scratch: bytearray,
) -> list[bytes | None]: ...
def scan_records(
    lines: bytes,
    begin: int,
    end: int,
    separator: int,
    column_fields: npt.NDArray[np.uint8],
    most_bytes: int,
    rows: npt.NDArray[np.int64],
    places: npt.NDArray[np.int64],
    marks: npt.NDArray[np.uint8],
    items: npt.NDArray[np.int64],
    texts: npt.NDArray[np.uint8],
    counts: npt.NDArray[np.int64],
) -> int: ...
def cut_record(
    lines: bytes, begin: int, end: int, separator: int
) -> tuple[list[str], int, int] | None: ...
