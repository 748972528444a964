"""Data and options in; the expected cost of judging, before any call, out."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from rag_eval.adapters.addresses import parsed_address
from rag_eval.errors import InputError
from rag_eval.inputs.named_files import DataSource
from rag_eval.jobs.stream import RowStream
from rag_eval.judge.replies import JudgeIdentity, JudgeReply
from rag_eval.judge.server_urls import VENDOR_URLS
from rag_eval.options.declared import normalized
from rag_eval.options.file_types import RunOptions
from rag_eval.results.judge_report import JudgeReport
from rag_eval.scoring.judge_runs import dry_judge, expected_cost


class _Named:
    """Placeholder for a judge; no calls are made, so neither key nor SDK is needed."""

    def __init__(self, address: str, allow_http: Sequence[str]) -> None:
        found = parsed_address(address, allow_http=allow_http)
        is_vendor = found.base_url == VENDOR_URLS[found.provider]
        self.identity = JudgeIdentity(
            found.provider, found.model, None if is_vendor else found.base_url
        )

    def __call__(self, prompt: str) -> Awaitable[JudgeReply]:
        raise AssertionError("a dry run called its judge")

    async def ask(self, prompt: str, schema: dict[str, Any]) -> JudgeReply:
        """Never called."""
        return await self(prompt)


def _not_to_be_asked(options: Mapping[str, Any]) -> dict[str, Any]:
    """The judges among the options, with addresses replaced by placeholders."""
    found: dict[str, Any] = {"judge_options": None}
    allow_http = options.get("judge_allow_http") or ()
    if isinstance(options.get("judge"), str):
        found["judge"] = _Named(options["judge"], allow_http)
    if isinstance(options.get("judges"), (list, tuple)):
        found["judges"] = [
            _Named(judge, allow_http) if isinstance(judge, str) else judge
            for judge in options["judges"]
        ]
    return found


def estimate_judging(
    data: DataSource, metrics: Iterable[str] | None = None, **options: Unpack[RunOptions]
) -> JudgeReport:
    """Estimate the calls and tokens of a run without calling a judge.

    All native scores are computed, so that a cascade counts the rows it would send to a judge.
    Parts of a prompt that depend on an earlier reply, such as the claims of an answer, are
    approximated: one claim per sentence. The cache is not consulted.

    Parameters
    ----------
    data, metrics, **options
        As for :func:`rag_eval.jobs.file_run.run_file`.

    Returns
    -------
    JudgeReport
        ``cost_usd`` follows from the given prices.

    Raises
    ------
    InputError
        Also if the options use no judge.
    TypeError
        For an unknown option; the message suggests the nearest.
    """
    known = normalized(options, "estimate_judging", RunOptions)
    stream = RowStream(data, metrics, known | _not_to_be_asked(known))
    judging = stream.plan.judging
    if judging is None:
        raise InputError("nothing to estimate: all scores are native, without calls to a judge")
    stream.score(open_judge=dry_judge)
    if stream.stopped is not None:
        raise stream.stopped
    stream.source.check_unchanged(allowed=bool(known.get("allow_changed_input")))
    report = stream.judge_report()
    assert report is not None
    return replace(report, cost_usd=expected_cost(judging, report))
