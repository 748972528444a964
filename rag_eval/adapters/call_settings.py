"""What every call of a judge behind a server is made with."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any

from rag_eval.errors import InputError
from rag_eval.plumbing.checked_values import whole_from_one


@dataclass(frozen=True, slots=True)
class CallSettings:
    """The settings of every call of a judge.

    Attributes
    ----------
    model : str
    temperature : float or None
        None for the server's default.
    max_output_tokens : int
    structured : bool
        Replies are held to their JSON schema where the server can do so.
    timeout_s : float
        For one call, from sending to the last byte.
    extra : mapping
        Further parameters, sent as they are.
    effort : str or None
        How long a reasoning model may think.
    headers : mapping
        Further headers; no part of what a judge is known by.
    """

    model: str
    temperature: float | None
    max_output_tokens: int
    structured: bool
    timeout_s: float
    extra: Mapping[str, Any]
    effort: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def parameters(self) -> tuple[tuple[str, Any], ...]:
        """Those that can change a verdict, as asked for, whatever the server then takes."""
        own: dict[str, Any] = {
            "temperature": self.temperature,
            "max_output_tokens": self.max_output_tokens,
            "structured": bool(self.structured),
        }
        if self.effort is not None:
            own["reasoning_effort"] = self.effort
        return tuple(sorted({**self.extra, **own}.items()))

    def check(self, reserved: Container[str]) -> None:
        """Raise an InputError that names the one that cannot be."""
        if not isinstance(self.model, str) or not self.model.strip():
            raise InputError(f"model must be the name of a model, got {self.model!r}")
        if self.temperature is not None and not _is_from_zero(self.temperature):
            raise InputError(
                f"temperature must be a number of at least 0 or None, got {self.temperature!r}"
            )
        whole_from_one(self.max_output_tokens, "max_output_tokens")
        if not _is_from_zero(self.timeout_s) or self.timeout_s == 0:
            raise InputError(f"timeout_s must be a number above 0, got {self.timeout_s!r}")
        for name in self.extra:
            if name in reserved or name.startswith("extra_"):
                raise InputError(f"{name} cannot be set: every call has its own")


def _is_from_zero(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0
