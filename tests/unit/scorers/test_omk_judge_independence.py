"""Whether a judge comes from another vendor than what it judges."""

from __future__ import annotations

from rag_eval.scorers.omk.judges import judge_independence
from tests.tables import every_row

ONE, TWO = [("claude", "opus")], [("codex", "a"), ("codex-sdk", "b")]


@every_row(
    ("judges", "no_judge", "flags"),
    [
        (ONE, False, (False, True, False)),
        (ONE, True, (False, False, False)),
        (TWO, False, (True, False, True)),
        (TWO, True, (False, False, False)),
    ],
)
def test_judges_that_were_not_asked_are_not_assessed(
    judges: list[tuple[str, str]], no_judge: bool, flags: tuple[bool, bool, bool]
) -> None:
    found = judge_independence(judges, "claude", no_judge=no_judge)
    names = ("crossVendorJudgePresent", "sameVendorJudge", "singleVendorEnsemble")
    assert tuple(found[name] for name in names) == flags
    assert len(found["judgeVendors"]) == len(judges)
