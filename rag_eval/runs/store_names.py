"""Names that the command line has for stores and what is in them."""

from __future__ import annotations

from typing import Final

DEFAULT_STORE: Final = ".rag_eval/runs.db"
DEFAULT_PIN: Final = "default"
LATEST: Final = "latest"
