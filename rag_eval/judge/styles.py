"""How a judge is asked about a metric."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

JudgeStyle: TypeAlias = Literal["claims", "rating"]
"""``claims`` has the parts of a text judged one by one, ``rating`` asks for one number."""

JUDGE_STYLES: Final[tuple[JudgeStyle, ...]] = ("claims", "rating")
