"""``rag-eval score`` in the process of the test, and the files that it reads and writes.

pyarrow is imported by what needs it: ``make pytests`` has none.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from click.testing import Result

from rag_eval.inputs.byte_files import file_bytes
from tests.commands import invoke

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLES: Final = [
    {"id": "a", "question": "red fox?", "answer": "red fox.", "contexts": ["red fox.", "it"]},
    {"id": "b", "question": "", "answer": "", "contexts": []},
    {"question": "who?", "answer": "Nobody, ever.", "contexts": ["nobody"], "ground_truth": "No."},
    {"id": "d", "question": "ü?", "answer": "Ünder “the” sun.", "contexts": ["the\nsun"], "n": 3},
]


def score(*arguments: object, **options: Any) -> Result:
    done = invoke("score", *arguments, **options)
    assert done.exit_code == 0, done.stderr
    return done


def refused(*arguments: object, **options: Any) -> str:
    """The message of a call that ends with bad input, and prints nothing else."""
    done = invoke("score", *arguments, **options)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    [line] = done.stderr.splitlines()
    assert line.startswith("error: ")
    return line.removeprefix("error: ")


def lines(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def table(path: Path, rows: pa.Table) -> Path:
    from pyarrow import ipc, parquet

    if path.suffix == ".parquet":
        parquet.write_table(rows, path, row_group_size=20)
    else:
        with ipc.new_file(path, rows.schema) as writer:
            writer.write_table(rows, max_chunksize=20)
    return path


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of scores; of CSV the cells that hold JSON as their values."""
    from pyarrow import ipc, parquet

    name = path.name.removesuffix(".gz").removesuffix(".zst")
    if name.endswith(".parquet"):
        return cast(list[dict[str, Any]], parquet.read_table(path).to_pylist())
    if name.endswith(".arrow"):
        return cast(list[dict[str, Any]], ipc.open_file(path).read_all().to_pylist())
    data = file_bytes(path)
    if name.endswith(".csv"):
        rows = csv.DictReader(io.StringIO(data.decode(), newline=""))
        return [{name: _plain(name, cell) for name, cell in row.items()} for row in rows]
    return [json.loads(line) for line in data.splitlines()]


def _plain(name: str | None, cell: str) -> Any:
    if cell == "":
        return None
    if name == "id" or str(name).endswith("_null_reason"):
        return cell
    try:
        return json.loads(cell)
    except ValueError:
        return cell
