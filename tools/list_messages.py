"""Every text that users of the package can meet.  In: files of rag_eval.  Out: one list, by file.

``python tools/list_messages.py > messages.txt`` writes the list, to be read in one sitting; paths
limit it, and ``--docstrings`` adds those. Values that are filled in stand in braces. Left out are
prompts, which are part of a score, and strings that no reader sees: keys, patterns, SQL, types.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
_NO_PROSE: Final = frozenset({"compile", "cast", "TypeVar", "NewType", "import_module", "getattr"})
_SQL: Final = re.compile(r"\s*(?:SELECT|INSERT|CREATE|UPDATE|DELETE|PRAGMA|ALTER|BEGIN|DROP)\b")
_FILLED_IN: Final = re.compile(r"\{[^{}]*\}")
_WORDS: Final = re.compile(r"[^\W\d_]{2,}[,.:;)]* +\S|\S +[^\W\d_]{2,}|^[A-Z][a-z]{2,}[:.]?$")
_MARKUP: Final = re.compile(r"\{%.*?%\}|\{#.*?#\}|<!--.*?-->", re.DOTALL)
_TITLES: Final = re.compile(r"(?:title|aria-label|alt|placeholder|data-\w+)=\"([^\"<>]+)\"")
_TAGS: Final = re.compile(r"<[^<>]*>")
_SCRIPT: Final = re.compile(
    r"(?m)//.*$|/\*[\s\S]*?\*/|'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\"|`((?:[^`\\]|\\.)*)`"
)


class Message(NamedTuple):
    """A text and the line that it begins on."""

    line: int
    text: str


def _text_of(node: ast.AST) -> str | None:
    """The string that an expression makes, with the source of filled-in values in braces."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(
            f"{{{ast.unparse(part.value)}}}"
            if isinstance(part, ast.FormattedValue)
            else str(_text_of(part))
            for part in node.values
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text_of(node.left), _text_of(node.right)
        if left is None and right is None:
            return None
        return "".join(
            f"{{{ast.unparse(side)}}}" if text is None else text
            for side, text in ((node.left, left), (node.right, right))
        )
    return None


def _called(node: ast.AST) -> str:
    match node:
        case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(func=ast.Name(id=name)):
            return name
    return ""


def _names_the_public(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
    return False


def _docstring(node: ast.AST) -> ast.Constant | None:
    match node:
        case ast.Expr(value=ast.Constant(value=str()) as text):
            return text
    return None


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """Children in which texts for readers may be: no type, no key, no docstring."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "slice"):
            continue
        yield from (
            child
            for child in (value if isinstance(value, list) else [value])
            if isinstance(child, ast.AST) and _docstring(child) is None
        )


def _filled_in(node: ast.AST) -> Iterator[ast.AST]:
    """Expressions within a string, of which some choose between texts."""
    if isinstance(node, ast.JoinedStr):
        yield from (part.value for part in node.values if isinstance(part, ast.FormattedValue))
    elif isinstance(node, ast.BinOp):
        for side in (node.left, node.right):
            yield from [side] if _text_of(side) is None else _filled_in(side)


def _strings(node: ast.AST) -> Iterator[Message]:
    text = _text_of(node)
    if text is not None:
        prose = _FILLED_IN.sub("{}", text)
        if _WORDS.search(prose) and not _SQL.match(prose):
            yield Message(getattr(node, "lineno", 0), text)
        children = _filled_in(node)
    elif _called(node) in _NO_PROSE or _names_the_public(node):
        return
    else:
        children = _inside(node)
    for child in children:
        yield from _strings(child)


def _docstrings(tree: ast.AST) -> Iterator[Message]:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            text = _docstring(statement)
            if text is not None:
                yield Message(text.lineno, f'"""{text.value!s}"""')


def messages_of_python(source: str, docstrings: bool = False) -> list[Message]:
    """Texts of a module in the order of its lines."""
    tree = ast.parse(source)
    found = [*_strings(tree), *(_docstrings(tree) if docstrings else ())]
    return sorted(dict.fromkeys(found))


def messages_of_template(source: str) -> list[Message]:
    """What a page shows: text between tags, and attributes that are read out or hovered over."""
    found = []
    bare = _MARKUP.sub(lambda tag: "\n" * tag[0].count("\n"), source)
    for number, line in enumerate(bare.split("\n"), start=1):
        texts = [*_TITLES.findall(line), *_TAGS.split(line)]
        found += [
            Message(number, text.strip())
            for text in texts
            if re.search(r"[^\W\d_]{2}", re.sub(r"\{\{.*?\}\}", "", text))
        ]
    return found


def messages_of_script(source: str) -> list[Message]:
    """Strings of JavaScript that hold words."""
    return [
        Message(source.count("\n", 0, found.start()) + 1, text)
        for found in _SCRIPT.finditer(source)
        if (text := found[1] or found[2] or found[3] or "") and _WORDS.search(text)
    ]


def messages_of_file(path: Path, docstrings: bool = False) -> list[Message]:
    """Texts of a file by its kind."""
    source = path.read_text()
    if path.suffix == ".py":
        return messages_of_python(source, docstrings)
    return messages_of_template(source) if path.suffix == ".j2" else messages_of_script(source)


def files_with_messages(paths: Iterable[Path]) -> list[Path]:
    """Python modules, templates and scripts at or below some paths."""
    return sorted(
        file
        for path in paths
        for file in ([path] if path.is_file() else path.rglob("*"))
        if file.suffix in (".py", ".j2", ".js")
    )


def main() -> None:
    """Print the list."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, default=[ROOT / "rag_eval"])
    parser.add_argument("--docstrings", action="store_true", help="docstrings too")
    asked = parser.parse_args()
    for file in files_with_messages(path.resolve() for path in asked.paths):
        found = messages_of_file(file, asked.docstrings)
        if found:
            sys.stdout.write(f"\n{file.relative_to(ROOT)}\n")
        for message in found:
            indented = "\n        ".join(message.text.rstrip().split("\n"))
            sys.stdout.write(f"  {message.line:4}  {indented}\n")


if __name__ == "__main__":
    main()
