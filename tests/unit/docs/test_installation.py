"""Every extra is explained on the page of installation, and its cost is measured."""

from __future__ import annotations

import re
import tomllib

from tests.docs_pages import ROOT, tool

# Extras for work on rag_eval itself.
OURS = {"docs", "lint", "test", "validity"}
NOT_MEASURED = {"ray", "spark"}


def test_every_extra_is_explained_and_measured() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = set(project["optional-dependencies"]) - OURS
    page = (ROOT / "docs" / "installation.md").read_text("utf-8")
    explained, measured = (
        set(re.findall(r"`([^`]+)`", "".join(re.findall(r"^\|[^|]*", section, re.MULTILINE))))
        for section in page.split("\n## ")[-2:]
    )
    assert explained == extras
    assert measured == extras - NOT_MEASURED
    assert set(tool("measure_footprints").IMPORTS) - {""} == extras
