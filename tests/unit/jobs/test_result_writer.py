"""Rows of result files, written a block at a time, are those that are explained one by one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

import rag_eval
from rag_eval.inputs import json_files
from rag_eval.inputs.json_blocks import JsonBlock
from rag_eval.inputs.opened import Input
from rag_eval.jobs import result_writer
from rag_eval.plumbing import json_text
from rag_eval.results.files import row_json
from rag_eval.results.row import sample_dict
from rag_eval.run import run_file

Sample = dict[str, Any]

PLAIN: Final[Sample] = {
    "question": "Where is Paris?",
    "answer": "Paris is in France. It has 2 rivers. Rome is near Oslo, says Ana Berg.",
    "contexts": ["Paris lies in France.", "The Seine is 1 river. Rome is far. Oslo is cold."],
    "groundTruth": "Paris is in France.",
}
NON_LATIN: Final = "Москва стоит на реке. Она старая. " * 12  # more bytes than are counted at once
ROWS: Final[dict[str, Sample]] = {
    "plain": PLAIN,
    "id and metadata": {"id": 7, **PLAIN, "metadata": {"a": [1, 2.5, None], "b": {"c": True}}},
    "no truth": {**PLAIN, "groundTruth": None},
    "empty answer": {**PLAIN, "answer": ""},
    "no context": {**PLAIN, "contexts": []},
    "empty context": {**PLAIN, "contexts": ["", " "]},
    "refusal": {**PLAIN, "answer": "I don't know."},
    "refusal with more": {**PLAIN, "answer": "Sorry, I cannot tell. Paris is nice."},
    "hostile": {**PLAIN, "answer": '</script>"\\\x00\x1f\x7f\u2028 %s {0} %(x)b. ' + "a\tb\r\n"},
    "non-Latin": {**PLAIN, "answer": NON_LATIN, "contexts": [NON_LATIN * 2, "Москва."]},
    "marks and markup": {**PLAIN, "answer": "e\u0301te\u0301 **is** [1] here.\n- Zwo\u0308lf [2]."},
    "beyond the BMP": {**PLAIN, "answer": "\U0001f600 is \U0001f601. " * 30},
    "lone surrogate": {**PLAIN, "answer": "\ud800 is odd. So is Paris."},
    "surrogate beside": {**PLAIN, "note": "\udfff"},
    "long number": {**PLAIN, "n": 12345678901234567890, "x": 1e-7, "y": 1e16, "z": 0.1},
}

CASES: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"details": True},
    {"details": True, "metrics": ["context_recall", "hallucination_rate"]},
    {"thresholds": {"faithfulness": 0.9}, "composite_threshold": 0.7},
)


def lines_of(tmp_path: Path, rows: Iterable[Sample], **options: Any) -> list[bytes]:
    """The rows of a result file."""
    source = tmp_path / "rows.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    found: list[bytes] = []
    run_file(source, on_row=found.append, allow_missing=True, **options)
    return found


def one_by_one(rows: Iterable[Sample], lines: Iterable[bytes], **options: Any) -> list[bytes]:
    """The same rows, each evaluated by itself, with the time of the lines."""
    details = options.pop("details", False)
    found = []
    for number, (row, line) in enumerate(zip(rows, lines, strict=True)):
        result = rag_eval.evaluate(row, **options)
        when = json_text.loads(line)["evaluatedAt"]
        found.append(row_json(replace(result, evaluated_at=when, duration_ms=0), number, details))
    return found


@pytest.mark.parametrize("profile", ["overlap", "grounded"])
def test_rows_are_those_of_one_sample_by_itself(
    tmp_path: Path, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Lines are scanned from the second buffer on: some rows come from their bytes, others decoded.
    monkeypatch.setattr(json_files, "BLOCK_BYTES", 2000)
    rows = [*ROWS.values()] * 2
    for options in CASES:
        lines = lines_of(tmp_path, rows, profile=profile, **options)
        assert lines == one_by_one(rows, lines, profile=profile, **options), options


def test_most_rows_are_written_a_block_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are those with a lone surrogate."""
    n_alone = []
    written = result_writer.row_json

    def counted(result: Any, row: int, details: bool = False) -> bytes:
        n_alone.append(row)
        return written(result, row, details)

    monkeypatch.setattr(result_writer, "row_json", counted)
    lines_of(tmp_path, ROWS.values(), profile="grounded", details=True)
    assert n_alone == [place for place, name in enumerate(ROWS) if "surrogate" in name]


# ------------------------------------------------------------------------------ samples of lines

FIELDS: Final = '"question":"q?","answer":"b c.","contexts":["b c"]'
COPIED: Final = (
    "{" + FIELDS + ',"groundTruth":"b"}',
    "{" + FIELDS + ',"id":"x", "n" : 12 , "m":[ 1, -2.5,0.25 ,100.0, true, null , {} ,[] ] }',
    "{"
    + FIELDS
    + ',"id":-7,"t":"\\u00e9\\ud83d\\ude00\\/\\u0008\\u0000\\u001F\\u007f\\u0022\\u005c"}',
    "{" + FIELDS + ',"t":"\u2028\u00e9\\n\\t\\r\\b\\f\\"\\\\","o":{"a":{"b":[{"a":1}]},"c":"d"}}',
    '{"ground_truth":"first",' + FIELDS + "}",
    '{"a":1,"ground_truth":"middle",' + FIELDS + "}",
    "{" + FIELDS + ',"ground_truth":"last"}',
    "{" + FIELDS + ',"ground_truth":null,"b":{"ground_truth":1}}',
)
DECODED: Final = (
    "{" + FIELDS + ',"n":1.50}',
    "{" + FIELDS + ',"n":-0}',
    "{" + FIELDS + ',"n":0.00001}',
    "{" + FIELDS + ',"a":1,"b":2,"a":3}',
    "{" + FIELDS + ',"o":{"a":1,"\\u0061":2}}',
    "{" + FIELDS + ',"o":{' + ",".join(f'"k{n}":1' for n in range(300)) + "}}",
)


def test_lines_are_echoed_as_their_rows_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first buffer, which is decoded to see what its fields are called, holds the first line.
    first = json.dumps({**PLAIN, "id": 0})
    monkeypatch.setattr(json_files, "BLOCK_BYTES", len(first) + 1)
    source = tmp_path / "rows.jsonl"
    source.write_text("\n".join([first, *COPIED, *DECODED]) + "\n", "utf-8")
    found = []
    for block in Input(source).blocks():
        if isinstance(block, JsonBlock):
            for place, echo in enumerate(block.echoed()):
                wanted = json_text.dumps(sample_dict(block.sample(place)))
                assert echo is None or echo == wanted
                found.append(echo is not None)
    assert found == [True] * len(COPIED) + [False] * len(DECODED)
