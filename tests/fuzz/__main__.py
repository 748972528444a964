"""Runs inputs for some seconds, or one of them again; see README.md."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from tests.fuzz import (
    arrow_targets,
    csv_targets,
    json_targets,
    number_targets,
    score_targets,
    text_targets,
)
from tests.fuzz.running import Fuzzer, Target
from tests.grounded_samples import Choices

TARGETS: Final[dict[str, Target]] = {
    **text_targets.TARGETS,
    **score_targets.TARGETS,
    **csv_targets.TARGETS,
    **json_targets.TARGETS,
    **arrow_targets.TARGETS,
    **number_targets.TARGETS,
}


def main(arguments: list[str] | None = None) -> int:
    """0 where all inputs held, 1 if one did not."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="default 600")
    parser.add_argument("--seed", type=int, default=0, help="other seeds, other inputs")
    parser.add_argument(
        "--target", action="append", choices=sorted(TARGETS), help="all of them by default"
    )
    parser.add_argument(
        "--crashes",
        type=Path,
        default=Path("build/crashes"),
        help="where inputs that failed are kept; default build/crashes",
    )
    parser.add_argument("--reproduce", type=Path, help="an input of --target to run again")
    given = parser.parse_args(arguments)
    names = given.target or sorted(TARGETS)
    if given.reproduce is not None:
        for name in names:
            TARGETS[name](Choices(given.reproduce.read_bytes()))
        print("the input holds")
        return 0
    fuzzer = Fuzzer({name: TARGETS[name] for name in names}, given.seed, given.crashes)
    n_findings = fuzzer.run_for(given.seconds)
    print(fuzzer.summary())
    return 1 if n_findings else 0


if __name__ == "__main__":
    sys.exit(main())
