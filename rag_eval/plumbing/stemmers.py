"""The Snowball stemmers of PyStemmer, an optional dependency."""

from __future__ import annotations

from typing import Any

from rag_eval.errors import MissingExtraError


def stemmer_package() -> Any:
    """The package; a MissingExtraError names the extra that brings it."""
    try:
        import Stemmer
    except ImportError:
        raise MissingExtraError(
            "stemmer='snowball' needs PyStemmer: pip install 'rag-eval-native[lang]'"
        ) from None
    return Stemmer


def stemmer_version() -> str:
    """The version of the package, which belongs to the signature: another may stem otherwise."""
    return str(stemmer_package().version())
