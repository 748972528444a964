"""The plugin in sessions of pytest of their own: exit codes, texts, files; one process and two."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from rag_eval.runs.baseline_files import write_baseline_file
from tests.scored_runs import scored_run
from tests.warm_processes import run_warm

pytest_plugins = ["pytester"]

# Other plugins take as long to load as all else takes.
ALONE = ["-p", "rag_eval.pytest_plugin", "-p", "xdist"]
SESSION = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"
IMPORTED = ("pytest", "rag_eval.scoring.evaluation", "rag_eval.runs.baseline_files")
HOSTILE = "q1\x1b[2J\u202e::]"
N = 24
ANSWERS = """
    import os
    import pytest

    @pytest.mark.rag_eval_dataset("samples.jsonl")
    def test_answers(sample, rag_eval):
        if os.environ.get("WORSE"):
            sample["answer"] += " Nobody ever saw purple elephants."
        rag_eval.assert_rag(sample, faithfulness=0.2)

    def test_two_metrics_of_one_sample(rag_eval):
        sample = {"id": "twice", "question": "Old?", "answer": "Rome is old.", "contexts": ["Rome"]}
        rag_eval.evaluate(sample, ["faithfulness"])
        rag_eval.record(rag_eval.evaluate(sample, ["hallucination_rate"], record=False))
        rag_eval.evaluate(sample, ["faithfulness"], profile="grounded", record=False)

    def test_without_scores():
        pass
"""
FAILING = """
    import pytest
    from rag_eval.testing import assert_rag

    @pytest.mark.rag_eval_dataset("samples.jsonl")
    class TestRows:
        def test_row(self, sample, rag_eval):
            assert_rag(sample, faithfulness=0.7, hallucination_rate=0.9, context_recall=0.5)

    @pytest.mark.rag_eval_dataset("samples.jsonl", limit=1)
    def test_bad_input(sample):
        assert_rag({**sample, "contexts": 7}, faithfulness=0.1)
"""
MARKERS = """
    import pytest

    @pytest.mark.rag_eval_dataset("samples.jsonl", limit=3)
    @pytest.mark.rag_eval_dataset("rows.csv", argname="row", mapping={"question": "asked"})
    def test_both(sample, row): pass

    @pytest.mark.rag_eval_dataset("samples.jsonl", limit=3, seed=1)
    def test_drawn(sample): pass
"""


@pytest.fixture(autouse=True)
def no_other_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def sample(row: int, **more: Any) -> dict[str, Any]:
    """One that its context carries, the more words it has the less of it."""
    extra = "".join(f" word{place}" for place in range(row % 5))
    return {
        "id": f"q{row}",
        "question": "How old is the bridge?",
        "answer": f"The bridge was built in 1900 by{extra} masons.",
        "contexts": [f"The bridge was built in 1900 by masons of town {row}.", "Rome is old."],
        **more,
    }


def write_samples(folder: Path, *rows: dict[str, Any] | str) -> None:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    (folder / "samples.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


def run(pytester: pytest.Pytester, *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout, and the part of it that the plugin wrote."""
    session = (*ALONE, "-W", "error", "--strict-markers", *arguments)
    done = run_warm(*session, code=SESSION, cwd=pytester.path, text=True, imported=IMPORTED)
    text = done.stdout
    section = re.search(
        r"^=+ rag_eval =+\n(.*?)(?=^(=|\d+ passed))", text, re.DOTALL | re.MULTILINE
    )
    return done.returncode, text, "" if section is None else section[1]


def properties(path: Path) -> dict[str, dict[str, str]]:
    """Of the suite, under no name, and of its tests."""
    suite = ElementTree.parse(path).getroot()[0]
    found = {"": suite.find("properties")}
    found |= {case.attrib["name"]: case.find("properties") for case in suite.iter("testcase")}
    return {
        name: {each.attrib["name"]: each.attrib["value"] for each in ([] if node is None else node)}
        for name, node in found.items()
    }


def test_a_session_is_held_against_a_baseline_on_one_process_and_on_two(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_samples(pytester.path, *map(sample, range(N)))
    pytester.makepyfile(test_answers=ANSWERS)
    pytester.makeini("[pytest]\nrag_eval_baseline = base.json\n")
    code, _, section = run(pytester, "--rag-eval-save", "base.json")
    assert code == 0
    assert "note: no gate was run: this session becomes the baseline base.json" in section
    assert re.search(
        rf"^faithfulness +0\.\d\d +\[0\.\d\d, 0\.\d\d\] .* {N + 1}/{N + 1}$", section, re.M
    )
    assert re.search(r"^hallucination_rate .* 1/1$", section, re.M)
    assert f"note: wrote {N + 1} rows to base.json" in section
    base = (pytester.path / "base.json").read_bytes()
    rows = {row["id"]: row for row in json.loads(base)["rows"]}
    assert len(rows) == N + 1
    assert rows["q0"]["passed"] is True
    assert all(len(row["digests"]) == 3 for row in rows.values()), "by which edits are noticed"
    assert rows["twice"]["scores"].keys() == {"faithfulness", "hallucination_rate"}

    again = ["--rag-eval-baseline", "base.json", "--rag-eval-save", "again.json", "-q"]
    code, _, section = run(pytester, *again)
    assert code == 0
    assert "PASS  NO CHANGE  all scores are identical in" in section
    assert "───" not in section, "a quiet session has no table"
    assert (pytester.path / "again.json").read_bytes() == base

    other = ["-k", "two_metrics", "--rag-eval-profile=grounded", "--rag-eval-save=other.json"]
    code, _, section = run(pytester, *other)
    assert code == 1
    assert re.search(r"^FAIL  .*profile", section, re.M)
    assert (pytester.path / "other.json").exists(), "what cannot be compared is saved all the same"

    monkeypatch.setenv("WORSE", "1")
    gate = ["--rag-eval-baseline=base.json", "--rag-eval-save=worse.json", "--junitxml=junit.xml"]
    code, text, alone = run(pytester, *gate)
    worse = (pytester.path / "worse.json").read_bytes()
    alone_xml = properties(pytester.path / "junit.xml")
    assert code == 1, "all tests pass, the session does not"
    assert f"{N + 2} passed" in text
    assert re.search(
        r"^FAIL  REGRESSED  faithfulness changed by -0\.\d+ .*\(against base\.json\)$", alone, re.M
    )
    assert "at most 5 % of unchanged builds fail" in alone
    code, text, shared = run(pytester, *gate, "-n", "2")
    assert (code, shared) == (1, alone)
    assert (pytester.path / "worse.json").read_bytes() == worse
    assert f"{N + 2} passed" in text
    shared_xml = properties(pytester.path / "junit.xml")
    assert shared_xml == alone_xml
    assert alone_xml[""]["rag_eval.gate"] == "failed"
    assert alone_xml[""]["rag_eval.gate.status"] == "REGRESSED"
    assert alone_xml[""]["rag_eval.faithfulness.n"] == f"{N + 1}/{N + 1}"
    of_test = alone_xml["test_answers[q3]"]
    assert of_test["rag_eval.sample"] == "q3"
    assert 0.2 < float(of_test["rag_eval.faithfulness"]) < 0.7
    assert "rag_eval.2.hallucination_rate" in alone_xml["test_two_metrics_of_one_sample"]
    assert alone_xml["test_without_scores"] == {}


def test_the_gate_is_held_where_it_says_something(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_samples(pytester.path, *map(sample, range(N)))
    pytester.makepyfile(
        test_answers=ANSWERS, test_stop="def test_stop():\n    raise KeyboardInterrupt\n"
    )
    pytester.makeini("[pytest]\nrag_eval_baseline = base.json\n")
    scores = {"faithfulness": [0.9 - row / 1000 for row in range(N)]}
    write_baseline_file(scored_run("base", scores), pytester.path / "base.json")
    monkeypatch.setenv("WORSE", "1")
    code, text, _ = run(pytester, "-p", "no:terminal", "-p", "no:cacheprovider", "test_answers.py")
    assert (code, text) == (1, ""), "without a terminal the exit code tells"
    code, _, section = run(pytester, "-n0", "test_stop.py", "test_answers.py")
    assert code == 2
    assert "the session was interrupted, so no gate was run and no file was written" in section
    code, _, section = run(pytester, "test_answers.py", "-k", "q1 and not q11")
    assert code == 1
    assert "tests deselected: only scored rows are compared" in section
    assert f"of {N} rows of base.json are missing in this run and not compared" in section
    assert "MISSING ROWS" not in section
    quiet = ["test_answers.py", "-k", "without_scores"]
    code, _, section = run(pytester, *quiet)
    assert (code, "note: no test scored a sample" in section) == (0, True), (
        "the ini file asks for it"
    )
    code, _, section = run(pytester, *quiet, "--rag-eval-baseline", "base.json")
    assert (code, "FAIL  no test scored a sample" in section) == (1, True), "the command line does"


def test_rows_of_a_session_that_went_missing(pytester: pytest.Pytester) -> None:
    """Data sets that shrink fail; parts of a session that were asked for do not."""
    write_samples(pytester.path, *map(sample, range(N)))
    pytester.makepyfile(test_answers=ANSWERS)
    pytester.makeini("[pytest]\nrag_eval_baseline = base.json\n")
    code, _, _ = run(pytester, "--rag-eval-save", "base.json")
    assert code == 0
    write_samples(pytester.path, *map(sample, range(N - 5)))
    gone = re.compile(r"^FAIL  MISSING ROWS  5 of \d+ rows of base\.json are missing", re.M)
    for arguments, status in (
        ([], 1),
        (["."], 1),
        (["test_answers.py", "--rag-eval-baseline=base.json"], 1),
        (["test_answers.py"], 0),
        (["test_answers.py", "--rag-eval-max-missing-rows=0.01"], 1),
        (["--rag-eval-max-missing-rows=0.9"], 0),
    ):
        code, _, section = run(pytester, *arguments)
        assert (code, gone.search(section) is not None) == (status, bool(status)), arguments
    write_samples(pytester.path, *map(sample, range(N)))
    code, _, section = run(pytester, "-k", "not two_metrics")
    assert (code, "MISSING SCORES" in section) == (0, False), "its metric was left out on request"
    lines = ANSWERS.splitlines(keepends=True)
    pytester.makepyfile(test_answers="".join(line for line in lines if "halluc" not in line))
    code, _, section = run(pytester)
    assert code == 1
    assert "FAIL  MISSING SCORES  hallucination_rate is missing in this run" in section


def test_failures_say_why_and_bad_rows_are_errors_of_their_own(pytester: pytest.Pytester) -> None:
    unsupported = (
        "The bridge was built in 1900 by masons. "
        "Elephants\x1b[31m happily painted 42 large walls with purple masons."
    )
    write_samples(
        pytester.path,
        sample(0, id=HOSTILE, answer=unsupported),
        "{not json",
        sample(2, contexts=7),
        sample(0, groundTruth="The bridge was built in 1900."),
        sample(0, groundTruth="The bridge was built in 1900."),
        {key: value for key, value in sample(0).items() if key != "id"},
    )
    pytester.makepyfile(test_failing=FAILING)
    code, text, section = run(pytester, "-rA", "--junitxml", "junit.xml")
    assert code == 1
    assert re.search("=+ 3 failed, 2 passed, 2 errors in", text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)
    name = r"q1\\x1b\[2J\\u202e::\]"
    for line in (
        rf'E +AssertionError: sample "{name}": 3 of 3 thresholds not met \(profile overlap\)',
        r"E +faithfulness +0\.\d\d  threshold 0\.70",
        r"E +hallucination_rate +0\.50  threshold 0\.90",
        r"E +context_recall +null  threshold 0\.50",
        r"E +missing_field: groundTruth is required .*",
        r"E +answer: 1 of 2 sentences not fully supported by the contexts",
        r"E +0\.\d\d unsupported: “Elephants\\x1b\[31m happily painted .*\.”",
        r"E +best match in contexts\[0\]: “The bridge was .*”",
        r"E +critical hallucination_rate: .* “Elephants.*”",
        r"samples\.jsonl, line 2: not valid JSON: .*",
        r'samples\.jsonl, line 3 \("q2"\): contexts must be a list of strings, got int',
        rf'E +rag_eval\.errors\.InputError: sample \("{name}"\): contexts must be a .*',
        r"worst: q1\\x1b.*faithfulness 0\.\d\d .*context_recall null  \(test_failing\.py.*",
    ):
        assert re.search(f"^{line}$", text, re.M), line
    assert "rag_eval/testing.py" not in text, "the traceback ends where the test calls"
    names = properties(pytester.path / "junit.xml")
    assert [name for name in names if name.startswith("test_row")] == [
        r"test_row[q1\x1b[2J\u202e::]]",
        "test_row[line-2]",
        "test_row[q2]",
        "test_row[q0]",
        "test_row[q0-2]",
        "test_row[line-6]",
    ]
    failed = names[r"test_row[q1\x1b[2J\u202e::]]"]
    assert failed["rag_eval.context_recall"] == "null (missing_field)"
    assert failed["rag_eval.passed"] == "false"
    assert "worst:" in section


def test_markers_choose_rows_and_say_what_they_cannot_read(pytester: pytest.Pytester) -> None:
    write_samples(pytester.path, *map(sample, range(N)))
    (pytester.path / "rows.csv").write_text("id,asked,answer\na,Old?,Yes\nb,New?,No\n", "utf-8")
    sub = pytester.mkdir("sub")
    (pytester.path / "empty.jsonl").write_text("", "utf-8")
    pytester.makepyfile(test_markers=MARKERS)
    pytester.makefile(".json", base="is not read: nothing is scored")
    pytester.makeini("[pytest]\nrag_eval_baseline = base.json\n")
    faults = {
        '"absent.jsonl"': r"there is no file absent\.jsonl in .*sub or .*",
        '"empty.jsonl"': r".*empty\.jsonl contains no samples",
        '"samples.jsonl", limits=3': r"there is no option 'limits'; did you mean 'limit'\?",
        '"samples.jsonl", limit=0': r"limit must be a whole number of at least 1, got 0",
        '"samples.jsonl", limit=True': r"limit must be a whole number of at least 1, got True",
        '"samples.jsonl", seed=1': r"seed has no effect without limit: give limit too",
    }
    for place, arguments in enumerate(faults):
        mark = f"@pytest.mark.rag_eval_dataset({arguments})"
        test = f"import pytest\n{mark}\ndef test_it(sample): pass\n"
        (sub / f"test_fault{place}.py").write_text(test)
    code, text, section = run(pytester, "--collect-only", "-q")
    assert (code, section) == (2, "")
    for place, fault in enumerate(faults.values()):
        assert re.search(
            f"^sub/test_fault{place}.py::test_it: rag_eval_dataset: {fault}$", text, re.M
        ), fault
    names = re.findall(r"test_markers\.py::(\S+)", text)
    assert names[:6] == [f"test_both[{row}-q{n}]" for n in range(3) for row in "ab"] or names[
        :6
    ] == [f"test_both[{row}-q{n}]" for row in "ab" for n in range(3)]
    drawn = [int(name[len("test_drawn[q") : -1]) for name in names[6:]]
    assert len(drawn) == 3
    assert drawn == sorted(drawn)
    assert drawn != [0, 1, 2], "drawn from all rows"


def test_a_test_that_runs_again_counts_as_it_came_out_last(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        from _pytest.runner import runtestprotocol

        def pytest_runtest_protocol(item, nextitem):
            for _ in range(2):
                runtestprotocol(item, nextitem=nextitem)
            return True
        """
    )
    pytester.makepyfile(
        """
        tries = []

        def test_again(rag_eval):
            tries.append(1)
            answer = "Rome is old." if len(tries) > 1 else "Elephants sing."
            sample = {"id": "q", "question": "Old?", "answer": answer, "contexts": ["Rome is old."]}
            rag_eval.assert_rag(sample, faithfulness=0.5)
        """
    )
    code, _, section = run(pytester, "-p", "no:xdist")
    assert code == 1
    assert re.search(r"^faithfulness +1\.00 .* 1/1$", section, re.M)
    assert "worst:" not in section


def test_a_session_that_has_no_use_for_it_loads_nothing_and_says_nothing(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeconftest(
        """
        import pathlib, sys
        def pytest_unconfigure():
            pathlib.Path("modules.txt").write_text("\\n".join(sys.modules))
        """
    )
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    # By its entry point, with whatever other plugins there are but one that loads a lot itself.
    done = pytester.runpytest_subprocess("--collect-only", "-q", "-p", "no:benchmark")
    assert done.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "rag_eval" not in done.stdout.str() + done.stderr.str()
    loaded = set((pytester.path / "modules.txt").read_text().splitlines())
    assert "rag_eval.pytest_plugin" in loaded
    tops = {name.partition(".")[0] for name in loaded}
    assert not tops & {"numpy", "scipy", "pandas", "click", "rich", "rich_click", "jinja2"}
    ours = {name for name in loaded if name.startswith("rag_eval")}
    assert not ours & {
        "rag_eval.cli",
        "rag_eval.options.plan",
        "rag_eval.scoring.evaluation",
        "rag_eval.reports.gate",
    }


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["--rag-eval-baseline=none.json"], "there is no file .*none.json; write one"),
        (["--rag-eval-policy=strict"], "policy must be one of no-regression, .*, got 'strict'"),
        (["--rag-eval-profile=deep"], "profile must be one of overlap, grounded, got 'deep'"),
        (["--rag-eval-alpha=0.5"], "alpha must be a number above 0 and below 0.5, got '0.5'"),
        (["--rag-eval-margin=nan"], "margin must be a number of at least 0, got 'nan'"),
        (["--rag-eval-tolerance=-1"], "tolerance must be a number of at least 0, got '-1'"),
        (["--rag-eval-max-null-rise=2"], "rag-eval-max-null-rise must be a number from 0 to 1"),
        (["--rag-eval-policy=non-inferior"], "needs --rag-eval-margin"),
        (["--rag-eval-save=scores.csv"], "must be a .json file, got .*scores.csv"),
        (["--rag-eval-save=none/scores.json"], "there is no folder .*none"),
    ],
)
def test_options_that_fit_nothing_are_usage_errors(
    pytester: pytest.Pytester, arguments: list[str], fault: str
) -> None:
    with pytest.raises(pytest.UsageError, match=fault):
        pytester.parseconfigure(*ALONE, *arguments)


def test_a_baseline_that_is_none_ends_the_session_before_it_begins(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_one="def test_one(): pass")
    (pytester.path / "base.json").write_text('{"baseline": {}, "rows": []}', "utf-8")
    done = pytester.runpytest_subprocess(*ALONE, "--rag-eval-baseline", "base.json")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "--rag-eval-baseline: " in done.stderr.str()
    assert "base.json is a baseline of version None" in done.stderr.str()
