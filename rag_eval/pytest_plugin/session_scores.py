"""The run of a session from its test reports: gate, file and summary."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from rag_eval.errors import RagEvalError
from rag_eval.metrics.ids import DIAGNOSTIC_IDS
from rag_eval.plumbing.spelling import counted
from rag_eval.pytest_plugin.item_scores import REPORTED
from rag_eval.pytest_plugin.settings import SessionSettings
from rag_eval.reports.plain_text import plain_text

if TYPE_CHECKING:
    from rag_eval.gating.verdicts import GateReport
    from rag_eval.pytest_plugin.session_run import Recorded
    from rag_eval.runs.scored_run import ScoredRun
    from rag_eval.samples import MetricId

_RAN: Final = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)


class SessionScores:
    """Hooks that collect the results of a session from one or many processes."""

    def __init__(self, settings: SessionSettings) -> None:
        self._settings = settings
        # By test, so that only the last result of a rerun test counts.
        self._texts: dict[str, list[str]] = {}
        self._n_deselected = 0
        self._baseline: ScoredRun | None = None
        self._run: ScoredRun | None = None
        self._records: list[Recorded] = []
        self._report: GateReport | None = None
        self._notes: list[str] = []
        self._faults: list[str] = []

    def pytest_sessionstart(self) -> None:
        """Read the baseline, so that an invalid file is reported before the first test."""
        settings = self._settings
        if settings.baseline is None or settings.is_new_baseline or settings.is_collecting:
            return
        from rag_eval.runs.run_files import read_run

        try:
            # A baseline may have repeats of a sample, as a session may.
            run = read_run(settings.baseline, repeats=True)
        except RagEvalError as error:
            raise pytest.UsageError(f"--rag-eval-baseline: {plain_text(str(error))}") from None
        self._baseline = replace(run, name=_shown(settings.baseline))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the scores of a test report."""
        if report.when == "setup":
            self._texts.pop(report.nodeid, None)
        text = getattr(report, REPORTED, None)
        if isinstance(text, str):
            self._texts.setdefault(report.nodeid, []).append(text)

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Count tests that will not run."""
        self._n_deselected += len(items)

    @pytest.hookimpl(tryfirst=True)  # before the JUnit file is written
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Gate and write the scores of the session, and fail it if the gate failed."""
        settings = self._settings
        is_asked = settings.baseline is not None or settings.save is not None
        if settings.is_collecting or not (self._texts or is_asked):
            return
        if exitstatus not in _RAN:
            if is_asked:
                self._notes.append(
                    "the session was interrupted, so no gate was run and no file was written"
                )
            return
        try:
            self._conclude()
        except RagEvalError as error:
            self._faults.append(str(error))
        self._add_properties(session.config)
        failed = self._faults or (self._report is not None and not self._report.passed)
        if failed and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _conclude(self) -> None:
        from rag_eval.pytest_plugin.session_run import read_records, session_run

        # The order in which workers finish must not matter.
        self._records = [
            record
            for test in sorted(self._texts)
            for text in self._texts[test]
            for record in read_records(test, text)
        ]
        if not self._records:
            self._without_scores()
            return
        try:
            self._run = session_run(self._records)
        except RagEvalError as error:
            # No run was requested; the tests themselves passed or failed.
            if self._settings.baseline is None and self._settings.save is None:
                self._notes.append(str(error))
                return
            raise
        try:
            self._gate(self._run)
        finally:
            self._save(self._run)

    def _without_scores(self) -> None:
        text = (
            "no test scored a sample, so there is nothing to compare with the baseline or to save"
        )
        (self._faults if self._settings.asked or self._settings.save else self._notes).append(text)

    def _gate(self, run: ScoredRun) -> None:
        settings = self._settings
        if settings.baseline is None:
            return
        if settings.is_new_baseline:
            self._notes.append(
                f"no gate was run: this session becomes the baseline {settings.baseline.name}"
            )
            return
        from rag_eval.gating.against import NamedBaseline, gate

        assert self._baseline is not None
        self._report = gate(
            run,
            [NamedBaseline("file", self._baseline)],
            policy=settings.policy,
            alpha=settings.alpha,
            margin=settings.margin,
            tolerance=settings.tolerance,
            max_null_rise=settings.max_null_rise,
            max_missing_rows=self._max_missing_rows(),
            gating=self._gating(run, self._baseline),
        )
        self._notes += self._report.notices
        if self._n_deselected:
            self._notes.append(
                f"{counted(self._n_deselected, 'test')} deselected: only scored rows are compared"
            )

    @property
    def _is_part(self) -> bool:
        """Whether tests were left out."""
        return bool(self._n_deselected) or self._settings.in_part

    def _gating(self, run: ScoredRun, baseline: ScoredRun) -> list[MetricId] | None:
        """Metrics of tests that were left out are not missing."""
        if not self._is_part:
            return None
        import numpy as np

        return [
            metric
            for metric in baseline.metrics
            if metric in run.metrics
            and metric not in DIAGNOSTIC_IDS
            and not np.isnan(baseline.column(metric)).all()
        ]

    def _max_missing_rows(self) -> float | None:
        """Rows of tests that were left out are not missing, unless a limit is set."""
        settings = self._settings
        is_ours = settings.policy in ("no-regression", "non-inferior")
        if settings.max_missing_rows is None and is_ours:
            return 1.0 if self._is_part else None
        return settings.max_missing_rows

    def _save(self, run: ScoredRun) -> None:
        if self._settings.save is not None:
            from rag_eval.runs.baseline_files import write_baseline_file

            write_baseline_file(run, self._settings.save)
            rows = counted(len(run), "row")
            self._notes.append(f"wrote {rows} to {_shown(self._settings.save)}")

    def _add_properties(self, config: pytest.Config) -> None:
        """Add properties to the suite if a JUnit file is written."""
        from rag_eval.reports.recorded_scores import suite_properties

        for plugin in config.pluginmanager.get_plugins():
            add = getattr(plugin, "add_global_property", None)
            if callable(add):
                for name, value in suite_properties(self._run, self._report, self._faults):
                    add(name, value)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show statistics, the worst samples, and the verdict of the gate."""
        if not (self._run is not None or self._notes or self._faults):
            return
        from rag_eval.reports.recorded_scores import ScoredTest, summary_lines

        terminalreporter.section("rag_eval")
        tests = [
            ScoredTest(record.test, record.id, record.passed, record.composite, record.metrics)
            for record in self._records
        ]
        lines = summary_lines(
            self._run,
            tests,
            self._report,
            notes=self._notes,
            faults=self._faults,
            is_short=terminalreporter.verbosity < 0,
        )
        for line in lines:
            is_red, is_green = line.startswith("FAIL"), line.startswith("PASS")
            terminalreporter.write_line(line, red=is_red, green=is_green, bold=is_red)


def _shown(path: Path) -> str:
    """A path relative to the folder in which pytest was started, if below it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
