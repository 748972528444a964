"""A scorer that is listed in its family's file is known everywhere, and nowhere else written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import rag_eval
from rag_eval.cli.program import program
from rag_eval.metrics import registry
from rag_eval.metrics.contract import Fields, Metric, Scored, Scorer
from rag_eval.scorers.omk import specs

ID = "omk.exclamation"
SAMPLES = [{"id": "a", "answer": "Yes!"}, {"id": "b", "answer": "Yes."}]


def _create(mark: str = "!") -> Scorer:
    def score(fields: Fields) -> Scored:
        found = mark in fields["answer"]
        return Scored(float(found), explanation=f"{mark} is{'' if found else ' not'} there.")

    return Scorer(score)


@pytest.fixture(autouse=True)
def _listed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    metric = Metric(
        id=ID,
        summary="Whether the answer exclaims",
        create=_create,
        fields=("answer",),
        options={"mark": "!"},
        threshold=1.0,
        cost="python",
    )
    monkeypatch.setattr(specs, "METRICS", (*specs.METRICS, metric))
    registry._family.cache_clear()
    yield
    registry._family.cache_clear()


def test_it_is_scored_signed_and_named_in_any_spelling() -> None:
    result = rag_eval.evaluate_batch(
        SAMPLES, ["omk.exclamation"], scorer_options={ID: {"mark": "."}}
    )
    assert result.scores[:, 0].tolist() == [0.0, 1.0]
    assert result.results[0].metrics[ID].explanation == ". is not there."
    assert result.signature is not None
    assert result.signature.options["scorers"] == {ID: {"version": 1, "options": {"mark": "."}}}


def test_commands_list_score_gate_and_report_it(tmp_path: Path) -> None:
    data, output = tmp_path / "samples.jsonl", tmp_path / "out.json"
    data.write_text("\n".join(map(json.dumps, SAMPLES)))

    def run(*words: object, exits: int = 0) -> str:
        done = CliRunner().invoke(program, [str(word) for word in words])
        assert done.exit_code == exits, done.output
        return done.output

    assert ID in run("metrics", "--format", "ids").split()
    assert "Whether the answer exclaims" in " ".join(run("metrics", ID).split())
    gates = ("--min-mean", f"{ID}=0.9", "--min-pass-rate", 0)
    assert "0.50" in run("run", data, "--metrics", ID, *gates, "--output", output, exits=1)
    page = tmp_path / "page.html"
    run("report", output, "--html", page)
    assert ID in page.read_text("utf-8")
