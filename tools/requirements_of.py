"""What extras of pyproject.toml need, one requirement a line: for environments without the package.

    python tools/requirements_of.py EXTRA [EXTRA ...]

An install of the package with its extras would build the kernels again.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def requirements_of(extras: list[str]) -> list[str]:
    """The requirements of some extras, in their order."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return [line for extra in extras for line in project["optional-dependencies"][extra]]


if __name__ == "__main__":
    print("\n".join(requirements_of(sys.argv[1:])))
