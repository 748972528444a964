"""Names of stores and of their runs on the command line."""

from __future__ import annotations

from typing import Final

DEFAULT_STORE: Final = ".rag_eval/runs.db"
DEFAULT_PIN: Final = "default"
LATEST: Final = "latest"
