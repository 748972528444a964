"""Flags of commands that call a function: their defaults are those of the function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import click

from rag_eval.calibration.labelled_files import calibrate_files
from rag_eval.cli.program import program
from rag_eval.comparing.two_runs import compare
from rag_eval.gating.against import gate
from rag_eval.golden.near_duplicates import near_duplicates
from rag_eval.golden.runner import run_golden_dataset
from rag_eval.golden.split import split_golden_dataset
from rag_eval.jobs.judge_checks import check_judge
from rag_eval.jobs.judge_trial import try_judge
from rag_eval.labels.estimating import estimate_labels
from rag_eval.labels.label_files import compare_label_files
from rag_eval.labels.sampling import sample_for_labels
from rag_eval.options.declared import declared
from rag_eval.options.gate_types import PolicyOptions
from tests.tables import every_row

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "calibrate": calibrate_files,
    "compare": compare,
    "estimate": estimate_labels,
    "gate": gate,
    "golden dedupe": near_duplicates,
    "golden run": run_golden_dataset,
    "golden split": split_golden_dataset,
    "judge check": try_judge,
    "judge debias-check": check_judge,
    "labels compare": compare_label_files,
    "labels sample": sample_for_labels,
}
# Flags with another name than the parameter.
RENAMED = {"ngrams": "n", "rows": "n_rows", "shuffles": "n_shuffles", "timeout": "timeout_s"}


def command(path: str) -> click.Command:
    found: click.Command = program
    for name in path.split():
        assert isinstance(found, click.Group)
        inner = found.get_command(click.Context(found), name)
        assert inner is not None
        found = inner
    return found


@every_row("path", FUNCTIONS)
def test_defaults_are_those_of_the_function(path: str) -> None:
    parameters = inspect.signature(FUNCTIONS[path]).parameters
    compared = 0
    for flag in command(path).params:
        assert flag.name is not None
        parameter = parameters.get(RENAMED.get(flag.name, flag.name))
        if not isinstance(flag, click.Option) or parameter is None or flag.multiple:
            continue
        if parameter.default not in (None, inspect.Parameter.empty):
            compared += 1
            option = declared(PolicyOptions).get(flag.name)
            default = flag.to_info_dict()["default"] if option is None else option.default
            assert default == parameter.default, flag.name
    assert compared
