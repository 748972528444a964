"""Numbers rounded as omk's scores are: exact ties away from zero."""

from __future__ import annotations

from rag_eval.stats.omk_rounding import rounded

__all__ = ["rounded"]
