from collections.abc import Callable, Sequence
from typing import Any

class RowWriter:
    def __init__(
        self,
        rounded: Callable[[float], str],
        add_form: Callable[[int, str, int], tuple[bytes, ...]],
        add_signal: Callable[[Any, bool], tuple[tuple[bytes, ...], bool]],
    ) -> None: ...
    def row(
        self,
        around: tuple[bytes, ...],
        sample: bytes,
        said: Sequence[tuple[Any, ...]],
        scores: Sequence[bytes],
        verdicts: Sequence[bytes],
        reasons: Sequence[int],
        details: Sequence[bytes],
        others: Sequence[bytes],
    ) -> bytes: ...
