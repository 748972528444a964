"""Records of an evaluation dataset of MLflow."""

from __future__ import annotations

import json

from fixture_samples import SAMPLES, write_lines
from mlflow.entities import DatasetRecord

DAY = 1767571200000

records = [
    DatasetRecord(
        dataset_id="d-port",
        dataset_record_id=sample["id"],
        inputs={"question": sample["question"]},
        outputs={"response": sample["answer"], "contexts": sample["contexts"]},
        expectations={"expected_response": sample["ground_truth"]},
        created_time=DAY,
        last_update_time=DAY,
    )
    for sample in SAMPLES
]
write_lines("mlflow.jsonl", [json.loads(json.dumps(record.to_dict())) for record in records])
