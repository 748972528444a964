"""deepeval: a test case in, one metric of it with score, reason and success out."""

from __future__ import annotations

from typing import Any

from rag_eval.integrations.scoring import MetricScore, SampleScorer
from rag_eval.integrations.tool_package import missing_package
from rag_eval.integrations.tool_rows import fields

try:
    from deepeval.metrics import BaseMetric
    from deepeval.test_case import LLMTestCase
except ImportError:
    raise missing_package("deepeval", "deepeval") from None
