"""A figure that a notebook shows by itself, without pyplot and the state it keeps."""

from __future__ import annotations

import io
from typing import Final

from matplotlib.figure import Figure

_DPI: Final = 144  # sharp on dense screens; shown at half of it


class ScoreFigure(Figure):
    """A figure of matplotlib that knows its picture.

    Notebooks know how to show figures only once pyplot was imported.
    """

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        written = io.BytesIO()
        self.savefig(written, format="png", dpi=_DPI)
        width, height = self.get_size_inches()
        shown = {"width": round(width * _DPI / 2), "height": round(height * _DPI / 2)}
        return written.getvalue(), shown
