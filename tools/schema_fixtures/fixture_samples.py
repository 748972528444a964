"""The samples that every fixture holds, and how a fixture is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, TypedDict

FOLDER: Final = Path(__file__).parents[2] / "tests" / "fixtures" / "schemas"


class Sample(TypedDict):
    """A sample under native names."""

    id: str
    question: str
    answer: str
    contexts: list[str]
    ground_truth: str


# Lists of two and of one, letters beyond ASCII, and what CSV has to quote.
SAMPLES: Final[list[Sample]] = [
    {
        "id": "lamp",
        "question": "How high is the lighthouse of Port Ellery?",
        "answer": "The lighthouse of Port Ellery is 31 metres high.",
        "contexts": [
            "The lighthouse of Port Ellery, built of granite, is 31 metres high.",
            "Its lamp was lit for the first time in 1887.",
        ],
        "ground_truth": "It is 31 metres high.",
    },
    {
        "id": "museum",
        "question": "Wann öffnet das Glasmuseum?",
        "answer": "Das Glasmuseum öffnet um 9 Uhr.",
        "contexts": ['Öffnungszeiten: 9–17 Uhr, "außer montags".'],
        "ground_truth": "Um 9 Uhr, außer montags.",
    },
]


def write_json(name: str, value: Any) -> None:
    """Write a fixture that is one JSON document."""
    write_text(name, json.dumps(value, ensure_ascii=False, indent=1))


def write_lines(name: str, rows: list[Any]) -> None:
    """Write a fixture of JSON lines."""
    write_text(name, "\n".join(json.dumps(row, ensure_ascii=False) for row in rows))


def write_text(name: str, text: str) -> None:
    """Write a fixture, with a line end after its last line."""
    (FOLDER / name).write_text(text.rstrip("\n") + "\n", encoding="utf-8")
