"""The panel of each flag in the help of its command; examples come first."""

from __future__ import annotations

import inspect
from typing import Final

import click
import rich_click
from rich_click.rich_panel import RichOptionPanel

_PANELS: Final = {
    "Data": "schema mapping gold_separator context_separator encoding max_row_bytes skip_invalid "
    "allow_missing columns digests id_field label_field annotator_field label_source rows",
    "Scoring": "metrics metric profile language stemmer calibration thresholds scorer_options "
    "composite_threshold composite_weights config details worst target judges variant "
    "label_threshold scale measurement bounds threshold",
    "Gates": "min_pass_rate min_mean max_mean max_judge_failures baseline baselines gating policy "
    "margin tolerance lower_is_better cluster_by slices max_null_rate max_null_rise "
    "max_missing_rows shared_rows edited critical "
    "critical_fails care store run_id spend pin branch regression_threshold "
    "allow_signature_mismatch",
    "Output": "form output prefix summary html junit gitlab markdown github quiet store_columns "
    "slice_by gold_dir resume restart top sort ranks",
    "LLM judge": "mode judge verifier judge_options metric_modes judge_style judge_repeat "
    "cascade_band verifier_band audit_share max_calls budget_usd prices use_cache judge_batch "
    "dry_run",
    "Advanced": "threads quantiles checkpoint_rows allow_changed_input concurrency length_debias "
    "on_judge_failure prompt_overrides judge_seed judge_allow_http "
    "cache_file cache_max_age force alpha adjust "
    "n_resamples seed level epsilon ranks worst_case independent shuffles probe_tokens "
    "against against_labels "
    "allow_missing_labels calibration_labels cross_fit",
}
# What stands elsewhere in one command: `judges` of a run are models, of labels people.
_ELSEWHERE: Final = {
    ("run", "store"): "Output",
    ("run", "cluster_by"): "Output",
    ("report", "cluster_by"): "Output",
    ("run", "judges"): "LLM judge",
    ("score", "judges"): "LLM judge",
    ("debias-check", "judges"): "LLM judge",
}
_FLAGS: Final = "Options"
# A command with fewer flags has one list of them, which is read faster than several.
_FEWEST: Final = 9
_EXAMPLES: Final = "\b\nExamples:"


def arrange(command: click.Command) -> click.Command:
    """Group the flags of a command, and of those below it, and put its examples first."""
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            arrange(inner)
    command.help = _examples_first(inspect.cleandoc(command.help or ""))
    flags = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    if isinstance(command, rich_click.RichCommand) and len(flags) >= _FEWEST:
        names = {
            name: [flag for flag in flags if panel_of(command, flag) == name] for name in _PANELS
        }
        command.panels = [
            RichOptionPanel(name, options=[flag.opts[0] for flag in held])
            for name, held in names.items()
            if held
        ]
    return command


def panel_of(command: click.Command, flag: click.Parameter) -> str:
    """The panel of a flag in a command with many flags; others get the panel Options."""
    own = _ELSEWHERE.get((command.name or "", flag.name or ""))
    return own or next(
        (name for name, held in _PANELS.items() if flag.name in held.split()), _FLAGS
    )


def _examples_first(text: str) -> str:
    paragraphs = text.split("\n\n")
    # The help keeps the lines of an indented block too, without blank lines below it.
    examples = [
        one.removeprefix("\b\n").replace("\n  ", "\n    ")
        for one in paragraphs
        if one.startswith(_EXAMPLES)
    ]
    rest = [one for one in paragraphs if not one.startswith(_EXAMPLES)]
    return "\n\n".join([*rest[:1], *examples, *rest[1:]])
