"""Keyword coverage: input and output -> how many keywords of the input are in the output.

Keywords are those of the npm package keyword-extractor 0.0.28 for English: all words that are no
stop words, unstemmed.
"""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rag_eval.metrics.contract import Fields, Scorer
from rag_eval.scorers.javascript import SPACE, trimmed
from rag_eval.scorers.mastra.options import NoOptions, settings_of
from rag_eval.scorers.mastra.run_texts import (
    Found,
    input_text,
    output_text,
    sample_texts,
    scorer_of_texts,
    text_metric,
)
from rag_eval.scorers.mastra.runs import Run
from rag_eval.scorers.mastra.scorer import CodeScorer, Finding, Options
from rag_eval.scorers.texts import cut

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

ID: Final = "mastra.keyword_coverage"

_SHOWN: Final = 20
_STOP_WORDS: Final = "stop_words.txt"
_ONE_SPACE: Final = re.compile(f"[{SPACE}]")
_DROPPED: Final = dict.fromkeys(map(ord, '.,;!?():"“”‘’'))
_LONE_MARKS: Final = frozenset("_@&#")
_ADDRESSES: Final = ("http://", "https://")


class KeywordCoverage(NamedTuple):
    """Which keywords came back.

    Attributes
    ----------
    coverage : float
        Share of the keywords that came in which went out, too; 1 if none came in.
    reference_keywords, response_keywords : list of str
        Those that came in and those that went out, each once and in order.
    matched_keywords : list of str
        Those of the first that are among the second.
    """

    coverage: float
    reference_keywords: list[str]
    response_keywords: list[str]
    matched_keywords: list[str]


def keyword_coverage(input: str, output: str) -> KeywordCoverage:
    """How many keywords of the input are in the output.

    Without any in the input it is 1, whatever the output says.
    """
    wanted, given = keywords(input), keywords(output)
    held = frozenset(given)
    matched = [word for word in wanted if word in held]
    coverage = len(matched) / len(wanted) if wanted else 1.0
    return KeywordCoverage(coverage, wanted, given, matched)


def keywords(text: str) -> list[str]:
    """The words of an English text that are not stop words, each once and in order.

    Tags of HTML, most marks, numbers and lone symbols are left out; words are in lower case, but
    addresses are as they were. Hyphens stay inside of words, and other full stops and apostrophes
    of typesetters fall out: ``React.js`` is ``reactjs``.
    """
    stop_words = _stop_words()
    found: dict[str, None] = {}
    for word in _ONE_SPACE.split(trimmed(_without_tags(text))):
        is_address = "://" in word and any(address in word for address in _ADDRESSES)
        bare = word if is_address else _bare(word)
        if not bare or bare in _LONE_MARKS or (bare.isascii() and bare.isdigit()):
            continue
        lower = bare.lower()
        if lower not in stop_words:
            found[bare if is_address else lower] = None
    return list(found)


def _without_tags(text: str) -> str:
    # The pattern <[^>]+>, which alone would search the end of each of many "<" again.
    pieces = []
    kept, begin = 0, text.find("<")
    while begin >= 0:
        end = text.find(">", begin + 2)
        if end < 0:
            break
        if text[begin + 1] == ">":
            begin = text.find("<", begin + 1)
            continue
        pieces.append(text[kept:begin])
        kept = end + 1
        begin = text.find("<", kept)
    return "".join([*pieces, text[kept:]])


def _bare(word: str) -> str:
    if word.startswith("'"):
        word = word[1:]
    return word.removesuffix("'").translate(_DROPPED)


@functools.cache
def _stop_words() -> frozenset[str]:
    listed = resources.files("rag_eval.scorers.mastra") / _STOP_WORDS
    lines = listed.read_text(encoding="utf-8").split("\n")
    return frozenset(line for line in lines if line and not line.startswith("#"))


def _found(run: Run, _: NoOptions) -> Finding:
    found = keyword_coverage(input_text(run), output_text(run))
    keywords_found = {
        "referenceKeywords": found.reference_keywords,
        "responseKeywords": found.response_keywords,
    }
    return Finding(found.coverage, keywords_found, analyze_result=counts(found))


def counts(found: KeywordCoverage) -> dict[str, Any]:
    """How many keywords there are and how many of them came back, under Mastra's names."""
    return {
        "totalKeywordsLength": len(found.reference_keywords),
        "matchedKeywordsLength": len(found.matched_keywords),
    }


def create_keyword_coverage_scorer(options: Options = None, **more: Any) -> CodeScorer:
    """Share of the input's keywords that are in the output; 0 to 1, no judge, higher is better.

    It has no options. Without keywords in the input the score is 1.
    """
    return CodeScorer(ID, settings_of(NoOptions, ID, options, more), _found)


def _keyword_coverage() -> Scorer:
    def find(fields: Fields) -> Found:
        found = keyword_coverage(*sample_texts(fields))
        held = frozenset(found.matched_keywords)
        missing = [word for word in found.reference_keywords if word not in held]
        words = "The question has no keywords, so none is missing."
        if found.reference_keywords:
            n_held, n_wanted = len(found.matched_keywords), len(found.reference_keywords)
            words = f"{n_held} of {n_wanted} keywords of the question are in the answer."
        shown = [cut(word) for word in missing[:_SHOWN]]
        return found.coverage, words, {**counts(found), "missingKeywords": shown}

    def coverages(left: list[str], right: list[str]) -> npt.NDArray[np.float64]:
        import numpy as np

        pairs = zip(left, right, strict=True)
        return np.array([keyword_coverage(*pair).coverage for pair in pairs])

    return scorer_of_texts(find, coverages)


METRICS: Final = (
    text_metric(
        ID,
        _keyword_coverage,
        "Share of the question's keywords that are in the answer; 1 if there are none",
        cost="python",
    ),
)
