"""Labelled rows -> trials: which metric a set speaks about, and what each scorer is given.

A row is a line of JSON: ``task, question, answer, contexts, ground_truth, label_bin (1 = good),
group``; rows of a group (a document, a question) are not independent of each other. Rows stay in
the data folder: nothing here writes one.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from benchmarks import corpora

Sample: TypeAlias = dict[str, Any]


class Facts(NamedTuple):
    """What is known of a set beyond its rows; ``separator`` stands between several golds."""

    metric: str
    good: str
    source: str
    licence: str
    separator: str = ""


_ATTRIBUTABLE: Final = "reply wholly attributable to the passage"

# In the order of the page. A set that is not here is read by its own task field.
KNOWN: Final[dict[str, Facts]] = {
    "begin_wow": Facts("faithfulness", _ATTRIBUTABLE, "google/BEGIN-dataset", "CC BY 4.0"),
    "begin_cmu": Facts("faithfulness", _ATTRIBUTABLE, "google/BEGIN-dataset", "CC BY 4.0"),
    "faithdial_audit": Facts(
        "faithfulness", "reply wholly carried by the passage", "McGill-NLP/FaithDial", "MIT"
    ),
    "q2_wow": Facts(
        "faithfulness", "reply consistent with the passage", "orhonovich/q-squared", "MIT"
    ),
    "wice": Facts(
        "faithfulness",
        "claim wholly supported by the cited page",
        "ryokamoi/wice",
        "CC BY-SA 4.0, ODC-BY",
    ),
    "summedits": Facts(
        "faithfulness",
        "edited summary still consistent",
        "salesforce/factualNLG",
        "Apache-2.0",
    ),
    "halueval_qa": Facts(
        "faithfulness",
        "right answer (wrong ones written by a model)",
        "RUCAIBox/HaluEval",
        "MIT",
    ),
    "wice_evidence": Facts(
        "context_relevance",
        "sentence is evidence for the claim",
        "ryokamoi/wice",
        "CC BY-SA 4.0, ODC-BY",
    ),
    "cranfield": Facts(
        "context_relevance", "abstract judged relevant", "Cranfield 1400", "public test collection"
    ),
    "evouna_nq": Facts(
        "answer_correctness", "answer judged right", "wangcunxiang/QA-Eval", "Apache-2.0", "/"
    ),
    "nq301": Facts("answer_correctness", "answer judged right", "ehsk/OpenQA-eval", "MIT", " | "),
    "stsb": Facts(
        "answer_correctness",
        "sentence pair, similarity at least 3.5 of 5",
        "STS benchmark",
        "CC BY-SA 4.0",
    ),
    # Its task field says answer_correctness, but people rated how appropriate the answer is.
    "mtrag_approp": Facts(
        "answer_relevance",
        "appropriateness at least 3.5 of 4",
        "IBM/mt-rag-benchmark",
        "Apache-2.0",
    ),
}


class Row(NamedTuple):
    """One labelled row."""

    question: str
    answer: str
    contexts: list[str]
    golds: list[str]
    good: bool
    group: str


class Pair(NamedTuple):
    """What a peer compares: a claim, and the texts that should carry it or agree with it."""

    claim: str
    texts: list[str]


@dataclass(frozen=True, slots=True)
class Trial:
    """One metric on one set.

    Attributes
    ----------
    samples : list of dict
        What this library is given. One for each case, or one for each list of chunks, whose
        chunks in order are the cases.
    pairs : list of Pair
        What a peer is given, one for each case.
    good : list of bool
        What people said of each case.
    groups : list of str
        Cases of a group are resampled together.
    by_chunk : bool
        A case is one chunk of a sample.
    """

    set_name: str
    metric: str
    samples: list[Sample]
    pairs: list[Pair]
    good: list[bool]
    groups: list[str]
    by_chunk: bool = False


# Metrics that nobody labelled, and what is measured in their place.
STAND_INS: Final = {
    "context_recall": "the claim is taken as the ground truth; good: the cited page supports it",
    "context_precision": (
        "a case is a list of chunks; good: the average precision of its order, by the labels of "
        "its chunks, is at least 0.5; the order is that of the file and no retriever made it"
    ),
}
# Sets whose answer is a claim that stands alone, as a ground truth does.
_CLAIM_SETS: Final = ("wice",)


# ------------------------------------------------------------------------------------- loading


def labelled_folder() -> Path:
    """Where labelled sets may lie: ``labelled`` in the data folder of the benchmarks."""
    return corpora.data_folder() / "labelled"


def found_sets() -> dict[str, Path]:
    """Files of the sets that are there: the known ones in their order, then any others."""
    paths = {
        path.name.removesuffix(".jsonl.gz"): path for path in labelled_folder().glob("*.jsonl.gz")
    }
    names = [name for name in KNOWN if name in paths]
    names += sorted(paths.keys() - KNOWN.keys())
    return {name: paths[name] for name in names}


def absence() -> str:
    """What to say when nothing is there."""
    return (
        f"no labelled set (*.jsonl.gz) in {labelled_folder()}: "
        "set RAG_EVAL_DATA to the folder that holds labelled/"
    )


def golds_of(text: str, separator: str) -> list[str]:
    """Acceptable answers, which some sets keep in one string."""
    parts = text.split(separator) if separator else [text]
    return [part for part in parts if part.strip()]


def row_of(fields: Sample, separator: str) -> Row:
    """One row, from the fields of its line."""
    return Row(
        fields.get("question") or "",
        fields.get("answer") or "",
        list(fields.get("contexts") or []),
        golds_of(fields.get("ground_truth") or "", separator),
        bool(fields["label_bin"]),
        str(fields["group"]),
    )


def load_trials(name: str, path: Path) -> list[Trial]:
    """Every trial that a set allows."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    facts = KNOWN.get(name) or Facts(found[0]["task"], "label_bin", "not known", "not known")
    return trials_of(name, facts.metric, [row_of(fields, facts.separator) for fields in found])


# ------------------------------------------------------------------------------------- mapping


def trials_of(name: str, metric: str, rows: Sequence[Row]) -> list[Trial]:
    """The trials of some rows; an unknown metric is a KeyError."""
    trials = [make(name, rows) for make in _MAKERS[metric]]
    if name in _CLAIM_SETS:
        trials.append(context_recall(name, rows))
    return trials


def _by_row(
    name: str, metric: str, rows: Sequence[Row], samples: Iterable[Sample], pairs: Iterable[Pair]
) -> Trial:
    good = [row.good for row in rows]
    return Trial(name, metric, list(samples), list(pairs), good, [row.group for row in rows])


def _claims(metric: str) -> Callable[[str, Sequence[Row]], Trial]:
    """The answer is the claim, the contexts should carry it."""

    def make(name: str, rows: Sequence[Row]) -> Trial:
        samples = (
            {"question": row.question, "answer": row.answer, "contexts": row.contexts}
            for row in rows
        )
        pairs = (Pair(row.answer, row.contexts) for row in rows)
        return _by_row(name, metric, rows, samples, pairs)

    return make


def context_recall(name: str, rows: Sequence[Row]) -> Trial:
    """The claim is the ground truth, the contexts should hold it."""
    samples = (
        {"question": row.question, "contexts": row.contexts, "ground_truth": [row.answer]}
        for row in rows
    )
    pairs = (Pair(row.answer, row.contexts) for row in rows)
    return _by_row(name, "context_recall", rows, samples, pairs)


def answer_correctness(name: str, rows: Sequence[Row]) -> Trial:
    """The answer should agree with one of the golds."""
    samples = (
        {"question": row.question, "answer": row.answer, "ground_truth": row.golds or None}
        for row in rows
    )
    pairs = (Pair(row.answer, row.golds) for row in rows)
    return _by_row(name, "answer_correctness", rows, samples, pairs)


def answer_relevance(name: str, rows: Sequence[Row]) -> Trial:
    """The answer should speak about the question."""
    samples = ({"question": row.question, "answer": row.answer} for row in rows)
    pairs = (Pair(row.question, [row.answer]) for row in rows)
    return _by_row(name, "answer_relevance", rows, samples, pairs)


def chunk_lists(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows of each group together, groups and rows in order of appearance."""
    lists: dict[str, list[Row]] = {}
    for row in rows:
        lists.setdefault(row.group, []).append(row)
    return list(lists.values())


def context_relevance(name: str, rows: Sequence[Row]) -> Trial:
    """The chunks of one question are one list, because their idf depends on each other."""
    lists = chunk_lists(rows)
    cases = [row for chunk_list in lists for row in chunk_list]
    return Trial(
        name,
        "context_relevance",
        [
            {"question": chunk_list[0].question, "contexts": _chunks(chunk_list)}
            for chunk_list in lists
        ],
        [Pair(row.question, row.contexts[:1]) for row in cases],
        [row.good for row in cases],
        [row.group for row in cases],
        by_chunk=True,
    )


def context_precision(name: str, rows: Sequence[Row]) -> Trial:
    """Lists of chunks in the order of the file; good when the relevant ones stand in front."""
    lists = chunk_lists(rows)
    return Trial(
        name,
        "context_precision",
        [
            {
                "question": chunk_list[0].question,
                "contexts": _chunks(chunk_list),
                "ground_truth": chunk_list[0].golds or None,
            }
            for chunk_list in lists
        ],
        [
            Pair((chunk_list[0].golds or [chunk_list[0].question])[0], _chunks(chunk_list))
            for chunk_list in lists
        ],
        [order_precision([row.good for row in chunk_list]) >= 0.5 for chunk_list in lists],
        [chunk_list[0].group for chunk_list in lists],
    )


def _chunks(chunk_list: Sequence[Row]) -> list[str]:
    return [row.contexts[0] for row in chunk_list]


def order_precision(relevant: Sequence[bool]) -> float:
    """Average precision of an order: mean precision at the ranks of the relevant; 0 if none is."""
    n_found, total = 0, 0.0
    for rank, is_relevant in enumerate(relevant, 1):
        if is_relevant:
            n_found += 1
            total += n_found / rank
    return total / n_found if n_found else 0.0


_MAKERS: Final[dict[str, list[Callable[[str, Sequence[Row]], Trial]]]] = {
    "faithfulness": [_claims("faithfulness"), _claims("hallucination_rate")],
    "context_relevance": [context_relevance, context_precision],
    "answer_correctness": [answer_correctness],
    "answer_relevance": [answer_relevance],
}
