"""What ``import rag_eval`` gives, and what it costs."""

from __future__ import annotations

import base64
import importlib
import inspect
import pickle
import pkgutil
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import rag_eval
from tests.tables import every_row

ROOT = Path(__file__).parents[2]

# What the Node library exports, in snake_case.
TYPES = {
    "BatchEvalResult",
    "BatchEvaluateOptions",
    "CostTracker",
    "EvalResult",
    "EvalSample",
    "EvalSignal",
    "EvaluateOptions",
    "EvaluationMode",
    "Evaluator",
    "EvaluatorConfig",
    "HeuristicOptions",
    "JudgeFn",
    "MetricAggregate",
    "MetricId",
    "MetricRegression",
    "MetricResult",
    "MetricThresholds",
    "PromptOverrides",
}
EVALUATION = {"evaluate", "evaluate_batch", "create_evaluator", "compute_metric"}
SCORERS = {
    "score_faithfulness",
    "score_answer_relevance",
    "score_context_precision",
    "score_context_recall",
    "score_context_relevance",
    "score_answer_correctness",
    "score_hallucination_rate",
}
PRIMITIVES = {
    "split_sentences",
    "filter_factual_sentences",
    "tokenize",
    "get_ngrams",
    "ngram_overlap",
    "weighted_ngram_overlap",
    "build_tfidf_vectors",
    "cosine_similarity",
    "tfidf_similarity",
    "token_f1",
}
# Root names beside them; those in LATER enter with the code that implements them.
BESIDE = {"calibrate", "compare", "compare_runs", "run_file", "score_file"}
LATER = {"aevaluate", "aevaluate_batch"}
# Literals and callables: Python has no place for their docstring, which is in the source below.
ALIASES = {"EvaluationMode", "JudgeFn", "MetricId"}
HEAVY = [
    *("numpy", "scipy", "rich", "click", "rich_click", "pandas", "sklearn", "pyarrow"),
    *("jinja2", "matplotlib", "IPython", "pytest", "openai", "anthropic", "yaml", "stamina"),
]

NAMES = sorted(TYPES | EVALUATION | SCORERS | PRIMITIVES | BESIDE)


def test_public_names() -> None:
    assert len(TYPES) == 18
    assert set(rag_eval.__all__) - LATER == set(NAMES)
    assert rag_eval.__all__ == sorted(rag_eval.__all__)
    assert len(set(rag_eval.__all__)) == len(rag_eval.__all__)


@every_row("name", rag_eval.__all__)
def test_every_public_name_can_be_read_and_explains_itself(name: str) -> None:
    value = getattr(rag_eval, name)
    if name not in ALIASES:
        text = inspect.getdoc(value)
        assert text
        assert text[0].isupper()
        assert "." in text
        assert value.__module__.startswith("rag_eval.")


def _documented() -> list[tuple[str, object]]:
    """Every name of the reference of Python, and the public methods of its classes."""
    names = [
        line.removeprefix("::: ")
        for line in (ROOT / "docs" / "reference" / "python.md").read_text("utf-8").splitlines()
        if line.startswith("::: ")
    ]
    found = []
    for name in names:
        value = pkgutil.resolve_name(name)
        found.append((name, value))
        if inspect.isclass(value):
            found += [
                (f"{name}.{method}", getattr(value, method))
                for method, member in vars(value).items()
                if not method.startswith("_")
                and (inspect.isroutine(member) or isinstance(member, property))
            ]
    return found


def test_every_function_of_the_reference_has_a_docstring() -> None:
    found = _documented()
    assert len(found) > 150
    functions = [(name, value) for name, value in found if not inspect.isclass(value)]
    bare = [
        name
        for name, value in functions
        if (inspect.isroutine(value) or isinstance(value, property)) and not inspect.getdoc(value)
    ]
    assert bare == []


def test_functions_with_many_parameters_describe_them() -> None:
    """Of every room, as in NumPy; or by the function whose parameters they share."""
    doors = [path.parent for path in (ROOT / "rag_eval").rglob("__init__.py")]
    names = {
        f"{'.'.join(door.relative_to(ROOT).parts)}.{name}"
        for door in doors
        if door.name not in ("_native", "page")
        for name in getattr(
            importlib.import_module(".".join(door.relative_to(ROOT).parts)), "__all__", ()
        )
    }
    functions = {
        name: value for name in names if inspect.isroutine(value := pkgutil.resolve_name(name))
    }
    assert len(functions) > 200
    bare = [
        name
        for name, value in functions.items()
        if len(inspect.signature(value).parameters) > 2
        and not re.search(
            r"Parameters( and errors|, result and errors)?\b|:func:", value.__doc__ or ""
        )
    ]
    assert bare == []


@every_row("name", sorted(SCORERS | EVALUATION | PRIMITIVES | BESIDE))
def test_functions_have_their_own_name(name: str) -> None:
    function = getattr(rag_eval, name)
    assert callable(function)
    assert function.__name__ == function.__qualname__ == name


def test_dir_lists_what_was_not_used_yet() -> None:
    done = run("import rag_eval; print(*dir(rag_eval))")
    assert set(rag_eval.__all__) <= set(done.split())
    assert "__version__" in done.split()


def test_nothing_else_leaks_into_the_root() -> None:
    # pytest rewrites assertions in packages that bring a plugin; what it imports begins with "@".
    public = {name for name in dir(rag_eval) if not name.startswith(("_", "@"))}
    modules = {path.stem for path in (ROOT / "rag_eval").iterdir()}
    # "annotations" is the future import; submodules are attributes once they are imported.
    assert public - modules - {"annotations"} <= {*rag_eval.__all__, *TYPING_NAMES}


# Imported by the root for its own code.
TYPING_NAMES = {"Any", "TYPE_CHECKING", "import_module"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'rag_eval' has no attribute 'evalute'"):
        rag_eval.evalute  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(rag_eval, "numpy")


def test_the_version_is_that_of_the_distribution() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'\nversion = "{rag_eval.__version__}"\n' in text


# ------------------------------------------------------------------------------ a fresh interpreter


def run(program: str) -> str:
    """What a program prints in a fresh interpreter."""
    command = [sys.executable, "-W", "error", "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout


# Types of packages that a caller may not have stay names for type checkers.
HINTED = [
    *("", "calibration", "comparing", "gating", "golden", "labels", "retrieval", "run", "runs"),
    *("stats", "scorers.hazel", "scorers.mastra", "scorers.omk", "scorers.regtrace"),
]


@every_row("module", HINTED)
def test_hints_of_public_functions_are_types_at_run_time_too(module: str) -> None:
    door = importlib.import_module(f"rag_eval.{module}".rstrip("."))
    values = (getattr(door, name) for name in door.__all__)
    functions = [value for value in values if inspect.isfunction(value)]
    assert [typing.get_type_hints(function) for function in functions]


def test_import_loads_one_kernel_and_nothing_heavy() -> None:
    loaded = run("import sys, rag_eval; print(*sys.modules)").split()
    assert [name for name in HEAVY if name in loaded] == []
    assert "msgspec" not in loaded  # it would double the time
    assert {name for name in loaded if name.startswith("rag_eval")} == {
        "rag_eval",
        "rag_eval._native",
        "rag_eval._native.overlap_block",
        "rag_eval._version",
    }


def test_modules_that_the_pages_name_need_no_import_of_their_own() -> None:
    """Regression: ``rag_eval.text`` was an AttributeError after ``import rag_eval``."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(page.read_text("utf-8") for page in pages)
    called = {name.partition(".")[0] for name in re.findall(r"(?<=`rag_eval\.)[\w.]+(?=`)", text)}
    called |= {name.split(".")[1] for name, _ in _documented()}
    named = sorted(called & {module.name for module in pkgutil.iter_modules(rag_eval.__path__)})
    assert {"text", "planning", "stats"} <= {*named}
    program = f"import rag_eval; print(*(hasattr(rag_eval, name) for name in {named}))"
    assert dict(zip(named, run(program).split(), strict=True)) == dict.fromkeys(named, "True")


def test_types_and_errors_load_nothing_heavy_either() -> None:
    program = "import sys, rag_eval; rag_eval.EvalSample(question='q'); print(*sys.modules)"
    loaded = run(program).split()
    assert [name for name in HEAVY if name in loaded] == []


@every_row("profile", ["overlap", "grounded"])
def test_the_first_evaluation_loads_few_modules(profile: str) -> None:
    """One sample needs no files, tables, judges, scorers, calibrations or statistics."""
    program = f"""
import sys, rag_eval
rag_eval.evaluate({{"question": "a", "answer": "A b.", "contexts": ["a b"]}}, profile={profile!r})
print(*sys.modules)
"""
    ours = [name for name in run(program).split() if name.startswith("rag_eval")]
    assert len(ours) <= MOST_MODULES, ours


# Of ours, by one evaluation; a new one is better merged into a neighbour, or loaded where needed.
MOST_MODULES = 48


def test_an_evaluation_loads_nothing_of_the_command_line() -> None:
    program = """
import sys, rag_eval
rag_eval.evaluate({"question": "a", "answer": "A b.", "contexts": ["a b"]})
rag_eval.evaluate_batch([{"question": "a", "answer": "A b.", "contexts": ["a b"]}])
print(*sys.modules)
"""
    others = {"rich", "click", "rich_click", "pandas", "sklearn", "scipy"}
    assert not others & set(run(program).split())


def test_statistics_of_a_batch_load_no_scipy() -> None:
    """Regression: a metric that was 0 in every row, which is frequent, took 0.15 s to import it."""
    program = """
import sys, rag_eval
row = {"question": "a", "answer": "A b. Not c.", "contexts": ["a b"], "ground_truth": "d"}
batch = rag_eval.evaluate_batch([row] * 30)
assert batch.aggregates["context_recall"].interval.method == "wilson"
batch.composite_aggregate
print(*sys.modules)
"""
    assert "scipy" not in run(program).split()


# ------------------------------------------------------------------------------- public paths

PATHS = {
    "rag_eval.calibration": "Calibration Refit calibrate",
    "rag_eval.distributed": "score_spark",
    "rag_eval.errors": "InputError",
    "rag_eval.kernels": "score_overlap score_grounded pack_texts",
    "rag_eval.options": "BatchEvaluateOptions EvaluateOptions HeuristicOptions Plan",
    "rag_eval.own_metrics": "metric",
    "rag_eval.results": "ByMetric CostTracker EvalResult EvalSignal MetricResult SentenceEvidence",
    "rag_eval.run": "RunReport run_file",
    "rag_eval.samples": "EvalSample NullReason Profile",
    "rag_eval.scorers.contract": "Scored Scorer ScorerSpec register",
    "rag_eval.scoring": "Evaluator aevaluate evaluate evaluate_batch create_evaluator",
    "rag_eval.testing": "assert_rag",
    "rag_eval.text": "tokenize",
    "rag_eval.trajectory": "trajectory_score",
}
# Evaluator(profile="grounded", thresholds={"faithfulness": 0.7}), pickled in an earlier layout.
PICKLED = (
    b"gAJjcmFnX2V2YWwuc2NvcmluZwpFdmFsdWF0b3IKcQB9cQEoWAcAAABwcm9maWxlcQJYCAAAAGdyb3VuZGVkcQNY"
    b"CgAAAHRocmVzaG9sZHNxBH1xBVgMAAAAZmFpdGhmdWxuZXNzcQZHP+ZmZmZmZmZzdYVxB1JxCC4="
)


def test_public_paths_stay() -> None:
    for module, names in PATHS.items():
        for name in names.split():
            assert hasattr(importlib.import_module(module), name), f"{module}.{name}"


def test_a_pickled_evaluator_of_an_earlier_layout_loads() -> None:
    found = pickle.loads(base64.b64decode(PICKLED))
    assert found.config["profile"] == "grounded"
    assert found.config["thresholds"] == {"faithfulness": 0.7}
