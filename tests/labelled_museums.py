"""Labelled answers whose faults the shipped weights of faithfulness take for merits.

Good ones are in other words than the passage, bad ones in its words with another year.
"""

from __future__ import annotations

from typing import Any

Sample = dict[str, Any]


def museum(n: int) -> tuple[Sample, bool]:
    """A sample and whether it is good."""
    place, year = ("Norwick", "Tarn", "Velmar", "Osby")[n % 4], 1900 + n
    passage = (
        f"The museum of {place} opened in {year} and shows {40 + n % 7} paintings. "
        f"It stands beside the river, and its garden is open all the summer."
    )
    good = n % 3 != 0
    if good:
        answer = ("Since {} people could visit.", "They have shown art there from {} on.")[n % 2]
    else:
        answer = "The museum opened in {} and shows paintings."
    return (
        {
            "id": f"m{n}",
            "question": f"When did the museum of {place} open?",
            "answer": answer.format(year if good else year + 100),
            "contexts": [passage, "Bus 92 is slower than the tram."],
        },
        good,
    )


_MADE = [museum(n) for n in range(80)]
SAMPLES, GOOD = [sample for sample, _ in _MADE], [good for _, good in _MADE]
LABELS = [int(good) for good in GOOD]
