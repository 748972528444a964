"""A sample file in; scores, gates, a verdict and optionally a result file out.

Texts are dropped after each block; the score matrix and the N worst rows are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Unpack

from rag_eval.errors import InputError
from rag_eval.gating.limits import Gates, check_gates
from rag_eval.inputs.named_files import DataSource
from rag_eval.jobs.file_reports import RunReport
from rag_eval.jobs.options import (
    batched,
    checked_output,
    kept_config,
    names_with,
)
from rag_eval.jobs.result_writer import ResultWriter
from rag_eval.jobs.stream import RowStream
from rag_eval.options.declared import declared, normalized
from rag_eval.options.file_types import RunOptions
from rag_eval.options.verdict_settings import VerdictSettings
from rag_eval.results.batch import BatchSummary
from rag_eval.samples import MetricId
from rag_eval.scoring.loop import Sink
from rag_eval.scoring.repeated_texts import RepeatedTexts
from rag_eval.scoring.worst_rows import WorstRows

if TYPE_CHECKING:
    from rag_eval.comparing.run_comparison import RunComparison
    from rag_eval.gating.verdicts import GateReport
    from rag_eval.jobs.baseline_gate import BaselineGate
    from rag_eval.labels.comparisons import LabelComparison
    from rag_eval.labels.gold_scores import GoldScores
    from rag_eval.runs.keeping import RunKeeper
    from rag_eval.runs.row_clusters import RunClusters
    from rag_eval.views.making import RunWatch

_NO_WORST: Final = (
    "no sample has a composite score, so the worst samples are unknown; to include a scorer in it, "
    "give it a weight (--weights METRIC=1)"
)

_NO_IDS: Final = (
    "note: the rows have no ids, which rag-eval compare and gate need to match rows. If a column "
    "holds them: --map id=COLUMN"
)

_OPTIONS: Final = declared(RunOptions)


def run_file(
    data: DataSource, metrics: Iterable[str] | None = None, **options: Unpack[RunOptions]
) -> RunReport:
    """Score sample files of any size and check the result against gates.

    Parameters
    ----------
    data : str, Path or list of these
        JSON lines, a JSON array, CSV, Parquet or Arrow, by suffix; text files may end in ``.gz`` or
        ``.zst``. A pattern such as ``runs/*.jsonl`` stands for all matching files, sorted by name,
        and ``-`` for JSON lines from standard input.
    metrics : iterable of str, optional
        Metric ids. Default: all seven.
    **options : RunOptions
        Options of a run. Without a gate there is no verdict: ``passed`` is None.

    Returns
    -------
    RunReport
        After Ctrl-C the report of the rows scored so far, written as ``NAME.partial.SUFFIX``.

    Raises
    ------
    InputError
        For bad input, with file, row, field and the value found. Nothing is written then, and an
        older result file is unchanged.
    InputChangedError
        When a file changed between its opening and the end of the run. The results are complete and
        written with ``"inputChanged": true``; ``report`` has the report. With
        ``allow_changed_input`` it is returned instead.
    JudgePendingError
        With ``judge_batch``, until all replies of the judge are there.
    KeyboardInterrupt
        On Ctrl-C before the first row was scored or after the last.
    """
    given = normalized(options, "run_file", RunOptions)
    with batched(data, metrics, given, lambda: _FileRun(data, metrics, given)) as known:
        return _run(_FileRun(data, metrics, known))


def _run(run: _FileRun) -> RunReport:
    stream = run.stream
    with run.writer.opened(lambda: stream.stopped is not None):
        stream.score(*run.sinks(), prepare=run.writer.prepare, explains=run.explains)
        stream.check_begun()
        report = run.report()
        run.writer.finish(report.file_summary)
    if run.not_comparable is not None and not report.interrupted:
        raise run.not_comparable
    return stream.checked(run.kept(report))


class _FileRun:
    """The state of one run: its stream of rows and the sinks they go to."""

    def __init__(
        self, data: DataSource, metrics: Iterable[str] | None, options: Mapping[str, Any]
    ) -> None:
        self._options = options
        store_columns = names_with(options, "store_columns", "store")
        slice_by = names_with(options, "slice_by", "view")
        cluster_by = options.get("cluster_by")
        # Like all that is about a baseline, without one they are of no use.
        slices = (options.get("slices") or []) if options.get("baseline") is not None else []
        fields = [*store_columns, *slice_by, *slices, *([cluster_by] if cluster_by else [])]
        holders = ["metadata"] if fields else []
        self.stream = RowStream(
            data,
            metrics,
            options,
            optional_columns=[*fields, *holders],
            spools=True,
        )
        plan = self._plan = self.stream.plan
        self._gates = Gates.of(
            options.get("min_pass_rate"),
            options.get("min_mean"),
            plan.columns,
            options.get("max_judge_failures"),
            options.get("max_mean"),
            allow_missing=bool(options.get("allow_missing")),
        )
        if self._gates.min_pass_rate is not None and not VerdictSettings.of(plan).can_fail:
            raise InputError(
                "min_pass_rate (--min-pass-rate) counts rows that pass, but no row can fail: no "
                f"threshold is set for {', '.join(plan.columns)}. Set one, such as "
                f"thresholds={{{plan.columns[0]!r}: 0.5}} (--thresholds {plan.columns[0]}=0.5)"
            )
        details = bool(options.get("details"))
        self.writer = ResultWriter(
            plan,
            self.stream.evaluated_at,
            path=checked_output(options.get("output"), self.stream.source.paths),
            on_row=options.get("on_row"),
            details=details,
        )
        self._against = self._made_gate()
        self.not_comparable: InputError | None = None
        self._keeper = self._made_keeper(store_columns)
        self._gold = self._made_gold()
        self._watch = self._made_watch(slice_by)
        self._clusters = self._made_clusters(cluster_by)
        self._repeated = None if cluster_by else RepeatedTexts()
        self._worst = WorstRows(plan, _OPTIONS["worst"].of(options), details)

    def _made_gate(self) -> BaselineGate | None:
        if self._options.get("baseline") is None:
            return None
        # Imported only with a baseline: it imports the paired tests.
        from rag_eval.jobs.baseline_gate import BaselineGate

        gate = BaselineGate(self._plan, self._options)
        self.stream.notes[:0] = gate.notes
        return gate

    def _made_keeper(self, columns: list[str]) -> RunKeeper | None:
        store = self._options.get("store")
        if store is None:
            return None
        # Imported only with a store: it imports a database.
        from rag_eval.runs.keeping import RunKeeper

        return RunKeeper(store, self._plan, columns, kept_config(self._options, self._plan))

    def _made_gold(self) -> GoldScores | None:
        source = self._options.get("gold_dir")
        if source is None:
            return None
        from rag_eval.labels.gold_scores import GoldScores

        return GoldScores(source, self._plan)

    def _made_clusters(self, name: str | None) -> RunClusters | None:
        if name is None:
            return None
        # Imported only with clusters: it imports the intervals.
        from rag_eval.runs.row_clusters import RunClusters

        return RunClusters(name, self._plan)

    def _made_watch(self, slice_by: list[str]) -> RunWatch | None:
        if not self._options.get("view"):
            return None
        # Imported only for a view.
        from rag_eval.views.making import RunWatch

        return RunWatch(self._plan, slice_by)

    def sinks(self) -> Iterator[Sink]:
        """The sinks for the rows."""
        yield self._worst
        yield self.writer
        optional = (self._keeper, self._gold, self._watch, self._against)
        for wanted in (*optional, self._clusters, self._repeated):
            if wanted is not None:
                yield wanted

    def explains(self) -> bool:
        """Whether somebody will want to know what the scores of the next rows are made of."""
        return self.writer.explains or (self._watch is not None and self._watch.takes_all)

    # --------------------------------------------------------------------------------- the end

    def report(self) -> RunReport:
        """Statistics, regressions and gates of the scored rows."""
        stream = self.stream
        gold = {} if self._gold is None else self._gold.comparisons(stream.source.name)
        result = stream.summary(self._notes(gold))
        if self._clusters is not None:
            result = self._clusters.applied(result)
        threshold = _OPTIONS["regression_threshold"].of(self._options)
        if self._options.get("worst") and not result.composite_aggregate.n:
            result.notes.append(_NO_WORST)
        result, against = self._compared(result)
        outcomes = () if against is None else against.baseline_gates
        interrupted = stream.stopped is not None
        report = RunReport(
            **stream.report_fields(),
            result=result,
            gates=check_gates(result, self._gates, threshold, outcomes),
            against=against,
            worst=self._worst.opened(stream.needs, stream.evaluated_at),
            change_allowed=bool(self._options.get("allow_changed_input")),
            written=self.writer.written(interrupted=interrupted),
            dataset_hash=None if self._keeper is None else self._keeper.dataset_hash,
            gold=gold,
        )
        if self._options.get("output") is not None and stream.n_rows and not stream.has_ids:
            report.remarks.append(_NO_IDS)
        report = self._viewed(report)
        stream.close()
        return report

    def _compared(self, result: BatchSummary) -> tuple[BatchSummary, GateReport | None]:
        """Compare with the baseline; the results are kept if that is impossible."""
        if self._against is None:
            return result, None
        try:
            found, report = self._against.compared(result, self.stream.source.name)
            found.notes.extend(() if report is None else report.notices)
            return found, report
        except InputError as error:
            result.notes.append(f"not compared with the baseline: {error}")
            self.not_comparable = error
            return result, None

    def _notes(self, gold: Mapping[MetricId, LabelComparison]) -> Iterator[str]:
        if self._keeper is not None and not self.stream.is_sound:
            yield "the input changed, so the run was not saved in the store"
        elif self._keeper is not None:
            yield from self._keeper.notes(interrupted=self.stream.stopped is not None)
        if self._repeated is not None and (note := self._repeated.note()):
            yield note
        yield from dict.fromkeys(note for found in gold.values() for note in found.notes)

    def _viewed(self, report: RunReport) -> RunReport:
        """The report with its view, if requested."""
        if self._watch is None:
            return report
        assert self.stream.spool is not None
        from rag_eval.views.old_answers import with_old_answers

        compared: tuple[RunComparison | None, list[str]] = None, []
        if self._against is not None:
            compared = self._against.shown(report.result, report.source)
        view = self._watch.view(
            report.source,
            report.result,
            self.stream.spool.blocks,
            self.stream.needs,
            gates=report.gates,
            passed=report.passed,
            interrupted=report.interrupted,
            n_skipped=report.n_skipped,
            faults=report.faults,
            comparison=compared[0],
            notes=compared[1],
        )
        return replace(report, view=with_old_answers(view, self._options.get("baseline")))

    def kept(self, report: RunReport) -> RunReport:
        """Save the run in the store, if there is one and the run is complete."""
        if self._keeper is None or report.interrupted or not self.stream.is_sound:
            return report
        gated = report.against is not None or report.result.regressions is not None
        run_id = self._keeper.keep(report.source, report.result, passed=report.passed, gated=gated)
        return replace(report, run_id=run_id)
