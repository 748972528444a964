"""The fuzzer itself: each target runs, and what fails can be run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.__main__ import TARGETS, main
from tests.fuzz.running import Fuzzer, blob_of
from tests.grounded_samples import Choices
from tests.tables import every_row

# Inputs that a run of all tests can spare; `make fuzz` runs thousands.
N_INPUTS = 3


@every_row("name", sorted(TARGETS))
def test_a_target_holds(name: str) -> None:
    for number in range(N_INPUTS):
        TARGETS[name](Choices(blob_of(0, name, number)))
    TARGETS[name](Choices(b""))


def test_an_input_that_fails_is_kept_and_runs_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails_at_times(choices: Choices) -> None:
        assert choices.below(2)

    fuzzer = Fuzzer({"cuts": fails_at_times}, 1, tmp_path)
    for _ in range(20):
        fuzzer.run_next("cuts")
    tally = fuzzer.tallies["cuts"]
    kept = sorted(tmp_path.glob("cuts-*.bin"))
    assert tally.n_inputs == 20
    assert 0 < len(kept) == tally.n_findings < 20
    assert f"--target cuts --reproduce {kept[0]}'" in capsys.readouterr().out
    monkeypatch.setitem(TARGETS, "cuts", fails_at_times)
    for path in kept:
        with pytest.raises(AssertionError):
            main(["--target", "cuts", "--reproduce", str(path)])


def test_an_input_that_ended_the_process_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Ended(BaseException):
        pass

    def ends(choices: Choices) -> None:
        raise Ended

    fuzzer = Fuzzer({"overlap": ends}, 1, tmp_path)
    with pytest.raises(Ended):
        fuzzer.run_next("overlap")
    again = Fuzzer({"overlap": ends}, 2, tmp_path)
    (kept,) = tmp_path.iterdir()
    assert kept.read_bytes() == blob_of(1, "overlap", 0) != blob_of(again.seed, "overlap", 0)
    assert f"--target overlap --reproduce {kept}'" in capsys.readouterr().out
