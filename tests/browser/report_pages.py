"""Samples in; reports of them as files, as people get them, out."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from rag_eval import evaluate_batch
from rag_eval.cli.program import program
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.reports.page import page, row_list
from rag_eval.reports.page.page import write_page
from rag_eval.results.judged import JudgedScore
from rag_eval.samples import NullReason, Profile
from rag_eval.views.making import view_of_batch
from rag_eval.views.run_view import ViewedRow
from tests.grounded_samples import plain_corpus
from tests.hostile_samples import hostile_samples
from tests.unit.page_reading import every_row_is_html

HANDBOOK: Final = Path(__file__).parents[2] / "examples" / "handbook.jsonl"
_TOPICS: Final = ("harbour", "tax", "weather", None)
_GROUNDED: Final = ("--profile", "grounded")
_SLICED: Final = (*_GROUNDED, "--slice-by", "topic")


class Pages:
    """Reports that several tests look at, each made once, when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def handbook(self) -> Path:
        return self.of_rows(66)

    @cached_property
    def grounded(self) -> Path:
        output = str(self._folder / "grounded.json")
        return written(self._folder / "grounded.html", HANDBOOK, *_SLICED, "--output", output)

    @cached_property
    def compared(self) -> Path:
        rows = write_rows(self._folder / "changed.jsonl", changed_rows(HANDBOOK))
        old = str(self.grounded.with_suffix(".json"))
        return written(self._folder / "compared.html", rows, *_SLICED, "--baseline", old)

    @cached_property
    def comparison(self) -> Path:
        """The page that ``rag-eval compare --html`` writes."""
        return self._of_two("compare", "comparison.html", "{old}", "{new}")

    @cached_property
    def leaderboard(self) -> Path:
        """The page that ``rag-eval compare --html`` writes of three runs and their slices."""
        systems = Path(__file__).parents[2] / "examples" / "decisions"
        files = (str(systems / f"{name}.csv") for name in ("main", "candidate", "fixed-1"))
        report = self._folder / "leaderboard.html"
        invoked("compare", *files, "--slice", "topic", "--html", str(report))
        return report

    @cached_property
    def gate(self) -> Path:
        flags = ("--baseline", "{old}", "--min-mean", "faithfulness=0.1")
        return self._of_two("gate", "gate.html", "{new}", *flags)

    @cached_property
    def history(self) -> Path:
        store, report = str(self._folder / "runs.db"), self._folder / "history.html"
        rows = [json.loads(line) for line in HANDBOOK.read_text("utf-8").splitlines()]
        for n_rows in (9, 12, 15):
            data = write_rows(self._folder / "stored.jsonl", rows[:n_rows])
            limit = ("--min-mean", f"faithfulness={0.05 * n_rows}")
            invoked("run", str(data), "--store", store, "--quiet", *_GROUNDED, *limit)
        invoked("history", "--store", store, "--html", str(report))
        return report

    def _of_two(self, command: str, name: str, *flags: str) -> Path:
        """A page of the example and of one with other answers."""
        new = self._folder / "changed.json"
        if not new.exists():
            rows = write_rows(self._folder / "changed.jsonl", changed_rows(HANDBOOK))
            invoked("run", str(rows), "--quiet", *_GROUNDED, "--output", str(new))
        files = {"old": str(self.grounded.with_suffix(".json")), "new": str(new)}
        report = self._folder / name
        invoked(command, *(flag.format(**files) for flag in flags), "--html", str(report))
        return report

    @cached_property
    def generated(self) -> Path:
        """Several hundred rows, of which the last cannot be opened, as where there are many."""
        rows = write_rows(self._folder / "generated.jsonl", generated_rows(400))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(page, "row_list", partial(row_list.row_list, budget=210_000))
            return written(self._folder / "generated.html", rows, *_SLICED)

    @cached_property
    def hostile(self) -> Path:
        rows = write_rows(self._folder / "hostile.jsonl", hostile_samples())
        return written(self._folder / "hostile.html", rows, *_GROUNDED, "--slice-by", "kind")

    @cached_property
    def whole(self) -> Path:
        return self._whole("grounded")

    @cached_property
    def whole_overlap(self) -> Path:
        return self._whole("overlap")

    def _whole(self, profile: Profile) -> Path:
        """Rows of every kind, each as HTML and as data; those of much data are cut."""
        rows = [*hostile_samples(200_000), *long_rows()]
        # One ground truth, which the overlap profile takes.
        metrics = [*METRIC_IDS, "omk.rouge_n", "omk.max_length"]
        batch = evaluate_batch(
            rows, metrics, profile=profile, scorer_options={"omk.max_length": {"value": 40}}
        )
        view = view_of_batch(batch)
        view = replace(view, rows=tuple(map(judged_row, view.rows)))
        report = self._folder / f"whole-{profile}.html"
        with every_row_is_html(), pytest.MonkeyPatch.context() as patch:
            patch.setattr(row_list, "_LARGE_DETAIL", 60_000)
            write_page(view, report)
        return report

    def of_rows(self, n_rows: int) -> Path:
        """The first rows of the example, and plain ones where it has no more."""
        report = self._folder / f"{n_rows}-rows.html"
        if not report.exists():
            rows = [json.loads(line) for line in HANDBOOK.read_text("utf-8").splitlines()]
            n_more = max(0, n_rows - len(rows))
            # Of very many rows it is their number that matters, and each costs a millisecond.
            more = generated_rows(n_more) if n_rows <= 2_000 else short_rows(n_more)
            data = write_rows(self._folder / f"{n_rows}-rows.jsonl", [*rows[:n_rows], *more])
            few = ("--slice-by", "topic") if n_rows <= 2_000 else ("--metrics", "faithfulness")
            written(report, data, *few)
        return report


def written(report: Path, data: Path, *flags: str) -> Path:
    """The page that ``rag-eval run --html`` writes."""
    invoked("run", str(data), "--html", str(report), "--quiet", *flags)
    return report


def invoked(*arguments: str) -> None:
    found = CliRunner().invoke(program, arguments)
    assert found.exit_code in (0, 1), found.output


def generated_rows(n_rows: int) -> Iterator[dict[str, Any]]:
    """Plain texts that come back under other ids, some of them without what scores need."""
    texts = plain_corpus(min(n_rows, 2_000), seed=8)
    chosen = random.Random(8)
    for number in range(n_rows):
        row = {**texts[number % len(texts)], "id": f"row-{number:06}"}
        row["metadata"] = {"topic": chosen.choice(_TOPICS), "batch": number % 7}
        row["ground_truth"] = row["ground_truth"] if isinstance(row["ground_truth"], str) else None
        if chosen.random() < 0.02:
            row["answer"] = ""
        yield row


def short_rows(n_rows: int) -> Iterator[dict[str, Any]]:
    """Rows of one sentence and one context, of which every third is unsupported."""
    for number in range(n_rows):
        yield {
            "id": f"row-{number:06}",
            "question": f"When does tram {number} leave?",
            "answer": f"Tram {number} leaves at {number % 24}:15.",
            "contexts": [f"Tram {number if number % 3 else 0} leaves at {number % 24}:15."],
        }


def long_rows() -> list[dict[str, Any]]:
    """Texts beyond what is shown of them, with characters of two units, and windows far apart."""
    fact = "The \U0001f98a keeper paid 40 crowns to Ana Ortiz in Norwick. "
    claims = [f"Keeper {n} paid {n} crowns in 19{n:02}. " for n in range(90)]
    far = "\U0001f4a1 filler text follows here " * 400
    return [
        {
            "id": "long answer",
            "question": "Who paid? " * 3_000,
            "answer": "".join(claims) * 12,
            "contexts": ["".join(claims[40:60]), far + fact + far + claims[3] + far, fact],
            "ground_truth": fact + claims[5],
            "metadata": {"note": "n" * 5_000, "list": [1, None, {"a": True}], "none": None},
        },
        {
            "id": "far windows",
            "question": "Who paid 50 crowns?",
            "answer": f"{fact.replace('40', '50')}7 Ducks \u0131n ULM.",
            "contexts": [far + fact + far, f"{far}\n{far}. {fact}", "ducks, ULM \U0001f986 quack"],
            "ground_truth": "Straße: 1,234 \U0001f986 ducks quacked; ULM’s duck studies tried it.",
        },
        {
            "id": "\U0001f98a" * 60,
            "question": "\U0001f98a " * 200,
            "answer": "\U0001f986 " * 300,
            "contexts": ["\U0001f986"] * 120,
            "metadata": dict.fromkeys(map(str, range(100)), "v"),
        },
    ]


def judged_row(row: ViewedRow) -> ViewedRow:
    """The row, with what a judge, a scorer and a baseline have said in some of them."""
    metrics = dict(row.result.metrics)
    if row.number % 3 == 0:
        verdict = {"subject": "claim", "verdict": "no", "reason": f"said <b>{row.id}</b>"}
        metrics["faithfulness"] = replace(
            metrics["faithfulness"],
            mode="llm",
            probability=0.125,
            judged=JudgedScore(
                score=0.625,
                null_reason=NullReason.MEASURED,
                mode="llm",
                judge_score=0.625,
                native_score=0.375 if row.number % 2 else None,
                details=(verdict,) * (row.number % 7),
                message="m" * 1_500 if row.number % 5 == 0 else "",
                flaky=row.number % 4 == 0,
            ),
        )
        checks = ({"check": "length", "passed": place % 3 == 0} for place in range(row.number))
        metrics["answer_relevance"] = replace(
            metrics["answer_relevance"], score=0.125, details=tuple(checks)
        )
    result = replace(row.result, metrics=type(row.result.metrics)(metrics))
    before = "<b>before</b>\u202e\n" * (row.number % 5) if row.number % 2 else None
    return replace(row, result=result, old_answer=before)


def write_rows(path: Path, rows: Iterator[dict[str, Any]] | list[dict[str, Any]]) -> Path:
    """The rows as JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def changed_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file, of which every third has another answer."""
    for number, line in enumerate(path.read_text("utf-8").splitlines()):
        row = json.loads(line)
        if number % 3 == 0:
            row["answer"] = "The Grand Duke of Ulm paid 977 crowns for it in 1812."
        yield row
