"""What is told beside verdicts: where there is none, and which answers only decline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from rag_eval.metrics.ids import OF_ANSWER
from rag_eval.options.plan import Plan
from rag_eval.samples import NullReason

NO_VERDICT: Final = -1
"""In the place of a verdict: there is none, or a file does not say."""
VERDICT_NUMBERS: Final[Mapping[bool | None, int]] = {None: NO_VERDICT, False: 0, True: 1}


@dataclass(slots=True)
class Refusals:
    """Answers that only decline, counted.

    Attributes
    ----------
    n_rows : int
    n_answerable : int
        Those where relevant contexts were retrieved and no ground truth declines as well, as far as
        the metrics of the plan tell.
    """

    n_rows: int = 0
    n_answerable: int = 0

    def add(
        self,
        scores: npt.NDArray[np.float64],
        null_reasons: npt.NDArray[np.uint8],
        plan: Plan,
    ) -> None:
        """Look at some rows."""
        reasons = dict(zip(plan.columns, null_reasons.T, strict=True))
        refused = next((reasons[name] == _REFUSAL for name in OF_ANSWER if name in reasons), None)
        if refused is None or not refused.any():
            return
        self.n_rows += int(refused.sum())
        if "context_relevance" in reasons:
            relevant = scores[:, plan.columns.index("context_relevance")] > 0
            answerable = refused & relevant
            if "context_recall" in reasons:
                answerable &= reasons["context_recall"] != _REFUSAL
            self.n_answerable += int(answerable.sum())

    @property
    def notes(self) -> list[str]:
        """What to tell about a run that has any."""
        if not self.n_rows:
            return []
        if self.n_rows == 1:
            text, those = "1 answer is a refusal, so its faithfulness is null", "it"
        else:
            text = f"{self.n_rows:,} answers are refusals, so their faithfulness is null"
            those = f"{self.n_answerable:,} of them"
        if self.n_answerable:
            text += f"; relevant contexts were retrieved for {those}"
        return [text]


_REFUSAL: Final = int(NullReason.REFUSAL)
