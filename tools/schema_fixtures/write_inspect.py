"""A log of Inspect: a task whose solver gives the answers, so that no model is asked."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

os.environ["INSPECT_DISPLAY"] = "none"

from fixture_samples import SAMPLES, write_json
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import includes
from inspect_ai.solver import solver

ANSWERS = {sample["question"]: sample["answer"] for sample in SAMPLES}


@solver  # type: ignore[untyped-decorator]
def known_answers() -> Any:
    async def solve(state: Any, generate: Any) -> Any:
        state.output = ModelOutput.from_content("mockllm/model", ANSWERS[state.input_text])
        return state

    return solve


task = Task(
    dataset=[
        Sample(
            input=sample["question"],
            target=sample["ground_truth"],
            id=sample["id"],
            metadata={"contexts": sample["contexts"]},
        )
        for sample in SAMPLES
    ],
    solver=known_answers(),
    scorer=includes(),
    name="port",
)
with tempfile.TemporaryDirectory() as folder:
    [log] = eval(task, model="mockllm/model", log_dir=folder, log_format="json")
    document = json.loads(Path(log.location.removeprefix("file://")).read_text("utf-8"))

# Of the log, its head and what came of each sample; not the transcript of how it came about.
for sample in document["samples"]:
    for name in ("events", "attachments", "timelines", "events_data"):
        sample.pop(name, None)
write_json("inspect.json", {name: document[name] for name in ("version", "status", "samples")})
