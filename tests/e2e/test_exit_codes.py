"""Every exit code that the help of a command names happens, and the reference has all of them."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.batch_servers import BatchServer
from tests.commands import invoke
from tests.docs_pages import ROOT, tool
from tests.e2e.test_judge_check import contrary, knows
from tests.fluent_judge import FluentJudge
from tests.judge_servers import Fails, JudgeServer
from tests.run_command import BAD, GOOD, run, samples

JUDGED = "--mode llm --metrics faithfulness --judge-style rating"
# 130 and 143 are those of tests/e2e/test_cli_run_processes.py. In this order: some need files of
# others, or find them there already.
CALLS = [
    ("run good.jsonl", 0),
    ("run mixed.jsonl --min-pass-rate 1", 1),
    ("run good.jsonl --metrics nothing", 2),
    ("run good.jsonl --mode llm --metrics faithfulness REFUSES", 3),
    ("score good.jsonl -", 0),
    ("score none.jsonl -", 2),
    ("score good.jsonl - --mode llm --metrics faithfulness REFUSES", 3),
    ("validate good.jsonl", 0),
    ("validate bad.jsonl", 2),
    ("show good.json", 0),
    ("show good.json nobody", 2),
    ("report good.json", 0),
    ("report mixed.json --min-pass-rate 1", 0),
    ("report good.jsonl", 2),
    ("metrics", 0),
    ("metrics nothing", 2),
    ("gate good.json --min-pass-rate 1", 0),
    ("gate mixed.json --min-pass-rate 1", 1),
    ("gate none.json --min-pass-rate 1", 2),
    ("compare good.json mixed.json", 0),
    ("compare good.json other.json", 2),
    ("history", 2),
    ("run good.jsonl --store", 0),
    ("history", 0),
    ("history prune --keep 1", 0),
    ("history prune --keep 1 --store none.db", 2),
    ("baseline pin latest", 0),
    ("baseline pin nothing", 2),
    ("baseline show", 0),
    ("baseline show --store none.db", 2),
    ("baseline export b.json --from good.json", 0),
    ("baseline export b.json --run nothing", 2),
    ("baseline unpin", 0),
    ("baseline unpin --store none.db", 2),
    ("judge check KNOWING --probe-tokens 0", 0),
    ("judge check CONTRARY --probe-tokens 0", 1),
    ("judge check", 2),
    ("judge check LOCKED", 3),
    ("judge debias-check good.jsonl --metrics faithfulness ANSWERS", 0),
    ("judge debias-check good.jsonl --judge none", 2),
    ("judge debias-check good.jsonl --metrics faithfulness REFUSES", 3),
    ("run mixed.jsonl BATCHES --judge-batch b.sqlite --min-pass-rate 0", 4),
    ("judge collect b.sqlite", 0),
    ("run mixed.jsonl BATCHES --judge-batch b.sqlite --min-mean faithfulness=1", 1),
    ("judge collect b.sqlite --wait", 1),
    ("judge collect none.sqlite", 2),
    ("score mixed.jsonl - BATCHES --judge-batch c.sqlite", 4),
    ("run mixed.jsonl BATCHES --judge-batch d.sqlite --max-calls 1", 3),
    ("judge collect d.sqlite", 3),
    ("run mixed.jsonl SLOW --judge-batch e.sqlite", 4),
    ("judge collect e.sqlite", 4),
    ("cache info --cache-file none.sqlite", 0),
    ("cache info --cache-file good.jsonl", 2),
    ("cache clear --cache-file none.sqlite", 0),
    ("cache clear --cache-file good.jsonl", 2),
    ("golden run golden.json", 0),
    ("golden run golden.json --gate", 1),
    ("golden run none.json", 2),
    ("golden validate golden.json", 0),
    ("golden validate good.jsonl", 2),
    ("golden diff golden.json golden.json", 0),
    ("golden diff golden.json none.json", 2),
    ("golden split golden.json --holdout 0.5", 0),
    ("golden split none.json", 2),
    ("golden dedupe golden.json", 0),
    ("golden dedupe none.json", 2),
    ("labels init gold", 0),
    ("labels init gold", 2),
    ("labels validate DECISIONS/labels.csv", 0),
    ("labels validate none.csv", 2),
    ("labels compare DECISIONS/labels.csv DECISIONS/main.csv --metric faithfulness", 0),
    ("labels compare none.csv good.json --metric faithfulness", 2),
    ("labels sample 10 DECISIONS/main.csv -o draw.csv", 0),
    ("labels sample 10 none.csv -o draw.csv", 2),
    ("calibrate mixed.json labels.csv --metric faithfulness", 0),
    ("calibrate good.json none.csv --metric faithfulness", 2),
    ("estimate DECISIONS/main.csv DECISIONS/labels.csv --metric faithfulness", 0),
    ("estimate DECISIONS/main.csv none.csv --metric faithfulness", 2),
    ("init github", 0),
    ("init github", 2),
    ("init gitlab", 0),
    ("init gitlab", 2),
]


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    good = samples(tmp_path / "good.jsonl", *({"id": f"r{n}", **GOOD} for n in range(8)))
    rows = ({"id": f"r{n}", **(BAD if n % 2 else GOOD)} for n in range(8))
    mixed = samples(tmp_path / "mixed.jsonl", *rows)
    other = samples(tmp_path / "other.jsonl", {"id": "else", **GOOD})
    for data in (good, mixed, other):
        assert run(data, "--output", data.with_suffix(".json")).exit_code == 0
    shutil.copy(ROOT / "examples" / "golden.json", tmp_path)
    samples(tmp_path / "bad.jsonl", {"id": "b", "question": 1})
    labels = [f"r{n},{int(n % 2 == 0 or n == 1)}" for n in range(8)]
    Path("labels.csv").write_text("\n".join(["id,label", *labels]) + "\n")
    return tmp_path


@pytest.mark.usefixtures("room")
def test_every_exit_code_of_the_help_happens() -> None:
    documented = {
        (command, code)
        for command, codes in tool("write_reference").exit_codes().items()
        for code in codes
        if code < 100
    }
    seen, wrong = set(), []
    refusing = JudgeServer(lambda prompt: Fails(401, "no such key"))
    with (
        refusing,
        JudgeServer(FluentJudge()) as answering,
        JudgeServer(FluentJudge(knows)) as knowing,
        JudgeServer(FluentJudge(contrary)) as contradicting,
        BatchServer(FluentJudge(), is_quick=True) as batching,
        BatchServer(FluentJudge()) as slow,
    ):
        places = {
            "REFUSES": f"--judge {refusing.openai_url}#m",
            "ANSWERS": f"--judge {answering.openai_url}#m",
            "KNOWING": f"{knowing.openai_url}#m",
            "CONTRARY": f"{contradicting.openai_url}#m",
            "BATCHES": f"{JUDGED} --judge {batching.openai_url}#m",
            "SLOW": f"{JUDGED} --judge {slow.openai_url}#m",
            "LOCKED": f"{refusing.openai_url}#m",
            "DECISIONS": str(ROOT / "examples" / "decisions"),
        }
        for line, code in CALLS:
            words = line
            for name, place in places.items():
                words = words.replace(name, place)
            done = invoke(*shlex.split(words))
            if done.exit_code != code:
                wrong.append(f"{line}: {done.exit_code}, not {code}\n{done.output[-400:]}")
            seen |= {(name, code) for name, _ in documented if f"{line} ".startswith(f"{name} ")}
    assert wrong == []
    assert seen == documented


def test_the_reference_has_all_of_them() -> None:
    page = tool("write_reference").command_page()
    for command, codes in tool("write_reference").exit_codes().items():
        (row,) = re.findall(rf"^\| `{command}` \|.*$", page, re.MULTILINE)
        cells = [cell.strip() for cell in row.split("|")[2:-1]]
        assert [code for code, cell in enumerate(cells) if cell != "–"] == [
            code for code in codes if code < 100
        ]
