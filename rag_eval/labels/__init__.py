"""Human labels: check their files, draw rows to label, compare them with scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.labels.omk_gold import gold_compare as gold_compare
    from rag_eval.labels.omk_gold import omk_agreement as omk_agreement
    from rag_eval.labels.sampling import sample_for_labels as sample_for_labels

_HOMES: Final = {
    "omk_gold": ("gold_compare", "omk_agreement"),
    "sampling": ("sample_for_labels",),
}

__all__ = sorted(name for names in _HOMES.values() for name in names)

__getattr__ = late_names(__name__, _HOMES)
