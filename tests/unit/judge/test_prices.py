"""Price tables: what they take, which model they price, and what a call costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.judge.prices import Price, PriceTable, price_table, read_prices
from rag_eval.judge.replies import Usage
from tests.tables import every_row

TABLE = {
    "gpt-5": {"input": 1.25, "output": 10.0},
    "gpt-5-mini": {"input": 0.25, "output": 2},
    "gpt-4": {"input": 30.0, "output": 60.0},
    "claude-": {"input": 3.0, "output": 15.0},
}


@every_row(
    ("model", "expected"),
    [
        ("gpt-5", 1.25),
        ("gpt-5-2025-08-07", 1.25),
        ("gpt-5-mini", 0.25),
        ("gpt-5-mini-2025-08-07", 0.25),
        ("gpt-5:latest", 1.25),
        ("claude-opus", 3.0),
        # The beginning of a word is another model.
        ("gpt-4o", None),
        ("gpt-50", None),
        ("gpt", None),
        ("o3", None),
        (None, None),
    ],
)
def test_a_model_has_the_price_of_the_longest_name_it_begins_with(
    model: str | None, expected: float | None
) -> None:
    price = PriceTable.of(TABLE).price_of(model)
    assert (None if price is None else price.input) == expected


def test_a_price_is_of_a_million_tokens() -> None:
    table = PriceTable.of(TABLE)
    assert table.cost_usd(Usage(2_000_000, 500_000), "gpt-5") == 2 * 1.25 + 0.5 * 10.0
    assert table.cost_usd(Usage(0, 0), "gpt-5") == 0.0
    assert table.cost_usd(Usage(1, 1), "o3") is None


@every_row(
    ("table", "message"),
    [
        ([1], "prices must be a table of models, got list"),
        ({"m": 3.0}, "prices: 'm' must have the prices input and output, got 3.0"),
        ({"m": {"input": 1.0}}, "prices: 'm' needs the price 'output'"),
        (
            {"m": {"input": 1.0, "outputs": 2.0}},
            "prices: 'm' has no price 'outputs'; did you mean 'output'?",
        ),
        ({"m": {"input": "1", "output": 2}}, "prices: 'm': input must be a number, got str"),
        ({"m": {"input": True, "output": 2}}, "prices: 'm': input must be a number, got bool"),
        ({"m": {"input": -1, "output": 2}}, "prices: 'm': input must be at least 0, got -1"),
        (
            {"m": {"input": 1, "output": float("nan")}},
            "prices: 'm': output must be finite, got nan",
        ),
        ({"": {"input": 1, "output": 2}}, "prices: '' is not a model name"),
        ({5: {"input": 1, "output": 2}}, "prices: 5 is not a model name"),
    ],
)
def test_what_is_no_price_is_named(table: Any, message: str) -> None:
    with pytest.raises(InputError) as raised:
        PriceTable.of(table)
    assert str(raised.value) == message


@every_row(
    ("prices", "cost"),
    [
        ({}, 1000 * 2 + 10 * 8),
        ({"cached_input": 0.5}, 300 * 2 + 600 * 0.5 + 100 * 2 + 10 * 8),
        ({"cached_input": 0.5, "cache_write": 3}, 300 * 2 + 600 * 0.5 + 100 * 3 + 10 * 8),
    ],
)
def test_tokens_of_a_servers_cache_have_their_own_price(
    prices: dict[str, float], cost: float
) -> None:
    table = PriceTable.of({"m": {"input": 2, "output": 8, **prices}})
    usage = Usage(1000, 10, cached_tokens=600, written_tokens=100)
    assert table.cost_usd(usage, "m") == cost / 1e6


def test_prices_are_read_from_toml_and_json(tmp_path: Path) -> None:
    toml = tmp_path / "prices.toml"
    toml.write_text('[gpt-5]\ninput = 1.25\noutput = 10\n["gpt-4.1"]\ninput = 2\noutput = 8\n')
    as_json = tmp_path / "prices.JSON"
    as_json.write_text(json.dumps(TABLE))
    assert read_prices(toml).prices == {
        "gpt-5": Price(1.25, 10.0, 1.25, 1.25),
        "gpt-4.1": Price(2.0, 8.0, 2.0, 2.0),
    }
    assert read_prices(str(as_json)) == PriceTable.of(TABLE)


def test_a_name_with_a_dot_has_to_be_quoted(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text("[gpt-4.1]\ninput = 2\noutput = 8\n")
    with pytest.raises(InputError, match=r"'gpt-4' has no price '1'; quote a name with a dot"):
        read_prices(path)


@every_row(
    ("name", "content", "message"),
    [
        ("p.toml", b"gpt = [", "is not valid TOML"),
        ("p.json", b"{", "is not valid JSON"),
        ("p.toml", b"\xff", "is not UTF-8: byte 1"),
        ("p.json", b"[]", "must be a table of models, got list"),
    ],
)
def test_a_file_that_holds_no_prices_is_named(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as raised:
        read_prices(path)
    assert str(path) in str(raised.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*none\.toml: No such file"):
        read_prices(tmp_path / "none.toml")


def test_a_table_is_taken_in_any_form(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(TABLE))
    table = PriceTable.of(TABLE)
    assert price_table(None) is None
    assert price_table(table) is table
    assert price_table(TABLE) == price_table(path) == price_table(str(path)) == table


def test_a_batch_costs_its_share_of_the_prices() -> None:
    table = PriceTable.of(
        {"m": {"input": 2, "output": 8}, "n": {"input": 2, "output": 8, "batch": 0.3}}
    )
    usage = Usage(1_000_000, 500_000)
    costs = [
        table.cost_usd(usage, model, is_batched=batched)
        for model in ("m", "n")
        for batched in (False, True)
    ]
    assert costs == pytest.approx([6.0, 3.0, 6.0, 1.8])
    with pytest.raises(InputError, match="'m': batch must be between 0 and 1, got 50"):
        PriceTable.of({"m": {"input": 2, "output": 8, "batch": 50}})
