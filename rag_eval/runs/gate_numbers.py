"""A run store and the runs of a release line in; the number of a gate within the line out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rag_eval.plumbing.sqlite_files import transaction
from rag_eval.runs.store_schema import opened_store


def take_gate_number(path: Path, run_id: str, line: Iterable[str]) -> int:
    """The number of a run's gate, which the store keeps from now on.

    It is above those of all other runs of the line, and above the number of them that were gated,
    with or without a number; so two gates at the same time get different ones, and runs that were
    deleted since still count.

    Parameters
    ----------
    path : Path
    run_id : str
        A whole id.
    line : iterable of str
        Ids of the other runs of the line.
    """
    with opened_store(path, create=False) as connection, transaction(connection):
        (own,) = connection.execute(
            "SELECT gate_number FROM runs WHERE run_id = ?", (run_id,)
        ).fetchone()
        if own is not None:
            return int(own)
        n_gated = highest = 0
        for other in line:
            found = connection.execute(
                "SELECT gate_number, status IS NOT NULL AND gated FROM runs WHERE run_id = ?",
                (other,),
            ).fetchone()
            if found is None:
                continue  # deleted meanwhile
            number, was_gated = found
            n_gated += bool(was_gated) or number is not None
            highest = max(highest, number or 0)
        number = max(n_gated, highest) + 1
        connection.execute("UPDATE runs SET gate_number = ? WHERE run_id = ?", (number, run_id))
    return number
