"""Every extra is explained on the page of installation, and its cost is measured."""

from __future__ import annotations

import re
import tomllib

from benchmarks import footprint
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


def test_footprints_are_the_measured_ones_and_the_gate_would_pass_the_first() -> None:
    page = (ROOT / "docs" / "installation.md").read_text("utf-8")
    results = (ROOT / "benchmarks" / "FOOTPRINTS.md").read_text("utf-8")
    (table,) = re.findall(r"<!-- footprints -->\n(.*?)<!-- /footprints -->", page, re.DOTALL)
    assert results.endswith(f"\n\n{table}")
    n_packages, megabytes = re.findall(r"\d+", table.splitlines()[2])[:2]
    assert int(n_packages) <= footprint.PACKAGES_LIMIT
    assert int(megabytes) <= footprint.MEGABYTES_LIMIT
