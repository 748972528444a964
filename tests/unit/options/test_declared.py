"""An option is declared once: flags, keys of rag-eval.toml and pages follow, or say why not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import click
import pytest

from rag_eval.cli.run import run_command
from rag_eval.cli.score import score_command
from rag_eval.errors import InputError
from rag_eval.inputs.opened import InputOptions
from rag_eval.kernels.settings import settings_of
from rag_eval.options import file_types, gate_types, judge_types, types
from rag_eval.options.config_file import read_config
from rag_eval.options.declared import FLAG, Option, declared
from rag_eval.options.file_types import (
    BatchScorerOptions,
    ConfigOptions,
    RunOptions,
    ScoreFileOptions,
)
from rag_eval.options.types import EvaluateOptions, EvaluatorConfig, HeuristicOptions
from tests.tables import every_row

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference"
FORMS: list[type] = [
    form
    for module in (types, judge_types, gate_types, file_types)
    for name, form in vars(module).items()
    if name.endswith(("Options", "Config")) and form.__module__ == module.__name__
]
# Forms that a command takes, and the command.
COMMANDS = {"run": (RunOptions, run_command)}
COMMANDS["score"] = (ScoreFileOptions, score_command)


def all_options() -> dict[str, Option]:
    return {**declared(ConfigOptions), **declared(ScoreFileOptions), **declared(EvaluatorConfig)}


def test_every_key_of_every_form_is_declared_beside_its_type() -> None:
    assert {BatchScorerOptions, EvaluateOptions, ConfigOptions, HeuristicOptions} <= set(FORMS)
    for form in FORMS:
        hints = get_type_hints(form, include_extras=True)
        assert hints.keys() == declared(form).keys()
        for name, hint in hints.items():
            assert get_origin(hint) is Annotated, f"{form.__name__}.{name}"
            static, option = get_args(hint)
            assert isinstance(option, Option)
            assert static is Any or type(None) in get_args(static), f"{name} takes no None"
            assert option.help.endswith("."), name


def test_an_option_of_several_forms_takes_the_same_values_in_all() -> None:
    for form in FORMS:
        for name, option in declared(form).items():
            other = all_options().get(name)
            assert other is None or form is HeuristicOptions or other.kind == option.kind, name


@every_row("name", COMMANDS)
def test_every_option_has_its_flag_or_says_why_not(name: str) -> None:
    form, command = COMMANDS[name]
    on_command = {
        parameter.name: parameter
        for parameter in command.params
        if isinstance(parameter, click.Option)
    }
    for option in declared(form).values():
        assert bool(option.no_flag) != (option.name in on_command), option.name
        if option.no_flag:
            continue
        flag = on_command[option.name]
        assert flag.opts[0] == option.flag_name
        assert flag.help == option.flag_text or option.name == "store"
        assert flag.is_flag == (option.kind is FLAG) or option.name == "store"


def values_in_toml(option: Option) -> str:
    if option.kind.choices:
        return repr(option.default or option.kind.choices[0])
    if option.name == "encoding":
        return "'utf-8'"
    by_type = {bool: "true", float: "0.5", int: "1", str: "'x'", list: "[]", dict: "{}"}
    return next(text for kind, text in by_type.items() if kind in option.kind.in_toml)


@every_row("option", all_options().values(), ids=lambda option: option.name)
def test_every_option_is_a_key_of_the_file_or_says_why_not(option: Option, tmp_path: Path) -> None:
    file = tmp_path / "rag-eval.toml"
    file.write_text(f"{option.name} = {'1' if option.no_toml else values_in_toml(option)}")
    if not option.no_toml:
        assert option.name in read_config(file)
        return
    with pytest.raises(InputError) as raised:
        read_config(file)
    if option.name in declared(ConfigOptions):
        said = f"{option.name} is not allowed in a configuration file: {option.no_toml}"
        assert said in str(raised.value)


def test_a_key_may_be_spelt_as_its_flag(tmp_path: Path) -> None:
    file = tmp_path / "rag-eval.toml"
    file.write_text("call_timeout = 3\nweights = {}\nmap = {question = 'q'}")
    assert read_config(file) == {
        "call_timeout_s": 3.0,
        "composite_weights": {},
        "mapping": {"question": "q"},
    }
    file.write_text("weights = {}\ncomposite_weights = {}")
    with pytest.raises(InputError, match="composite_weights is given twice"):
        read_config(file)


def test_every_option_is_on_the_page_of_options() -> None:
    page = (REFERENCE / "options.md").read_text("utf-8")
    for form in FORMS:
        for name in declared(form):
            assert f"| `{name}` |" in page, name


def test_docstrings_list_the_options_of_a_form() -> None:
    doc = HeuristicOptions.__doc__ or ""
    assert "claim_support_threshold : a number, default 0.15\n" in doc
    assert "audit_share : a number from 0 to 1, default 0.02\n" in (
        judge_types.JudgeOptions.__doc__ or ""
    )


def test_defaults_are_those_of_what_the_options_become() -> None:
    heuristic = declared(HeuristicOptions)
    assert {name: getattr(settings_of({}), name) for name in heuristic} == {
        name: option.default for name, option in heuristic.items()
    }
    limit = declared(RunOptions)["max_row_bytes"]
    assert limit.default_text.startswith(f"{InputOptions().max_row_bytes},")
    assert declared(EvaluateOptions)["profile"].default == settings_of({}).profile
