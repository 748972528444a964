"""Outcomes -> the Markdown page: figures and names of sets, never a row of one."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from typing import Final

from benchmarks.validity import peers
from benchmarks.validity.grounded_sections import (
    certainty_lines,
    check_lines,
    defaults_lines,
    earlier_lines,
)
from benchmarks.validity.measures import SEED
from benchmarks.validity.outcomes import Outcome, definition_checks
from benchmarks.validity.pieces import (
    Pick,
    by_metric,
    label,
    macro,
    ranked_scorers,
    shown,
    signed,
    table,
    with_interval,
)
from benchmarks.validity.scorers import CHUNK_CUTS, PROFILES, THRESHOLDS
from benchmarks.validity.sets import KNOWN, STAND_INS

ABOUT: Final[dict[str, str]] = {
    "faithfulness": "The answer is the claim; peers compare it with the joined contexts.",
    "hallucination_rate": (
        "The same labels as faithfulness. Its scores are shares of a few sentences, so that many "
        "tie: of an answer of one sentence it is 0 or 1."
    ),
    "context_relevance": (
        "A case is a chunk: what is ranked is the score of the chunk, chunks of all questions "
        f"together, and the cut is the one of a chunk ({CHUNK_CUTS['grounded']:.2f} grounded, "
        f"{CHUNK_CUTS['overlap']:.2f} overlap), not the threshold for the share of such chunks. "
        "BM25 is made to rank the chunks of one question and not to compare questions."
    ),
    "answer_correctness": "Of several golds the best counts, for every scorer.",
    "answer_relevance": (
        "Weak everywhere: shared words say little about whether an answer suits a question. "
        "A judge is the tool for it."
    ),
    **{metric: f"Nobody labelled this; a stand-in: {how}." for metric, how in STAND_INS.items()},
}

NOTES: Final = """\
- **AUROC** is the chance that a random good case is scored above a random bad one, ties counting
  half; chance is 0.5. **Average precision** is that of finding the good; by chance it is the share
  of the good. **Balanced accuracy** is the mean of the shares of good cases that pass and of bad
  ones that do not, at the profile's default threshold; chance is 0.5. Peers have no default
  threshold, nor have the metrics of the grounded profile that decide nothing.
- Brackets hold 95 % percentile intervals from resampling whole groups (a document, a question),
  because rows of a group are not independent. All scorers of a set share the resamples, so
  intervals of differences are paired. They speak of these sets, not of yours.
- **In-sample.** The weights and thresholds of the grounded profile were chosen with these sets in
  view, so no figure here is one of unseen data. The study behind the definition had more sets than
  can be had here: the mean AUROC is 0.807 for faithfulness on 21 sets (0.800 with version 2), 0.797
  on the 14 of them that are not here (0.790), and 0.888 for answer correctness on 11 sets (0.877).
  It chose the constants with all of them in view. Weights fitted only on the sets that are here
  gain 0.001 on the others, so expect a gain over version 2 between the two on a corpus of yours.
  The overlap profile was fitted to nothing here; of the peers only the options were chosen, in
  their favour.
- **Labels exist** for faithfulness, the relevance of chunks, answer correctness and, on one small
  set, answer relevance. **None exist** for context recall and context precision; what stands in
  for them is said there, and is weaker evidence.
- **summedits** holds minimal edits: a summary in which a few words were changed, so that it is
  wrong or still right. Scores of shared words cannot tell which; the means include it.
- **halueval_qa** is synthetic: its wrong answers were written by a model and are several times as
  long as the right ones. Scores that rise with the length of the answer fall far below chance.
- All sets are English. Exact match of strings or words is measured for answer correctness only:
  a claim is never equal to its source.
- What needs a model (judges, entailment, embeddings) is not here; nor is speed.
"""


# ----------------------------------------------------------------------------------- sections


def summary_rows(metric: str, outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Macro means of both profiles and of the peer with the best mean."""
    rows = []
    ours = macro(outcomes, "grounded", lambda figures: figures.auroc)
    assert ours is not None
    for scorer in ranked_scorers(outcomes)[: len(PROFILES) + 1]:
        auroc = macro(outcomes, scorer, lambda figures: figures.auroc)
        assert auroc is not None
        rows.append(
            [
                label(metric, outcomes),
                shown(scorer),
                with_interval(auroc),
                "" if scorer == "grounded" else signed(ours - auroc),
                with_interval(macro(outcomes, scorer, lambda figures: figures.precision)),
                with_interval(macro(outcomes, scorer, lambda figures: figures.balanced)),
            ]
        )
    return rows


def summary_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """Means over sets, metric by metric."""
    head = ["metric", "scorer", "AUROC", "grounded ahead by", "average precision", "balanced acc."]
    rows = [
        row for metric, found in by_metric(outcomes).items() for row in summary_rows(metric, found)
    ]
    return ["## Means over sets", "", *table(head, rows)]


def peers_ahead(outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Sets on which the best peer is ahead of grounded."""
    rows = []
    for outcome in outcomes:
        others = [scorer for scorer in outcome.by_scorer if scorer not in PROFILES]
        if not others:
            continue
        best = max(others, key=lambda scorer: outcome.by_scorer[scorer].auroc.value)
        lead = outcome.by_scorer[best].auroc - outcome.by_scorer["grounded"].auroc
        if lead.value > 0:
            rows.append([outcome.metric, outcome.set_name, best, signed(lead)])
    return rows


def ahead_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """Where a peer does better, the best of all peers being picked set by set."""
    rows = peers_ahead(outcomes)
    head = ["metric", "set", "best peer there", "its AUROC minus grounded's"]
    body = table(head, rows) if rows else ["None.", ""]
    return [
        "## Where a peer is ahead",
        "",
        "Best on average, as in the table above, is not best on every set. The best of all peers",
        "is picked set by set, which favours peers.",
        "",
        *body,
    ]


def matrix(outcomes: Sequence[Outcome], scorers: Sequence[str], pick: Pick) -> list[str]:
    """One figure, scorers by sets, the mean at the end where there are several sets."""
    head = ["scorer", *(outcome.set_name for outcome in outcomes)]
    rows = [
        [shown(scorer), *(with_interval(pick(outcome.by_scorer[scorer])) for outcome in outcomes)]
        for scorer in scorers
    ]
    if len(outcomes) > 1:
        head.append("mean")
        for row, scorer in zip(rows, scorers, strict=True):
            row.append(with_interval(macro(outcomes, scorer, pick)))
    return table(head, rows)


def metric_lines(metric: str, outcomes: Sequence[Outcome]) -> list[str]:
    """Every figure of one metric."""
    scorers = ranked_scorers(outcomes)
    marks = {profile: THRESHOLDS[profile][metric] for profile in PROFILES}
    cuts = ", ".join(
        f"{'none' if mark is None else f'{mark:.2f}'} {name}" for name, mark in marks.items()
    )
    at = "the cut of a chunk" if metric == "context_relevance" else f"the threshold ({cuts})"
    return [
        f"## {metric}",
        "",
        ABOUT[metric],
        "",
        "AUROC:",
        "",
        *matrix(outcomes, scorers, lambda figures: figures.auroc),
        "Average precision (by chance: the share of the good):",
        "",
        *matrix(outcomes, scorers, lambda figures: figures.precision),
        *within_lines(outcomes, scorers),
        f"Balanced accuracy at {at}:",
        "",
        *matrix(outcomes, PROFILES, lambda figures: figures.balanced),
    ]


def within_lines(outcomes: Sequence[Outcome], scorers: Sequence[str]) -> list[str]:
    """Ranking inside the lists of chunks, where there are lists."""
    if any(outcome.by_scorer[scorers[0]].within is None for outcome in outcomes):
        return []
    return [
        "Mean over questions of the average precision among the question's own chunks:",
        "",
        *matrix(outcomes, scorers, lambda figures: figures.within),
    ]


def set_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """What was measured on: cases, groups, labels, origin."""
    head = ["set", "metric", "cases", "groups", "good", "a good case", "source", "licence"]
    rows = []
    for outcome in outcomes:
        if outcome.metric == "hallucination_rate":
            continue  # the cases and labels of faithfulness
        facts = KNOWN.get(outcome.set_name)
        stands_in = outcome.metric in STAND_INS
        what = "(stand-in)" if stands_in else facts.good if facts else "label_bin is 1"
        rows.append(
            [
                outcome.set_name,
                outcome.metric,
                f"{outcome.n_cases:,}",
                f"{outcome.n_groups:,}",
                f"{outcome.share_good:.2f}",
                what,
                facts.source if facts else "–",
                facts.licence if facts else "–",
            ]
        )
    absent = [name for name in KNOWN if name not in {outcome.set_name for outcome in outcomes}]
    said = f"Known sets that are not on this page: {', '.join(absent) if absent else 'none'}."
    return ["## Sets", "", *table(head, rows), said, ""]


def null_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """Cases that a scorer gave no score."""
    return [
        f"- {outcome.metric} on {outcome.set_name}: {scorer} has no score for "
        f"{figures.n_null} of {outcome.n_cases} cases; they count as 0."
        for outcome in outcomes
        for scorer, figures in outcome.by_scorer.items()
        if figures.n_null
    ]


def peer_lines(missing: Sequence[str]) -> list[str]:
    """Packages, and formulas written out in this repository."""
    return [
        "## Peers",
        "",
        *table(["package", "version", "licence"], peers.package_lines(missing)),
        "ROUGE stems, rapidfuzz folds case and punctuation, BLEU folds case. ROUGE and rapidfuzz",
        "compare with the joined texts, BLEU and chrF with each chunk as a reference of its own.",
        "",
        "Written out here after their definitions: SQuAD's F1 and exact match; ragas 0.4.3",
        "(Apache-2.0) ExactMatch, StringPresence, NonLLMStringSimilarity (1 - normalised",
        "Levenshtein distance, by rapidfuzz), NonLLMContextRecall and -Precision (a chunk counts",
        "when that similarity with a reference context, here the claim or question, passes 0.5);",
        "deepeval 4.3.1 (Apache-2.0) ExactMatchMetric, its only score without a model for such",
        "rows; Okapi BM25 (k1 1.5, b 0.75) over the stems of ROUGE, its idf over all chunks of the",
        "set: over one question's chunks, as in the grounded profile, it is worse.",
        "",
    ]


def page(outcomes: Sequence[Outcome], missing: Sequence[str], n_draws: int) -> str:
    """The whole page."""
    lines = [
        "# Validity: do the scores agree with people?",
        "",
        "Written by `python -m benchmarks.validity --write`; do not edit. Rows are human-labelled",
        "public data and are not in this repository.",
        "",
        f"- {n_draws} resamples of groups, seed {SEED}",
        f"- {platform.python_implementation()} {platform.python_version()}, "
        f"scikit-learn {version('scikit-learn')}, numpy {version('numpy')}",
        "",
        *summary_lines(outcomes),
        *ahead_lines(outcomes),
        *earlier_lines(outcomes),
        "## How to read this",
        "",
        NOTES,
        *null_lines(outcomes),
        *set_lines(outcomes),
        *check_lines(definition_checks(outcomes)),
        *defaults_lines(outcomes),
        *certainty_lines(outcomes),
        *(
            line
            for metric, found in by_metric(outcomes).items()
            for line in metric_lines(metric, found)
        ),
        *peer_lines(missing),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"
