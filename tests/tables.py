"""One test over a table of cases: every row is checked, and a failure names all that fail."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

ParameterSet = type(pytest.param())
Test = Callable[..., None]

# A row that passed over itself would hide the rows behind it.
_OUTCOMES = (Exception, pytest.fail.Exception, pytest.skip.Exception)


def deep(*values: Any) -> list[Any]:
    """More values of a parameter, for tests that only ``make test-deep`` runs."""
    return [pytest.param(value, marks=pytest.mark.deep) for value in values]


def every_row(
    names: str | tuple[str, ...],
    rows: Iterable[Any],
    *,
    ids: Sequence[str] | Callable[[Any], object] | None = None,
) -> Callable[[Test], Test]:
    """Like ``pytest.mark.parametrize``, as one test.

    Each row has a ``tmp_path`` and a ``monkeypatch`` of its own; all other fixtures are made once
    for all rows.
    """
    arguments = names.replace(" ", "").split(",") if isinstance(names, str) else names
    table = []
    for position, row in enumerate(rows):
        named = isinstance(row, ParameterSet)
        values = row.values if named else (row,) if len(arguments) == 1 else tuple(row)
        if named and row.id:
            label = row.id
        elif callable(ids):
            label = "-".join(str(ids(value)) for value in values)
        else:
            label = ids[position] if ids else ", ".join(f"{value!r:.60}" for value in values)
        table.append((label, dict(zip(arguments, values, strict=True))))
    assert table, "no rows"

    def decorated(test: Test) -> Test:
        @functools.wraps(test)
        def over_all_rows(**fixtures: Any) -> None:
            failures = []
            for position, (label, row) in enumerate(table):
                if "tmp_path" in fixtures:
                    folder = fixtures["tmp_path"] / str(position)
                    folder.mkdir()
                    row = {**row, "tmp_path": folder}
                with pytest.MonkeyPatch.context() as patch:
                    if "monkeypatch" in fixtures:
                        row = {**row, "monkeypatch": patch}
                    try:
                        test(**{**fixtures, **row})
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
