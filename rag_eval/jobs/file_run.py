"""A run: sample file -> scores, gates, verdict, and a result file when asked for.

Texts are dropped after each block; what stays is the score matrix and the N worst rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

from rag_eval.calibration.applied import planned
from rag_eval.errors import InputChangedError, InputError
from rag_eval.gating.limits import GateOutcome, Gates, check_gates
from rag_eval.inputs.blocks import RowFault
from rag_eval.inputs.opened import DataSource, Input
from rag_eval.jobs.options import (
    RUN_KEYS,
    RunOptions,
    baseline_of_run,
    checked_output,
    checked_quantiles,
    checked_regression_threshold,
    checked_row_count,
    checked_slice_by,
    checked_store_columns,
    input_options,
    kept_config,
)
from rag_eval.jobs.stream import RowStream
from rag_eval.judge.failures import JudgeUnavailableError
from rag_eval.options.plan import Plan, normalized
from rag_eval.plumbing.checked_values import thread_count
from rag_eval.plumbing.clock import Clock
from rag_eval.plumbing.durable_files import atomic_file, followed, is_replaced
from rag_eval.plumbing.interrupts import deferred_interrupts
from rag_eval.results.batch import BatchSummary
from rag_eval.results.faces import face
from rag_eval.results.files import row_json
from rag_eval.results.regressions import compare_means
from rag_eval.results.row_writer import RowWriter
from rag_eval.results.summary import summary_of
from rag_eval.results.totals import ScoreSpool
from rag_eval.results.verdicts import judge_rows
from rag_eval.samples import MetricId
from rag_eval.scoring.engine import ScoredBlock
from rag_eval.scoring.explaining import explain_row
from rag_eval.scoring.progress import Progress
from rag_eval.scoring.scorer_columns import columns_of_scorers, row_fields
from rag_eval.scoring.worst_rows import WorstRow, WorstRows

if TYPE_CHECKING:
    from rag_eval.labels.comparisons import LabelComparison
    from rag_eval.labels.gold_scores import GoldScores
    from rag_eval.runs.keeping import RunKeeper
    from rag_eval.views.run_view import RunView
    from rag_eval.views.watching import RunWatch

_NO_WORST: Final = (
    "no sample has a composite score, so that none is the worst; a scorer gets into it by a weight "
    "(--weights METRIC=1)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What a run found.

    Attributes
    ----------
    source : str
        The file, as messages call it.
    result : BatchSummary
        ``result.notes`` is what a reader of the verdict should know.
    gates : list of GateOutcome
    gated : bool
        A gate was asked for; else the one in ``gates`` is the default.
    n_skipped : int
        Rows left out as invalid; no denominator counts them.
    faults : list of RowFault
        The first ten of them.
    worst : list of WorstRow
        The worst first.
    interrupted : bool
        Ctrl-C came, or the judge could not be asked any more: only the first ``result.n_rows`` rows
        were scored.
    unavailable : str
        Why the judge could not be asked any more; empty where it could.
    changed_input : list of str
        What became of files since they were opened, a sentence each; empty where nothing did.
    change_allowed : bool
        Such changes were accepted.
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
    thresholds : mapping of float or None
        Per metric; None for those that neither pass nor fail.
    """

    source: str
    result: BatchSummary
    gates: list[GateOutcome]
    gated: bool
    n_skipped: int
    faults: list[RowFault]
    worst: list[WorstRow]
    interrupted: bool
    unavailable: str = ""
    changed_input: list[str] = field(default_factory=list)
    change_allowed: bool = False
    written: Path | None = None
    run_id: str | None = None
    dataset_hash: str | None = None
    gold: Mapping[MetricId, LabelComparison] = field(default_factory=dict)
    view: RunView | None = field(default=None, repr=False)
    thresholds: Mapping[MetricId, float | None] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Every gate held, and the run came to its end with the data that it began with."""
        is_sound = not self.changed_input or self.change_allowed
        return is_sound and not self.interrupted and all(gate.held for gate in self.gates)

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
        if self.interrupted:
            summary["interrupted"] = True
        if self.changed_input:
            summary["inputChanged"] = True
        if self.dataset_hash is not None:
            summary["datasetHash"] = self.dataset_hash
        if self.gold:
            summary["humanAgreement"] = [found.to_dict() for found in self.gold.values()]
        return summary

    def to_dict(self) -> dict[str, Any]:
        """All but the rows, as JSON values; it can serve as a baseline."""
        return {
            "source": self.source,
            "verdict": "pass" if self.passed else "fail",
            "gates": [gate.to_dict() for gate in self.gates],
            "nRows": self.result.n_rows,
            "nSkipped": self.n_skipped,
            **self.file_summary(),
            **({} if self.run_id is None else {"runId": self.run_id}),
            "worst": [row.to_dict() for row in self.worst],
        }


def run_file(
    data: DataSource, metrics: Iterable[str] | None = None, **options: Unpack[RunOptions]
) -> RunReport:
    """Score sample files of any size and hold the result against gates.

    Parameters
    ----------
    data : str, Path or list of these
        JSON lines, a JSON array, CSV, Parquet or Arrow, by the suffix; text also with ``.gz`` or
        ``.zst``. A pattern such as ``runs/*.jsonl`` stands for all such files, sorted by name, and
        ``-`` for JSON lines from standard input.
    metrics : iterable of str, optional
        Metric ids; all seven by default.
    **options : RunOptions
        See there. With no gate among them the gate is that every sample passes.

    Returns
    -------
    RunReport
        After Ctrl-C one of the rows scored so far, written as ``NAME.partial.SUFFIX``.

    Raises
    ------
    InputError
        For bad input, naming file, row, field, what was found and what was wanted; nothing is
        written then, and an older result stays as it is.
    InputChangedError
        When a file changed between its opening and the end of the run. The results are complete and
        written then, with ``"inputChanged": true`` beside their rows; ``report`` has what would
        have been returned, and would be with ``allow_changed_input``.
    KeyboardInterrupt
        When Ctrl-C came before the first row was scored or after the last.
    """
    run = _Run(data, metrics, normalized(options, "run_file", RUN_KEYS))
    with run.opened_output() as writer:
        run.score(writer)
        report = run.report()
        if writer is not None:
            writer.finish(report.file_summary())
    report = run.kept(report)
    if report.changed_input and not (report.change_allowed or report.interrupted):
        raise InputChangedError(report.changed_input, report)
    return report


class _Run:
    """The state of one run."""

    def __init__(
        self, data: DataSource, metrics: Iterable[str] | None, options: Mapping[str, Any]
    ) -> None:
        self.clock = Clock()
        self.evaluated_at = self.clock.now()
        self.options = options
        self.plan: Plan
        self.plan, notes = planned(metrics, options)
        if not self.plan.metrics:
            raise InputError("metrics must name at least one metric")
        self.gates = Gates.of(
            options.get("min_pass_rate"),
            options.get("min_mean"),
            self.plan.columns,
            options.get("max_judge_failures"),
            options.get("max_mean"),
        )
        threads = thread_count(options.get("threads"))
        store_columns = checked_store_columns(options)
        slice_by = checked_slice_by(options)
        holders = ["metadata"] if store_columns or slice_by else []
        self.source = Input(
            data,
            input_options(options),
            optional_columns=[*columns_of_scorers(self.plan), *store_columns, *slice_by, *holders],
        )
        self.output = checked_output(options.get("output"), self.source.paths)
        self.quantiles = checked_quantiles(options)
        self.regression_threshold = checked_regression_threshold(options)
        self.baseline, self.notes = baseline_of_run(self.plan, options)
        self.notes += notes
        self.details = bool(options.get("details"))
        self.keeper = self._keeper(store_columns)
        self.gold = self._gold()
        self.watch = self._watch(slice_by)
        self.worst = WorstRows(
            self.plan, checked_row_count(options.get("worst"), "worst"), self.details
        )
        self.stream = RowStream(
            self.source,
            self.plan,
            threads=threads,
            skip_invalid=bool(options.get("skip_invalid")),
        )
        self.spool = ScoreSpool(len(self.plan.columns))
        self.interrupted = False
        self.unavailable = ""
        self.changes: list[str] = []
        self.change_allowed = bool(options.get("allow_changed_input"))

    @property
    def written(self) -> Path | None:
        """Where the result file goes; never over an older one when the run was interrupted."""
        if self.output is None or not self.interrupted or not is_replaced(self.output):
            return self.output
        output = followed(self.output) if self.output.is_symlink() else self.output
        packed = ".gz" if output.suffix == ".gz" else ""
        whole = output.with_name(output.name.removesuffix(packed))
        return whole.with_name(f"{whole.stem}.partial{whole.suffix}{packed}")

    @contextmanager
    def opened_output(self) -> Iterator[RowWriter | None]:
        """The result file, which takes its name when the block ends well; None for none."""
        if self.output is None:
            yield None
            return
        with atomic_file(self.output, place=lambda: self.written or Path()) as file:
            yield RowWriter(file, self.output)

    def score(self, writer: RowWriter | None) -> None:
        """Score the file to its end, or until Ctrl-C."""
        try:
            # Closed at once when the loop ends early: threads and file go with it.
            with (
                self._progress() as progress,
                closing(self.stream.scored_blocks(on_rows=progress.reached)) as blocks,
            ):
                for scored in blocks:
                    rows = self._rows(scored, writer)
                    # A row is in the file and in the statistics, or in neither.
                    with deferred_interrupts():
                        self._add(scored, rows, writer)
                    done = self.stream.n_rows
                    progress.reached(done, self.stream.share_done(done))
        except KeyboardInterrupt:
            if not self.stream.n_rows:
                raise
            self.interrupted = True
        except JudgeUnavailableError as error:
            if not self.stream.n_rows:
                raise
            self.interrupted = True
            self.unavailable = str(error)
        self.stream.check_not_empty()

    def _progress(self) -> Progress:
        return Progress(self.options.get("on_progress"), None)

    def _rows(self, scored: ScoredBlock, writer: RowWriter | None) -> list[bytes]:
        """The results of a block as JSON, when somebody wants them."""
        on_row = self.options.get("on_row")
        if writer is None and on_row is None:
            return []
        rows = [self._row(scored, index) for index in range(len(scored.scores))]
        if on_row is not None:
            for row in rows:
                on_row(row)
        return rows

    def _row(self, scored: ScoredBlock, index: int) -> bytes:
        row = self.stream.n_rows + index
        result = explain_row(
            scored.rows.sample(index),
            scored.batch,
            index,
            self.plan,
            self.evaluated_at,
            scored=(row, scored.scores[index]),
            judged=None if scored.judged is None else scored.judged[index],
            fields=row_fields(scored.rows, index, self.plan),
        )
        return row_json(result, row, details=self.details)

    def _add(self, scored: ScoredBlock, rows: list[bytes], writer: RowWriter | None) -> None:
        composite = judge_rows(scored.scores, self.plan).composite
        self.worst.add(scored, composite, self.stream.n_rows)
        if writer is not None:
            writer.write(rows)
        if self.keeper is not None:
            self.keeper.add(scored)
        if self.gold is not None:
            self.gold.add(scored)
        if self.watch is not None:
            self.watch.add(scored, self.stream.n_rows)
        self.spool.add(scored.scores)
        self.stream.count(scored)

    def report(self) -> RunReport:
        """Statistics, regressions and gates of what was scored."""
        self.changes = self.source.changes()
        gold = {} if self.gold is None else self.gold.comparisons(self.source.name)
        gold_notes = dict.fromkeys(note for found in gold.values() for note in found.notes)
        result = summary_of(
            self.plan,
            self.stream.totals,
            None if self.quantiles == "sketch" else self.spool.blocks,
            evaluated_at=self.evaluated_at,
            duration_ms=self.clock.elapsed_ms,
            notes=[
                *self.notes,
                *self.changes,
                *self.stream.notes(),
                *self._keeper_notes(),
                *gold_notes,
            ],
            judging=self.stream.judge_report(),
        )
        if self.options.get("worst") and not result.composite_aggregate.n:
            result = replace(result, notes=[*result.notes, _NO_WORST])
        if self.baseline is not None:
            regressions = compare_means(
                result.aggregates, self.baseline, self.plan.columns, self.regression_threshold
            )
            result = replace(result, regressions=regressions)
        gates = check_gates(result, self.gates, self.regression_threshold)
        view = self._view(result, gates)
        self.spool.close()
        return RunReport(
            source=self.source.name,
            result=result,
            gates=gates,
            gated=self.gates.given or self.baseline is not None,
            n_skipped=self.stream.n_skipped,
            faults=self.stream.faults,
            worst=self.worst.opened(self.stream.needs, self.evaluated_at),
            interrupted=self.interrupted,
            unavailable=self.unavailable,
            changed_input=self.changes,
            change_allowed=self.change_allowed,
            written=self.written,
            dataset_hash=None if self.keeper is None else self.keeper.dataset_hash,
            gold=gold,
            view=view,
            thresholds=self.plan.thresholds,
        )

    def _watch(self, slice_by: list[str]) -> RunWatch | None:
        if not self.options.get("view"):
            return None
        # Imported where a view is asked for: it compares with the baseline, too.
        from rag_eval.views.watching import RunWatch

        force = bool(self.options.get("allow_signature_mismatch"))
        return RunWatch(self.plan, slice_by, self.options.get("baseline"), force=force)

    def _view(self, result: BatchSummary, gates: list[GateOutcome]) -> RunView | None:
        if self.watch is None:
            return None
        return self.watch.view(
            self.source.name,
            result,
            self.spool.blocks,
            self.stream.needs,
            gates=gates,
            passed=self._is_sound and not self.interrupted and all(gate.held for gate in gates),
            interrupted=self.interrupted,
            n_skipped=self.stream.n_skipped,
            faults=self.stream.faults,
        )

    def _gold(self) -> GoldScores | None:
        source = self.options.get("gold_dir")
        if source is None:
            return None
        from rag_eval.labels.gold_scores import GoldScores

        return GoldScores(source, self.plan)

    def _keeper(self, columns: list[str]) -> RunKeeper | None:
        store = self.options.get("store")
        if store is None:
            return None
        # Imported where a store is asked for: it takes a database.
        from rag_eval.runs.keeping import RunKeeper

        return RunKeeper(store, self.plan, columns, kept_config(self.options, self.plan))

    def _keeper_notes(self) -> list[str]:
        if self.keeper is None:
            return []
        if not self._is_sound:
            return ["the input changed, and the run is not in the store"]
        return self.keeper.notes(interrupted=self.interrupted)

    @property
    def _is_sound(self) -> bool:
        """The data was the same from beginning to end, or need not be."""
        return self.change_allowed or not self.changes

    def kept(self, report: RunReport) -> RunReport:
        """The report of a run that is in the store, when one is and the run came to its end."""
        if self.keeper is None or report.interrupted or not self._is_sound:
            return report
        run_id = self.keeper.keep(report.source, report.result, passed=report.passed)
        return replace(report, run_id=run_id)
