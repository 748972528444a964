"""Mistakes that newcomers make: each message says what is wrong, where, and what to do."""

from __future__ import annotations

import gzip
import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow
import pytest
from click.testing import CliRunner
from pyarrow import parquet

import rag_eval
from rag_eval.cli.program import program
from tests.tables import every_row

PUBLIC = {name: getattr(rag_eval, name) for name in rag_eval.__all__}
ENVIRONMENT = {"RAG_EVAL_JUDGE": None, "OPENAI_API_KEY": None, "COLUMNS": "100"}


def sample(number: int, **fields: object) -> dict[str, object]:
    return {
        "id": f"q{number}",
        "question": f"What is thing {number}?",
        "answer": f"Thing {number} is red.",
        "contexts": [f"Thing {number} is as red as wine.", "Another text."],
        "ground_truth": f"It is red, thing {number}.",
        **fields,
    }


ROWS = [sample(number) for number in range(1, 7)]


def lines(rows: list[dict[str, object]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def renamed(**names: str) -> list[dict[str, object]]:
    return [{names.get(key, key): value for key, value in row.items()} for row in ROWS]


CSV = "id,question,answer,contexts\nq1,Où est-elle ?,À Paris.,Elle est à Paris.\n"
FILES: dict[str, str | bytes] = {
    "samples.jsonl": lines(ROWS),
    "models.jsonl": lines([sample(number, model="m1") for number in range(1, 7)]),
    "typo.jsonl": lines(renamed(answer="anwser")),
    "list.json": json.dumps(ROWS),
    "one.json": json.dumps({"user_input": "q", "response": "a", "retrieved_contexts": ["a"]}),
    "nothing.jsonl": lines([{"a": 1, "b": "x"}]),
    "empty.jsonl": "",
    "cut.jsonl": lines(ROWS)[:-60],
    "cut.json": json.dumps(ROWS)[:-60],
    "cut.jsonl.gz": gzip.compress(lines(ROWS).encode())[:-40],
    "indented.jsonl": json.dumps(ROWS, indent=1),
    "printed.jsonl": str(ROWS[0]) + "\n",
    "strings.jsonl": '"What?"\n',
    "notes.txt": "What?\n",
    "latin1.csv": CSV.encode("latin-1"),
    "windows.csv": CSV.replace("Elle", "– Elle").encode("cp1252"),
    "utf16.csv": CSV.encode("utf-16"),
    "numbered.csv": "question,answer,context_1,context_2\nWhat?,It.,It is.,It was.\n",
    "unnamed.csv": 'When open?,At nine.,"[""x""]"\nWhen else?,At ten.,"[""x""]"\n',
    "lines.jsonl": '[{"question": "q", "answer": "a", "contexts": ["a"]}]\n',
    "headless.csv": "q1,What is it?,It is red.,It is red.\n",
    "number.jsonl": lines([sample(1), sample(2, answer=42)]),
    "objects.jsonl": lines([sample(1, contexts=[{"doc_id": "d1", "passage_no": 3}])]),
    "keyed.jsonl": lines([sample(1, contexts={"doc1": "A.", "doc2": "B."})]),
    "quoted.csv": f'{CSV.partition("q1")[0]}q1,"What?,It.,It is.\n' + 9 * "q2,What?,It.,It is.\n",
    "hole.jsonl": lines([sample(1), {"id": "q2", "question": "What?", "contexts": ["A."]}]),
    "bare.jsonl": lines([{k: v for k, v in row.items() if k != "contexts"} for row in ROWS]),
    "twice.jsonl": lines([sample(1), sample(1)]),
    "labels.csv": "id,label\n" + "".join(f"q{n},{n % 2}\n" for n in range(1, 7)),
    "words.csv": "id,label\nq1,good\nq2,bad\n",
    "verdicts.csv": "id,verdict\nq1,1\nq2,0\n",
    "others.csv": "id,label\nx1,1\nx2,0\n",
    "typo.toml": 'profil = "grounded"\n',
    "bare.toml": "profile = grounded\n",
    "judge.toml": '[judge]\nretries = "many"\n',
    "misplaced.toml": "[judge]\nmin_pass_rate = 0.9\n",
    "golden.json": json.dumps(
        {
            "name": "g",
            "version": "1",
            "cases": [{"id": "c1", "input": "What?", "expectedOutput": "It."}],
        }
    ),
    "app.py": "def answer(case):\n    return 'It.'\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mistakes")
    for name, content in FILES.items():
        data = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(data)
    numbers = {"question": ["What?"], "answer": [42], "contexts": [["It is 42."]]}
    parquet.write_table(pyarrow.table(numbers), folder / "numbers.parquet")
    (folder / "data").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in (
            "run samples.jsonl --output today.json",
            "score samples.jsonl rows.jsonl",
            "run samples.jsonl --profile grounded --output grounded.json",
            "run twice.jsonl --output twice.json",
            "labels sample 3 today.json --output draw.csv",
            "init github",
        ):
            assert CliRunner().invoke(program, shlex.split(line)).exit_code == 0
    today = (folder / "today.json").read_text()
    (folder / "other.json").write_text(today.replace('"q', '"z'))
    (folder / "cut-result.json").write_text(today[: today.rindex("overlap") + 3])
    return folder


def files_of(folder: Path) -> list[Path]:
    """All that lies there; Python may keep what it compiled of a runner beside it."""
    return sorted(path for path in folder.rglob("*") if "__pycache__" not in path.parts)


def said(line: str) -> tuple[int, str]:
    done = CliRunner().invoke(program, shlex.split(line), prog_name="rag-eval", env=ENVIRONMENT)
    assert done.stdout == "", done.output
    return done.exit_code, done.stderr


# What was typed, and the message, or parts of it: what is wrong, where, and what to do.
ON_THE_COMMAND_LINE: list[tuple[str, str | list[str]]] = [
    # Names of commands and flags
    ("evaluate samples.jsonl", ["No such command 'evaluate'", "Did you mean 'run'?", "--help"]),
    ("golden rn golden.json", ["No such command 'rn'", "'run'?", "rag-eval golden --help"]),
    ("cache clean", ["No such command 'clean'", "'clear'?"]),
    ("run samples.jsonl --metric faithfulness", ["'--metric'", "Did you mean '--metrics'?"]),
    (
        "--profile grounded run samples.jsonl",
        "No such option '--profile'. The options of a command follow its name: rag-eval "
        "run DATA --profile grounded; see rag-eval --help",
    ),
    (
        "run",
        "Missing argument 'DATA', the file of samples; usage: rag-eval run [OPTIONS] "
        "DATA; see rag-eval run --help",
    ),
    (
        "score samples.jsonl",
        "Missing argument 'DST', the file to write the scores to, such as scores.csv; "
        "usage: rag-eval score [OPTIONS] SRC DST; see rag-eval score --help",
    ),
    (
        "run samples.jsonl bare.jsonl",
        "Unexpected extra argument 'bare.jsonl': the command takes only DATA. To read several "
        'files, give one pattern in quotes, such as "runs/*.jsonl"; see rag-eval run --help',
    ),
    (
        "golden validate golden.json golden.json",
        "Unexpected extra argument 'golden.json': the command takes only FILE; see rag-eval golden "
        "validate --help",
    ),
    (
        "run --store samples.jsonl",
        "Missing argument 'DATA': --store took 'samples.jsonl' as its own value. Put "
        "--store after the file: rag-eval run samples.jsonl --store; see rag-eval run "
        "--help",
    ),
    (
        "estimate today.json labels.csv",
        "Missing option '--metric', the metric whose scores to use, for example --metric "
        "faithfulness; see rag-eval estimate --help",
    ),
    (
        "golden validate list.json",
        "list.json is not a golden dataset: it holds samples with answers. To score samples: "
        "rag-eval run list.json",
    ),
    ("golden run one.json --runner app:answer", ["one.json is not", "rag-eval run one.json"]),
    ("labels sample today.json 3 -o d.csv", ["'N': 'today.json'", "[OPTIONS] N SCORES"]),
    # Files
    ("run sample.jsonl", ["cannot read sample.jsonl: No such file", "mean 'samples.jsonl'?"]),
    (
        "run runs/samples.jsonl",
        "cannot read runs/samples.jsonl: the folder 'runs' does not exist; check the path",
    ),
    ("run '*.json1'", "no file matches the pattern '*.json1'; check the pattern and the folder"),
    (
        "run data",
        "the folder 'data' contains no sample files (.jsonl, .ndjson, .json, .csv, .tsv, "
        ".xlsx, .parquet, .arrow, .feather); give a sample file, or a folder that "
        "contains some",
    ),
    (
        "run notes.txt",
        "notes.txt: unknown file format. The name must end in .jsonl, .ndjson, .json, "
        ".csv, .tsv, .xlsx, .parquet, .arrow or .feather (text formats may be "
        "compressed: .gz or .zst). Rename or convert the file, or give - to read JSON "
        "Lines from standard input",
    ),
    ("run empty.jsonl", ["empty.jsonl holds no samples", "a question, an answer and contexts"]),
    (
        "run cut.jsonl",
        "cut.jsonl, line 6: not valid JSON: the string that starts at column 88 is not "
        "closed. The file seems to be cut off; write or copy it again",
    ),
    (
        "run cut.json",
        "cut.json is not valid JSON: the string that starts at column 964 is not closed. "
        "The file seems to be cut off; write or copy it again",
    ),
    (
        "run cut.jsonl.gz",
        "cut.jsonl.gz: the gzip data ends too early. The file seems to be cut off; write "
        "or copy it again",
    ),
    (
        "run indented.jsonl",
        "indented.jsonl, line 1: not valid JSON: every line must be a whole JSON object. "
        "If the file is one JSON document over several lines, rename it to end in .json",
    ),
    (
        "run printed.jsonl",
        "printed.jsonl, line 1: not valid JSON: this looks like a printed Python dict. "
        "Write each row with json.dumps(row)",
    ),
    ("run strings.jsonl", ["line 1: must be a JSON object, got a string", "--skip-invalid"]),
    (
        "run latin1.csv",
        "latin1.csv, line 2 is not valid UTF-8 (byte 0xf9). If the file is in Latin-1, read it "
        "with --encoding latin-1",
    ),
    (
        "run windows.csv",
        "windows.csv, line 2 is not valid UTF-8 (byte 0xf9). If the file is from Windows, read it "
        "with --encoding cp1252",
    ),
    ("run utf16.csv", ["utf16.csv is in UTF-16", "--encoding utf-16"]),
    ("run samples.jsonl --encoding utf9", ["no text encoding 'utf9'", "cp1252"]),
    ("run headless.csv", ["line 1 names the column", "the names of the columns"]),
    (
        "run unnamed.csv",
        "unnamed.csv seems to have no header row: its first line is 'When open?, At nine., "
        '["x"]\'. Add a line with column names above it, such as question,answer,contexts',
    ),
    (
        "run lines.jsonl",
        "lines.jsonl, line 1: must be a JSON object, got an array. An array of samples belongs in "
        "a .json file: rename it to lines.json",
    ),
    # Fields
    *(
        (
            command,
            "typo.jsonl has no 'answer' field, but it has 'anwser'. Rename it, or pass "
            "--map answer=anwser",
        )
        for command in (
            "run typo.jsonl",
            "score typo.jsonl out.csv",
            "validate typo.jsonl --profile grounded",
        )
    ),
    (
        "run numbered.csv",
        "numbered.csv has no field 'contexts'. It has 2 unused columns: context_1, context_2. "
        "Put the contexts of each row into one column, as a list. To use only the "
        "first: --map contexts=context_1",
    ),
    (
        "run nothing.jsonl",
        "nothing.jsonl has no fields 'question', 'answer' and 'contexts'. It has 2 unused columns: "
        "a, b. To say which column holds them: --map question=COLUMN, and the same for the others",
    ),
    (
        "run bare.jsonl --metrics faithfulness,answer_relevance",
        "bare.jsonl has no field 'contexts', and no unused column that could be it. To score "
        "without it: --metrics answer_relevance or --allow-missing",
    ),
    ("run hole.jsonl", ['line 2 ("q2"): answer is missing', "--skip-invalid"]),
    (
        "run number.jsonl",
        'number.jsonl, line 2 ("q2"): answer must be a string, got int. Put numbers in quotes, '
        'such as "42", or add --skip-invalid to skip such rows',
    ),
    (
        "run numbers.parquet",
        "numbers.parquet, row 1: answer must be a string, got int. Convert the column to strings",
    ),
    (
        "run keyed.jsonl",
        'keyed.jsonl, line 1 ("q1"): contexts must be a list of strings, got dict. Write its texts '
        'as a list, such as ["text 1", "text 2"], or add --skip-invalid to skip such rows',
    ),
    (
        "run quoted.csv",
        "quoted.csv, line 2: is not CSV: a quote in this row is not closed",
    ),
    ("run objects.jsonl", ["contexts[0] must be a string", "'doc_id'", "contexts[].KEY"]),
    (
        "run samples.jsonl --map answer=respnse",
        "mapping answer=respnse: the samples have no field 'respnse' (fields: id, "
        "question, answer, contexts, ground_truth)",
    ),
    ("run samples.jsonl --map answer", ["FIELD=COLUMN, such as question=user_input", "'answer'"]),
    (
        "run samples.jsonl --map anser=answer",
        "mapping anser=answer: unknown field 'anser'; did you mean 'answer'? (fields: "
        "question, answer, contexts, ground_truth, id, language, metadata)",
    ),
    ("run samples.jsonl --schema raga", ["'raga' is not one of", "Did you mean 'ragas'?"]),
    (
        "run today.json",
        "today.json holds results, not samples. To look at them: rag-eval show today.json; to "
        "check them against a limit: rag-eval gate today.json --min-mean faithfulness=0.7",
    ),
    (
        "run rows.jsonl",  # `show` refuses it
        "rows.jsonl holds results, not samples. To check them against a limit: rag-eval gate "
        "rows.jsonl --min-mean faithfulness=0.7",
    ),
    (
        "score models.jsonl scores.csv --columns modle",
        "models.jsonl has no column 'modle'; did you mean 'model'? It has id, question, answer, "
        "contexts, ground_truth, model",
    ),
    # Metrics, shares, settings
    ("run samples.jsonl --metrics faithfullness", ["'faithfullness'", "mean 'faithfulness'?"]),
    (
        "run samples.jsonl --metrics 'faithfulness answer_relevance'",
        ["separate names by commas: faithfulness,answer_relevance"],
    ),
    ("run samples.jsonl --min-mean 0.7", ["METRIC=NUMBER, such as faithfulness=0.7", "'0.7'"]),
    ("run samples.jsonl --min-mean faithfulness=high", ["such as 0.7 or 70%", "'high'"]),
    (
        "run samples.jsonl --min-mean faithfulness=90",
        "--min-mean: faithfulness must be between 0 and 1, got 90; to give a percentage, write 90%",
    ),
    (
        "run samples.jsonl --min-pass-rate 90",
        "Invalid value for '--min-pass-rate': expected a share from 0 to 1, such as 0.9 or "
        "90%, got "
        "'90'; to give a percentage, write 90%; see rag-eval run --help",
    ),
    (
        "run samples.jsonl --thresholds faithfulness=70",
        "--thresholds: faithfulness must be between 0 and 1, got 70; to give a percentage, "
        "write 70%",
    ),
    (
        "run samples.jsonl --profile groundet",
        ["'groundet' is not one of 'overlap'", "Did you mean 'grounded'?"],
    ),
    (
        "run samples.jsonl --language de",
        "the option language works only with --profile grounded: the overlap profile treats all "
        "languages alike",
    ),
    (
        "run samples.jsonl --metrics omk.contains",
        "omk.contains needs the option 'value': --scorer-options 'omk.contains={\"value\": ...}'",
    ),
    ("run samples.jsonl --config typo.toml", ["typo.toml: unknown key 'profil'", "'profile'?"]),
    (
        "run samples.jsonl --config bare.toml",
        "bare.toml is not valid TOML: Invalid value (at line 1, column 11). Strings need "
        'quotes: profile = "grounded"',
    ),
    (
        "run samples.jsonl --config judge.toml",
        "judge.toml: retries in [judge] must be a whole number of at least 0, got 'many'",
    ),
    (
        "run samples.jsonl --config misplaced.toml",
        "misplaced.toml: min_pass_rate in [judge] is not an option of a judge. Move it to the top "
        "of the file, above the first [table]",
    ),
    (
        "run samples.jsonl --calibration labels.csv",
        "labels.csv is not a calibration file: it is not valid JSON (Expecting value at "
        "column 1); make one with: rag-eval calibrate SCORES LABELS --metric METRIC "
        "--output FILE",
    ),
    # Judges
    (
        "run samples.jsonl --mode llm",
        "mode 'llm' needs a judge. Add --judge openai:MODEL or set RAG_EVAL_JUDGE, or leave out "
        "--mode llm",
    ),
    ("run samples.jsonl --judge openai:gpt-5", ["--judge has no effect without --mode llm"]),
    ("run samples.jsonl --mode llm --judge gpt-5", ["unknown judge 'gpt-5'", "openai:MODEL"]),
    (
        "run samples.jsonl --mode llm --judge openai:gpt-5",
        ["https://api.openai.com/v1 needs a key", "set OPENAI_API_KEY"],
    ),
    (
        "judge debias-check samples.jsonl",
        "rag-eval judge debias-check needs a judge. Add --judge openai:MODEL or set RAG_EVAL_JUDGE",
    ),
    # What is written
    (
        "run samples.jsonl --output r.csv",
        "cannot write results to r.csv: the name must end in .json or .jsonl (also "
        ".json.gz or .jsonl.gz). For a table of scores, .csv or .parquet: rag-eval score "
        "SRC DST",
    ),
    (
        "run samples.jsonl --output no/r.json",
        "cannot write no/r.json: the folder 'no' does not exist; create it first",
    ),
    (
        "score samples.jsonl no/r.csv",
        "cannot write no/r.csv: the folder 'no' does not exist; create it first",
    ),
    ("run samples.jsonl --output samples.jsonl", ["the sample file itself", "another name"]),
    ("run samples.jsonl --html report.pdf", ["report.pdf ends in .pdf", ".html", "a browser"]),
    (
        "score samples.jsonl out.txt",
        "out.txt: unknown file format. The name must end in .jsonl, .ndjson, .csv, "
        ".parquet or .arrow (text formats may be compressed: .gz or .zst). To write JSON "
        "Lines to standard output, give -",
    ),
    (
        "labels sample 3 today.json -o labels.csv",
        "labels.csv already exists, and labels in it would be lost; choose another file name",
    ),
    ("init github", ".github/workflows/rag-eval.yml already exists; to overwrite it, add --force"),
    # Gates and comparisons
    ("run samples.jsonl --margin 0.1", ["--margin needs --baseline FILE"]),
    (
        "run samples.jsonl --baseline nofile.json",
        "cannot read nofile.json: No such file or directory. To make a baseline: rag-eval run "
        "DATA --output nofile.json",
    ),
    (
        "run samples.jsonl --baseline samples.jsonl",
        "samples.jsonl holds samples, not scores. Score them with rag-eval run samples.jsonl "
        "--output results.json, then give results.json as the baseline",
    ),
    (
        "run samples.jsonl --baseline grounded.json",
        "this run was scored with other settings than the baseline (profile: overlap, not "
        "grounded). Use the same settings for both, or add --allow-signature-mismatch to compare "
        "them anyway",
    ),
    (
        "gate samples.jsonl --baseline today.json",
        "samples.jsonl holds samples, not scores. Score them with rag-eval run "
        "samples.jsonl --output results.json, then give results.json instead of "
        "samples.jsonl",
    ),
    (
        "gate typo.jsonl --min-pass-rate 0.9",
        "typo.jsonl holds samples, not scores. Score them with rag-eval run typo.jsonl "
        "--output results.json, then give results.json instead of typo.jsonl",
    ),
    (
        "gate today.json",
        "rag-eval gate has nothing to check: give --baseline, --store or a limit such as "
        "--min-mean faithfulness=0.7",
    ),
    (
        "gate today.json --baseline grounded.json",
        "NOT COMPARABLE: today.json was scored with other settings than grounded.json (profile: "
        "overlap, not grounded). Use the same settings for both, or add --force to compare them "
        "anyway",
    ),
    ("gate today.json --baseline other.json", ["no id is in both", "'z1'", "the same samples"]),
    ("gate today.json --run latest", "--run needs --store"),
    (
        "gate today.json --store",
        "there is no run store .rag_eval/runs.db; create one with: rag-eval run DATA --store",
    ),
    (
        "gate today.json --baseline today.json --policy non-inferior",
        ["needs a margin above 0", "--margin 0.02"],
    ),
    (
        "gate cut-result.json --min-pass-rate 0.5",
        [  # the column depends on how long the run took
            "the summary of cut-result.json is not valid JSON: the string that starts at column ",
            " is not closed. The file may be cut off: write or copy it again",
        ],
    ),
    (
        "compare samples.jsonl today.json",
        "samples.jsonl holds samples, not scores. Score them with rag-eval run "
        "samples.jsonl --output results.json, then give results.json instead of "
        "samples.jsonl",
    ),
    (
        "compare twice.json today.json",
        "twice.json: id 'q1' occurs in rows 1 and 2. Give every sample its own id. To "
        "compare repeated runs, save each run in its own file",
    ),
    (
        "compare today.json today.json --slice topic",
        "no row of today.json or today.json has a field 'topic'. Give a field of the "
        "samples or of their metadata, or a column of a score file",
    ),
    (
        "history",
        "there is no run store .rag_eval/runs.db; create one with: rag-eval run DATA --store",
    ),
    # Looking at results
    (
        "show today.json 3",
        "today.json: none of its 6 rows has the id '3'; similar ids: 'q3'. To show a row by its "
        "number: --row 3",
    ),
    ("show today.json q99", ["has the id 'q99'", "'q1', 'q2', 'q3'"]),
    ("show today.json --row 0", "--row must be at least 1, the number of the first row, got 0"),
    ("show today.json --row 99", "today.json has no row 99; the last row is 6"),
    (
        "show samples.jsonl",
        "samples.jsonl holds samples, not scores. Score them with rag-eval run "
        "samples.jsonl --output results.json, then give results.json instead of "
        "samples.jsonl",
    ),
    (
        "report samples.jsonl --html r.html",
        "samples.jsonl holds samples, not scores. Score them with rag-eval run "
        "samples.jsonl --output results.json, then give results.json instead of "
        "samples.jsonl",
    ),
    # Labels and golden datasets
    (
        "estimate today.json labels.csv --metric faithfulness",
        'labels.csv, line 2 ("q1"): inclusion_probability is missing. An estimate needs '
        "labels of rows that were drawn at random; draw rows with rag-eval labels sample "
        "N SCORES --output NEW_FILE, then label them",
    ),
    ("estimate today.json draw.csv --metric relevance", ["relevance", "answer_relevance"]),
    ("labels sample 100 today.json -o d.csv", "cannot draw 100 rows: today.json has only 6"),
    (
        "labels compare labels.csv today.json",
        "give the metric that the labels are about, for example --metric faithfulness",
    ),
    (
        "labels compare others.csv today.json --metric faithfulness",
        "labels and scores share no id: others.csv has 'x1', 'x2', today.json has 'q1', "
        "'q2', 'q3', …; give labels of the samples that were scored",
    ),
    (
        "calibrate today.json words.csv --metric faithfulness",
        ["line 2", "must be 1 for good or 0 for bad", "'good'"],
    ),
    (
        "calibrate today.json verdicts.csv --metric faithfulness",
        "verdicts.csv, line 2 (\"q1\"): no field 'label' (fields: id, verdict). If it "
        "has another name: --label-field FIELD",
    ),
    (
        "golden run samples.jsonl",
        "samples.jsonl is not a golden dataset: it has one JSON object per line instead of a "
        "single one. To score samples: rag-eval run samples.jsonl",
    ),
    ("golden run golden.json --runner app:answr", ["app has no 'answr'", "mean 'answer'?"]),
    ("golden run golden.json --runner app", ["--runner", "MODULE:FUNCTION"]),
    ("golden split golden.json --holdout 20", ["'--holdout'", "such as 0.9 or 90%", "write 20%"]),
]


@every_row(("line", "parts"), ON_THE_COMMAND_LINE)
def test_on_the_command_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, line: str, parts: str | list[str]
) -> None:
    monkeypatch.chdir(folder)
    before = files_of(folder)
    code, message = said(line)
    assert code == 2, message
    *remarks, error = message.splitlines()
    assert all(remark.startswith(("fields: ", "note", "not measured")) for remark in remarks)
    assert error.startswith("error: ")
    if isinstance(parts, str):
        assert error == f"error: {parts}"
    else:
        assert all(part in error for part in parts), error
    assert files_of(folder) == before


@dataclass
class Sample:
    question: str
    answer: str


class Named(NamedTuple):
    question: str
    answer: str


class Model:
    """What a model of pydantic has."""

    def __init__(self, question: str, answer: str) -> None:
        self.fields = {"question": question, "answer": answer}

    def model_dump(self) -> dict[str, str]:
        return self.fields


OBJECTS = {"Sample": Sample, "Named": Named, "Model": Model}

# Missing extras are made by a name that cannot be imported.
IN_PYTHON: list[tuple[str, str | list[str]]] = [
    ("evaluate('What is it?')", ["sample must be a dict", "got str", "'contexts': [...]"]),
    (
        "evaluate(rows)",
        "sample must be a dict or an EvalSample, got list. To score a list of samples: "
        "evaluate_batch(samples)",
    ),
    ("evaluate({**rows[0], 'contexts': [1]})", ['("q1"): contexts[0] must be a string, got int']),
    ("evaluate({**rows[0], 'answer': None})", ['("q1"): answer is missing']),
    ("evaluate(rows[0], ['faithfullness'])", ["'faithfullness'", "mean 'faithfulness'?"]),
    ("evaluate(rows[0], 'faithfulness')", ["must be a list", "expected ['faithfulness', ...]"]),
    ("evaluate(rows[0], profle='grounded')", ["no option 'profle'", "mean 'profile'?"]),
    ("evaluate(rows[0], profile='groundet')", ["'groundet'", "mean 'grounded'?"]),
    ("evaluate(rows[0], thresholds=0.5)", ["must be a mapping", "expected {'faithfulness': ...}"]),
    (
        "evaluate(rows[0], mode='llm')",
        "mode 'llm' needs a judge. Add --judge openai:MODEL or set RAG_EVAL_JUDGE (in "
        "Python: judge='openai:MODEL', or a function that takes a prompt and returns the "
        "reply), or leave out --mode llm (in Python: mode='llm')",
    ),
    ("evaluate(rows[0]).metrics['faithfullness']", ["not computed", "mean 'faithfulness'?"]),
    ("evaluate_batch('samples.jsonl')", ["got str", "run_file('samples.jsonl')"]),
    (
        "evaluate_batch({'question': ['q']})",
        ["got dict of columns. To score its rows, pass pandas.DataFrame(samples), "],
    ),
    ("evaluate_batch(rows[0])", ["got dict", "evaluate(sample)", "[sample]"]),
    (
        "evaluate_batch([{'question': 'q', 'anwser': 'a', 'contexts': ['c']}])",
        "sample 0: answer is missing. Did you mean the field 'anwser'? Rename it to 'answer', or "
        "map it in all rows: --map answer=anwser (in Python: mapping={'answer': 'anwser'})",
    ),
    *(
        (
            call,
            f"sample{number} must be a dict or an EvalSample, got {kind}. To convert {one}: {how}",
        )
        for kind, how in (
            ("Sample", "dataclasses.asdict(sample)"),
            ("Named", "sample._asdict()"),
            ("Model", "sample.model_dump()"),
        )
        for call, number, one in (
            (f"evaluate({kind}('q', 'a'))", "", "it"),
            (f"evaluate_batch([{kind}('q', 'a')])", " 0", "each"),
            (f"evaluate_batch({kind}(n, 'a') for n in 'qr')", " 0", "each"),
        )
    ),
    (
        "compute_metric(rows[0], 'faithfulness')",
        "the metric comes before the sample: compute_metric('faithfulness', sample)",
    ),
    (
        "compute_metric('faithfulness', rows[0], profile='grounded')",
        "compute_metric has no option 'profile'; use evaluate(sample, ['faithfulness'], "
        "profile=...)",
    ),
    ("score_faithfulness(rows[0], thresholds={})", ["use evaluate(sample, ['faithfulness'], thr"]),
    ("evaluate('faithfulness', rows[0])", ["metrics must be a list of metric ids, got {'answer'"]),
    ("evaluate_batch([('q', 'a')])", ["sample 0 must be a dict", "got tuple"]),
    ("evaluate_batch(rows, treads=2)", ["no option 'treads'", "mean 'threads'?"]),
    (
        "evaluate_batch(rows, mapping={'answer': 'respnse'})",
        "mapping answer=respnse: the samples have no field 'respnse' (fields: id, "
        "question, answer, contexts, ground_truth)",
    ),
    ("evaluate_batch(rows, schema='raga')", ["unknown schema 'raga'", "mean 'ragas'?"]),
    ("evaluate_batch(rows).to_html('r.pdf')", ["r.pdf ends in .pdf", ".html"]),
    ("without('pandas', lambda: evaluate_batch(rows).to_pandas())", ["pip install", "pandas"]),
    ("without('polars', lambda: evaluate_batch(rows).to_polars())", ["pip install", "polars"]),
    (
        "run_file(rows)",
        "data must be a file name or a list of file names, got a list of dicts. To score samples "
        "in memory: evaluate_batch(samples)",
    ),
    ("run_file('sample.jsonl')", ["cannot read sample.jsonl", "mean 'samples.jsonl'?"]),
    (
        "compare(rows, rows)",
        "the first run must be a file name or a result, got a list of dicts. To make a result from "
        "samples: evaluate_batch(samples)",
    ),
    ("create_evaluator(metrics=['relevance'])", ["'relevance'", "mean 'answer_relevance'?"]),
]


@every_row(("call", "parts"), IN_PYTHON)
def test_in_python(
    folder: Path, monkeypatch: pytest.MonkeyPatch, call: str, parts: str | list[str]
) -> None:
    monkeypatch.chdir(folder)

    def without(package: str, asked: Any) -> None:
        for name in [name for name in sys.modules if name.partition(".")[0] == package]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, package, None)
        asked()

    with pytest.raises((rag_eval.errors.RagEvalError, TypeError)) as caught:
        eval(call, {**PUBLIC, **OBJECTS, "rows": ROWS, "without": without})
    if isinstance(parts, str):
        assert str(caught.value) == parts
    else:
        assert all(part in str(caught.value) for part in parts), str(caught.value)


def test_there_are_sixty_of_them() -> None:
    calls = [line for line, _ in (*ON_THE_COMMAND_LINE, *IN_PYTHON)]
    assert len(set(calls)) == len(calls) >= 60
