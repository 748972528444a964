"""Mutants: sources with one mistake each.  In: a module or kernel.  Out: mutants."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
    **{ast.FloorDiv: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd},
}
_NOT_RUN = ("annotation", "returns", "decorator_list", "type_params")

_KERNEL_SWAPS = {
    **{" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == "},
    **{" + ": " - ", " - ": " + ", " += ": " -= ", " -= ": " += ", " * ": " + ", " / ": " * "},
    **{" & ": " | ", " | ": " & ", " and ": " or ", " or ": " and ", "not ": ""},
    **{"min(": "max(", "max(": "min(", "continue": "pass", "break": "pass"},
}
# Longer ones first. Parts of names, 0x80, and the layout of a view are no numbers here.
_KERNEL_PLACE = re.compile(
    "|".join(re.escape(text) for text in sorted(_KERNEL_SWAPS, key=len, reverse=True))
    + r"|(?<![\w.:])\d+(?![\w.])"
)
_KERNEL_TEXTS = re.compile(r'""".*?"""|/\*.*?\*/|"[^"\n]*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL)
_DECLARATION = re.compile(
    r"\s*(cdef (inline|enum|struct|extern)|c?import|from|ctypedef|def|include)\b"
)


class Mutant(NamedTuple):
    path: Path  # from the root
    line: int
    source: str
    mutated: str

    @property
    def diff(self) -> str:
        """The lines that differ."""
        lines = difflib.unified_diff(self.source.splitlines(), self.mutated.splitlines(), n=0)
        return "\n".join(f"    {line}" for line in list(lines)[3:])


def mutants_of(root: Path, path: Path) -> Iterator[Mutant]:
    """All mutants of a Python module or a kernel's source."""
    source = (root / path).read_text("utf-8")
    changes = _python_changes(source) if path.suffix == ".py" else _kernel_changes(source)
    for line, mutated in changes:
        yield Mutant(path, line, source, mutated)


def _python_changes(source: str) -> Iterator[tuple[int, str]]:
    lines = source.encode().splitlines(keepends=True)
    for node in _places(ast.parse(source)):
        for place, changed in _changed_nodes(node):
            yield place.lineno, _spliced(lines, place, changed)


def _places(node: ast.AST) -> Iterator[ast.AST]:
    """Every node that runs; not f-strings, whose parts have no positions before Python 3.12."""
    if isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name not in _NOT_RUN:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _places(child)


def _changed_nodes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, ast.AST]]:
    """What goes, the node or its condition, and what comes in its place."""
    match node:
        case ast.Compare(ops=[only]) if type(only) in _SWAPPED:
            yield node, ast.Compare(node.left, [_SWAPPED[type(only)]()], node.comparators)  # type: ignore[list-item]
        case ast.BoolOp(op=op) | ast.BinOp(op=op) if type(op) in _SWAPPED:
            changed = deepcopy(node)
            changed.op = _SWAPPED[type(op)]()  # type: ignore[assignment]
            yield node, changed
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield node, operand
        case ast.Constant(value=bool() as value):
            yield node, ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield node, ast.Constant(value + 1)
            yield node, ast.Constant(value - 1)
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield node, ast.Return(ast.Constant(None))
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield test, ast.UnaryOp(ast.Not(), test)
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise():
            yield node, ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield node, ast.Pass()
        case ast.Continue() | ast.Break():
            yield node, ast.Pass()


def _spliced(lines: list[bytes], place: ast.expr | ast.stmt, changed: ast.AST) -> str:
    """The source with the text of one node replaced."""
    begin, end = place.lineno - 1, (place.end_lineno or place.lineno) - 1
    text = ast.unparse(ast.fix_missing_locations(changed))
    text = f"({text})" if isinstance(changed, ast.expr) else text
    before = b"".join([*lines[:begin], lines[begin][: place.col_offset]])
    after = b"".join([lines[end][place.end_col_offset :], *lines[end + 1 :]])
    return (before + text.encode() + after).decode()


def _kernel_changes(source: str) -> Iterator[tuple[int, str]]:
    # Texts and comments keep their length, so that places stay what they are.
    code = _KERNEL_TEXTS.sub(lambda found: re.sub(r"[^\n]", "~", found[0]), source)
    starts = [0, *(found.end() for found in re.finditer("\n", code))]
    for line, (begin, code_line) in enumerate(zip(starts, code.splitlines(), strict=False), 1):
        if _DECLARATION.match(code_line):
            continue
        for found in _KERNEL_PLACE.finditer(code_line):
            text = found[0]
            swapped = str(int(text) + 1) if text.isdecimal() else _KERNEL_SWAPS[text]
            at = begin + found.start()
            yield line, source[:at] + swapped + source[at + len(text) :]
