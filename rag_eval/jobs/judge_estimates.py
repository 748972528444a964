"""What judging some data would take, before any call is made."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Unpack

from rag_eval.adapters.addresses import parsed_address
from rag_eval.errors import InputError
from rag_eval.inputs.opened import DataSource
from rag_eval.jobs.stream import RowStream
from rag_eval.judge.replies import JudgeIdentity, JudgeReply
from rag_eval.judge.server_urls import VENDOR_URLS
from rag_eval.options.declared import normalized
from rag_eval.options.file_types import RunOptions
from rag_eval.results.judge_report import JudgeReport
from rag_eval.scoring.judge_runs import dry_judge, expected_cost


class _Named:
    """Stands for a judge that has an address: nobody is asked, so neither key nor SDK is needed."""

    def __init__(self, address: str) -> None:
        found = parsed_address(address)
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
    """The judges among some options, addresses replaced by their names."""
    found: dict[str, Any] = {}
    if isinstance(options.get("judge"), str):
        found["judge"] = _Named(options["judge"])
    if isinstance(options.get("judges"), (list, tuple)):
        found["judges"] = [
            _Named(judge) if isinstance(judge, str) else judge for judge in options["judges"]
        ]
    return found


def estimate_judging(
    data: DataSource, metrics: Iterable[str] | None = None, **options: Unpack[RunOptions]
) -> JudgeReport:
    """Calls and tokens that a run would take; no judge is asked.

    All native scores are computed, so that a cascade counts the rows that it would ask about. What
    a prompt holds that only an earlier reply could tell, such as the claims of an answer, is
    imagined: a claim per sentence. Replies in a cache are not looked up.

    Parameters
    ----------
    data, metrics, **options
        As for :func:`rag_eval.jobs.file_run.run_file`.

    Returns
    -------
    JudgeReport
        ``cost_usd`` by the prices given, of the judges asked for.

    Raises
    ------
    InputError
        Also where the options ask no judge.
    TypeError
        For an option that does not exist; the message suggests the nearest.
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
