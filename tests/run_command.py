"""``rag-eval run`` in the process of the test, and rows of which the scores are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from click.testing import Result

from tests.commands import invoke

HANDBOOK: Final = str(Path(__file__).parents[1] / "examples" / "handbook.jsonl")
GOOD: Final = {"question": "red fox", "answer": "red fox.", "contexts": ["red fox."]}
BAD: Final = {"question": "red fox", "answer": "blue whale sings.", "contexts": ["red fox."]}
FAITH: Final = ("--metrics", "faithfulness")
FIELDS: Final = "fields: question=question, answer=answer, contexts=contexts\n"


def run(*arguments: object, **options: Any) -> Result:
    return invoke("run", *arguments, **options)


def samples(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def handbook_rows() -> list[Any]:
    return [json.loads(line) for line in Path(HANDBOOK).read_text("utf-8").splitlines()]
