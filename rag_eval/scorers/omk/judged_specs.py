"""omk's scorers that ask a judge for a rating."""

from __future__ import annotations

from rag_eval.judge.metrics.catalogue import OMK_METRICS as METRICS

__all__ = ["METRICS"]
