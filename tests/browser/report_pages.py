"""Samples in; reports of them as files, as people get them, out."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from click.testing import CliRunner

from rag_eval.cli.program import program
from tests.grounded_samples import plain_corpus

HANDBOOK: Final = Path(__file__).parents[2] / "examples" / "handbook.jsonl"
_TOPICS: Final = ("harbour", "tax", "weather", None)


def written(report: Path, data: Path, *flags: str) -> Path:
    """The page that ``rag-eval run --html`` writes."""
    arguments = ["run", str(data), "--html", str(report), "--quiet", *flags]
    found = CliRunner().invoke(program, arguments)
    assert found.exit_code in (0, 1), found.output
    return report


def generated_rows(n_rows: int) -> Iterator[dict[str, Any]]:
    """Plain texts that come back under other ids, some of them without what scores need."""
    texts = plain_corpus(min(n_rows, 2_000), seed=8)
    chosen = random.Random(8)
    for number in range(n_rows):
        row = {**texts[number % len(texts)], "id": f"row-{number:06}"}
        row["metadata"] = {"topic": chosen.choice(_TOPICS), "batch": number % 7}
        row["ground_truth"] = row["ground_truth"] if isinstance(row["ground_truth"], str) else None
        if chosen.random() < 0.02:
            row["answer"] = ""
        yield row


def write_rows(path: Path, rows: Iterator[dict[str, Any]] | list[dict[str, Any]]) -> Path:
    """The rows as JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def changed_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file, of which every third has another answer."""
    for number, line in enumerate(path.read_text("utf-8").splitlines()):
        row = json.loads(line)
        if number % 3 == 0:
            row["answer"] = "The Grand Duke of Ulm paid 977 crowns for it in 1812."
        yield row
