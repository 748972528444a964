"""What a scorer is: public names of :mod:`rag_eval.metrics`."""

from rag_eval.metrics.contract import Metric, Scored, Scorer
from rag_eval.metrics.registry import register

ScorerSpec = Metric
"""The contract of a metric that code scores; ``create`` is needed."""

__all__ = ["Scored", "Scorer", "ScorerSpec", "register"]
