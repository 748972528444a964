"""Judges that label themselves: names of annotators and judges in, a warning out."""

from __future__ import annotations

from collections.abc import Iterable


def is_contaminated(annotator: str, judges: Iterable[str]) -> bool:
    """Whether the names of an annotator and of a judge contain one another, in any case.

    Labels by the model that judges say how far it agrees with itself.
    """
    name = annotator.strip().lower()
    others = [judge.strip().lower() for judge in judges]
    return bool(name) and any(other and (name in other or other in name) for other in others)


def contamination_warnings(annotators: Iterable[str], judges: Iterable[str]) -> list[str]:
    """A sentence for each annotator who seems to be one of the judges."""
    judges = list(judges)
    return [
        f"the annotator {annotator} has the name of a judge ({', '.join(judges)}): agreement with "
        "one's own labels proves nothing"
        for annotator in annotators
        if is_contaminated(annotator, judges)
    ]
