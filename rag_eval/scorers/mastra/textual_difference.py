"""Textual difference: what came in and what went out -> how much of them is the same, in order.

The score is the ratio alone: the confidence beside it does not enter, whatever documents say.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final, NamedTuple

from rag_eval.scorers.mastra.code_scorer import CodeScorer, Finding
from rag_eval.scorers.mastra.content_similarity import collapsed
from rag_eval.scorers.mastra.options import NoOptions, settings_of
from rag_eval.scorers.mastra.run_texts import input_text, output_text
from rag_eval.scorers.mastra.runs import Run
from rag_eval.scorers.mastra.scorer import Options

ID: Final = "mastra.textual_difference"


class TextualDifference(NamedTuple):
    """How alike two texts are, letter by letter.

    Attributes
    ----------
    ratio : float
        ``2 * longest common subsequence / units of both``, 0 to 1; 1 for two empty texts.
    confidence : float
        ``1 - length_diff``.
    changes : int
        Words that would have to be changed, their order set aside; 1 where white space alone
        differs.
    length_diff : float
        Difference of the lengths over the longer one, 0 to 1.
    """

    ratio: float
    confidence: float
    changes: int
    length_diff: float


def textual_difference(input: str, output: str) -> TextualDifference:
    """How alike two texts are; case and white space count, and lengths are UTF-16 units.

    Raises
    ------
    InputError
        When the texts are too long to align: see :func:`rag_eval.kernels.similarity.lcs_ratios`.
    """
    from rag_eval.kernels.similarity import lcs_ratio, n_units

    ratio = lcs_ratio(input, output)
    lengths = n_units(input), n_units(output)
    longest = max(lengths)
    length_diff = abs(lengths[0] - lengths[1]) / longest if longest else 0.0
    return TextualDifference(ratio, 1 - length_diff, _changes(input, output), length_diff)


def _changes(left: str, right: str) -> int:
    if left == right:
        return 0
    texts = collapsed(left), collapsed(right)
    if texts[0] == texts[1]:
        return 1
    words = [Counter(text.split(" ") if text else ()) for text in texts]
    shared = (words[0] & words[1]).total()
    return max(each.total() for each in words) - shared


def _found(run: Run, _: NoOptions) -> Finding:
    found = textual_difference(input_text(run), output_text(run))
    return Finding(found.ratio, analyze_result=as_result(found))


def as_result(found: TextualDifference) -> dict[str, Any]:
    """The findings under Mastra's names."""
    return {
        "ratio": found.ratio,
        "confidence": found.confidence,
        "changes": found.changes,
        "lengthDiff": found.length_diff,
    }


def create_textual_difference_scorer(options: Options = None, **more: Any) -> CodeScorer[NoOptions]:
    """How much of input and output is the same, in order; 0 to 1, no judge, higher is better.

    It has no options.
    """
    return CodeScorer(ID, settings_of(NoOptions, ID, options, more), _found)
