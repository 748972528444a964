"""The door to the scoring kernels: columns, settings, and calls that check and allocate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.kernels.scoring import (
        grounded_details,
        grounded_words,
        hash_seed,
        overlap_details,
        pack_texts,
        score_grounded,
        score_overlap,
    )

__all__ = [
    "grounded_details",
    "grounded_words",
    "hash_seed",
    "overlap_details",
    "pack_texts",
    "score_grounded",
    "score_overlap",
]

__getattr__ = late_names(__name__, {"scoring": tuple(__all__)})
