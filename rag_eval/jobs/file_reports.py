"""What became of files: the reports of run_file and of score_file."""

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
    """What became of the rows of files, whatever was made of them.

    Attributes
    ----------
    source : str
        The data, as messages call it.
    result : BatchSummary
        Statistics of all rows; ``result.notes`` is what a reader of them should know.
    n_skipped : int
        Rows left out as invalid; no denominator counts them.
    faults : list of RowFault
        The first ten of them.
    interrupted : bool
        Ctrl-C came, or the judge could not be asked any more: only the first ``result.n_rows`` rows
        were scored.
    unavailable : str
        Why the judge could not be asked any more; empty where it could.
    changed_input : list of str
        What became of files since they were opened, a sentence each; empty where nothing did.
    thresholds : mapping of float or None
        Per metric; None for those that neither pass nor fail.
    remarks : list of str
        How rows were found in the files, where that is not their plain form.
    fields : list of FoundFields
        Which columns of each file are which field.
    unmeasured : list of MetricId
        Metrics that had to be measured, and are null in every row because the data lacks a field.
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
        """How the run ended, where that was not as it should."""
        ending = {"interrupted": self.interrupted, "inputChanged": bool(self.changed_input)}
        return {name: True for name, found in ending.items() if found}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport(FileReport):
    """What a run found: a :class:`FileReport`, and what came of its scores.

    Attributes
    ----------
    gates : list of GateOutcome
        Empty where no gate was set.
    worst : list of WorstRow
        The worst first.
    against : GateReport or None
        The verdict against the baseline by a policy other than ``node``; its findings are among
        ``gates``.
    change_allowed : bool
        Changes of files were accepted.
    written : Path or None
        The result file.
    run_id : str or None
        The run in the store.
    dataset_hash : str or None
        Of the samples that were scored; None without a store.
    gold : mapping of LabelComparison
        Per metric how far it agrees with people's labels; empty without labels.
    view : RunView or None
        What reports show; None unless it was asked for.
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
        """Every gate held, all metrics asked for were measured, and the data was read to its end
        and stayed what it was.

        None where no gate was set: then there is no verdict.
        """
        is_sound = not self.changed_input or self.change_allowed
        return verdict_of(
            self.gates, whole=is_sound and not self.interrupted and not self.unmeasured
        )

    def to_html(self, path: str | Path | None = None, *, title: str | None = None) -> str | None:
        """Write a report for browsers, or give its text when no path is named.

        As :meth:`rag_eval.BatchEvalResult.to_html`.

        Raises
        ------
        InputError
            When the run was not told to keep what a report shows (``view=True``).
        """
        if self.view is None:
            raise InputError("the run kept no rows to show: give run_file view=True")
        page: str | None = face("run.page")(self.view, path, title=title)
        return page

    def _repr_html_(self) -> str:
        """Verdict, gates and statistics, as a notebook shows them."""
        return str(face("run.notebook")(self))

    def file_summary(self) -> dict[str, Any]:
        """What a result file holds beside its rows."""
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
        """All but the rows, as JSON values; it can serve as a baseline."""
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
    """What became of files whose scores are rows of another: a :class:`FileReport`, and where.

    Rows of an earlier run that was taken up are among those of ``result``. A run that was
    interrupted can be gone on with.

    Attributes
    ----------
    target : Path
        The file of scores.
    n_resumed : int
        Rows that were there from an earlier run.
    kept : Path or None
        Where the rows of a run that was interrupted are.
    """

    target: Path
    n_resumed: int = 0
    kept: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, in the schema of result files; it can serve as a baseline."""
        return {
            "source": self.source,
            "nRows": self.result.n_rows,
            "nSkipped": self.n_skipped,
            **self.result.summary_dict(),
            **self._ending(),
        }
