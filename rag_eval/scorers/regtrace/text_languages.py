"""Texts -> codes of their languages, as the grounded profile detects them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_BLOCK_ROWS: Final = 512
# More of a text does not change what its language is.
_MOST_READ: Final = 2000


def languages_of(texts: Sequence[str], tags: Sequence[str | None]) -> list[str]:
    """The code of each text's language; that of its tag where it has one.

    ``und`` where it is not known. Detection knows some forty languages and takes short texts in
    Latin letters for English.

    Raises
    ------
    InputError
        For a tag that begins with no known language.
    """
    from rag_eval.kernels.languages import language_code

    found = [language_code(tag) if tag else "" for tag in tags]
    unknown = [place for place, code in enumerate(found) if not code]
    for first in range(0, len(unknown), _BLOCK_ROWS):
        places = unknown[first : first + _BLOCK_ROWS]
        codes = _detected([texts[place][:_MOST_READ] for place in places])
        for place, code in zip(places, codes, strict=True):
            found[place] = code
    return found


def _detected(texts: Sequence[str]) -> list[str]:
    import numpy as np

    from rag_eval.inputs.samples import FieldNeeds, read_rows
    from rag_eval.kernels import scoring as kernels
    from rag_eval.kernels.grounded_settings import GroundedSettings
    from rag_eval.kernels.languages import LISTED
    from rag_eval.metrics.seven import metric_numbers

    needs = FieldNeeds.of(("faithfulness",), "grounded")
    batch = read_rows([{"answer": text, "contexts": []} for text in texts], 0, needs).pack(needs)
    metrics = np.array(metric_numbers(("faithfulness",)), np.int64)
    settings = GroundedSettings()
    return [
        LISTED[kernels.grounded_details(batch, row, settings, metrics).language]
        for row in range(len(texts))
    ]
