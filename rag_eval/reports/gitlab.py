"""Outcomes in; the code quality report that GitLab shows beside a merge request, out."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, TypeAlias

from rag_eval.plumbing import json_text
from rag_eval.reports.ci_paths import checkout_path
from rag_eval.reports.plain_text import plain_text
from rag_eval.views.outcomes import FailedCheck, Outcome

Severity: TypeAlias = Literal["info", "minor", "major", "critical", "blocker"]

_TEXT_LIMIT: Final = 500
_NAME_LIMIT: Final = 100


def code_quality(outcomes: Iterable[Outcome]) -> bytes:
    """A JSON array with a finding for each metric that a row failed by, and for each failed gate.

    Gates are blockers, rows that could not be scored critical, scores that are too low major. The
    fingerprint of a finding is made of its check, its file and the id of its row: with other scores
    it is the same finding. Gates stand at the first line of the first file of samples, and rows of
    unknown lines at the first line of theirs.
    """
    listed = list(outcomes)
    elsewhere = _file_of_gates(listed)
    seen = Counter[str]()
    found = []
    for outcome in listed:
        place = outcome.path or (outcome.group if outcome.checks else elsewhere)
        for finding, key in _findings(outcome, checkout_path(place)):
            seen[key] += 1
            finding["fingerprint"] = _fingerprint(key, seen[key])
            found.append(finding)
    return json_text.dumps(found, indent=2) + b"\n"


def _file_of_gates(outcomes: list[Outcome]) -> str:
    found = [outcome.path for outcome in outcomes if outcome.path]
    found += [outcome.group for outcome in outcomes if outcome.checks]
    return found[0] if found else "rag-eval"  # there has to be a path


def _findings(outcome: Outcome, path: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Each with what tells it from all others."""
    if outcome.status not in ("failed", "error"):
        return
    row = outcome.name if outcome.id is None else outcome.id
    for check in outcome.checks or (FailedCheck("gate", outcome.message),):
        severity: Severity = "blocker"
        if outcome.checks:
            severity = "critical" if check.check in ("judge", "unreadable") else "major"
        name = check.check if outcome.checks else f"gate {outcome.name}"
        finding = {
            "description": plain_text(f"{outcome.name}: {check.message}", _TEXT_LIMIT),
            "check_name": plain_text(f"rag-eval {name}", _NAME_LIMIT),
            "fingerprint": "",
            "severity": severity,
            "location": {
                "path": plain_text(path),
                "lines": {"begin": outcome.line or 1},
            },
        }
        yield finding, "\0".join((check.check, path, row))


def _fingerprint(key: str, count: int) -> str:
    # Ids may be there twice; of findings with one fingerprint GitLab shows the first alone.
    return hashlib.sha256(f"{key}\0{count}".encode(errors="backslashreplace")).hexdigest()
