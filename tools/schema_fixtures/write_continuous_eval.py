"""A dataset as continuous-eval saves it.

Installed with ``--no-deps`` beside PyYAML and pydantic: its package downloads word lists when
imported, so only the module of datasets is.
"""

from __future__ import annotations

import sys
from importlib.metadata import distribution
from types import ModuleType
from typing import Any

from fixture_samples import FOLDER, SAMPLES

root = distribution("continuous-eval")
for name in ("continuous_eval", "continuous_eval.eval"):
    package = ModuleType(name)
    package.__path__ = [str(root.locate_file(name.replace(".", "/")))]
    sys.modules[name] = package

from continuous_eval.eval.dataset import Dataset  # type: ignore[import-not-found]  # noqa: E402

rows: list[dict[str, Any]] = [
    {
        "uid": sample["id"],
        "question": sample["question"],
        "answer": sample["answer"],
        "retrieved_context": sample["contexts"],
        "ground_truth_answers": [sample["ground_truth"]],
        "ground_truth_context": ["Not retrieved: where the reference was found."],
    }
    for sample in SAMPLES
]
Dataset.from_data(rows).save(FOLDER / "continuous_eval.jsonl")
