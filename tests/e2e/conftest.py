"""Files of samples that tests of several commands read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.run_command import BAD, GOOD, samples
from tests.score_command import SAMPLES, lines


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """Two rows that pass."""
    return samples(tmp_path / "good.jsonl", {"id": "a", **GOOD}, {"id": "b", **GOOD})


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A row that passes and one that fails."""
    return samples(tmp_path / "mixed.jsonl", {"id": "a", **GOOD}, {"id": "b", **BAD})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The four rows of ``tests.score_command``."""
    return lines(tmp_path / "data.jsonl", SAMPLES)
