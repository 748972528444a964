"""Settings of an ONNX verifier.  In: its folder and keywords.  Out: all of them, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rag_eval.adapters.onnx_files import SETTINGS, ModelFolder
from rag_eval.errors import InputError, glance, suggestion
from rag_eval.plumbing.checked_values import (
    from_zero,
    one_of,
    share,
    thread_count,
    whole_from_one,
    whole_from_zero,
)

_FEWEST_TOKENS: Final = 16
_MOST_TOKENS: Final = 32_768
_LARGEST_BATCH: Final = 1024
# How inputs are made of texts, or outputs read; another one where probabilities change.
_VERSION: Final = 1


def checked_settings(folder: ModelFolder, given: Mapping[str, Any]) -> dict[str, Any]:
    """All settings, those given here over those of the folder, checked."""
    defaults: dict[str, Any] = {
        "supported": None,
        "output": "logits",
        "tokens": "claim",
        "prompt": "",
        "max_tokens": 512,
        "overlap": 64,
        "batch_size": 8,
        "threads": None,
        "threshold": 0.5,
        "cost_per_claim": 0.0,
        "version": "",
        "name": folder.name,
    }
    settings = {**defaults}
    where = folder.model.with_name(SETTINGS)
    for owner, values in ((f"{where}: ", folder.settings), ("", given)):
        for name, value in values.items():
            if name not in defaults:
                raise InputError(
                    f"{owner}a verifier has no setting {name!r}{suggestion(name, defaults)}"
                )
            settings[name] = value
    if settings["supported"] is None:
        raise InputError(
            'a verifier needs the index of the label that means "supported", for instance '
            f"supported = 1 in {where}. It is in id2label of the config.json of the model"
        )
    whole_from_zero(settings["supported"], "supported")
    one_of(settings["output"], "output", ("logits", "probabilities"))
    one_of(settings["tokens"], "tokens", ("claim", "first"))
    for name, least, most in (
        ("max_tokens", _FEWEST_TOKENS, _MOST_TOKENS),
        ("batch_size", 1, _LARGEST_BATCH),
    ):
        if not least <= whole_from_one(settings[name], name) <= most:
            raise InputError(f"{name} must be from {least} to {most:,}, got {settings[name]}")
    whole_from_zero(settings["overlap"], "overlap")
    settings["threads"] = thread_count(settings["threads"])
    settings["threshold"] = share(settings["threshold"], "threshold")
    settings["cost_per_claim"] = from_zero(settings["cost_per_claim"], "cost_per_claim")
    for name in ("prompt", "version", "name"):
        if not isinstance(settings[name], str):
            raise InputError(f"{name} must be a string, got {glance(settings[name])}")
    return settings


def signed_settings(
    folder: ModelFolder, settings: Mapping[str, Any]
) -> tuple[tuple[str, Any], ...]:
    """What can change a probability."""
    names = ("supported", "output", "tokens", "prompt", "max_tokens", "overlap", "version")
    found = {name: settings[name] for name in names if settings[name] not in ("", None)}
    return (("digest", folder.digest), ("reading", _VERSION), *found.items())
