"""What a judge typically writes beside its verdicts; dry runs count with it."""

from __future__ import annotations

from typing import Final

NOTE: Final = "The text says so in these words, and nothing else that is shown speaks against it."
REASON: Final = (
    "The score is what it is because most of what was said holds against the material shown, while "
    "one part of it goes beyond what is there and another one is left open. The parts that hold "
    "are named first, and those that do not are named with what they lack."
)
