"""What repeats add to the noise of a mean, as commands tell it of files that hold repeats."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rag_eval.jobs.file_run import run_file
from rag_eval.planning import repeat_noise, repeat_noise_of_run
from rag_eval.results.judged import JudgedScore
from rag_eval.runs.run_files import read_run
from tests.commands import invoke
from tests.fluent_judge import FluentJudge, by_words

N_ROWS = 60


class Wavering:
    """A goodness of texts that is another one each time that it is asked for."""

    def __init__(self) -> None:
        self._asked: Counter[str] = Counter()

    def __call__(self, text: str) -> float:
        self._asked[text] += 1
        again = hashlib.blake2b(f"{text}{self._asked[text]}".encode(), digest_size=1).digest()
        return 0.6 * by_words(text) + 0.4 * again[0] / 255


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Result files of a judge that was asked once and twice a row."""
    folder = tmp_path_factory.mktemp("runs")
    source = folder / "rows.jsonl"
    rows = [
        {
            "id": f"q{row}",
            "question": "When?",
            "answer": f"On day {row}.",
            "contexts": [f"Day {row}."],
        }
        for row in range(N_ROWS)
    ]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = {repeat: folder / f"{repeat}.jsonl" for repeat in (1, 2)}
    for repeat, file in files.items():
        run_file(
            source,
            ["answer_relevance"],
            mode="llm",
            judge=FluentJudge(Wavering()),
            judge_style="rating",
            judge_repeat=repeat,
            output=file,
            store=folder / "runs.db",
        )
    return files


def noise_of(file: Path) -> Any:
    """By the scores of each repeat, as the file has them."""
    ids, scores = [], []
    for line in file.read_text().splitlines():
        row = json.loads(line)
        if "metrics" not in row:
            continue
        for score in row["metrics"]["answerRelevance"]["judge"]["byJudge"][0]:
            ids.append(row["sample"]["id"])
            scores.append(score)
    return repeat_noise(ids, scores)


def test_show_and_compare_tell_what_repeats_of_a_judge_add(runs: dict[int, Path]) -> None:
    wanted = noise_of(runs[2])
    assert 0.05 < wanted.share_of_repeats < 0.95
    text = f"answer_relevance: {wanted}"
    assert text in " ".join(invoke("show", runs[2]).stdout.split())
    found = json.loads(invoke("show", runs[2], "--format", "json").stdout)["repeatNoise"]
    assert found == {"answerRelevance": pytest.approx(wanted.to_dict())}
    noise = repeat_noise_of_run(read_run(runs[2]), "answer_relevance")
    assert noise.to_dict() == pytest.approx(wanted.to_dict())
    compared = " ".join(invoke("compare", runs[1], runs[2], "--force").output.split())
    assert f"the judge scored rows of the new run several times. {text}" in compared
    assert "of the old run several times" not in compared


def test_a_gate_from_a_store_tells_it_too(runs: dict[int, Path]) -> None:
    store = runs[1].with_name("runs.db")
    gated = invoke("gate", "--store", store, "--run", "latest", "--baseline", runs[2])
    told = " ".join(gated.output.split())
    for kind in ("old", "new"):
        said = f"the judge scored rows of the {kind} run several times. answer_relevance: "
        assert said + str(noise_of(runs[2])) in told


def test_nothing_is_told_of_rows_that_were_scored_once(runs: dict[int, Path]) -> None:
    assert "noise" not in invoke("show", runs[1]).stdout
    assert "repeatNoise" not in json.loads(invoke("show", runs[1], "--format", "json").stdout)


def test_rows_with_the_same_id_are_repeats(runs: dict[int, Path], tmp_path: Path) -> None:
    twice = tmp_path / "twice.jsonl"
    lines = runs[1].read_text().splitlines(keepends=True)
    rows = [line for line in lines if "metrics" in json.loads(line)]
    for number, line in enumerate(rows):
        row = json.loads(line)
        row["sample"]["id"] = f"q{number // 2}"
        rows[number] = json.dumps(row) + "\n"
    twice.write_text("".join(rows))
    scores = [json.loads(row)["metrics"]["answerRelevance"]["score"] for row in rows]
    wanted = repeat_noise([f"q{number // 2}" for number in range(N_ROWS)], scores)
    assert f"answer_relevance: {wanted}" in " ".join(invoke("show", twice).stdout.split())


def test_estimate_tells_what_repeats_add_to_its_noise(
    runs: dict[int, Path], tmp_path: Path
) -> None:
    draw, labels = tmp_path / "draw.csv", tmp_path / "labels.csv"
    assert invoke("labels", "sample", 20, runs[2], "-o", draw).exit_code == 0
    with draw.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    scored = read_run(runs[2])
    score = dict(zip(scored.ids, scored.column("answer_relevance").tolist(), strict=True))
    for row in rows:
        row["label"] = str(int(score[row["id"]] > 0.5))
    with labels.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    asked = ("estimate", runs[2], labels, "--metric", "answer_relevance")
    told = " ".join(invoke(*asked, "--format", "table").stdout.split())
    found = json.loads(invoke(*asked, "--format", "json").stdout)["scoreRepeats"]
    assert 0 < found["shareOfRepeats"] < 1
    assert found["gainOfLabels"] == pytest.approx(0.5)  # 20 of 60 rows
    share = f"{found['shareOfRepeats']:.0%} of the noise of the estimate comes from repeats"
    assert f"answer_relevance: {share}" in told
    once = invoke("estimate", runs[1], labels, "--metric", "answer_relevance", "--format", "json")
    assert "scoreRepeats" not in json.loads(once.stdout)


def test_a_verdict_of_a_cascade_is_no_mean_of_repeats() -> None:
    one = JudgedScore(
        score=1.0,
        null_reason=0,
        mode="llm",
        judge_score=0.7,
        by_judge=((0.6, 0.8),),  # type: ignore[arg-type]
    )
    assert one.repeats == []
