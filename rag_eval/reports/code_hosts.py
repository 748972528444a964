"""Outcomes and a report in Markdown in; what GitHub and GitLab show beside a change, out."""

# No annotations of the future: their name is taken by those of GitHub.

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

# Of one step GitHub shows so many errors, and refuses a longer summary.
MOST_ANNOTATIONS: Final = 10
MOST_SUMMARY_BYTES: Final = 1024 * 1024

_SUMMARY_VARIABLE: Final = "GITHUB_STEP_SUMMARY"
_MESSAGE_LIMIT: Final = 1000
_TITLE_LIMIT: Final = 200
_TEXT_LIMIT: Final = 500
_NAME_LIMIT: Final = 100
# Data has a backslash in front of it.
_DETAILS: Final = re.compile(r"(?<!\\)<(/?)details\b")
_CUT_NOTE: Final = (
    "\n**Cut here: a summary holds 1 MiB.** The whole is in the files that the run wrote.\n"
)


def annotations(outcomes: Iterable[Outcome], limit: int = MOST_ANNOTATIONS) -> list[str]:
    """Commands that show what failed beside the files of a pull request, the worst first.

    Where rows alone failed and no gate, they are warnings. Where there are more than ``limit``, the
    last says how many are left out.
    """
    told = [outcome for outcome in outcomes if outcome.status in ("failed", "error")]
    level = "warning" if all(outcome.checks for outcome in told) else "error"
    # Gates, then the rows that failed by the most metrics.
    told.sort(key=lambda each: (bool(each.checks), each.status != "failed", -len(each.checks)))
    kept = told if len(told) <= limit else told[: limit - 1]
    lines = [_annotation(level, outcome) for outcome in kept]
    if left := len(told) - len(kept):
        more = f"{left:,} more failed; the summary and the report of the run show them"
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
    """Markdown of at most ``limit`` bytes of UTF-8.

    It is cut between lines, where no collapsible and no block of code is open, with a note.
    """
    if len(_encoded(markdown)) <= limit:
        return markdown
    room = limit - len(_encoded(_CUT_NOTE))
    used, depth, fence = 0, 0, ""
    kept: list[str] = []
    whole = 0  # as many lines can stand by themselves
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
    """The fence that is open after a line, where ``fence`` was before it."""
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
    """Add to the summary of the step that runs, and print annotations; gives notes for people.

    Parameters
    ----------
    markdown : str
    outcomes : iterable of Outcome
    environ : mapping, optional
        Names the file of the summary as ``GITHUB_STEP_SUMMARY``; by default the environment.
    stream : file, optional
        Where annotations go, by default standard output; GitHub reads standard error, too.

    Raises
    ------
    InputError
        When that file cannot be written to.
    """
    for line in annotations(outcomes):
        print(line, file=sys.stdout if stream is None else stream)
    named = (os.environ if environ is None else environ).get(_SUMMARY_VARIABLE)
    if not named:
        return [f"no summary of a step was written: {_SUMMARY_VARIABLE} names no file"]
    _append(Path(named), markdown)
    return []


def _append(path: Path, markdown: str) -> None:
    try:
        # What the step wrote before counts, too.
        before = path.stat().st_size if path.exists() else 0
        # A heading ends where a blank line does; nobody knows how the file ends.
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
    """A JSON array with a finding for each metric that a row failed by, and for each failed gate.

    Gates are blockers, rows that could not be scored critical, scores that are too low major. The
    fingerprint of a finding is made of its check, its file and the id of its row: with other scores
    it is the same finding. Gates stand at the first line of the first file of samples, and rows of
    unknown lines at the first line of theirs.
    """
    listed = list(outcomes)
    files = [outcome.path for outcome in listed if outcome.path]
    files += [outcome.group for outcome in listed if outcome.checks]
    elsewhere = files[0] if files else "rag-eval"  # there has to be a path
    seen = Counter[str]()
    found = []
    for outcome in listed:
        place = outcome.path or (outcome.group if outcome.checks else elsewhere)
        for finding, key in _findings(outcome, checkout_path(place)):
            seen[key] += 1
            # Ids may be there twice; of findings with one fingerprint GitLab shows the first alone.
            counted = f"{key}\0{seen[key]}".encode(errors="backslashreplace")
            finding["fingerprint"] = hashlib.sha256(counted).hexdigest()
            found.append(finding)
    return json_text.dumps(found, indent=2) + b"\n"


def _findings(outcome: Outcome, path: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Each with what tells it from all others."""
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
