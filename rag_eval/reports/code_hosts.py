"""What GitHub and GitLab show beside a change: annotations, step summaries, code quality."""

# No `from __future__ import annotations`: that name is a function here.

import hashlib
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final

from rag_eval.errors import InputError
from rag_eval.plumbing import json_text
from rag_eval.reports.plain_text import plain_text
from rag_eval.views.outcomes import FailedCheck, Outcome, checkout_path

# GitHub shows at most this many errors per step and rejects longer summaries.
MOST_ANNOTATIONS: Final = 10
MOST_SUMMARY_BYTES: Final = 1024 * 1024

_SUMMARY_VARIABLE: Final = "GITHUB_STEP_SUMMARY"
_MESSAGE_LIMIT: Final = 1000
_TITLE_LIMIT: Final = 200
_TEXT_LIMIT: Final = 500
_NAME_LIMIT: Final = 100
# In data the tag is escaped by a backslash.
_DETAILS: Final = re.compile(r"(?<!\\)<(/?)details\b")
_CUT_NOTE: Final = (
    "\n**Truncated: a step summary holds 1 MiB.** The report files of the run are complete.\n"
)


def annotations(outcomes: Iterable[Outcome], limit: int = MOST_ANNOTATIONS) -> list[str]:
    """Workflow commands that annotate the failures in a pull request, worst first.

    They are warnings if only rows failed and no gate did. If there are more than ``limit``, the
    last one says how many are not shown.
    """
    told = [outcome for outcome in outcomes if outcome.status in ("failed", "error")]
    level = "warning" if all(outcome.checks for outcome in told) else "error"
    # Gates, then the rows that failed by the most metrics.
    told.sort(key=lambda each: (bool(each.checks), each.status != "failed", -len(each.checks)))
    kept = told if len(told) <= limit else told[: limit - 1]
    lines = [_annotation(level, outcome) for outcome in kept]
    if left := len(told) - len(kept):
        more = f"{left:,} more failures: see the step summary or the report of the run"
        lines.append(_command(level, more, title="rag-eval: more failures"))
    return lines


def _annotation(level: str, outcome: Outcome) -> str:
    message = plain_text(outcome.message or outcome.status, _MESSAGE_LIMIT)
    title = plain_text(f"rag-eval: {outcome.name}", _TITLE_LIMIT)
    if outcome.path is None:
        return _command(level, message, title=title)
    place = {"file": plain_text(checkout_path(outcome.path))}
    if outcome.line is not None:
        place["line"] = str(outcome.line)
    return _command(level, message, **place, title=title)


def _command(level: str, message: str, **properties: str) -> str:
    shown = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {shown}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def step_summary(markdown: str, limit: int = MOST_SUMMARY_BYTES) -> str:
    """Markdown cut to at most ``limit`` bytes of UTF-8, with a note where it was cut.

    It is cut between lines, outside of collapsible sections and code blocks.
    """
    if len(_encoded(markdown)) <= limit:
        return markdown
    room = limit - len(_encoded(_CUT_NOTE))
    used, depth, fence = 0, 0, ""
    kept: list[str] = []
    whole = 0  # the number of lines after which nothing is left open
    for line in markdown.splitlines(keepends=True):
        used += len(_encoded(line))
        if used > room:
            break
        kept.append(line)
        fence = _fence_after(line, fence)
        if not fence:
            depth += sum(-1 if found[1] else 1 for found in _DETAILS.finditer(line))
            if depth == 0:
                whole = len(kept)
    return "".join(kept[:whole]) + _CUT_NOTE if room >= 0 else ""


def _fence_after(line: str, fence: str) -> str:
    """The fence that is open after a line; ``fence`` is the one open before it."""
    text = line.strip()
    ticks = text[: len(text) - len(text.lstrip("`"))]
    if fence:
        return "" if text == ticks and len(ticks) >= len(fence) else fence
    return ticks if len(ticks) >= 3 else ""


def write_github(
    markdown: str,
    outcomes: Iterable[Outcome],
    environ: Mapping[str, str] | None = None,
    stream: IO[str] | None = None,
) -> list[str]:
    """Append to the summary of the running step and print annotations; returns notes.

    Parameters
    ----------
    markdown : str
    outcomes : iterable of Outcome
    environ : mapping, optional
        Its ``GITHUB_STEP_SUMMARY`` is the summary file; by default the process environment.
    stream : file, optional
        Where annotations are printed, by default standard output.

    Raises
    ------
    InputError
        If the summary file cannot be written.
    """
    for line in annotations(outcomes):
        print(line, file=sys.stdout if stream is None else stream)
    named = (os.environ if environ is None else environ).get(_SUMMARY_VARIABLE)
    if not named:
        return [f"no step summary was written: {_SUMMARY_VARIABLE} is not set"]
    _append(Path(named), markdown)
    return []


def _append(path: Path, markdown: str) -> None:
    try:
        # Earlier output of the step counts towards the limit.
        before = path.stat().st_size if path.exists() else 0
        # A heading needs a line break before it, and the file may not end with one.
        text = step_summary(f"\n{markdown}", max(0, MOST_SUMMARY_BYTES - before))
        with path.open("ab") as file:
            file.write(_encoded(text))
    except OSError as error:
        raise InputError(
            f"{_SUMMARY_VARIABLE}: cannot write {plain_text(str(path))}: {error.strerror or error}"
        ) from None


def _encoded(text: str) -> bytes:
    return text.encode(errors="backslashreplace")


# ----------------------------------------------------------------------------------------- GitLab


def code_quality(outcomes: Iterable[Outcome]) -> bytes:
    """A JSON array with one finding per failed metric of a row and per failed gate.

    Failed gates are blockers, rows that could not be scored are critical, and failed scores are
    major. A fingerprint is made from the check, the file and the row's id, so that a finding keeps
    it when scores change. Gates are located at the first line of the first sample file, and rows
    without a known line at the first line of their file.
    """
    listed = list(outcomes)
    files = [outcome.path for outcome in listed if outcome.path]
    files += [outcome.group for outcome in listed if outcome.checks]
    elsewhere = files[0] if files else "rag-eval"  # a path is required
    seen = Counter[str]()
    found = []
    for outcome in listed:
        place = outcome.path or (outcome.group if outcome.checks else elsewhere)
        for finding, key in _findings(outcome, checkout_path(place)):
            seen[key] += 1
            # Ids may repeat, and GitLab shows only the first finding with a fingerprint.
            counted = f"{key}\0{seen[key]}".encode(errors="backslashreplace")
            finding["fingerprint"] = hashlib.sha256(counted).hexdigest()
            found.append(finding)
    return json_text.dumps(found, indent=2) + b"\n"


def _findings(outcome: Outcome, path: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Each finding with its unique key."""
    if outcome.status not in ("failed", "error"):
        return
    row = outcome.name if outcome.id is None else outcome.id
    for check in outcome.checks or (FailedCheck("gate", outcome.message),):
        severity = "blocker"
        if outcome.checks:
            severity = "critical" if check.check in ("judge", "unreadable") else "major"
        name = check.check if outcome.checks else f"gate {outcome.name}"
        finding = {
            "description": plain_text(f"{outcome.name}: {check.message}", _TEXT_LIMIT),
            "check_name": plain_text(f"rag-eval {name}", _NAME_LIMIT),
            "fingerprint": "",
            "severity": severity,
            "location": {"path": plain_text(path), "lines": {"begin": outcome.line or 1}},
        }
        yield finding, "\0".join((check.check, path, row))
