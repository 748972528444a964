"""Mastra's quick checks of texts, on runs and on samples.

Case is folded by lower-casing, with nothing trimmed or normalised.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rag_eval.metrics.contract import Column, Fields, Metric, Scored, Scorer, truths_of
from rag_eval.metrics.findings_column import RowScore, column_of, column_of_verdicts
from rag_eval.samples import MetricId, NullReason
from rag_eval.scorers.mastra.options import PatternOptions, SimilarityOptions, TextOptions
from rag_eval.scorers.mastra.run_texts import NO_OUTPUT
from rag_eval.scorers.mastra.runs import Run, run_of_messages
from rag_eval.scorers.mastra.scorer import CodeScorer, Finding, code_metric
from rag_eval.scorers.texts import cut

SOURCE: Final = "@mastra/evals 1.10.2, quick check"

INCLUDES: Final = "mastra.check_includes"
EXCLUDES: Final = "mastra.check_excludes"
EQUALS: Final = "mastra.check_equals"
MATCHES: Final = "mastra.check_matches"
SIMILARITY: Final = "mastra.check_similarity"

_NO_TRUTH: Final = Scored(
    None, NullReason.MISSING_FIELD, "Neither the option text nor a ground truth given."
)


_Rule = tuple[str, str]
_INCLUDED: Final[_Rule] = ("includes the text", "does not include the text")
_EXCLUDED: Final[_Rule] = ("does not include the text", "includes the text")
_EQUAL: Final[_Rule] = ("equals the text", "does not equal the text")
_EQUAL_ONE: Final[_Rule] = ("equals one of the texts", "does not equal one of the texts")


def _spoken(run: Run, between: str) -> str:
    """What the assistant said, message by message, joined; also messages without a text."""
    return between.join(m.text for m in run.output if m.role == "assistant")


def _answer(fields: Fields, between: str) -> str | None:
    """What the assistant said in a sample; None if the sample does not say."""
    if "messages" not in fields:
        return fields.get("answer")
    return _spoken(run_of_messages(fields["messages"]), between)


# --------------------------------------------------------------------------------- pass or not


@dataclass(frozen=True, slots=True)
class _Check:
    """A check of what was said alone.

    Attributes
    ----------
    metric, key : str
        Its id, and what its verdict is called among Mastra's findings.
    rule : (str, str)
        What the answer does if it passes, and if it fails.
    wanted : str
        What is looked for, for people.
    read, passes : callable
        The output as it is searched, and whether that passes.
    between : str
        Stands between messages.
    """

    metric: str
    key: str
    rule: _Rule
    settings: Any
    wanted: str
    read: Callable[[str], str]
    passes: Callable[[str], bool]
    between: str

    def of_runs(self) -> CodeScorer:
        def found(run: Run, _: Any) -> Finding:
            output = self.read(_spoken(run, self.between))
            passed = self.passes(output)
            return Finding(float(passed), {"output": output, self.key: passed})

        return CodeScorer(self.metric, self.settings, found)

    def of_samples(self) -> Scorer:
        return Scorer(self._score, self._column)

    def _passes(self, text: str) -> bool:
        return self.passes(self.read(text))

    def _row_score(self, fields: Fields) -> RowScore:
        text = _answer(fields, self.between)
        return NullReason.MISSING_FIELD if text is None else float(self._passes(text))

    def _score(self, fields: Fields) -> Scored:
        text = _answer(fields, self.between)
        if text is None:
            return NO_OUTPUT
        return _verdict(self.metric, self._passes(text), self.wanted, text, self.rule)

    def _column(self, rows: Sequence[Fields]) -> Column:
        try:
            answers = [row["answer"] for row in rows]
        except KeyError:
            answers = []
        if not answers or any("messages" in row for row in rows):
            return column_of(rows, self._row_score)
        return column_of_verdicts([self._passes(answer) for answer in answers])


def _verdict(metric: str, passed: bool, wanted: str, text: str, rule: _Rule) -> Scored:
    message = f"The answer {rule[not passed]}."
    detail = {
        "check": metric.partition(".")[2],
        "passed": passed,
        "expected": cut(wanted),
        "actual": cut(text),
        "message": message,
    }
    return Scored(float(passed), NullReason.MEASURED, message, [detail])


def _of_text(
    metric: MetricId,
    key: str,
    rule: _Rule,
    holds: Callable[[str, str], bool],
    between: str = " ",
) -> Callable[..., _Check]:
    """A check of the output and a text, both as they are compared."""

    def check(text: str, ignore_case: bool = True) -> _Check:
        options = TextOptions(text=text, ignore_case=ignore_case)
        wanted = options.wanted

        def passes(output: str) -> bool:
            return holds(output, wanted)

        return _Check(metric, key, rule, options, text, options.folded, passes, between)

    return check


_includes = _of_text(INCLUDES, "found", _INCLUDED, operator.contains)
_excludes = _of_text(EXCLUDES, "excluded", _EXCLUDED, lambda output, text: text not in output)
_equals = _of_text(EQUALS, "isEqual", _EQUAL, operator.eq, between="")


def _matches(pattern: str, flags: str = "", exact: bool = False) -> _Check:
    options = PatternOptions(pattern=pattern, flags=flags, exact=exact)
    rule = ("matches the pattern", "does not match the pattern")
    return _Check(MATCHES, "matched", rule, options, pattern, str, options.ready().search, "")


def create_includes_check(text: str, *, ignore_case: bool = True) -> CodeScorer:
    """Passes if the text is in the output; the empty text is in every output."""
    return _includes(text, ignore_case).of_runs()


def create_excludes_check(text: str, *, ignore_case: bool = True) -> CodeScorer:
    """Passes if the text is not in the output; the empty text is in every output."""
    return _excludes(text, ignore_case).of_runs()


def create_equals_check(text: str, *, ignore_case: bool = True) -> CodeScorer:
    """Passes if the output, with its messages joined without a space, equals the text."""
    return _equals(text, ignore_case).of_runs()


def create_matches_check(pattern: str, flags: str = "", *, exact: bool = False) -> CodeScorer:
    """Passes if a JavaScript regular expression matches in the output.

    Parameters
    ----------
    pattern, flags : str
        The pattern; see :func:`rag_eval.scorers.safe_patterns.compiled` for its limits.
    exact : bool, default False
        Whether the pattern must match the whole output.
    """
    return _matches(pattern, flags, exact).of_runs()


# -------------------------------------------------------------------------- texts or ground truths


def _wanted(fields: Fields, text: str | None) -> Sequence[str]:
    """The text of the options, else the ground truths."""
    return truths_of(fields) if text is None else (text,)


def _equals_any(text: str | None = None, ignore_case: bool = True) -> Scorer:
    options = TextOptions(text="" if text is None else text, ignore_case=ignore_case)

    def is_any(output: str, wanted: Sequence[str]) -> bool:
        given = options.folded(output)
        return any(given == options.folded(each) for each in wanted)

    def row_score(fields: Fields) -> RowScore:
        output, wanted = _answer(fields, ""), _wanted(fields, text)
        if output is None or not wanted:
            return NullReason.MISSING_FIELD
        return float(is_any(output, wanted))

    def score(fields: Fields) -> Scored:
        output, wanted = _answer(fields, ""), _wanted(fields, text)
        if output is None or not wanted:
            return NO_OUTPUT if output is None else _NO_TRUTH
        rule = _EQUAL if len(wanted) == 1 else _EQUAL_ONE
        return _verdict(EQUALS, is_any(output, wanted), " | ".join(wanted[:3]), output, rule)

    return Scorer(score, lambda rows: column_of(rows, row_score))


def create_similarity_check(
    text: str, *, ignore_case: bool = True, threshold: float | None = None
) -> CodeScorer:
    """Scores the similarity of output and text by pairs of characters (Dice), from 0 to 1.

    With a threshold it passes if the similarity reaches it.

    Parameters
    ----------
    text : str
    ignore_case : bool
    threshold : float, optional
        Without it the check has only a score.
    """
    options = SimilarityOptions(text=text, ignore_case=ignore_case, threshold=threshold)
    return CodeScorer(SIMILARITY, options, _similarity_of_run)


def _similarity_of_run(run: Run, options: SimilarityOptions) -> Finding:
    from rag_eval.kernels.similarity import dice_similarity

    output = options.folded(_spoken(run, " "))
    similarity = dice_similarity(output, options.wanted)
    return Finding(options.decided(similarity), {"output": output, "score": similarity})


def _similarity(
    text: str | None = None, ignore_case: bool = True, threshold: float | None = None
) -> Scorer:
    options = SimilarityOptions(
        text="" if text is None else text, ignore_case=ignore_case, threshold=threshold
    )

    def score(fields: Fields) -> Scored:
        output, wanted = _answer(fields, " "), _wanted(fields, text)
        if output is None or not wanted:
            return NO_OUTPUT if output is None else _NO_TRUTH
        found = _best_similarities([fields], text, options)[0]
        message = f"The similarity of the answer and the text is {float(found):.2f}."
        detail = {"check": "check_similarity", "expected": cut(wanted[0]), "actual": cut(output)}
        given = options.decided(found)
        passed = {} if threshold is None else {"passed": bool(given)}
        return Scored(given, NullReason.MEASURED, message, [{**detail, **passed}])

    def column(rows: Sequence[Fields]) -> Column:
        best = iter(_best_similarities(rows, text, options))

        def row_score(_: Fields) -> RowScore:
            found = next(best)
            return found if isinstance(found, NullReason) else options.decided(found)

        return column_of(rows, row_score)

    return Scorer(score, column)


def _best_similarities(
    rows: Sequence[Fields], text: str | None, options: SimilarityOptions
) -> list[RowScore]:
    """Of every row how alike the answer is to the text that it is most alike to."""
    from rag_eval.kernels.similarity import dice_similarities

    left: list[str] = []
    right: list[str] = []
    owners: list[int] = []
    for owner, fields in enumerate(rows):
        output = _answer(fields, " ")
        if output is None:
            continue
        for wanted in _wanted(fields, text):
            left.append(options.folded(output))
            right.append(options.folded(wanted))
            owners.append(owner)
    best: list[RowScore] = [NullReason.MISSING_FIELD] * len(rows)
    for owner, found in zip(owners, dice_similarities(left, right).tolist(), strict=True):
        known = best[owner]
        best[owner] = found if isinstance(known, NullReason) else max(known, found)
    return best


# --------------------------------------------------------------------------------------- contracts


_OF_ANSWER: Final[dict[str, Any]] = {
    "optional": ("answer", "messages"),
    "threshold": 1.0,
    "source": SOURCE,
    "null_when": "there is no answer",
}
_OF_TRUTH: Final[dict[str, Any]] = {
    **_OF_ANSWER,
    "optional": ("answer", "messages", "ground_truth"),
    "null_when": "there is no answer, or no text to compare",
}


def of_samples(check: Callable[..., Any]) -> Callable[..., Scorer]:
    """A scorer of samples by a check that its options make."""
    return lambda **options: check(**options).of_samples()


METRICS: Final[tuple[Metric, ...]] = (
    code_metric(
        INCLUDES,
        of_samples(_includes),
        "1 if the text is in the answer, else 0",
        options={"ignore_case": True},
        required_options=("text",),
        version=2,
        **_OF_ANSWER,
    ),
    code_metric(
        EXCLUDES,
        of_samples(_excludes),
        "1 if the text is not in the answer, else 0",
        options={"ignore_case": True},
        required_options=("text",),
        version=2,
        **_OF_ANSWER,
    ),
    code_metric(
        EQUALS,
        _equals_any,
        "1 if the answer equals the text (or, without the option text, a ground truth), else 0",
        options={"text": None, "ignore_case": True},
        **_OF_TRUTH,
    ),
    code_metric(
        MATCHES,
        of_samples(_matches),
        "1 if a regular expression is found in the answer, else 0",
        options={"flags": "", "exact": False},
        required_options=("pattern",),
        extra="safe-regex",
        version=2,
        **_OF_ANSWER,
    ),
    code_metric(
        SIMILARITY,
        _similarity,
        "Dice similarity of the character pairs of the answer and the text (or, without the "
        "option text, the most similar ground truth); with a threshold, 1 if the similarity "
        "reaches it, else 0",
        options={"text": None, "ignore_case": True, "threshold": None},
        version=2,
        **{**_OF_TRUTH, "threshold": None},
    ),
)
