"""What pages and examples import is public: a name of a door, at most two levels deep."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.py")]

# Under these names the schema of an Arrow file holds a signature and a mark.
KEYS = {"rag_eval.signature", "rag_eval.input_changed"}

_IMPORT = re.compile(r"from (rag_eval[\w.]*) import ([\w, ]+)")
_MENTION = re.compile(r"`(rag_eval(?:\.\w+)+)`|^::: (rag_eval(?:\.\w+)+)", re.MULTILINE)


def named(text: str) -> set[tuple[str, str]]:
    """Modules and their names, as a page imports or mentions them."""
    found = {
        (module, name.strip())
        for module, names in _IMPORT.findall(text)
        for name in names.split(",")
    }
    for mentioned in _MENTION.findall(text):
        module, _, name = "".join(mentioned).rpartition(".")
        found.add((module, name))
    return found


def public_names(module: str) -> set[str]:
    """What a public module holds; nothing for a file inside of a room.

    Doors are the root, its modules, and the packages of two levels. The files of two rooms are
    public by their names: they are for one tool each, which importing them needs.
    """
    path = ROOT.joinpath(*module.split("."))
    if (path / "__init__.py").exists():
        return (
            set(getattr(import_module(module), "__all__", ())) if module.count(".") <= 2 else set()
        )
    source = path.with_suffix(".py")
    if path.parent.name not in ("rag_eval", "integrations", "adapters") or not source.exists():
        return set()
    tree = ast.parse(source.read_text("utf-8"))
    return {getattr(node, "name", "") for node in tree.body} | all_of(tree)


def is_module(name: str) -> bool:
    """Whether a page speaks of a public module as a whole; or of a key of files of that form."""
    return (
        name in KEYS
        or (ROOT / name.replace(".", "/") / "__init__.py").exists()
        or bool(public_names(name))
    )


def all_of(tree: ast.Module) -> set[str]:
    """The names that a module lists in ``__all__``."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def test_pages_and_examples_use_public_paths() -> None:
    wrong = [
        f"{page.relative_to(ROOT)}: {module}.{name}"
        for page in PAGES
        for module, name in sorted(named(page.read_text("utf-8")))
        if name not in public_names(module) and not is_module(f"{module}.{name}")
    ]
    assert wrong == []


def test_the_test_sees_names() -> None:
    text = "`rag_eval.a.b` and\n::: rag_eval.c\nfrom rag_eval.d import e, f"
    assert named(text) == {
        ("rag_eval.a", "b"),
        ("rag_eval", "c"),
        ("rag_eval.d", "e"),
        ("rag_eval.d", "f"),
    }
