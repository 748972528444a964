"""Mastra's quick checks of samples: their contracts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from rag_eval.metrics.contract import Column, Fields, Metric, Scored, Scorer, truths_of
from rag_eval.metrics.findings_column import RowScore, column_of, column_of_verdicts
from rag_eval.samples import MetricId, NullReason
from rag_eval.scorers.mastra import checks
from rag_eval.scorers.mastra.check_call_specs import CALL_SPECS
from rag_eval.scorers.mastra.check_rules import (
    PatternOptions,
    SimilarityOptions,
    TextOptions,
    decided,
    folded,
)
from rag_eval.scorers.mastra.run_texts import NO_OUTPUT
from rag_eval.scorers.mastra.runs import run_of_messages
from rag_eval.scorers.short_texts import cut

_TEXT_FIELDS: Final = ("answer", "messages")
_NO_TRUTH: Final = Scored(
    None, NullReason.MISSING_FIELD, "Neither the option text nor a ground truth given."
)


# --------------------------------------------------------------------------------------- texts


def _spoken(fields: Fields, between: str) -> str | None:
    """What the assistant said; None where the sample does not say."""
    if "messages" not in fields:
        return fields.get("answer")
    run = run_of_messages(fields["messages"])
    return checks.spoken_text(run, between)


def _text_scorer(
    name: str, passes: Callable[[str], bool], between: str, wanted: str, rule: str
) -> Scorer:
    """A check of the answer alone."""

    def row_score(fields: Fields) -> RowScore:
        text = _spoken(fields, between)
        return NullReason.MISSING_FIELD if text is None else float(passes(text))

    def score(fields: Fields) -> Scored:
        text = _spoken(fields, between)
        return NO_OUTPUT if text is None else _text_scored(name, passes(text), wanted, text, rule)

    def column(rows: Sequence[Fields]) -> Column:
        try:
            answers = [row["answer"] for row in rows]
        except KeyError:
            answers = []
        if not answers or any("messages" in row for row in rows):
            return column_of(rows, row_score)
        return column_of_verdicts([passes(answer) for answer in answers])

    return Scorer(score, column)


def _text_scored(name: str, passed: bool, wanted: str, text: str, rule: str) -> Scored:
    message = f"The answer {rule.format('' if passed else 'not ').replace('  ', ' ')}."
    detail = {
        "check": name,
        "passed": passed,
        "expected": cut(wanted),
        "actual": cut(text),
        "message": message,
    }
    return Scored(float(passed), NullReason.MEASURED, message, [detail])


def _includes(text: str, ignore_case: bool = True) -> Scorer:
    options = TextOptions(text=text, ignore_case=ignore_case)
    wanted = options.wanted

    def passes(output: str) -> bool:
        return wanted in folded(output, ignore_case)

    return _text_scorer("check_includes", passes, " ", text, "does {}include the text")


def _excludes(text: str, ignore_case: bool = True) -> Scorer:
    options = TextOptions(text=text, ignore_case=ignore_case)
    wanted = options.wanted

    def passes(output: str) -> bool:
        return wanted not in folded(output, ignore_case)

    return _text_scorer("check_excludes", passes, " ", text, "does {}leave the text out")


def _matches(pattern: str, flags: str = "", exact: bool = False) -> Scorer:
    options = PatternOptions(pattern=pattern, flags=flags, exact=exact)
    ready = options.ready()
    return _text_scorer("check_matches", ready.search, "", pattern, "does {}match the pattern")


def _equals(text: str | None = None, ignore_case: bool = True) -> Scorer:
    _checked_options(text, ignore_case)

    def is_any(output: str, wanted: Sequence[str]) -> bool:
        given = folded(output, ignore_case)
        return any(given == folded(each, ignore_case) for each in wanted)

    def row_score(fields: Fields) -> RowScore:
        output, wanted = _spoken(fields, ""), _wanted(fields, text)
        if output is None or not wanted:
            return NullReason.MISSING_FIELD
        return float(is_any(output, wanted))

    def score(fields: Fields) -> Scored:
        output, wanted = _spoken(fields, ""), _wanted(fields, text)
        if output is None or not wanted:
            return NO_OUTPUT if output is None else _NO_TRUTH
        passed = is_any(output, wanted)
        rule = "does {}equal the text" if len(wanted) == 1 else "does {}equal one of the texts"
        return _text_scored("check_equals", passed, " | ".join(wanted[:3]), output, rule)

    return Scorer(score, lambda rows: column_of(rows, row_score))


def _checked_options(text: str | None, ignore_case: bool) -> None:
    """An InputError for a value that cannot be; that there is no text is for later."""
    TextOptions(text="" if text is None else text, ignore_case=ignore_case)


def _wanted(fields: Fields, text: str | None) -> Sequence[str]:
    """The text of the options, else the ground truths."""
    return truths_of(fields) if text is None else (text,)


def _similarity(
    text: str | None = None, ignore_case: bool = True, threshold: float | None = None
) -> Scorer:
    options = SimilarityOptions(
        text="" if text is None else text, ignore_case=ignore_case, threshold=threshold
    )

    def best(rows: Sequence[Fields]) -> list[RowScore]:
        return _best_similarities(rows, text, options)

    def score(fields: Fields) -> Scored:
        output, wanted = _spoken(fields, " "), _wanted(fields, text)
        if output is None or not wanted:
            return NO_OUTPUT if output is None else _NO_TRUTH
        found = best([fields])[0]
        message = f"The answer and the text are alike by {float(found):.2f}."
        detail = {"check": "check_similarity", "expected": cut(wanted[0]), "actual": cut(output)}
        given = float(decided(found, options))
        passed = {} if threshold is None else {"passed": bool(given)}
        return Scored(given, NullReason.MEASURED, message, [{**detail, **passed}])

    def column(rows: Sequence[Fields]) -> Column:
        found = iter(best(rows))
        return column_of(rows, lambda _: _decided_or_null(next(found), options))

    return Scorer(score, column)


def _decided_or_null(found: RowScore, options: SimilarityOptions) -> RowScore:
    return found if isinstance(found, NullReason) else decided(found, options)


def _best_similarities(
    rows: Sequence[Fields], text: str | None, options: SimilarityOptions
) -> list[RowScore]:
    """Of every row how alike the answer is to the text that it is most alike to."""
    from rag_eval.kernels.similarity import dice_similarities

    left: list[str] = []
    right: list[str] = []
    owners: list[int] = []
    for owner, fields in enumerate(rows):
        output = _spoken(fields, " ")
        if output is None:
            continue
        for wanted in _wanted(fields, text):
            left.append(folded(output, options.ignore_case))
            right.append(folded(wanted, options.ignore_case))
            owners.append(owner)
    best: list[RowScore] = [NullReason.MISSING_FIELD] * len(rows)
    for owner, found in zip(owners, dice_similarities(left, right).tolist(), strict=True):
        known = best[owner]
        best[owner] = found if isinstance(known, NullReason) else max(known, found)
    return best


# ----------------------------------------------------------------------------------- contracts


def _text_spec(
    metric: MetricId,
    create: Callable[..., Scorer],
    summary: str,
    *,
    required: tuple[str, ...] = (),
    fields: tuple[str, ...] = _TEXT_FIELDS,
    threshold: float | None = 1.0,
    extra: str = "",
    options: Mapping[str, Any],
) -> Metric:
    return Metric(
        id=metric,
        summary=summary,
        create=create,
        fields=(),
        optional=fields,
        required_options=required,
        options=options,
        threshold=threshold,
        cost="python",
        source=checks.SOURCE,
        null_when="there is no answer" + (", or no text to compare" if len(fields) > 2 else ""),
        extra=extra,
    )


_WITH_TRUTH: Final = (*_TEXT_FIELDS, "ground_truth")

METRICS: Final[tuple[Metric, ...]] = (
    _text_spec(
        checks.INCLUDES,
        _includes,
        "1 where the text is in the answer, else 0",
        required=("text",),
        options={"ignore_case": True},
    ),
    _text_spec(
        checks.EXCLUDES,
        _excludes,
        "1 where the text is not in the answer, else 0",
        required=("text",),
        options={"ignore_case": True},
    ),
    _text_spec(
        checks.EQUALS,
        _equals,
        "1 where the answer is the text, or without one a ground truth, else 0",
        fields=_WITH_TRUTH,
        options={"text": None, "ignore_case": True},
    ),
    _text_spec(
        checks.MATCHES,
        _matches,
        "1 where a regular expression is found in the answer, else 0",
        required=("pattern",),
        extra="safe-regex",
        options={"flags": "", "exact": False},
    ),
    _text_spec(
        checks.SIMILARITY,
        _similarity,
        "Dice similarity, by pairs of characters, of the answer and the text, or without one the"
        " nearest ground truth; with a threshold 1 where it reaches it, else 0",
        fields=_WITH_TRUTH,
        threshold=None,
        options={"text": None, "ignore_case": True, "threshold": None},
    ),
    *CALL_SPECS,
)
