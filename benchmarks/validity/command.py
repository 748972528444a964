"""The command line of a measurement on labelled sets: sets in, a page out."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from benchmarks.validity.sets import absence, found_sets


class SetsParser(argparse.ArgumentParser):
    """Options of all such measurements: which sets, and whether to write the page."""

    def __init__(self, module: str, description: str | None, results: Path | None = None) -> None:
        super().__init__(
            prog=f"python -m {module}",
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.results = results
        self.add_argument("--sets", metavar="A,B", help="only these sets")
        if results is not None:
            help_text = f"write {'/'.join(results.parts[-3:])}"
            self.add_argument("--write", action="store_true", help=help_text)

    def asked(self, arguments: Sequence[str] | None) -> tuple[argparse.Namespace, dict[str, Path]]:
        """Options and the sets asked for, all by default; exits where nothing can be measured."""
        options = self.parse_args(arguments)
        if find_spec("sklearn") is None:
            self.error("scikit-learn is missing: pip install -e '.[validity]'")
        found = found_sets()
        if not found:
            self.error(absence())
        wanted = list(found) if options.sets is None else options.sets.replace(" ", "").split(",")
        absent = [name for name in wanted if name not in found]
        if absent:
            self.error(f"no set {', '.join(absent)}; found: {', '.join(found)}")
        return options, {name: path for name, path in found.items() if name in wanted}

    def show(self, text: str, options: argparse.Namespace) -> None:
        """Print the page, and write it if that was asked for."""
        print(text)
        if self.results is not None and options.write:
            self.results.write_text(text, encoding="utf-8")
