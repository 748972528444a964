"""Three rows for the grounded profile on the command line: sound, invented, and nearly empty."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

GROUNDED = ("--profile", "grounded")
CONTEXTS = [
    "Dr. Ellen Marsh, who led the trial at Norwick Hospital, enrolled 1,204 patients.",
    "Bus 92 is slower.",
]
SOUND: dict[str, Any] = {
    "question": "Who led the trial at Norwick Hospital?",
    "answer": "Dr. Ellen Marsh led the trial.",
    "contexts": CONTEXTS,
    "ground_truth": ["Dr. Ellen Marsh", "Ellen Marsh"],
}
INVENTED = {**SOUND, "answer": "In 2020 Tom Reed sold 17 boats in Lagos."}
SAMPLES = [{"id": "a", **SOUND}, {"id": "b", **INVENTED}, {"id": "c", "answer": "Nobody."}]


def samples(path: Path, *rows: object) -> Path:
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path
