"""Mutants are valid sources that differ in one place, and never in what does not run."""

from __future__ import annotations

from pathlib import Path

from tests.docs_pages import tool
from tests.tables import every_row

NEVER = '''\
"""1 < 2, and not run."""
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import rag_eval
x: "tuple[int, 1]" = f"{1 + 1}"
'''
KERNEL = '''\
cdef inline int first(const int64_t[::1] ids) noexcept nogil:
    """Less than 1."""
    return ids[0] and x < 0x80  # or 1
'''


@every_row(
    ("name", "source", "changed"),
    [
        ("a.py", "y = a <= b\n", {"y = (a < b)\n"}),
        ("a.py", "y = a and not b\n", {"y = (a or not b)\n", "y = a and (b)\n"}),
        ("a.py", "y = {'é': -7}\n", {"y = {'é': (7)}\n", "y = {'é': -(8)}\n", "y = {'é': -(6)}\n"}),
        ("a.py", "if a:\n    b()\n", {"if (not a):\n    b()\n", "if a:\n    pass\n"}),
        ("a.py", "def f():\n    return a\n", {"def f():\n    return None\n"}),
        ("a.py", "a.b = c\n", {"pass\n"}),
        ("a.py", NEVER, set()),
        (
            "a.pxd",
            KERNEL,
            {
                KERNEL.replace("ids[0]", "ids[1]"),
                KERNEL.replace("] and", "] or"),
                KERNEL.replace("x < ", "x <= "),
            },
        ),
        ("a.h", "/* 1 < 2 */\nint y = a & b;\n", {"/* 1 < 2 */\nint y = a | b;\n"}),
    ],
)
def test_each_mutant_differs_in_one_place_that_runs(
    tmp_path: Path, name: str, source: str, changed: set[str]
) -> None:
    (tmp_path / name).write_text(source, "utf-8")
    assert {each.mutated for each in tool("mutations").mutants_of(tmp_path, Path(name))} == changed


def test_the_diff_of_a_mutant_is_the_line_before_and_after(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = a < b\n", "utf-8")
    mutant = list(tool("mutations").mutants_of(tmp_path, Path("a.py")))[-1]
    assert (mutant.line, mutant.diff) == (2, "    -y = a < b\n    +y = (a <= b)")
