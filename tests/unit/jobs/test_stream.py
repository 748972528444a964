"""Who scores the blocks of a file: threads that are not more than the cores."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from rag_eval import score_file
from rag_eval.jobs import stream
from tests.tables import every_row

ROW = '{"question": "q", "answer": "a b.", "contexts": ["%s"]}\n' % ("a b " * 10_000)


@every_row(("threads", "cores", "caller_scores"), [(2, 2, True), (2, 3, False), (1, 1, False)])
def test_the_thread_that_reads_scores_too_where_no_core_is_left(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    threads: int,
    cores: int,
    caller_scores: bool,
) -> None:
    """It took its time from those that score."""
    path = tmp_path / "rows.jsonl"
    path.write_text(ROW * 200)
    monkeypatch.setattr(stream, "thread_count", lambda threads: threads or cores)
    make_scorer = stream.file_block_scorer
    caller = threading.current_thread()
    caller_has_scored = threading.Event()

    def scorer(*args: Any, **options: Any) -> Any:
        score = make_scorer(*args, **options)

        def scoring(block: Any) -> Any:
            if threading.current_thread() is caller:
                caller_has_scored.set()
            elif caller_scores:
                # It gets its turn, however fast this thread is.
                assert caller_has_scored.wait(60)
            return score(block)

        return scoring

    monkeypatch.setattr(stream, "file_block_scorer", scorer)
    score_file(path, tmp_path / "scores.jsonl", ["faithfulness"], threads=threads)
    assert caller_has_scored.is_set() == caller_scores
