"""Two runs in; what differs between them beside their scores, as settings and as notes, out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from operator import eq
from typing import Final

import numpy as np

from rag_eval.comparing.pairing import PASSED, RowTable
from rag_eval.comparing.run_comparison import RunComparison
from rag_eval.errors import glance
from rag_eval.metrics.ids import COMPOSITE, DIAGNOSTIC_IDS, METRIC_IDS
from rag_eval.metrics.registry import place_of
from rag_eval.plumbing.spelling import counted
from rag_eval.results.regressions import unknown_settings
from rag_eval.results.summaries import setting_differences, unsigned_notes
from rag_eval.results.verdicts import NO_VERDICT
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import MetricId
from rag_eval.stats.repeat_noise import noise_line

_MOST_EDITED: Final = 5
# Sums of shares may end a rounding error outside 0 to 1.
_SLACK: Final = 1e-6

OTHER_DATASETS: Final = "the runs use different datasets; only rows with the same id are compared"


def weight_differences(old: ScoredRun, new: ScoredRun) -> list[str]:
    """Weights that differ, and so make composite scores incomparable."""
    if old.settings is None or new.settings is None:
        return []
    return new.settings.weight_differences(old.settings)


def threshold_differences(old: ScoredRun, new: ScoredRun) -> list[str]:
    """Thresholds that differ, and so make verdicts on rows incomparable."""
    if old.settings is None or new.settings is None:
        return []
    return new.settings.threshold_differences(old.settings)


def verdict_differences(old: ScoredRun, new: ScoredRun, names: Sequence[str]) -> list[str]:
    """What makes the composite scores and verdicts among some names incomparable."""
    found = weight_differences(old, new) if {COMPOSITE, PASSED}.intersection(names) else []
    return found + (threshold_differences(old, new) if PASSED in names else [])


def differences_of(old: ScoredRun, new: ScoredRun, metrics: Sequence[MetricId]) -> list[str]:
    """The settings that differ between two runs."""
    if any(run.signature is None and not _is_of_result_file(run) for run in (old, new)):
        return []  # a table of scores may be of any profile
    return setting_differences(old.signature, new.signature, metrics)


def _is_of_result_file(run: ScoredRun) -> bool:
    return bool((run.metric_passed != NO_VERDICT).any())


def setting_notes(
    old: ScoredRun, new: ScoredRun, wanted: Sequence[str] | None, *, force: bool
) -> list[str]:
    """What a reader should know of their settings and datasets."""
    unsigned = [run for run in (old, new) if run.signature is None]
    notes = unsigned_notes(run.name for run in unsigned if _is_of_result_file(run))
    unknown = [run.name for run in unsigned if not _is_of_result_file(run)]
    if unknown:
        notes.append(unknown_settings(unknown[0] if len(unknown) == 1 else ""))
    other = set(old.metrics) ^ set(new.metrics)
    if wanted is None and other:
        what = "" if other <= set(DIAGNOSTIC_IDS) else "composite scores and "
        notes.append(
            f"only one run has {', '.join(sorted(other))}: {what}row verdicts are not compared"
        )
    # Those of a metric that only one run has are said with it.
    known = tuple(f" of {name}: " for name in other)
    weights = [each for each in weight_differences(old, new) if not any(n in each for n in known)]
    differ = [
        *weights,
        *(each for each in threshold_differences(old, new) if not any(n in each for n in known)),
    ]
    if differ and wanted is None and not force:
        notes.append(
            f"thresholds or weights differ ({'; '.join(differ)}): "
            f"{'composite scores and ' if weights else ''}row verdicts are not compared; to "
            "compare them: --force"
        )
    hashes = {old.dataset_hash, new.dataset_hash}
    if None not in hashes and len(hashes) > 1:
        notes.append(OTHER_DATASETS)
    if blind := [run.name for run in (old, new) if run.digests is None]:
        who = "the runs do" if len(blind) == 2 else f"{blind[0]} does"
        notes.append(
            f"{who} not record questions and answers, so edited rows are not noticed; result files "
            "and rag-eval score --digests record them"
        )
        if all(map(_are_row_numbers, (old.ids, new.ids))):
            notes.append(
                "the ids are row numbers, as rag-eval score gives them to samples without ids: "
                "after a row that was added, dropped or moved, different samples are compared"
            )
    return notes


def _are_row_numbers(ids: Sequence[str]) -> bool:
    """Whether these are the ids of ``score`` for samples without one, each once."""
    return ids[:2] == ["0", "1"] and all(map(eq, ids, map(str, range(len(ids)))))


def repeat_notes(runs: tuple[ScoredRun, ScoredRun], gating: set[str]) -> Iterator[str]:
    """How often rows were repeated, and what of the noise comes from it."""
    for kind, run in zip(("old", "new"), runs, strict=True):
        n_repeats = max(Counter(run.ids).values(), default=0)
        note = f"the {kind} run has up to {n_repeats} repeats per row; their scores are averaged"
        if n_repeats < 2:
            note = f"the judge scored rows of the {kind} run several times"
        names = sorted(gating.intersection(run.metrics), key=place_of)
        noises = {name: run.repeat_noise(name) for name in names}
        found = {name: noise for name, noise in noises.items() if noise is not None}
        if found:
            yield f"{note}. {noise_line(found)}"
        elif n_repeats > 1:
            yield note


def slice_notes(table: RowTable, slices: Sequence[str]) -> list[str]:
    """A line for each field that some rows do not have."""
    notes = []
    for name in slices:
        n_without = sum(value is None for value in table.columns[name])
        if n_without:
            notes.append(f"rows in no slice (no {name}): {n_without:,} of {len(table.ids):,}")
    return notes


def input_notes(comparison: RunComparison) -> list[str]:
    """A line about edited rows, and one about answers."""
    notes, answers = [], comparison.answers
    if n_edited := len(comparison.edited):
        shown = ", ".join(glance(name) for name in comparison.edited[:_MOST_EDITED])
        more = ", …" if n_edited > _MOST_EDITED else ""
        how = "left out; to compare them: --edited keep"
        if comparison.options.edited == "keep":
            how = "compared anyway"
        notes.append(
            f"{counted(n_edited, 'row')} with the same id {'has' if n_edited == 1 else 'have'} "
            f"another question, ground truth or relevant ids ({shown}{more}): {how}"
        )
    if answers is not None and (answers.n_changed or answers.n_moved_alone):
        note = f"answers differ in {answers.n_changed:,} of {counted(answers.n_rows, 'row')}"
        if answers.n_moved_alone:
            note += (
                f"; scores differ in {answers.n_moved_alone:,} with the same answer: the contexts "
                "or the judge changed"
            )
        notes.append(note)
    return notes


def odd_score_notes(table: RowTable) -> list[str]:
    """A line for each built-in metric with scores outside 0 to 1, such as percentages."""
    notes = []
    for metric in METRIC_IDS:
        if metric not in table.names:
            continue
        scores = np.stack(table.column(metric))
        odd = (scores < -_SLACK) | (scores > 1 + _SLACK)
        if not odd.any():
            continue
        run, row = np.unravel_index(int(odd.argmax()), odd.shape)
        notes.append(
            f"{metric} has scores outside 0 to 1, such as {scores[run, row]:g} in row "
            f"{glance(table.ids[row])}; check whether they use another scale"
        )
    return notes
