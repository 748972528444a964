"""Results as RAGChecker writes them.

Installed with ``--no-deps`` beside dataclasses-json: what its package imports to ask models is
large and not needed here, so its ``__init__`` is left out.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import distribution
from types import ModuleType

from fixture_samples import SAMPLES, write_json

package = ModuleType("ragchecker")
package.__path__ = [str(distribution("ragchecker").locate_file("ragchecker"))]
sys.modules["ragchecker"] = package

from ragchecker.container import (  # type: ignore[import-not-found]  # noqa: E402
    RAGResult,
    RAGResults,
    RetrievedDoc,
)

results = RAGResults(
    [
        RAGResult(
            query_id=sample["id"],
            query=sample["question"],
            gt_answer=sample["ground_truth"],
            response=sample["answer"],
            retrieved_context=[
                RetrievedDoc(doc_id=f"{sample['id']}-{number}", text=text)
                for number, text in enumerate(sample["contexts"])
            ],
        )
        for sample in SAMPLES
    ]
)
write_json("ragchecker.json", json.loads(results.to_json()))
