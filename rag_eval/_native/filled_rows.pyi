from collections.abc import Callable, Sequence
from typing import Any, Self, final

@final
class RowWriter:
    def __new__(
        cls,
        rounded: Callable[[float], str],
        add_form: Callable[[int, str, int], tuple[bytes, ...]],
        add_signal: Callable[[Any, bool], tuple[tuple[bytes, ...], bool]],
        between: bytes,
    ) -> Self: ...
    def clear(self) -> None: ...
    def add(self, row: bytes) -> None: ...
    def rows(self) -> list[bytes]: ...
    def write_to(self, write: Callable[[memoryview], object]) -> None: ...
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
    ) -> None: ...
