"""JUnit XML for build servers.

It follows junit-10.xsd of Jenkins' xUnit plugin, which GitLab and others also read. That schema
gives a test case no file and line: the suite has the file, and the text of the case has both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from xml.etree import ElementTree

from rag_eval.reports.plain_text import plain_text
from rag_eval.views.outcomes import Outcome, Status, checkout_path

_NAME_LIMIT: Final = 300
_MESSAGE_LIMIT: Final = 500
_BODY_LIMIT: Final = 10_000
_ELEMENTS: Final[dict[Status, str]] = {"failed": "failure", "error": "error", "skipped": "skipped"}


def junit_xml(
    outcomes: Iterable[Outcome], *, name: str = "rag-eval", properties: Mapping[str, str]
) -> bytes:
    """One UTF-8 document with a suite per group and a case per outcome.

    Characters that XML 1.0 does not allow are escaped. Messages are cut at 500 characters and
    bodies at 10,000.

    Parameters
    ----------
    outcomes : iterable of Outcome
    name : str
        Name of the document.
    properties : mapping of str
        Properties of the run, written into the first suite.
    """
    listed, groups = list(outcomes), dict[str, list[Outcome]]()
    for outcome in listed:
        groups.setdefault(outcome.group, []).append(outcome)
    if not groups:
        groups[name] = []
    root = ElementTree.Element("testsuites", name=_name(name))
    for group, members in groups.items():
        suite = ElementTree.SubElement(root, "testsuite", name=_name(group))
        if len(root) == 1 and properties:
            _add_properties(suite, properties)
        _count(suite, members, with_skipped=True)
        paths = {outcome.path for outcome in members}
        if len(paths) == 1 and (path := paths.pop()):
            suite.set("file", plain_text(checkout_path(path)))
        _add_cases(suite, group, members)
    _count(root, listed, with_skipped=False)
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _count(
    element: ElementTree.Element, outcomes: Sequence[Outcome], *, with_skipped: bool
) -> None:
    counts = Counter(outcome.status for outcome in outcomes)
    element.set("tests", str(len(outcomes)))
    element.set("failures", str(counts["failed"]))
    element.set("errors", str(counts["error"]))
    if with_skipped:
        element.set("skipped", str(counts["skipped"]))


def _add_properties(suite: ElementTree.Element, properties: Mapping[str, str]) -> None:
    listed = ElementTree.SubElement(suite, "properties")
    for name, value in properties.items():
        shown = plain_text(value, _BODY_LIMIT)
        ElementTree.SubElement(listed, "property", name=_name(name), value=shown)


def _add_cases(suite: ElementTree.Element, group: str, outcomes: Iterable[Outcome]) -> None:
    seen = Counter[str]()
    for outcome in outcomes:
        name = known = _name(outcome.name)
        while seen[name]:  # readers treat cases of one name as retries of one test
            seen[known] += 1
            name = f"{known} ({seen[known]})"
        seen[name] += 1
        case = ElementTree.SubElement(suite, "testcase", classname=_name(group), name=name)
        element = _ELEMENTS.get(outcome.status)
        if element is not None:
            message = plain_text(outcome.message, _MESSAGE_LIMIT)
            found = ElementTree.SubElement(case, element, message=message)
            if outcome.status != "skipped":
                found.set("type", element)
            found.text = _body(outcome)


def _body(outcome: Outcome) -> str:
    lines = [outcome.message, *outcome.details]
    if outcome.path:
        place = "" if outcome.line is None else f":{outcome.line}"
        lines.insert(0, f"{checkout_path(outcome.path)}{place}")
    # Each line is escaped by itself: the line breaks between them are ours.
    text = "\n".join(plain_text(line, _BODY_LIMIT) for line in lines)
    return text if len(text) <= _BODY_LIMIT else f"{text[: _BODY_LIMIT - 1]}…"


def _name(text: str) -> str:
    return plain_text(text, _NAME_LIMIT)
