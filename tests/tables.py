"""One test over a table of cases: every row is checked, and a failure names all that fail."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

# A row that passed over itself would hide the rows behind it.
_OUTCOMES = (Exception, pytest.fail.Exception, pytest.skip.Exception)


def every_row(
    names: str,
    rows: Iterable[Any],
    *,
    ids: Sequence[str] | Callable[[Any], object] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Like ``pytest.mark.parametrize``, as one test; all rows share its other fixtures."""
    arguments = [name.strip() for name in names.split(",")]
    table = []
    for position, row in enumerate(rows):
        values = (row,) if len(arguments) == 1 else tuple(row)
        if callable(ids):
            label = "-".join(str(ids(value)) for value in values)
        else:
            label = ids[position] if ids else ", ".join(f"{value!r:.60}" for value in values)
        table.append((label, dict(zip(arguments, values, strict=True))))
    assert table, "no rows"

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def over_all_rows(**fixtures: Any) -> None:
            failures = []
            for label, row in table:
                try:
                    test(**fixtures, **row)
                except _OUTCOMES as failure:
                    failure.add_note(f"row: {label}")
                    failures.append((label, failure))
            if failures:
                labels = "; ".join(label for label, _ in failures)
                text = f"{len(failures)} of {len(table)} rows failed: {labels}"
                raise BaseExceptionGroup(text, [failure for _, failure in failures])

        # pytest asks the signature for fixtures, and looks at what is wrapped first.
        signature = inspect.signature(test)
        rest = [p for name, p in signature.parameters.items() if name not in arguments]
        vars(over_all_rows).pop("__wrapped__")
        vars(over_all_rows)["__signature__"] = signature.replace(parameters=rest)
        return over_all_rows

    return decorated
