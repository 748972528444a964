"""An evaluation result of Haystack: its inputs and its detailed report, both by column."""

from __future__ import annotations

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from fixture_samples import FOLDER, SAMPLES, write_json
from haystack.components.evaluators import (  # type: ignore[import-not-found]
    AnswerExactMatchEvaluator,
)
from haystack.evaluation import (  # type: ignore[import-not-found]
    EvaluationRunResult,
)

inputs = {
    "questions": [sample["question"] for sample in SAMPLES],
    "contexts": [sample["contexts"] for sample in SAMPLES],
    "predicted_answers": [sample["answer"] for sample in SAMPLES],
    "ground_truth_answers": [sample["ground_truth"] for sample in SAMPLES],
}
match = AnswerExactMatchEvaluator().run(
    ground_truth_answers=inputs["ground_truth_answers"],
    predicted_answers=inputs["predicted_answers"],
)
result = EvaluationRunResult("port", inputs, {"exact_match": match})
write_json("haystack_report.json", result.detailed_report(output_format="json"))
write_json(
    "haystack_result.json",
    {"run_name": result.run_name, "inputs": result.inputs, "results": result.results},
)
result.detailed_report(output_format="csv", csv_file=str(FOLDER / "haystack.csv"))
