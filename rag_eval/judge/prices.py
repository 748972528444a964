"""The cost of calls by the user's price table.

No prices are shipped, because they change.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from rag_eval.errors import InputError, suggestion
from rag_eval.judge.replies import Usage
from rag_eval.plumbing.checked_values import from_zero, share
from rag_eval.plumbing.unreadable import unreadable

_TOKENS_PER_PRICE: Final = 1_000_000
_KEYS: Final = ("input", "output")
# Of input tokens in a server's cache; where they are not given, the price is that of others.
_OF_CACHES: Final = ("cached_input", "cache_write")
_OF_BATCHES: Final = "batch"
# OpenAI and Anthropic both take half for all tokens of a batch: developers.openai.com/api/docs/
# guides/batch and platform.claude.com/docs/en/build-with-claude/batch-processing, November 2026.
_USUAL_BATCH: Final = 0.5


class Price(NamedTuple):
    """USD per million tokens; for tokens taken from and written to a server's cache as well.

    ``batch`` is the share of these prices that is paid for requests in batches.
    """

    input: float
    output: float
    cached_input: float
    cache_write: float
    batch: float = _USUAL_BATCH


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by model.

    Attributes
    ----------
    prices : dict of Price
        By model name or its beginning: ``gpt-5`` also prices ``gpt-5-2025-08-07``, unless a
        longer name matches. The match ends at a word boundary, so ``gpt-4`` does not price
        ``gpt-4o``.
    """

    prices: Mapping[str, Price]

    @classmethod
    def of(cls, table: object, owner: str = "prices") -> Self:
        """The prices in a mapping ``{"gpt-5": {"input": 1.25, "output": 10.0}}``.

        ``cached_input`` and ``cache_write`` can be added: the prices of input tokens that a server
        takes from its cache, or writes to it. ``batch`` is the share of the prices that is paid
        for requests in batches, 0.5 if it is not given.

        Raises
        ------
        InputError
            If the prices of a model are not two numbers of at least 0.
        """
        if not isinstance(table, Mapping):
            raise InputError(f"{owner} must be a table of models, got {type(table).__name__}")
        return cls({str(model): _price(found, model, owner) for model, found in table.items()})

    def price_of(self, model: str | None) -> Price | None:
        """The price of the model, or of the longest matching beginning of its name."""
        if model is None:
            return None
        fitting = [name for name in self.prices if _begins(model, name)]
        return self.prices[max(fitting, key=len)] if fitting else None

    def cost_usd(
        self, usage: Usage, model: str | None, *, is_batched: bool = False
    ) -> float | None:
        """The cost of a call, or of a request in a batch; None if the model has no price."""
        price = self.price_of(model)
        return None if price is None else cost_at(price, usage, is_batched=is_batched)


def cost_at(price: Price, usage: Usage, *, is_batched: bool = False) -> float:
    """The cost of a call at this price, or of a request in a batch."""
    read = usage.input_tokens - usage.cached_tokens - usage.written_tokens
    cost = (
        read * price.input
        + usage.cached_tokens * price.cached_input
        + usage.written_tokens * price.cache_write
        + usage.output_tokens * price.output
    )
    return cost * (price.batch if is_batched else 1.0) / _TOKENS_PER_PRICE


def read_prices(path: str | Path) -> PriceTable:
    """The price table in a TOML file, or in a JSON file whose name ends in ``.json``.

    Raises
    ------
    InputError
        If it cannot be read or is not a price table.
    """
    file = Path(path)
    kind, read = ("JSON", json.loads) if file.suffix.lower() == ".json" else ("TOML", tomllib.loads)
    try:
        table = read(file.read_text("utf-8-sig"))
    except OSError as error:
        raise unreadable(file, error) from None
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8: byte {error.start + 1}") from None
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{file} is not valid {kind}: {error}") from None
    return PriceTable.of(table, str(file))


def price_table(given: Any) -> PriceTable | None:
    """A price table from a table, a mapping or a file path; None for None."""
    if given is None or isinstance(given, PriceTable):
        return given
    return read_prices(given) if isinstance(given, (str, Path)) else PriceTable.of(given)


def _begins(model: str, name: str) -> bool:
    """Whether a name is the model's, or its beginning up to a word boundary."""
    if not model.startswith(name):
        return False
    rest = model[len(name) :]
    return not rest or not rest[0].isalnum() or not name[-1:].isalnum()


def _price(found: object, model: object, owner: str) -> Price:
    where = f"{owner}: {model!r}"
    if not isinstance(model, str) or not model:
        raise InputError(f"{where} is not a model name")
    if not isinstance(found, Mapping):
        raise InputError(f"{where} must have the prices input and output, got {found!r}")
    for key in found:
        if key not in (*_KEYS, *_OF_CACHES, _OF_BATCHES):
            hint = suggestion(key, (*_KEYS, *_OF_CACHES, _OF_BATCHES))
            if isinstance(found[key], Mapping):
                hint = '; quote a name with a dot in TOML: ["gpt-4.1"]'
            raise InputError(f"{where} has no price {key!r}{hint}")
    amounts = {key: _amount(found, key, where) for key in _KEYS}
    for key in _OF_CACHES:
        amounts[key] = _amount(found, key, where) if key in found else amounts["input"]
    batch = share(found.get(_OF_BATCHES, _USUAL_BATCH), f"{where}: {_OF_BATCHES}")
    return Price(**amounts, batch=batch)


def _amount(found: Mapping[str, Any], key: str, where: str) -> float:
    if key not in found:
        raise InputError(f"{where} needs the price {key!r}")
    return from_zero(found[key], f"{where}: {key}")
