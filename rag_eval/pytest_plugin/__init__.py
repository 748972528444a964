"""The pytest plugin: hooks that score samples, record scores, and gate a session.

It is loaded in every session of an environment that has this library, so it imports almost nothing
until a test or an option needs it.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final

import pytest

from rag_eval.pytest_plugin.item_scores import REPORTED, ItemScores, RagEval
from rag_eval.pytest_plugin.settings import add_options, default_options, session_settings
from rag_eval.testing import assert_rag, listening

__all__ = ["assert_rag"]

DATASET_MARKER: Final = "rag_eval_dataset"
_SCORES: Final = pytest.StashKey[ItemScores]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the command-line and ini-file options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker and, unless this is a worker, collect scores."""
    config.addinivalue_line(
        "markers",
        f"{DATASET_MARKER}(file, *, argname='sample', schema=None, mapping=None, limit=None, "
        "seed=None, gold_separator=None, context_separator=None, max_row_bytes=None): one test for "
        "each sample of a file, which is searched for beside the test and in the root folder.",
    )
    if not hasattr(config, "workerinput"):  # workers of xdist send their reports to the controller
        from rag_eval.pytest_plugin.session_scores import SessionScores

        config.pluginmanager.register(SessionScores(session_settings(config)), "rag_eval_session")


@pytest.fixture(scope="session", name="rag_eval")
def rag_eval_fixture(pytestconfig: pytest.Config) -> RagEval:
    """Score samples, assert thresholds, and record the scores.

    ``rag_eval.assert_rag(sample, faithfulness=0.7, profile="grounded")`` fails with the
    unsupported sentences.
    ``rag_eval.evaluate(sample)`` returns a result. ``rag_eval.record(result)`` records a result
    that was made elsewhere.
    """
    return RagEval()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per sample of the files that markers name."""
    markers = list(metafunc.definition.iter_markers(DATASET_MARKER))
    if markers:
        from rag_eval.pytest_plugin.datasets import parametrize

        for marker in markers:
            parametrize(metafunc, marker)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A row that is not a valid sample is an error of its own test, before any fixture."""
    if item.get_closest_marker(DATASET_MARKER) is not None:
        from rag_eval.pytest_plugin.datasets import check_row

        check_row(item)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Collect what a test and its fixtures score."""
    scores = ItemScores(item, default_options(item.config))
    item.stash[_SCORES] = scores
    with listening(scores):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Attach scores to the report, which arrives even from a worker that dies later."""
    report = yield
    scores = item.stash.get(_SCORES, None)
    if scores is not None and (text := scores.taken()):
        setattr(report, REPORTED, text)
    return report
