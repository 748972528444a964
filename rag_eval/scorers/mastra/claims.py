"""The step that lists what a text claims, which three scorers begin with."""

from __future__ import annotations

from typing import Final

from rag_eval.judge.metrics.imagining import sentences, text_of
from rag_eval.judge.steps import Fields, Step
from rag_eval.scorers.mastra.verdicts import Claims


def _imagined(fields: Fields) -> Claims:
    return Claims(sentences(text_of(fields, "text")))


EXTRACT_CLAIMS: Final = Step("mastra/claims_extract", Claims, _imagined, graded=False)
