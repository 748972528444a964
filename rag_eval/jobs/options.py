"""Options of a run, checked before any work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from rag_eval.errors import InputError
from rag_eval.inputs.named_files import DataSource
from rag_eval.inputs.opened import InputOptions
from rag_eval.options.declared import declared
from rag_eval.options.file_types import RunOptions
from rag_eval.options.plan import Plan
from rag_eval.plumbing.descriptors import is_standard_input
from rag_eval.plumbing.durable_files import check_kind

_OPTIONS: Final = declared(RunOptions)


def input_options(options: Mapping[str, Any]) -> InputOptions:
    """The options of reading data."""
    names = [field.name for field in fields(InputOptions) if options.get(field.name) is not None]
    return InputOptions(**{name: _OPTIONS[name].of(options) for name in names})


_NEEDED: Final = {"store": "a store", "view": "a report that shows it (html, view=True)"}


def names_with(options: Mapping[str, Any], name: str, other: str) -> list[str]:
    """A list of unique names that needs another option."""
    given = _OPTIONS[name].of(options)
    if not given:
        return []
    if not options.get(other):
        raise InputError(f"{name} needs {_NEEDED[other]}")
    return list(dict.fromkeys(given))


def kept_config(options: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """The options of a run that a store keeps, as JSON values."""
    given = {
        name: options[name]
        for name, option in _OPTIONS.items()
        if option.noted and options.get(name) is not None
    }
    return {"metrics": list(plan.metrics), **given}


def checked_output(output: str | Path | None, data: Iterable[str | Path]) -> Path | None:
    """The name of the result file; an error if writing it would overwrite something else."""
    if output is None:
        return None
    path = Path(output)
    if not path.name.removesuffix(".gz").endswith((".json", ".jsonl")):
        raise InputError(
            f"cannot write results to {path}: the name must end in .json or .jsonl (also .json.gz "
            "or .jsonl.gz). For a table of scores, .csv or .parquet: rag-eval score SRC DST"
        )
    check_target(path, data)
    check_folder(path)
    return path


def check_folder(path: Path) -> None:
    """Raise an error for a file in a missing folder."""
    if not path.parent.is_dir():
        raise InputError(
            f"cannot write {path}: the folder '{path.parent}' does not exist; create it first"
        )


def check_target(path: Path, data: Iterable[str | Path]) -> None:
    """Raise an error for a name that cannot be written or is an input file."""
    check_kind(path)
    for name in data:
        file = Path(name)
        if not is_standard_input(name) and path.exists() and file.exists() and path.samefile(file):
            raise InputError(f"the output {path} is the sample file itself; give it another name")


def batched(
    data: DataSource,
    metrics: Iterable[str] | None,
    options: Mapping[str, Any],
    check: Callable[[], object],
) -> AbstractContextManager[Mapping[str, Any]]:
    """The options of a run, with the replies to its questions where a judge is asked in batches.

    ``check`` raises what is wrong with the run, before anything is paid for.
    """
    if options.get("judge_batch") is None:
        return nullcontext(options)
    check()
    # Imported only with batches: it imports a database.
    from rag_eval.jobs.judge_batches import collected

    return collected(data, metrics, options)
