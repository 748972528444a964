"""Asks a judge with prompts of known proportions whether its server takes long ones whole."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any, Final

from rag_eval.judge.failures import JudgeCallError
from rag_eval.judge.replies import JudgeReply, SchemaJudge, Usage

PROBE_TOKENS: Final = 4500
"""A little more than the context that servers of open models have by default."""

# Paragraphs of the two short prompts, from which the length of the long one is predicted.
_FEW: Final = (4, 12)
# Beginnings of prompts differ, and so do their tokens by a few.
_LEAST_ARRIVED: Final = 0.97
_PARAGRAPH: Final = (
    "The path along the river leads past an old mill and two meadows. In spring the water stands "
    "high, and herons wait at the weir. Whoever walks on reaches the bridge in half an hour.\n"
)
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"read": {"type": "boolean"}},
    "required": ["read"],
    "additionalProperties": False,
}


@dataclass(slots=True)
class PromptProbe:
    """What happened to long prompts, and what finding out took.

    Attributes
    ----------
    text : str
        Empty if nothing can be said.
    cuts : bool
        The server cuts long prompts without saying so.
    n_calls, input_tokens, output_tokens : int
    """

    text: str = ""
    cuts: bool = False
    n_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


async def probe_prompts(judge: SchemaJudge, n_tokens: int) -> PromptProbe:
    """Three calls: two short prompts, and one of about ``n_tokens``."""
    probe = PromptProbe()
    try:
        low, high = [await _counted(judge, n, probe) for n in _FEW]
        if low is None or high is None or high <= low:
            probe.text = "unknown, because the server reports no prompt tokens"
            return probe
        per_paragraph = (high - low) / (_FEW[1] - _FEW[0])
        n_paragraphs = max(_FEW[1], round((n_tokens - low) / per_paragraph) + _FEW[0])
        expected = low + per_paragraph * (n_paragraphs - _FEW[0])
        arrived = await _counted(judge, n_paragraphs, probe)
    except JudgeCallError as error:
        probe.text = f"a prompt of about {n_tokens:,} tokens failed: {error}"
        return probe
    probe.cuts = arrived is not None and arrived < _LEAST_ARRIVED * expected
    if probe.cuts:
        probe.text = f"of about {expected:,.0f} tokens only {arrived:,} arrived"
    else:
        probe.text = f"about {expected:,.0f} tokens arrived whole"
    return probe


async def _counted(judge: SchemaJudge, n_paragraphs: int, probe: PromptProbe) -> int | None:
    """The prompt tokens that a server reports for so many paragraphs."""
    # Some servers count only what they have not seen before, so prompts begin differently.
    prompt = (
        f"Text {secrets.token_hex(4)}:\n{_PARAGRAPH * n_paragraphs}\nDid you read the text? Reply "
        'with {"read": true} and nothing else.'
    )
    try:
        reply: JudgeReply = await judge.ask(prompt, _SCHEMA)
    except JudgeCallError as error:
        probe.n_calls += error.n_requests
        raise
    probe.n_calls += reply.n_requests
    usage = reply.usage or Usage(0, 0)
    probe.input_tokens += usage.input_tokens
    probe.output_tokens += usage.output_tokens
    return usage.input_tokens or None
