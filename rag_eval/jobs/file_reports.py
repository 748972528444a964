"""The reports of run_file and score_file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_eval.errors import InputError
from rag_eval.gating.limits import GateOutcome, verdict_of
from rag_eval.inputs.blocks import RowFault
from rag_eval.inputs.schemas.maps import FoundFields
from rag_eval.results.batch import BatchSummary
from rag_eval.results.faces import face
from rag_eval.samples import MetricId
from rag_eval.scoring.worst_rows import WorstRow

if TYPE_CHECKING:
    from rag_eval.gating.verdicts import GateReport
    from rag_eval.labels.comparisons import LabelComparison
    from rag_eval.views.run_view import RunView


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """What run_file and score_file report about the rows of files.

    Attributes
    ----------
    source : str
        Name of the data in messages.
    result : BatchSummary
        Statistics of all rows; ``result.notes`` has remarks for the reader.
    n_skipped : int
        Invalid rows that were skipped; they are in no denominator.
    faults : list of RowFault
        The first ten invalid rows.
    interrupted : bool
        Whether the run was stopped by Ctrl-C or because the judge became unavailable; only the
        first ``result.n_rows`` rows were scored.
    unavailable : str
        Why the judge became unavailable; empty otherwise.
    changed_input : list of str
        Changes of files since they were opened, one sentence each.
    thresholds : mapping of float or None
        Threshold of each metric; None for metrics without one.
    remarks : list of str
        How rows were found in files with an unusual layout.
    fields : list of FoundFields
        The column for each field, per file.
    unmeasured : list of MetricId
        Requested metrics that are null in every row because the data lacks a field.
    """

    source: str
    result: BatchSummary
    n_skipped: int
    faults: list[RowFault]
    interrupted: bool = False
    unavailable: str = ""
    changed_input: list[str] = field(default_factory=list)
    thresholds: Mapping[MetricId, float | None] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    fields: list[FoundFields] = field(default_factory=list)
    unmeasured: list[MetricId] = field(default_factory=list)

    def _ending(self) -> dict[str, Any]:
        """Fields that mark an incomplete run or changed input; empty otherwise."""
        ending = {"interrupted": self.interrupted, "inputChanged": bool(self.changed_input)}
        return {name: True for name, found in ending.items() if found}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport(FileReport):
    """The report of a run: a :class:`FileReport` with gates, verdict and outputs.

    Attributes
    ----------
    gates : list of GateOutcome
        Empty if no gate was set.
    worst : list of WorstRow
        Worst row first.
    against : GateReport or None
        The verdict against the baseline, except for policy ``node``; ``gates`` includes its
        findings.
    change_allowed : bool
        Whether changes of files are allowed.
    written : Path or None
        The result file, if one was written.
    run_id : str or None
        Id of the run in the store.
    dataset_hash : str or None
        Hash of the scored samples; None without a store.
    gold : mapping of LabelComparison
        Agreement with human labels per metric; empty without labels.
    view : RunView or None
        The data for reports; None unless requested.
    """

    gates: list[GateOutcome]
    worst: list[WorstRow]
    against: GateReport | None = None
    change_allowed: bool = False
    written: Path | None = None
    run_id: str | None = None
    dataset_hash: str | None = None
    gold: Mapping[MetricId, LabelComparison] = field(default_factory=dict)
    view: RunView | None = field(default=None, repr=False)

    @property
    def passed(self) -> bool | None:
        """Whether every gate passed, every requested metric was measured, and all data was read
        without changing meanwhile.

        None if no gate was set.
        """
        is_sound = not self.changed_input or self.change_allowed
        return verdict_of(
            self.gates, whole=is_sound and not self.interrupted and not self.unmeasured
        )

    def to_html(self, path: str | Path | None = None, *, title: str | None = None) -> str | None:
        """Write an HTML report, or return its text without a path.

        As :meth:`rag_eval.BatchEvalResult.to_html`.

        Raises
        ------
        InputError
            When the run did not keep the data for reports (``view=True``).
        """
        if self.view is None:
            raise InputError("the run kept no rows for reports: call run_file with view=True")
        page: str | None = face("run.page")(self.view, path, title=title)
        return page

    def _repr_html_(self) -> str:
        """Verdict, gates and statistics for a notebook."""
        return str(face("run.notebook")(self))

    def file_summary(self) -> dict[str, Any]:
        """The fields of a result file besides its rows."""
        summary = self.result.summary_dict()
        if self.n_skipped:
            summary["nSkipped"] = self.n_skipped
        summary |= self._ending()
        if self.dataset_hash is not None:
            summary["datasetHash"] = self.dataset_hash
        if self.gold:
            summary["humanAgreement"] = [found.to_dict() for found in self.gold.values()]
        return summary

    def to_dict(self) -> dict[str, Any]:
        """Everything except the rows, as JSON values; can be used as a baseline."""
        return {
            "source": self.source,
            "verdict": {True: "pass", False: "fail", None: None}[self.passed],
            "gates": [gate.to_dict() for gate in self.gates],
            **({} if self.against is None else {"against": self.against.to_dict()}),
            "nRows": self.result.n_rows,
            "nSkipped": self.n_skipped,
            **self.file_summary(),
            **({} if self.run_id is None else {"runId": self.run_id}),
            "worst": [row.to_dict() for row in self.worst],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreFileReport(FileReport):
    """The report of score_file: a :class:`FileReport` with the target.

    ``result`` includes the rows of an earlier run that was resumed. An interrupted run can be
    resumed.

    Attributes
    ----------
    target : Path
        The file of scores.
    n_resumed : int
        Rows from an earlier, resumed run.
    kept : Path or None
        Folder with the rows of an interrupted run.
    """

    target: Path
    n_resumed: int = 0
    kept: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values in the schema of result files; can be used as a baseline."""
        return {
            "source": self.source,
            "nRows": self.result.n_rows,
            "nSkipped": self.n_skipped,
            **self.result.summary_dict(),
            **self._ending(),
        }
