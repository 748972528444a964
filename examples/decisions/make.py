"""Makes the files of this folder: scores of some versions of an assistant, on 200 questions.

    python examples/decisions/make.py [FOLDER]

Questions are about forty ferry lines that do not exist. The assistant is a few rules and dice, so
that we know which answers are right; the scores are what rag_eval gives those answers.
"""

from __future__ import annotations

import contextlib
import csv
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from rag_eval import run_file, score_file
from rag_eval.labels import sample_for_labels
from rag_eval.runs import read_run, write_baseline_file

HERE = Path(__file__).resolve().parent
METRICS = ("faithfulness", "answer_correctness", "hallucination_rate", "context_relevance")
N_LINES = 40
N_LABELS = 100

_SOUNDS = ("Ar", "Bel", "Cor", "Dun", "El", "Fen", "Gal", "Hol", "Is", "Kel")
_ENDS = ("mouth", "wick", "haven", "ness")
_REFUSAL = "The pages that I have do not say that."
_ADVERT = "Ask the crew about season tickets and group discounts."


class Version(NamedTuple):
    """One version of the assistant, by the chances of what it gets wrong."""

    wrong_number: float = 0.06
    nothing_found: float = 0.05
    advert: float = 0.0
    steadier: float = 0.0
    refusal: str = _REFUSAL


MAIN = Version()
# Meant to answer more steadily from pages with little on them. It also learned to advertise.
CANDIDATE = Version(advert=0.5, steadier=0.5)
FIXED = Version(steadier=0.5)
# The next three releases: one that declines in place of guessing, one without a change, and one
# that advertises again.
RELEASES = (
    Version(steadier=1.0, refusal="I do not know."),
    Version(),
    Version(advert=0.5),
)


def page(line: int) -> dict[str, Any]:
    """What the page of a line says: facts, each with its topic, question and sentence."""
    dice = random.Random(f"page {line}")
    name = _SOUNDS[line % 10] + _ENDS[line // 10]
    hour, fare, minutes = dice.randint(5, 9), dice.randint(6, 29), dice.randint(2, 9) * 10
    kilos, pier = dice.randint(12, 40), dice.randint(1, 9)
    facts = [
        (
            "times",
            f"When does the first {name} ferry leave?",
            f"The first ferry to {name} leaves at {hour}:{dice.choice(('05', '20', '45'))}.",
        ),
        (
            "times",
            f"How long does the crossing to {name} take?",
            f"The crossing to {name} takes {minutes} minutes in calm weather.",
        ),
        (
            "fares",
            f"What does a ticket to {name} cost?",
            f"A single ticket to {name} costs {fare} crowns.",
        ),
        (
            "rules",
            f"How much luggage may I take to {name}?",
            f"Each passenger to {name} may take {kilos} kilograms of luggage.",
        ),
        (
            "places",
            f"Where does the {name} ferry leave from?",
            f"Ferries to {name} leave from pier {pier}, beside the customs house.",
        ),
    ]
    return {"name": name, "facts": facts}


def samples(version: Version, repeat: str = "") -> list[dict[str, Any]]:
    """The 200 questions with a version's answers; ``right`` says whether a person would agree."""
    pages = [page(line) for line in range(N_LINES)]
    return [
        _sample(pages, line, place, version, repeat)
        for line in range(N_LINES)
        for place in range(5)
    ]


def _sample(
    pages: list[dict[str, Any]], line: int, place: int, version: Version, repeat: str
) -> dict[str, Any]:
    topic, question, fact = pages[line]["facts"][place]
    # The same dice for each version: what its changes do not touch stays as it was.
    dice = random.Random(f"answer {line} {place}")
    hard = random.Random(f"line {line}").random() < 0.3
    wrong, lost, told, rescued = (dice.random() for _ in range(4))
    chatty = random.Random(f"again {line} {place} {repeat}").random() < 0.15
    others = [f for _, _, f in pages[line]["facts"] if f != fact]
    contexts = [" ".join([fact, *others[:2]]), pages[(line + 7) % N_LINES]["facts"][place][2]]
    answer, right = fact, True
    if wrong < version.wrong_number * (2 if hard else 1):
        answer, right = _other_number(fact), False
    if lost < version.nothing_found * (3 if hard else 1):
        contexts, right = (
            [pages[(line + shift) % N_LINES]["facts"][1][2] for shift in (3, 7)],
            False,
        )
        answer = version.refusal if rescued < version.steadier else fact
    if chatty:
        answer = f"Good question. {answer}"
    if topic == "fares" and told < version.advert:
        answer, right = f"{answer} {_ADVERT}", False
    return {
        "id": f"f{line:02}-{place + 1}",
        "question": question,
        "answer": answer,
        "contexts": contexts,
        **({"groundTruth": fact} if line % 8 else {}),
        "topic": topic,
        "line": pages[line]["name"],
        "right": right,
    }


def _other_number(sentence: str) -> str:
    digits = [place for place, letter in enumerate(sentence) if letter.isdigit()]
    last = digits[-1]
    return f"{sentence[:last]}{(int(sentence[last]) + 3) % 10}{sentence[last + 1 :]}"


def make(folder: Path) -> None:
    """Write the score files, the baseline that is committed, and the labels."""
    folder.mkdir(parents=True, exist_ok=True)
    # Files say where they come from: by names that are the same everywhere.
    with contextlib.chdir(folder):
        _score(samples(MAIN), "main.csv")
        _score(_others(samples(CANDIDATE, "a")), "candidate.csv")
        for repeat in (1, 2, 3):
            _score(samples(FIXED, f"b{repeat}"), f"fixed-{repeat}.csv")
        _label(samples(MAIN), "main.csv", "labels.csv")
        run = read_run("main.csv", columns=("topic", "line"))
        write_baseline_file(run, "baseline.json")
        _run(samples(MAIN), "live.json")
        for number, version in enumerate(RELEASES, 1):
            rows = samples(version, f"release {number}")
            _run(rows if number == 1 else _reworded(rows), f"release-{number}.json")


def _others(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The candidate was asked two questions less, and a new one."""
    new = {**rows[0], "id": "f40-1", "question": "Is there a ferry at night?", "answer": _REFUSAL}
    return [*rows[:-2], new]


def _reworded(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Somebody has improved three questions, under the ids that they had."""
    edited = {"f03-3": "What is the fare?", "f11-1": "First boat?", "f20-5": "Which pier?"}
    return [{**row, "question": edited.get(row["id"], row["question"])} for row in rows]


def _run(rows: list[dict[str, Any]], target: str) -> None:
    """As a baseline that can be committed, which knows inputs and answers by digests."""
    with tempfile.TemporaryDirectory() as scratch:
        source, result = Path(scratch) / "samples.jsonl", Path(scratch) / "result.jsonl"
        source.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        run_file(source, metrics=METRICS[0::2], profile="grounded", output=result)
        write_baseline_file(read_run(result), target)


def _score(rows: list[dict[str, Any]], target: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "samples.jsonl"
        source.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        score_file(source, target, METRICS, profile="grounded", columns=("topic", "line"))


def _label(rows: list[dict[str, Any]], scores: str, target: str) -> None:
    """Draw rows to be labelled, and fill in what a careful person would say of their answers."""
    Path(target).unlink(missing_ok=True)
    sample_for_labels(scores, N_LABELS, output=target, seed=1)
    right = {row["id"]: row["right"] for row in rows}
    # With the mark that spreadsheets put in front.
    with Path(target).open(encoding="utf-8-sig", newline="") as file:
        table = list(csv.DictReader(file))
    for row in table:
        row["label"] = str(int(right[row["id"]]))
    with Path(target).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
