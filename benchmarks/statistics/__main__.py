"""Simulates and writes the page.

python -m benchmarks.statistics
python -m benchmarks.statistics --sections coverage,gates
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).with_name("RESULTS.md")
SECTIONS: Final = ("coverage", "tests", "policies", "predictions")
"""Modules of this folder, each with ``section(n_replicates, seed)``, which gives Markdown."""

N_REPLICATES: Final = 4_000
SEED: Final = 20261122


def _module(name: str) -> Callable[[int, int], str]:
    section: Callable[[int, int], str] = import_module(f"benchmarks.statistics.{name}").section
    return section


def _marked(name: str, text: str) -> str:
    return f"<!-- {name} -->\n{text.strip()}\n<!-- end of {name} -->\n"


def renewed(page: str, sections: Sequence[str], n_replicates: int) -> str:
    """The page with some sections simulated anew."""
    parts = {}
    for name in SECTIONS:
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        if name in sections:
            parts[name] = _marked(name, _module(name)(n_replicates, SEED))
        elif begin in page:
            parts[name] = begin + page.split(begin)[1].split(end)[0] + end
    return _HEAD + "\n" + "\n".join(parts.values())


_HEAD: Final = f"""# How often the statistics are right

Written by `python -m benchmarks.statistics`, seed {SEED}, {N_REPLICATES:,} replicates or more for
every figure. A share of R replicates is known to about 2·√(p(1 − p)/R): ± 0.007 near 0.95 at
4,000. What is drawn, with its clusters and their correlation (ICC), is said in each section.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate some or all sections and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sections", default=",".join(SECTIONS))
    parser.add_argument("--replicates", type=int, default=N_REPLICATES)
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    page = options.output.read_text("utf-8") if options.output.exists() else ""
    wanted = options.sections.split(",")
    options.output.write_text(renewed(page, wanted, options.replicates), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
