"""Who may import whom: downwards only, in the order below; third parties where they are named."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parents[2] / "rag_eval"

# Bottom to top: a module imports from those above it in this list and from no other.
LAYERS = {
    # The words everything else speaks.
    "errors": "what is raised on purpose; knows nothing",
    "version": "the package's own; knows nothing",
    "late_names": "names of a package by their modules; knows nothing",
    "languages": "tags to language codes; raises errors",
    "arrow_package": "an optional package, or an error that names its extra",
    "stemmers": "an optional package, or an error that names its extra",
    "retrieval_names": "names of measures of retrieval, in any spelling; standard library alone",
    "samples": "samples, metric ids, null reasons: named in every signature",
    "clock": "times as result files say them; standard library alone",
    "json_text": "JSON values as text; standard library alone",
    "interrupts": "Ctrl-C and SIGTERM between blocks; standard library alone",
    "own_folder": "a folder that its owner alone reads, by its descriptor; raises errors",
    "sqlite_files": "database files that their owner alone reads; raises errors",
    "descriptors": "names of files that this process has open; standard library alone",
    "temporary_files": "files beside a target, locked by their writers; standard library alone",
    "csv_cells": "texts to cells of CSV and back; standard library alone",
    "number_text": "numbers as JavaScript prints and rounds them; standard library alone",
    "metrics": "the package; empty",
    "metrics.registry": "what each metric reads; needs the metric ids",
    "option_values": "single values of options, checked",
    "field_reading": "fields of JSON objects of others, checked",
    "correlations": "two columns to how they go together; arrays alone",
    "stats": "arrays to numbers with their uncertainty: knows no metric, run or file",
    "krippendorff": "several raters to one reliability",
    # The judge: by itself, it knows neither samples nor kernels.
    "judge": "prompts, calls and replies of a model that grades",
    "adapters": "judges on the SDKs of vendors",
    "repeated_ids": "ids met before; hashes, no sample types",
    # How texts are held and reach the kernels.
    "overlap_settings": "parameters of the overlap profile, checked, as kernels take them",
    "grounded_settings": "those of the grounded profile",
    "kernels": "the only door to the compiled code; sees arrays and settings",
    "text_inputs": "what the primitives take: packed by kernels",
    "text": "the primitives, the other door: strings in, numbers out",
    "columns": "buffers and offsets, packed by kernels",
    "blocks": "what every input is cut into, and how its rows are called",
    "sources": "samples of any kind to columns",
    "schema_table": "where other tools keep our fields; names alone",
    "schemas": "columns to our fields, rows to our names",
    "schema_documents": "documents of other tools to the rows inside",
    "arrow_arrays": "arrays of any Arrow library, through the compiled reader",
    "arrow_texts": "texts of Arrow arrays as kernels read them",
    "arrow_values": "cells of Arrow arrays as Python values",
    "arrow_packing": "fields of Arrow rows as kernels read them",
    "arrow_blocks": "rows of Arrow batches as blocks, by the rules of sources",
    "inputs": "files and tables to blocks, under the names of our fields",
    "durable_files": "files that are there as a whole or not at all",
    "snowball": "stems of a batch's words, which kernels list",
    "profiles": "where profiles part: options to settings, batches to scores",
    # What else is scored.
    "retrieval": "rankings to measures, through kernels",
    "string_similarity": "pairs of texts to how alike they are, through kernels",
    "scorers": "the scorers of other tools, with a judge and without",
    "own_metrics": "functions of callers to contracts of scorers",
    "metric_catalogue": "contracts of all kinds in one form",
    "metric_directions": "which way a metric is better; reads contracts",
    "judge_options": "options of judging: types and defaults",
    "scorer_choices": "scorers of other tools among the metrics, with their options",
    "judging_plan": "what a call asks of a judge, checked",
    "judged_metrics": "judged metrics in the form of those of kernels",
    "judged_scores": "what a judge said about a metric of a row",
    # What a call asks for, what comes out.
    "options": "spellings, defaults and the plan of a call",
    "config_file": "a TOML file to options",
    "progress": "reports of a long run; takes a callback of options",
    "signature": "the settings that could change a number",
    "results": "results of one sample, with their signature",
    "metrics.overlap": "explanations and signals, as results hold them",
    "metrics.grounded": "the same for the grounded profile",
    "aggregates": "statistics of columns of scores",
    "cascade": "who is judged, and one scale for all rows",
    "plan_signature": "the signature of all that a plan computes",
    "verdicts": "scores and a plan to composites and who passed",
    "regressions": "two runs' aggregates to differences",
    "scorer_fields": "rows of blocks to the fields that scorers read",
    "field_columns": "the same, column by column",
    "rows": "where texts of scored rows are kept: columns and fields",
    "scorer_columns": "rows to columns of scores and to findings, by scorers of a plan",
    "explaining": "one row through kernels, verdicts and words",
    "engine": "blocks of rows to scored blocks, on threads",
    "validation": "files checked as the engine would read them",
    "worst_rows": "the rows to look at first, explained",
    "batch_results": "matrix, aggregates and rows of a batch",
    "gates": "a batch result to pass or fail",
    "bars": "what the scores of one sample have to reach",
    "result_summaries": "means and signature of a result file, without its rows",
    "result_reading": "rows of result files to results",
    "result_files": "batch results to files and back",
    "row_writer": "rows pushed into a result file as they come",
    "frames": "batch results to data frames",
    "threshold_choice": "labelled scores to a threshold; arrays alone",
    "probability_maps": "labelled scores to a map; scikit-learn when one is fitted",
    "calibration_inputs": "scores of a batch and labels to arrays",
    "calibration": "labelled scores to threshold, map and intervals",
    "calibration_files": "calibrations to files and back",
    "calibrating": "calibrations into a plan",
    "labelled_files": "a file of scores and one of labels to a calibration",
    "judge_report": "judged rows to what they took and how far judges agree",
    "block_pieces": "scored blocks of files to shorter ones",
    "judging": "scored blocks to judged ones, row by row",
    "length_notes": "judged rows to a warning of judges that go by length",
    "judge_runs": "judged blocks in order, by threads and event loops",
    "batch_jobs": "samples in memory to a batch result",
    "scoring": "evaluate, evaluate_batch: all of the above in order",
    "estimators": "scoring as a scikit-learn transformer; imported by name alone",
    "runs": "results and files to rows of scores; a store of them, and baselines",
    "comparing": "two runs to what changed, with its uncertainty",
    "planning": "runs and plans to what they can show",
    "score_totals": "scores to statistics in bounded memory, by verdicts",
    "run_options": "options of a run, checked before any work",
    "summarizing": "totals to the summary of a batch",
    "streaming": "an input to scored blocks, counted",
    "outputs": "scored blocks to files of rows, in parts that survive a crash",
    "score_files": "files in, a row of scores for each sample out",
    "judge_estimates": "what judging would take, before any call",
    "judge_checks": "what moves a judge that should not, on rows of a file",
    "record_batches": "record batches to scores of their rows, or to totals",
    "distributed": "data sets of cluster engines, batch by batch",
    "gating": "a run and its baselines to a verdict",
    "trajectory": "what agents did against what was expected; names of scorers",
    "golden": "golden datasets: read, run, compared, split",
    "labels": "people's labels beside scores",
    "views": "what people look at of a run, as data without markup",
    "run": "files in, files and verdict out, in constant memory",
    "reports": "results to text for people",
    "testing": "a sample to its result, or to a failed assertion",
    "pytest_plugin": "hooks: tests to records, a session to a verdict",
    "integrations": "samples of other tools to our scores in their words",
    "cli": "parses, calls, prints",
    "__main__": "python -m rag_eval",
}

# Methods of a result that open a module above it, when called and not before.
UPWARD_WHEN_CALLED = {
    ("batch_results", "result_files"): "to_json, to_jsonl, from_json",
    ("batch_results", "frames"): "to_pandas",
    ("batch_results", "runs"): "mean_intervals",
    ("batch_results", "reports"): "what a notebook shows; plot",
    ("comparing.run_comparison", "reports"): "what a notebook shows; plot",
    ("gating.verdicts", "reports"): "what a notebook shows",
    ("progress", "reports"): "a bar where no callback was given",
    ("results", "reports"): "what a notebook shows",
    ("batch_results", "views"): "to_html",
    ("run", "reports"): "to_html; what a notebook shows",
    ("calibration", "calibration_files"): "from_dict, save, load",
    ("judge.addresses", "adapters"): "the judge at an address",
}

# numpy takes longer to import than all the rest: only modules that cannot do without.
NUMPY_AT_ONCE = {
    "aggregates": "columns of scores are arrays",
    "arrow_arrays": "buffers of Arrow arrays are arrays",
    "arrow_blocks": "rows of a block are an array",
    "arrow_packing": "offsets of texts",
    "arrow_texts": "offsets of texts",
    "arrow_values": "numbers of a column",
    "batch_jobs": "stacks the blocks' scores",
    "batch_results": "the score matrix is an array",
    "calibration": "weights of resamples",
    "calibration_inputs": "scores and labels become arrays",
    "cascade": "compares and maps whole columns",
    "columns": "buffers and offsets are arrays",
    "correlations": "columns of numbers",
    "engine": "metric numbers and scores of a block",
    "estimators": "gives a matrix",
    "explaining": "one row of scores",
    "inputs.json_blocks": "places of texts in lines",
    "judge_report": "null reasons of a block",
    "judge.length_correlation": "columns of scores and lengths",
    "judge.paired_scores": "columns of differences",
    "judging": "scores of a block",
    "kernels": "allocates what kernels fill",
    "krippendorff": "matrices of ratings",
    "labels.sampling": "columns of scores",
    "labels.estimating": "columns of labels and scores",
    "labels.label_sets": "matrices of ratings",
    "labels.omk_gold": "columns of ratings",
    "labels.comparing_labels": "matrices of ratings",
    "labels.label_files": "matrices of ratings",
    "labels.score_columns": "columns of scores",
    "outputs.arrow_rows": "scores of a block",
    "outputs.columns": "scores of a block",
    "outputs.parts": "scores of a part",
    "probability_maps": "maps whole columns",
    "record_batches": "scores of a batch",
    "repeated_ids": "a table of 64-bit hashes",
    "result_files": "reads scores back into a matrix",
    "reports.notebook_batch": "sorts of columns",
    "retrieval.kernels": "allocates what kernels fill",
    "retrieval.packing": "rankings as arrays",
    "retrieval.rankings": "a matrix of scores",
    "retrieval.trec_order": "sorts of whole rankings",
    "score_totals": "scores of a block",
    "snowball": "offsets of words and stems",
    "scorer_columns": "columns of scores",
    "sources": "offsets of contexts",
    "string_similarity": "columns of scores",
    "runs.baseline_files": "reads scores back into a matrix",
    "reports.page.charts": "columns of differences",
    "runs.kept_rows": "scores of blocks",
    "runs.run_parts": "columns to bytes and back",
    "runs.repeated_runs": "stacks matrices of scores",
    "runs.metric_intervals": "columns of scores",
    "runs.run_files": "scores of a result",
    "runs.run_rows": "columns become a matrix",
    "runs.run_tables": "columns of a file",
    "runs.scored_run": "scores are a matrix",
    "comparing.independent_runs": "columns of scores",
    "comparing.metric_changes": "columns of differences",
    "comparing.metric_tests": "columns of differences",
    "comparing.null_changes": "columns of scores",
    "comparing.odd_scores": "columns of scores",
    "comparing.pairing": "columns of scores",
    "comparing.row_changes": "columns of scores",
    "comparing.run_comparison": "columns of differences",
    "comparing.two_runs": "columns of scores",
    "gating.false_alarms": "columns of scores",
    "gating.guards": "columns of scores",
    "gating.tool_policies": "columns of scores",
    "stats.agreement": "columns of ratings",
    "stats.kappas": "columns of ratings",
    "stats.concordance": "sorts of columns",
    "stats.undefined_resamples": "resamples are arrays",
    "stats.bootstrap": "resamples are matrices of weights",
    "stats.clustered": "columns of scores",
    "stats.mean_intervals": "columns of scores",
    "planning.repeated_rows": "scores of repeats",
    "stats.bca": "draws of all resamples",
    "stats.groups": "groups are an array",
    "stats.skewed_bounds": "moments of columns",
    "stats.skewness": "moments of columns",
    "stats.sampling_designs": "draws of rows",
    "stats.ppi_inputs": "columns of scores and labels",
    "stats.ppi": "columns of scores and labels",
    "stats.index_sources": "drawn places are arrays",
    "stats.omk_bootstrap": "draws of all resamples",
    "stats.resampling": "allocates what the kernel fills",
    "stats.rank_tests": "ranks of differences",
    "stats.paired": "columns of differences and their sums",
    "stats.effect_sizes": "columns of scores",
    "stats.difference_columns": "columns and their sums",
    "stats.differences": "columns of differences",
    "text": "calls kernels on arrays",
    "text_inputs": "checks and packs buffers",
    "threshold_choice": "cumulative sums of columns",
    "verdicts": "compares whole columns",
    "views.histograms": "counts columns of scores",
    "views.making": "verdicts of a batch",
    "views.overlap_support": "metric numbers and offsets of a row",
    "views.result_rows": "columns of scores",
    "views.row_choice": "keys of whole blocks",
    "views.slicing": "columns of scores",
    "views.watching": "verdicts of blocks",
    "worst_rows": "partial sorts of scores",
}
# A class inherits when it is made: who imports its module has asked for the package.
INHERITED = {
    "estimators": {"sklearn"},
    "integrations.deepeval": {"deepeval"},
    "integrations.inspect_ai": {"inspect_ai"},
    "integrations.langchain": {"langchain", "langchain_classic"},
    "integrations.llamaindex": {"llama_index"},
    "reports.score_figure": {"matplotlib"},
}
# Read by every command and every record; cheap to import.
MSGSPEC = {"msgspec"}
# The command line is only loaded by the command.
COMMAND_LINE = {"click", "rich", "rich_click"}
NATIVE_DOORS = {
    "retrieval.kernels": "rankings of many queries",
    "stats.resampling": "sums of resampled rows",
    "string_similarity": "pairs of texts",
    "arrow_arrays": "the reader of Arrow streams",
    "arrow_texts": "texts gathered and checked before any kernel sees them",
    "__init__": "a broken build fails at once",
    "inputs.json_blocks": "lines scanned before any row is decoded",
    "kernels": "checks, allocates, calls",
    "text": "the primitives of one text",
}


PACKAGES = {
    "rag_eval",
    "rag_eval.adapters",
    "rag_eval.cli",
    "rag_eval.comparing",
    "rag_eval.gating",
    "rag_eval.inputs",
    "rag_eval.integrations",
    "rag_eval.judge",
    "rag_eval.judge.metrics",
    "rag_eval.labels",
    "rag_eval.metrics",
    "rag_eval.outputs",
    "rag_eval.planning",
    "rag_eval.pytest_plugin",
    "rag_eval.reports",
    "rag_eval.reports.page",
    "rag_eval.golden",
    "rag_eval.retrieval",
    "rag_eval.runs",
    "rag_eval.scorers",
    "rag_eval.scorers.hazel",
    "rag_eval.scorers.mastra",
    "rag_eval.scorers.omk",
    "rag_eval.scorers.regtrace",
    "rag_eval.stats",
    "rag_eval.views",
}
# Packages whose modules may import one another.
ONE_LAYER = {
    "adapters",
    "cli",
    "comparing",
    "gating",
    "golden",
    "inputs",
    "integrations",
    "judge",
    "labels",
    "outputs",
    "planning",
    "pytest_plugin",
    "reports",
    "retrieval",
    "runs",
    "scorers",
    "stats",
    "views",
}


class Import(NamedTuple):
    target: str  # "rag_eval.x", or a third party's top-level name
    line: int
    when_called: bool


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


@cache
def modules() -> dict[str, Path]:
    found = {module_name(path): path for path in PACKAGE.rglob("*.py")}
    return {name: path for name, path in found.items() if name != "_native"}


def imports(tree: ast.AST, when_called: bool = False) -> Iterator[Import]:
    """All imports but those under ``if TYPE_CHECKING``, which do not run."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            for branch in node.orelse:
                yield from imports(branch, when_called)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, when_called)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute"
            module = node.module or ""
            if module in PACKAGES:
                for alias in node.names:
                    yield Import(f"{module}.{alias.name}", node.lineno, when_called)
            else:
                yield Import(module, node.lineno, when_called)
        else:
            inside = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            yield from imports(node, when_called or inside)


@cache
def imports_of(name: str) -> list[Import]:
    return list(imports(ast.parse(modules()[name].read_text(encoding="utf-8"))))


def layer(name: str) -> str:
    """The entry of LAYERS that a module belongs to."""
    parts = name.split(".")
    return parts[0] if parts[0] in ONE_LAYER else name


def is_native(target: str) -> bool:
    return target == "rag_eval._native" or target.startswith("rag_eval._native.")


def test_every_module_has_its_place() -> None:
    assert {layer(name) for name in modules()} - {"__init__"} <= LAYERS.keys()


@pytest.mark.parametrize("name", sorted(modules().keys() - {"__init__"}))
def test_imports_go_down(name: str) -> None:
    order = list(LAYERS)
    place = order.index(layer(name))
    for target, line, when_called in imports_of(name):
        if not target.startswith("rag_eval.") or is_native(target):
            continue
        other = target.removeprefix("rag_eval.")
        if layer(other) not in LAYERS:
            # A name of a module, as in "from rag_eval.metrics import x"; or one of the root.
            other = other.rpartition(".")[0]
            assert other, f"{name}, line {line}: import {target} from the module that holds it"
        other = layer(other)
        if other == layer(name) or (when_called and (name, other) in UPWARD_WHEN_CALLED):
            continue
        assert order.index(other) < place, f"{name}, line {line}: {other} is a later layer"


def test_the_exceptions_are_in_use() -> None:
    used = {
        (name, target.removeprefix("rag_eval.").split(".")[0])
        for name in modules()
        for target, _, when_called in imports_of(name)
        if when_called and target.startswith("rag_eval.")
    }
    assert used >= UPWARD_WHEN_CALLED.keys()


def test_the_root_only_looks_its_names_up() -> None:
    """Modules are imported on first use, or ``import rag_eval`` would load numpy."""
    at_once = {target for target, _, when_called in imports_of("__init__") if not when_called}
    ours = {target for target in at_once if target.startswith("rag_eval")}
    assert ours == {"rag_eval._native", "rag_eval._version"}


def test_only_the_doors_import_kernels() -> None:
    doors = {name for name in modules() for found in imports_of(name) if is_native(found.target)}
    assert doors <= NATIVE_DOORS.keys()
    assert doors >= {"__init__", "kernels"}


@pytest.mark.parametrize("name", sorted(modules()))
def test_third_parties_are_imported_where_they_may_be(name: str) -> None:
    allowed = {"rag_eval", *MSGSPEC, *INHERITED.get(name, ())}
    if name in NUMPY_AT_ONCE:
        allowed.add("numpy")
    if layer(name) in {"cli", "reports"}:  # both are only loaded by a command
        allowed |= COMMAND_LINE
    if layer(name) == "pytest_plugin":  # only loaded by pytest
        allowed.add("pytest")
    for target, line, when_called in imports_of(name):
        top = target.split(".")[0]
        if not when_called and top not in sys.stdlib_module_names:
            assert top in allowed, f"line {line}: import {top} inside a function"
