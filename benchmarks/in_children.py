"""Calls that are each made in a child of this process, so that callgrind counts them one by one.

What is imported, and translated for callgrind, is so once, before the first call.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable


def make_in_children(calls: Iterable[Callable[[], object]]) -> None:
    """Make each call in a child, whose counts callgrind writes when it ends, and print its id.

    One child more makes no call: what it has counted, the others inherit.
    """
    gc.disable()  # a collection within a kernel's wrapper would count as its work
    running = 0
    for call in (lambda: None, *calls):
        if running == os.cpu_count():
            running -= 1
            check_child(os.wait()[1])
        child = os.fork()
        if child == 0:
            exit_code = 1
            try:
                call()
                exit_code = 0
            finally:
                os._exit(exit_code)
        running += 1
        print(child, flush=True)
    for _ in range(running):
        check_child(os.wait()[1])


def check_child(status: int) -> None:
    if status != 0:
        raise ChildProcessError("a call failed")
