"""Tables of TruLens: records of an app, ground truths, and a log to ingest."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

os.environ["TRULENS_OTEL_TRACING"] = "1"

import pandas as pd
from fixture_samples import SAMPLES, write_lines
from trulens.apps.app import TruApp  # type: ignore[import-not-found]
from trulens.core import TruSession  # type: ignore[import-not-found]
from trulens.core.otel.instrument import instrument  # type: ignore[import-not-found]
from trulens.core.run import validate_dataset_spec  # type: ignore[import-not-found]

SAMPLE_OF = {sample["question"]: sample for sample in SAMPLES}


class Assistant:
    """An app that knows its samples."""

    @instrument()  # type: ignore[untyped-decorator]
    def ask(self, question: str) -> str:
        return SAMPLE_OF[question]["answer"]


def rows(table: Any) -> list[Any]:
    return list(json.loads(table.to_json(orient="records", date_format="iso")))


with tempfile.TemporaryDirectory() as folder:
    session = TruSession(database_url=f"sqlite:///{folder}/trulens.sqlite")
    session.add_ground_truth_to_dataset(
        "port",
        pd.DataFrame(
            {
                "query": [sample["question"] for sample in SAMPLES],
                "query_id": [sample["id"] for sample in SAMPLES],
                "expected_response": [sample["ground_truth"] for sample in SAMPLES],
            }
        ),
    )
    write_lines("trulens_ground_truth.jsonl", rows(session.get_ground_truth("port")))
    assistant = Assistant()
    app = TruApp(assistant, app_name="port", app_version="1", main_method=assistant.ask)
    for sample in SAMPLES:
        with app as _:
            assistant.ask(sample["question"])
    session.force_flush()
    records, _ = session.get_records_and_feedback()
    write_lines("trulens_records.jsonl", rows(records))

# A log to ingest has columns of any name; here they are called as what they are for.
log = pd.DataFrame(
    {
        "input_id": [sample["id"] for sample in SAMPLES],
        "record_root.input": [sample["question"] for sample in SAMPLES],
        "record_root.output": [sample["answer"] for sample in SAMPLES],
        "retrieval.retrieved_contexts": [sample["contexts"] for sample in SAMPLES],
        "record_root.ground_truth_output": [sample["ground_truth"] for sample in SAMPLES],
    }
)
validate_dataset_spec({name: name for name in log.columns})
write_lines("trulens_log.jsonl", rows(log))
