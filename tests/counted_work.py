"""How much a call does, counted: a busy machine does not change it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def operations(act: Callable[[], object]) -> int:
    """Instructions of the interpreter in this thread; what compiled code does is one each."""
    n_operations = 0

    def count(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal n_operations
        frame.f_trace_opcodes = True
        n_operations += event == "opcode"
        return count

    before = sys.gettrace()
    # Python 3.12 counts none unless a frame asked for them before the tracing began.
    sys._getframe().f_trace_opcodes = True
    sys.settrace(count)
    try:
        act()
    finally:
        sys.settrace(before)
    return n_operations
