"""What a scorer is: public names of :mod:`rag_eval.metrics`."""

from rag_eval.metrics.contract import Scored, Scorer, ScorerSpec
from rag_eval.metrics.registry import register

__all__ = ["Scored", "Scorer", "ScorerSpec", "register"]
