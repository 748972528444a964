"""People's labels: files of them checked, drawn for labelling, held against scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.labels.sampling import sample_for_labels

_HOMES: Final = {
    "sampling": ("sample_for_labels",),
}

__all__ = [
    "sample_for_labels",
]

__getattr__ = late_names(__name__, _HOMES)
