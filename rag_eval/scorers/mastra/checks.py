"""Mastra's quick checks: a run in, 1 where it passes and 0 where not out.

The rules are those of @mastra/evals 1.10.2, with these differences: with ``exact`` the whole output
has to match the whole pattern, alternatives and all, in lines as well; a check with a pattern gives
the same whenever it is asked; and messages that say nothing add no space between those that do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rag_eval.scorers.mastra.check_rules import (
    CallOptions,
    MostCallsOptions,
    NoCallOptions,
    OrderOptions,
    PatternOptions,
    SimilarityOptions,
    TextOptions,
    failed_calls,
    folded,
    in_order,
    similarity_score,
)
from rag_eval.scorers.mastra.code_scorer import CodeScorer, Finding
from rag_eval.scorers.mastra.findings import Findings
from rag_eval.scorers.mastra.options import NoOptions
from rag_eval.scorers.mastra.runs import Run, tool_calls
from rag_eval.scorers.tool_calls import ToolCall

SOURCE: Final = "@mastra/evals 1.10.2, quick check"

INCLUDES: Final = "mastra.check_includes"
EXCLUDES: Final = "mastra.check_excludes"
EQUALS: Final = "mastra.check_equals"
MATCHES: Final = "mastra.check_matches"
SIMILARITY: Final = "mastra.check_similarity"
CALLED_TOOL: Final = "mastra.check_called_tool"
DID_NOT_CALL: Final = "mastra.check_did_not_call"
TOOL_ORDER: Final = "mastra.check_tool_order"
MAX_TOOL_CALLS: Final = "mastra.check_max_tool_calls"
USED_NO_TOOLS: Final = "mastra.check_used_no_tools"
NO_TOOL_ERRORS: Final = "mastra.check_no_tool_errors"


def spoken_text(run: Run, between: str) -> str:
    """What the assistant said, message by message, joined."""
    return between.join(m.text for m in run.output if m.role == "assistant" and m.text)


# ------------------------------------------------------------------------------------ findings


@dataclass(frozen=True, slots=True)
class IncludesFindings(Findings):
    """The output as it was searched, and whether the text is in it."""

    output: str
    found: bool


@dataclass(frozen=True, slots=True)
class ExcludesFindings(Findings):
    """The output as it was searched, and whether the text is not in it."""

    output: str
    excluded: bool


@dataclass(frozen=True, slots=True)
class EqualsFindings(Findings):
    """The output as it was compared, and whether it is the text."""

    output: str
    is_equal: bool


@dataclass(frozen=True, slots=True)
class MatchesFindings(Findings):
    """The output, and whether the pattern was found."""

    output: str
    matched: bool


@dataclass(frozen=True, slots=True)
class SimilarityFindings(Findings):
    """The output as it was compared, and how alike it is, from 0 to 1."""

    output: str
    score: float


@dataclass(frozen=True, slots=True)
class CalledToolFindings(Findings):
    """How often the tool was called."""

    actual_count: int
    passed: bool


@dataclass(frozen=True, slots=True)
class CountFindings(Findings):
    """How many calls there were."""

    count: int
    passed: bool


@dataclass(frozen=True, slots=True)
class OrderFindings(Findings):
    """The tools that were called, in order."""

    actual_tools: tuple[str, ...]
    passed: bool


@dataclass(frozen=True, slots=True)
class ErrorFindings(Findings):
    """How many calls failed, of how many."""

    error_count: int
    total_calls: int
    passed: bool


# --------------------------------------------------------------------------------------- texts


def create_includes_check(text: str, *, ignore_case: bool = True) -> CodeScorer[TextOptions]:
    """Passes where the text is in the output; the empty text always is."""
    return CodeScorer(INCLUDES, TextOptions(text=text, ignore_case=ignore_case), _includes)


def _includes(run: Run, options: TextOptions) -> Finding:
    output = folded(spoken_text(run, " "), options.ignore_case)
    found = options.wanted in output
    return Finding(float(found), IncludesFindings(output, found).to_dict())


def create_excludes_check(text: str, *, ignore_case: bool = True) -> CodeScorer[TextOptions]:
    """Passes where the text is not in the output; the empty text always is."""
    return CodeScorer(EXCLUDES, TextOptions(text=text, ignore_case=ignore_case), _excludes)


def _excludes(run: Run, options: TextOptions) -> Finding:
    output = folded(spoken_text(run, " "), options.ignore_case)
    excluded = options.wanted not in output
    return Finding(float(excluded), ExcludesFindings(output, excluded).to_dict())


def create_equals_check(text: str, *, ignore_case: bool = True) -> CodeScorer[TextOptions]:
    """Passes where the output, its messages joined without a space, is the text."""
    return CodeScorer(EQUALS, TextOptions(text=text, ignore_case=ignore_case), _equals)


def _equals(run: Run, options: TextOptions) -> Finding:
    output = folded(spoken_text(run, ""), options.ignore_case)
    is_equal = output == options.wanted
    return Finding(float(is_equal), EqualsFindings(output, is_equal).to_dict())


def create_matches_check(
    pattern: str, flags: str = "", *, exact: bool = False
) -> CodeScorer[PatternOptions]:
    """Passes where a regular expression of JavaScript is found in the output.

    Parameters
    ----------
    pattern, flags : str
        See :func:`rag_eval.scorers.safe_patterns.compiled`, which says what is refused.
    exact : bool, default False
        The pattern has to match the whole output.
    """
    return CodeScorer(MATCHES, PatternOptions(pattern=pattern, flags=flags, exact=exact), _matches)


def _matches(run: Run, options: PatternOptions) -> Finding:
    output = spoken_text(run, "")
    matched = options.ready().search(output)
    return Finding(float(matched), MatchesFindings(output, matched).to_dict())


def create_similarity_check(
    text: str, *, ignore_case: bool = True, threshold: float | None = None
) -> CodeScorer[SimilarityOptions]:
    """Scores how alike the output is to the text, by pairs of characters (Dice), from 0 to 1.

    With a threshold it passes where the similarity reaches it.
    """
    options = SimilarityOptions(text=text, ignore_case=ignore_case, threshold=threshold)
    return CodeScorer(SIMILARITY, options, _similarity)


def _similarity(run: Run, options: SimilarityOptions) -> Finding:
    output = spoken_text(run, " ")
    score, similarity = similarity_score(output, options.text, options)
    findings = SimilarityFindings(folded(output, options.ignore_case), similarity)
    return Finding(score, findings.to_dict())


# --------------------------------------------------------------------------------------- calls


def create_called_tool_check(name: str, *, times: int = 1) -> CodeScorer[CallOptions]:
    """Passes where the tool was called so often or more; a call that failed counts."""
    return CodeScorer(CALLED_TOOL, CallOptions(name=name, times=times), _called_tool)


def _called_tool(run: Run, options: CallOptions) -> Finding:
    count = names_called(run).count(options.name)
    passed = count >= options.times
    return Finding(float(passed), CalledToolFindings(count, passed).to_dict())


def create_did_not_call_check(name: str) -> CodeScorer[NoCallOptions]:
    """Passes where the tool was not called."""
    return CodeScorer(DID_NOT_CALL, NoCallOptions(name=name), _did_not_call)


def _did_not_call(run: Run, options: NoCallOptions) -> Finding:
    count = names_called(run).count(options.name)
    return Finding(float(not count), CountFindings(count, not count).to_dict())


def create_tool_order_check(names: Sequence[str]) -> CodeScorer[OrderOptions]:
    """Passes where the tools were called in this order, whatever was called between."""
    return CodeScorer(TOOL_ORDER, OrderOptions(names=names), _tool_order)


def _tool_order(run: Run, options: OrderOptions) -> Finding:
    called = names_called(run)
    passed = in_order(options.names, called)
    return Finding(float(passed), OrderFindings(tuple(called), passed).to_dict())


def create_max_tool_calls_check(most: int) -> CodeScorer[MostCallsOptions]:
    """Passes where there were at most so many calls."""
    return CodeScorer(MAX_TOOL_CALLS, MostCallsOptions(most=most), _max_tool_calls)


def _max_tool_calls(run: Run, options: MostCallsOptions) -> Finding:
    count = len(tool_calls(run))
    passed = count <= options.most
    return Finding(float(passed), CountFindings(count, passed).to_dict())


def create_used_no_tools_check() -> CodeScorer[NoOptions]:
    """Passes where no tool was called."""
    return CodeScorer(USED_NO_TOOLS, NoOptions(), _used_no_tools)


def _used_no_tools(run: Run, _options: NoOptions) -> Finding:
    count = len(tool_calls(run))
    return Finding(float(not count), CountFindings(count, not count).to_dict())


def create_no_tool_errors_check() -> CodeScorer[NoOptions]:
    """Passes where every call was answered, and by no error."""
    return CodeScorer(NO_TOOL_ERRORS, NoOptions(), _no_tool_errors)


def _no_tool_errors(run: Run, _options: NoOptions) -> Finding:
    calls: list[ToolCall] = [call for message in run.output for call in message.tool_calls]
    count = len(failed_calls(calls))
    return Finding(float(not count), ErrorFindings(count, len(calls), not count).to_dict())


def names_called(run: Run) -> list[str]:
    """The tools that were called, in order."""
    return [call.name for call in tool_calls(run)]
