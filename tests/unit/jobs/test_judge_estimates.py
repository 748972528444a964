"""What a judge's run would take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rag_eval.jobs.judge_estimates import estimate_judging

PRICES = {"dear": {"input": 3.0, "output": 20.0}, "cheap": {"input": 0.1, "output": 0.7}}


def test_several_judges_cost_what_each_of_them_does(tmp_path: Path) -> None:
    data = tmp_path / "rows.jsonl"
    row = {"question": "What grows?", "answer": "Rye. Oats.", "contexts": ["Rye and oats grow."]}
    data.write_text("".join(json.dumps({**row, "id": n}) + "\n" for n in range(5)))

    def cost(**judge: Any) -> float:
        found = estimate_judging(data, ["faithfulness"], mode="llm", prices=PRICES, **judge)
        assert found.cost_usd is not None
        return found.cost_usd

    each = [cost(judge="openai:dear"), cost(judge="openai:cheap")]
    assert each[0] > 10 * each[1] > 0
    assert cost(judges=["openai:dear", "openai:cheap"]) == pytest.approx(sum(each))
