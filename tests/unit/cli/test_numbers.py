"""Numbers of flags: shares may be percentages, and a percentage without its sign is told so."""

from __future__ import annotations

from typing import Any

import click
import pytest

from rag_eval.cli.parameters import A_NUMBER, A_SHARE
from rag_eval.errors import InputError
from rag_eval.options.declared import declared
from rag_eval.options.file_types import ConfigOptions
from tests.commands import invoke
from tests.tables import every_row
from tests.unit.cli.test_flags import command
from tests.unit.cli.test_panels import COMMAND_PATHS

FLAGS = [
    (path, flag)
    for path in COMMAND_PATHS
    for flag in command(path).params
    if isinstance(flag, click.Option)
]
# Seconds, days, dollars, rates, and differences of scores that count as none: no shares.
NO_SHARES = {
    *("--timeout", "--call-timeout", "--run-timeout", "--cache-max-age", "--budget-usd"),
    *("--requests-per-minute", "--tokens-per-minute", "--epsilon", "--weights"),
}
# Those that take a number for a metric, or for all of them.
OF_METRICS = {"--min-mean", "--max-mean", "--thresholds", "--max-null-rate", "--margin"}


def value_of(path: str, flag: click.Option, *texts: str) -> Any:
    context = click.Context(command(path))
    given = list(texts) if flag.multiple else texts[0]
    value, _ = flag.handle_parse_result(context, {flag.name or "": given}, [])
    return value


def test_every_flag_with_a_number_is_of_a_known_kind() -> None:
    floats = {flag.opts[0] for _, flag in FLAGS if flag.type is click.FLOAT}
    assert floats <= NO_SHARES
    in_python = {one.flag_name for one in declared(ConfigOptions).values() if one.kind.by_metric}
    assert in_python - OF_METRICS - NO_SHARES == {"--metric-modes", "--prompt"}
    assert {flag.opts[0] for _, flag in FLAGS if flag.type is A_NUMBER} == {
        *("--threshold", "--label-threshold", "--regression-threshold", "--care"),
    }
    assert sum(flag.type is A_SHARE for _, flag in FLAGS) > 15


@every_row(
    ("path", "flag"), [(path, flag) for path, flag in FLAGS if flag.type in (A_SHARE, A_NUMBER)]
)
def test_percentages_are_read_where_a_share_is_wanted(path: str, flag: click.Option) -> None:
    assert value_of(path, flag, "50%") == value_of(path, flag, "0.5") == 0.5
    with pytest.raises(click.BadParameter, match=r"such as 0\.9 or 90%, got 'much'"):
        value_of(path, flag, "much")
    if flag.type is A_SHARE:
        with pytest.raises(click.BadParameter, match="got '90'; to give a percentage, write 90%"):
            value_of(path, flag, "90")
        with pytest.raises(click.BadParameter, match=r"got '-3'$"):
            value_of(path, flag, "-3")


@every_row(("path", "flag"), [(path, flag) for path, flag in FLAGS if flag.opts[0] in OF_METRICS])
def test_percentages_are_read_for_a_metric(path: str, flag: click.Option) -> None:
    assert value_of(path, flag, "faithfulness=50%") == {"faithfulness": 0.5}
    told = f"{flag.opts[0]}: faithfulness must be between 0 and 1, got 70; to give a percentage"
    with pytest.raises(InputError, match=f"^{told}, write 70%$"):
        value_of(path, flag, "faithfulness=70")
    # The scale of another metric is its own.
    if flag.opts[0] != "--max-null-rate":
        assert value_of(path, flag, "ir.P@5=70") == {"ir.P@5": 70.0}


@pytest.mark.parametrize("text", ["--threshold 70", "--label-threshold 70"])
def test_limits_of_labels_are_shares_for_our_metrics(text: str) -> None:
    done = invoke(
        "labels", "compare", "no.csv", "no.json", "--metric", "faithfulness", *text.split()
    )
    flag = text.split()[0]
    assert done.exit_code == 2
    assert f"error: {flag} of faithfulness must be between 0 and 1, got 70; to give" in done.stderr
    done = invoke("labels", "compare", "no.csv", "no.json", "--metric", "tone", *text.split())
    assert "cannot read no.csv" in done.stderr
