from collections.abc import Callable, Sequence
from typing import Any, Self, final

@final
class RowWriter:
    def __new__(
        cls,
        is_grounded: bool,
        metrics: Sequence[int],
        limits: Sequence[float],
        add_form: Callable[[int, int, int], tuple[bytes, ...]],
        add_signal: Callable[[int], tuple[bytes, ...]],
        phrases: Sequence[tuple[bytes, ...]],
        results: Sequence[tuple[bytes, ...]],
        languages: Sequence[bytes],
        refusals: Sequence[bytes],
        details: bool,
        between: bytes,
    ) -> Self: ...
    def forget_forms(self) -> None: ...
    def clear(self) -> None: ...
    def add(self, row: bytes) -> None: ...
    def rows(self) -> list[bytes]: ...
    def write_to(self, write: Callable[[memoryview], object]) -> None: ...
    def fill(
        self,
        samples: list[bytes | None],
        arrays: tuple[Any, ...],
        alone: Callable[[int], bytes],
    ) -> None: ...
