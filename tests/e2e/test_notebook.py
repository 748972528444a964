"""Results in a real kernel: HTML that runs nothing, one bar per run, plots by themselves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
PRELUDE = f"""
import asyncio, json, sys
sys.path.insert(0, {str(ROOT)!r})
import rag_eval
from rag_eval import aevaluate_batch, compare, evaluate, evaluate_batch
EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)> \\x1b[31m \\u202e \\ud800"
rows = [
    {{"id": EVIL, "question": EVIL, "answer": f"It is {{EVIL}}.", "contexts": [EVIL, "It is."]}},
    {{"id": "b", "question": "What burns?", "answer": "The mill.", "contexts": ["A mill burns."]}},
]
"""
CELLS = {
    "result": "evaluate(rows[0], profile='grounded')",
    "batch": "batch = evaluate_batch(rows)\nbatch",
    "comparison": "compare(batch, batch, id_field='question')",
    "bar": "n = evaluate_batch(rows * 20_000, on_progress=True).n_rows",
    "awaited": "n = (await aevaluate_batch(rows * 2_000, on_progress=True)).n_rows",
    "plot": "batch.plot(['faithfulness'])",
    "again": "import matplotlib.pyplot\nbatch.plot(['faithfulness'])",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """The outputs of each cell, in the end."""
    place = str(tmp_path_factory.mktemp("jupyter"))
    notebook = nbformat.v4.new_notebook()
    cells = [PRELUDE, *CELLS.values()]
    notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PLATFORM_DIRS", "1")
        patch.setenv("IPYTHONDIR", place)
        patch.setenv("JUPYTER_RUNTIME_DIR", place)
        patch.delenv("MPLBACKEND", raising=False)
        NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    nbformat.validate(notebook)
    shown = [cell.outputs for cell in notebook.cells]
    assert shown[0] == []
    return dict(zip(CELLS, shown[1:], strict=True))


@pytest.mark.parametrize("name", ["result", "batch", "comparison"])
def test_results_are_shown_as_html_that_runs_and_loads_nothing(
    outputs: dict[str, list[Any]], name: str
) -> None:
    (output,) = outputs[name]
    assert output.output_type == "execute_result"
    html = output.data["text/html"]
    assert set(output.data) == {"text/html", "text/plain"}
    assert "faithfulness" in html
    opened = set(re.findall(r"<([a-z]+)", html))
    assert not opened & {"script", "style", "img", "iframe", "link", "object", "a"}
    assert not re.search(r"<[^>]*\s(on\w+|href|src)\s*=", html)
    assert html.count("http") == html.count('xmlns="http://www.w3.org/2000/svg"')
    if name != "comparison":
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert not set(html) & set("\x1b\u202e\ud800")


@pytest.mark.parametrize(("name", "n_rows"), [("bar", 40_000), ("awaited", 4_000)])
def test_a_run_has_one_bar_that_is_full_in_the_end(
    outputs: dict[str, list[Any]], name: str, n_rows: int
) -> None:
    (output,) = outputs[name]
    assert output.output_type == "display_data"
    assert ' value="1" max="1"' in output.data["text/html"]
    assert re.fullmatch(
        rf"{n_rows:,} samples, [\d,]+/s, done after \d:\d\d:\d\d", output.data["text/plain"]
    )


@pytest.mark.parametrize("name", ["plot", "again"])
def test_a_plot_is_shown_once_with_pyplot_and_without(
    outputs: dict[str, list[Any]], name: str
) -> None:
    (output,) = outputs[name]
    assert "image/png" in output.data
