"""Golden datasets: load them, run them against an application, compare, split and clean them."""

from rag_eval.golden.datasets import GoldenCase, GoldenDataset
from rag_eval.golden.diff import ChangedCase, GoldenDiff, diff_golden_datasets
from rag_eval.golden.evals import EvalsResult, EvalsSummary, arun_evals, run_evals
from rag_eval.golden.loading import (
    load_golden_dataset,
    load_golden_dataset_from_json,
    read_golden_dataset,
)
from rag_eval.golden.near_duplicates import (
    NearDuplicate,
    near_duplicates,
    without_near_duplicates,
)
from rag_eval.golden.outputs import CaseOutput
from rag_eval.golden.results import CaseResult, CaseSignal, EvalRunResult
from rag_eval.golden.runner import CaseRunner, arun_golden_dataset, run_golden_dataset
from rag_eval.golden.split import GoldenSplit, split_golden_dataset
from rag_eval.golden.tools.regtrace import validate_golden_set
from rag_eval.inputs.checked_records import Fault
from rag_eval.inputs.yaml_files import load_yaml

__all__ = [
    "CaseOutput",
    "CaseResult",
    "CaseRunner",
    "CaseSignal",
    "ChangedCase",
    "EvalRunResult",
    "EvalsResult",
    "EvalsSummary",
    "Fault",
    "GoldenCase",
    "GoldenDataset",
    "GoldenDiff",
    "GoldenSplit",
    "NearDuplicate",
    "arun_evals",
    "arun_golden_dataset",
    "diff_golden_datasets",
    "load_golden_dataset",
    "load_golden_dataset_from_json",
    "load_yaml",
    "near_duplicates",
    "read_golden_dataset",
    "run_evals",
    "run_golden_dataset",
    "split_golden_dataset",
    "validate_golden_set",
    "without_near_duplicates",
]
