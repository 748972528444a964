"""An input of any size -> its scored blocks in order, and what is counted on the way."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from typing import TYPE_CHECKING, Final, TypeAlias

from rag_eval.errors import InputError
from rag_eval.inputs.blocks import RowFault, SampleBlock
from rag_eval.inputs.opened import START, Input, Position
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.kernels.columns import SampleBatch
from rag_eval.options.plan import Plan
from rag_eval.plumbing.repeated_ids import RepeatedIds
from rag_eval.results.totals import ScoreTotals
from rag_eval.scoring.engine import ScoredBlock, score_blocks
from rag_eval.scoring.faulty_rows import add_ids, origin_of, pack_file_block, without_scorer_faults

if TYPE_CHECKING:
    from rag_eval.results.judge_report import JudgeReport
    from rag_eval.scoring.judge_runs import JudgeRun

OnRows: TypeAlias = Callable[[int, float | None], object]

KEPT_FAULTS: Final = 10


class RowStream:
    """The rows of an input on their way through the kernels.

    Attributes
    ----------
    n_rows, n_skipped : int
        Rows that were counted as scored, and as left out.
    faults : list of RowFault
        The first ten of those left out.
    totals : ScoreTotals
        Statistics of the rows that were counted.
    """

    def __init__(
        self,
        source: Input,
        plan: Plan,
        *,
        threads: int,
        skip_invalid: bool,
    ) -> None:
        self._source = source
        self._plan = plan
        self._threads = threads
        self._skip_invalid = skip_invalid
        self.needs = FieldNeeds.of(plan.native_columns, plan.settings.profile)
        self._judge: JudgeRun | None = None
        self.n_rows = self.n_skipped = 0
        self._n_read = 0
        self._is_read = False
        self.faults: list[RowFault] = []
        self.totals = ScoreTotals(plan)
        self._ids = RepeatedIds()

    def scored_blocks(
        self, start: Position = START, on_rows: OnRows | None = None
    ) -> Generator[ScoredBlock, None, None]:
        """The scored and judged blocks; close it early and threads and files go with it.

        ``on_rows`` gets the number of rows that are finished while a judge is at work, and what
        share of the input they are.

        Raises
        ------
        JudgeUnavailableError
            After the blocks that were finished by then.
        """
        try:
            with closing(self.native_blocks(start)) as scored:
                if self._plan.judging is None:
                    yield from scored
                else:
                    yield from self._judged(scored, on_rows)
        except InputError as error:
            raise self._source.explained(error) from None

    def native_blocks(self, start: Position = START) -> Generator[ScoredBlock, None, None]:
        """The blocks with the scores of the kernels alone."""
        blocks = self._counted(start)
        scored = score_blocks(
            blocks,
            self._plan,
            self.needs,
            self._threads,
            lambda block: pack_file_block(block, self.needs, skip_invalid=self._skip_invalid),
            drop_faults=self._without_faults if self._skip_invalid else None,
            reads_apart=True,
        )
        with closing(blocks), closing(scored):
            yield from scored

    def _counted(self, start: Position) -> Generator[SampleBlock, None, None]:
        with closing(self._source.blocks(start)) as blocks:
            for block in blocks:
                self._n_read = Position.after(block).row
                yield block
        self._is_read = True

    def share_done(self, n_rows: int) -> float | None:
        """How much of the input so many scored rows are; None where that cannot be said.

        Files are read ahead of what is scored and judged, small ones to their end before anything
        is: what share was read says how many rows there are, and not how many are done.
        """
        share = self._source.share_read
        # At the end of the last bytes there may be rows that were not cut out of them yet.
        if not share or not self._n_read or (share >= 1 and not self._is_read):
            return None
        return min(1.0, share * (n_rows + self.n_skipped) / self._n_read)

    def _without_faults(self, block: SampleBlock) -> tuple[SampleBlock, SampleBatch]:
        sound = without_scorer_faults(block, self._plan)
        return sound, sound.pack(self.needs)

    def _judged(
        self, scored: Iterable[ScoredBlock], on_rows: OnRows | None
    ) -> Generator[ScoredBlock, None, None]:
        # Imported where a judge is asked: an event loop takes longer to import than to score.
        from rag_eval.scoring.judge_runs import opened_judge

        first = self.n_rows
        with opened_judge(self._plan) as judge:
            self._judge = judge
            judged = judge.blocks(
                scored,
                None
                if on_rows is None
                else lambda n_done: on_rows(first + n_done, self.share_done(first + n_done)),
            )
            with closing(judged):
                yield from judged

    def judge_report(self) -> JudgeReport | None:
        """What judging took and found; None where no judge was asked."""
        return None if self._judge is None else self._judge.report()

    def count(self, scored: ScoredBlock) -> None:
        """Count a block, whose rows went where they belong."""
        faults = origin_of(scored.rows).faults
        self.n_skipped += len(faults)
        self.faults += faults[: KEPT_FAULTS - len(self.faults)]
        self.n_rows += len(scored.scores)
        add_ids(self._ids, scored.rows)
        self.totals.add(scored.scores)

    def check_not_empty(self) -> None:
        """Raise an InputError when no row could be scored."""
        if self.n_rows:
            return
        if not self.n_skipped:
            raise InputError(f"{self._source.name} holds no samples")
        raise InputError(
            f"{self._source.name} holds no valid samples: {self.n_skipped} invalid, "
            f"first {self.faults[0]}"
        )

    def notes(self) -> list[str]:
        """What a reader of the results should know."""
        return [note for note in [self._ids.warning()] if note]
