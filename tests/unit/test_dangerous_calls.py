"""Rules of the Python sources: what a sample, a schema or a file says is never run, nor opened."""

from __future__ import annotations

import ast
import re
import unicodedata
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "rag_eval"
SOURCES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}

BUILTINS = {"eval", "exec", "compile", "__import__", "breakpoint"}
MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "subprocess", "pty"}
METHODS = {"system", "popen", "allow_pickle", "unsafe_load", "full_load"}

# Programs: git alone, by words of ours, and never through a shell.
RUNNERS = {"runs/git_state.py": ["subprocess"]}

# No code at all, after which Python forgets an interrupt that was caught.
EMPTY = {"__main__.py": ["exec"]}

# Modules by name: those of the package, one of scikit-learn, and what the command line names.
IMPORTERS = {
    "__init__.py",
    "cli/program.py",
    "cli/user_code.py",
    "distributed.py",
    "calibration/probabilities.py",
    "metrics/registry.py",
    "plumbing/extras.py",
    "plumbing/late_names.py",
    "results/faces.py",
}
# Patterns that are put together when they are used: of escaped words, and of a name in our table.
PATTERN_MAKERS = {
    "adapters/served_judge.py": "name",
    "scorers/regtrace/format_formulas.py": "re.escape(phrase)",
    "scorers/regtrace/formulas.py": "re.escape(phrase)",
}
# Files: what the caller names in an argument or an option, and lists of words of our own.
OPENERS = {
    "golden/loading.py",
    "scorers/mastra/keyword_coverage.py",
    "scorers/sentiment_lexicon.py",
    "scorers/texts.py",
}
ROOMS_OF_DATA = ("scorers/", "retrieval/", "golden/")


@cache
def tree_of(name: str) -> ast.Module:
    return ast.parse(text_of(name))


@cache
def text_of(name: str) -> str:
    """In the letters of the names that Python reads in it."""
    return unicodedata.normalize("NFKC", SOURCES[name].read_text(encoding="utf-8"))


def those_with(words: str) -> list[str]:
    """The sources with one of the words: in no other can there be a node with it."""
    found = re.compile(rf"\b(?:{words})\b").search
    return [name for name in SOURCES if found(text_of(name))]


def dotted(node: ast.AST) -> str:
    """``a.b.c`` as it is written; what comes before a dot and is no name is empty."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


@cache
def calls(tree: ast.AST) -> list[tuple[str, ast.Call]]:
    return [(dotted(node.func), node) for node in ast.walk(tree) if isinstance(node, ast.Call)]


def dangers(tree: ast.AST) -> list[str]:
    """What runs code, or reads what can."""
    found = [name for name, _ in calls(tree) if name in BUILTINS]
    found += [name for name, _ in calls(tree) if name.rpartition(".")[2] in METHODS]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [each.name for each in node.names if each.name.partition(".")[0] in MODULES]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in MODULES:
            found.append(str(node.module))
        elif isinstance(node, ast.keyword) and node.arg in {"shell", "allow_pickle"}:
            found.append(str(node.arg))
    return found


def late_patterns(tree: ast.AST) -> list[ast.expr]:
    """Patterns of the interpreter's own engine, which can hang, that no literal is."""
    inside = [
        node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    found = {
        id(call): call.args[0]
        for function in inside
        for name, call in calls(function)
        if name.startswith("re.") and name != "re.escape" and call.args
    }
    return [each for each in found.values() if not isinstance(each, ast.Constant)]


def opened(tree: ast.AST) -> list[str]:
    return [
        name
        for name, _ in calls(tree)
        if name in {"open", "io.open"}
        or name.rpartition(".")[2] in {"read_text", "read_bytes", "open", "urlopen"}
    ]


def test_the_rules_see_what_they_are_for() -> None:
    bad = ast.parse(
        "import pickle\nfrom marshal import loads\n"
        "def f(x):\n"
        "    eval(x); os.system(x); re.compile(x); re.search(f'{x}', ''); open(x)\n"
        "    np.load(x, allow_pickle=True)\n"
    )
    assert sorted(dangers(bad)) == ["allow_pickle", "eval", "marshal", "os.system", "pickle"]
    assert len(late_patterns(bad)) == 2
    assert opened(bad) == ["open"]


def test_nothing_runs_what_it_reads() -> None:
    words = "|".join((*BUILTINS, *MODULES, *METHODS, "shell"))
    found = {name: dangers(tree_of(name)) for name in those_with(words)}
    assert {name: each for name, each in found.items() if each} == {**RUNNERS, **EMPTY}


def test_code_from_text_is_empty() -> None:
    for name in EMPTY:
        found = [ast.unparse(call) for each, call in calls(tree_of(name)) if each in BUILTINS]
        assert found == ["exec('')"]


def test_no_word_of_a_program_comes_from_data() -> None:
    for name in RUNNERS:
        tree = tree_of(name)
        started = [call for each, call in calls(tree) if each.startswith("subprocess.")]
        words = [ast.unparse(call.args[0]) for call in started]
        assert words == ["[self._program, *_GIT, *question]"]
        questions = {
            ast.unparse(call.args[0]) for each, call in calls(tree) if each == "self._asked"
        }
        assert {"_HEAD", "_STATUS"} <= questions
        constants = {
            ast.unparse(node.target): node.value
            for node in tree.body
            if isinstance(node, ast.AnnAssign) and node.value is not None
        }
        for name in questions:
            assert all(isinstance(word, str) for word in ast.literal_eval(constants[name]))


def test_modules_are_imported_by_names_of_ours_or_of_the_command_line() -> None:
    found = {
        name
        for name in those_with("import_module")
        if any(each.rpartition(".")[2] == "import_module" for each, _ in calls(tree_of(name)))
    }
    assert found == IMPORTERS


def test_no_pattern_of_a_user_reaches_an_engine_that_can_hang() -> None:
    late = {name: late_patterns(tree_of(name)) for name in those_with("re")}
    for name, pattern in ((name, each) for name, found in late.items() for each in found):
        assert name in PATTERN_MAKERS, f"{name}: {ast.unparse(pattern)}"
        assert isinstance(pattern, ast.JoinedStr)
        values = [ast.unparse(x.value) for x in pattern.values if isinstance(x, ast.FormattedValue)]
        assert values == [PATTERN_MAKERS[name]]


def test_scorers_and_data_sets_open_no_file_that_data_names() -> None:
    named = those_with("open|urlopen|read_text|read_bytes")
    found = {name for name in named if name.startswith(ROOMS_OF_DATA) and opened(tree_of(name))}
    assert found == OPENERS
