"""Outcomes -> sections on the grounded profile alone: versions, definition, thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.validity.certainty import BANDS, Band, pooled
from benchmarks.validity.defaults import means
from benchmarks.validity.outcomes import Check, Outcome
from benchmarks.validity.pieces import Pick, by_metric, label, macro, table
from benchmarks.validity.scorers import EARLIER_MEANS
from benchmarks.validity.sets import KNOWN


def earlier_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """Means of version 2 of the grounded profile beside those of this build, on the same sets."""
    picks: tuple[Pick, ...] = (
        lambda figures: figures.auroc,
        lambda figures: figures.precision,
        lambda figures: figures.balanced,
    )
    rows = []
    for metric, found in by_metric(outcomes).items():
        earlier = EARLIER_MEANS[metric]
        names = {outcome.set_name for outcome in found}
        if len(names) != earlier.n_sets or not names <= KNOWN.keys():
            continue
        cells = [label(metric, found)]
        for before, pick in zip(earlier[1:], picks, strict=True):
            now = macro(found, "grounded", pick)
            cells.append("–" if before is None else f"{before:.3f}")
            cells.append("–" if now is None else f"{now.value:.3f}")
        rows.append(cells)
    if not rows:
        return []
    head = [
        "metric",
        *(
            f"{what}, version {n}"
            for what in ("AUROC", "average precision", "balanced acc.")
            for n in (2, 3)
        ),
    ]
    return [
        "## Version 2 beside version 3",
        "",
        "Version 2 is no longer in the source. Its figures are those that its last build had on",
        "this page, on the same sets and at its own default thresholds.",
        "",
        *table(head, rows),
    ]


def check_lines(checks: Sequence[Check]) -> list[str]:
    """The build beside the definition."""
    if not checks:
        return []
    rows = [
        [
            check.set_name,
            check.metric,
            f"{check.earlier:.4f}",
            f"{check.defined:.4f}",
            f"{check.measured:.4f}",
            "same" if check.holds else "**differs**",
        ]
        for check in checks
    ]
    head = ["set", "metric", "version 2", "definition (version 3)", "this build", "within 0.001"]
    return [
        "## The grounded profile beside its definition",
        "",
        "AUROC. The definition is the slow, plain Python of `tests/oracle`. Its figures are kept",
        "in `scorers.py`; `python -m benchmarks.validity.definition` measures them anew and",
        "compares every score. Those of version 2 are of its last build.",
        "",
        *table(head, rows),
    ]


def defaults_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """What passes of answers that people call good, and bad."""
    by_set = [outcome.passed for outcome in outcomes if outcome.passed]
    if not by_set:
        return []
    rows = [
        [name, f"{found.good:.3f}", f"{found.bad:.3f}", f"{found.balanced:.3f}"]
        for name, found in means(by_set).items()
    ]
    head = ["thresholds", "good that pass", "bad that pass", "balanced accuracy"]
    return [
        "## The default thresholds",
        "",
        f"Means over {len(by_set)} sets labelled for faithfulness. Their rows have no ground",
        "truth, so context_recall and answer_correctness have no effect here. The defaults of",
        "version 2 are applied to scores of version 3. A low score is strong evidence and a high",
        "one is weak evidence; the best threshold differs by corpus: calibrate if you have labels.",
        "",
        *table(head, rows),
        "On the 21 sets of the study behind the definition, 14 of which are not here, the defaults",
        "let 72 % of the good answers and 29 % of the bad ones pass (balanced accuracy 0.713).",
        "Version 2 let 36 % and 22 % pass (0.571).",
        "",
    ]


def certainty_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """How many rows of a low score are bad, and of a high one."""
    found = {o.set_name: o.certainty for o in outcomes if o.certainty is not None}
    if not found:
        return []

    def cells(bands: Mapping[str, Band]) -> list[str]:
        return [
            f"{band.share_bad:.2f} ({band.good:.2f} and {band.bad:.2f})" for band in bands.values()
        ]

    rows = [[name, f"{one.best_cut:.2f}", *cells(one.bands)] for name, one in found.items()]
    rows.append(["all", "–", *cells(pooled(list(found.values())))])
    return [
        "## What a low and a high faithfulness say",
        "",
        "The share of bad rows among those with such a score, if there were as many bad rows as",
        "good ones; in brackets the shares of the good and of the bad rows that have such a score.",
        "In the last row all sets count the same. The best cut is the threshold of the highest",
        "balanced accuracy on the set itself.",
        "",
        *table(["set", "best cut", *(f"bad {name}" for name in BANDS)], rows),
    ]
