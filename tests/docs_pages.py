"""Pages of docs/: the tools that keep them true, and their links."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]


def tool(name: str) -> ModuleType:
    """tools/NAME.py, imported."""
    folder = str(ROOT / "tools")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(folder)


def update_tool() -> ModuleType:
    """tools/update_readme.py, imported."""
    return tool("update_readme")


def broken_links(page: Path) -> list[str]:
    """Links of a page into the repository that lead to no file, or to no heading of it."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [
        target
        for target in re.findall(r"\]\((?!http)([^)]+)\)", text)
        if not _leads_somewhere(page, target)
    ]


def _leads_somewhere(page: Path, target: str) -> bool:
    name, _, heading = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    if not file.exists():
        return False
    return not heading or heading in _headings(file.read_text("utf-8"))


def _headings(text: str) -> set[str]:
    """Headings as links name them."""
    return {
        re.sub(r"[^\w -]", "", line.lstrip("# ")).lower().replace(" ", "-")
        for line in text.splitlines()
        if line.startswith("#")
    }
