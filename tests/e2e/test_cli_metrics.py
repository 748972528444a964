"""rag-eval metrics, and metrics of a module of one's own."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import pytest

from rag_eval.samples import PROFILES
from tests.commands import invoke
from tests.warm_processes import run_warm


def test_all_metrics_are_listed_once_each() -> None:
    done = invoke("metrics", "--format", "ids")
    names = done.stdout.splitlines()
    assert done.exit_code == 0
    assert len(names) == len(set(names)) > 100
    assert names[0] == "faithfulness"
    assert {"ir.ndcg@10", "mastra.completeness", "omk.assertions", "regtrace.tone"} <= set(names)


def test_a_family_and_a_kind_narrow_the_list() -> None:
    done = invoke("metrics", "--family", "mastra", "--kind", "judged", "--format", "json")
    found = json.loads(done.stdout)
    assert {entry["kind"] for entry in found} == {"judged"}
    assert {entry["id"].partition(".")[0] for entry in found} == {"mastra"}
    assert next(e for e in found if e["id"] == "mastra.toxicity")["higherIsBetter"] is False


def test_the_table_is_for_people_and_one_metric_tells_all() -> None:
    assert "mastra.content_similarity" in invoke("metrics").stdout
    done = invoke("metrics", "ndcg@7", "regtrace.factuality")
    assert "ir.ndcg@7" in done.stdout
    assert "retrieved_ids, relevant_ids" in done.stdout
    assert "LLM judge optional" in done.stdout
    assert "profile" not in done.stdout


def test_a_metric_is_described_for_each_profile_unless_one_is_chosen() -> None:
    both = invoke("metrics", "faithfulness").stdout
    parts = [invoke("metrics", "faithfulness", "--profile", name).stdout for name in PROFILES]
    assert both == "".join(parts)
    for name, part, words in zip(PROFILES, parts, ("n-gram overlap", "Support of"), strict=True):
        lines = part.splitlines()
        assert words in lines[0]
        assert lines[1].split() == ["profile", name]
    assert invoke("metrics", "noise_sensitivity").stdout.count("\nprofile ") == 1


def test_an_unknown_metric_is_a_usage_error() -> None:
    done = invoke("metrics", "mastra.completness")
    assert done.exit_code == 2
    assert "did you mean 'mastra.completeness'?" in done.stderr
    assert invoke("metrics", "faithfulness", "--kind", "judged").exit_code == 2


MODULE = """
from rag_eval.metrics.own import metric

@metric("shop.price", higher_is_better=False, range=(0, 100))
def price(cost):
    "What the answer cost."
    return float(cost)
"""


def test_a_module_of_ones_own_brings_metrics(tmp_path: Path) -> None:
    (tmp_path / "shop_metrics.py").write_text(MODULE)
    (tmp_path / "rows.jsonl").write_text('{"id": "a", "cost": 3}\n{"id": "b", "cost": 9}\n')
    command = partial(run_warm, cwd=tmp_path, text=True)
    listed = command("--import", "shop_metrics", "metrics", "shop.price")
    assert "What the answer cost" in listed.stdout
    assert "0–100, lower is better" in listed.stdout
    base = ("--import", "shop_metrics", "run", "rows.jsonl", "--metrics", "shop.price")
    held = command(*base, "--max-mean", "shop.price=6")
    assert held.returncode == 0, held.stderr
    assert "shop.price mean 6.00 (2/2) is at most 6.00" in held.stdout
    failed = command(*base, "--max-mean", "shop.price=5", "--output", "new.json")
    assert failed.returncode == 1
    (tmp_path / "old.jsonl").write_text('{"id": "a", "cost": 3}\n')
    command(*base[:3], "old.jsonl", *base[4:], "--output", "old.json")
    # Whoever compares may not have the module: the file says which way is better.
    compared = command("compare", "old.json", "new.json", "--format", "json")
    change, passed = json.loads(compared.stdout)["changes"]
    assert (change["metricId"], change["higherIsBetter"]) == ("shop.price", False)
    assert passed["metricId"] == "passed"
    risen = command(*base, "--baseline", "old.json", "--policy", "node")
    assert risen.returncode == 1
    assert "shop.price mean 6.00 is 3.00 above the baseline's 3.00" in risen.stdout


def test_a_module_that_is_named_too_late_is_told_where_it_goes() -> None:
    done = invoke("run", "rows.jsonl", "--import", "shop_metrics")
    assert done.exit_code == 2
    assert done.stderr.startswith("error: --import must come before the command: rag-eval --import")
    done = invoke("run", "rows.jsonl", "--metrics", "shop.price")
    assert "a custom metric is known after its module has been imported" in done.stderr


def test_a_module_that_is_not_there_or_fails_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    done = invoke("--import", "no_such_module", "metrics")
    assert done.exit_code == 2
    assert "--import no_such_module: found no such module here" in done.stderr
    assert "without .py" not in done.stderr
    done = invoke("--import", "no_such_module.py", "metrics")
    assert done.exit_code == 2
    assert done.stderr.endswith("; a module is named without .py\n")
    (tmp_path / "broken.py").write_text("1 / 0\n")
    done = invoke("--import", "broken", "metrics")
    assert done.exit_code == 2
    assert "--import broken: cannot be imported: ZeroDivisionError" in done.stderr
