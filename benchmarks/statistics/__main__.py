"""Simulates and writes the page.

python -m benchmarks.statistics
python -m benchmarks.statistics --sections coverage,gates
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

from benchmarks.statistics.page import SECTIONS, Section, renewed
from benchmarks.statistics.processes import PROCESSES, seconds_so_far

PAGE: Final = Path(__file__).with_name("RESULTS.md")
N_REPLICATES: Final = 4_000
SEED: Final = 20261122


def simulated(name: str, n_replicates: int) -> Section:
    """A section, with what it took at its end."""
    began = seconds_so_far()
    found: Section = import_module(f"benchmarks.statistics.{name}").section(n_replicates, SEED)
    took = seconds_so_far() - began
    return Section(f"{found.text.strip()}\n\nSimulated in {took:,.0f} s of one core.", found.bars)


_HEAD: Final = f"""# Coverage and error rates of the statistics

Written by `python -m benchmarks.statistics`, seed {SEED}; each section says how many replicates it
has and how long it took, and `--sections NAME --replicates N` simulates one of them alone. The
Monte-Carlo error of a share over R replicates is about 2·√(p(1 − p)/R): ± 0.007 near 0.95 for
4,000. Each section describes its populations, clusters and their correlation (ICC).
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate some or all sections and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sections", default=",".join(SECTIONS))
    parser.add_argument("--replicates", type=int, default=N_REPLICATES)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    os.environ[PROCESSES] = str(options.processes)
    sections = {name: simulated(name, options.replicates) for name in options.sections.split(",")}
    # Only now: other sections may have been written meanwhile.
    page = options.output.read_text("utf-8") if options.output.exists() else ""
    options.output.write_text(renewed(page, _HEAD, sections), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
