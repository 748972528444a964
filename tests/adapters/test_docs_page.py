"""The examples of the page on integrations, those of the tool that is installed here."""

from __future__ import annotations

import doctest
import importlib.util
import re
from pathlib import Path

import pytest

from tests.docs_pages import ROOT, tool

PAGE = "docs/how-to/integrations.md"
# What each module of ours is for.
PACKAGES = {
    "datasets": "datasets",
    "deepeval": "deepeval",
    "inspect_ai": "inspect_ai",
    "langchain": "langchain_classic",
    "llamaindex": "llama_index",
    "mlflow": "mlflow",
}


def examples() -> dict[str, str]:
    """Module of ours -> its example."""
    found = {}
    for block in tool("docs_blocks").page_blocks((ROOT / PAGE).read_text("utf-8")):
        if block.tag == "engine":
            (name,) = re.findall(r"from rag_eval\.integrations\.(\w+) import", block.text)
            found[name] = block.text
    assert found.keys() == PACKAGES.keys()
    return found


HERE = [name for name, package in PACKAGES.items() if importlib.util.find_spec(package)]
if not HERE:
    pytest.skip("make adapters installs the tools", allow_module_level=True)

# The packages' own warnings are not ours to mend.
pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("name", HERE)
def test_the_example_does_what_it_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parsed = doctest.DocTestParser().get_doctest(examples()[name], {}, name, PAGE, 0)
    failures: list[str] = []
    doctest.DocTestRunner().run(parsed, out=failures.append)
    assert not failures, "".join(failures)
