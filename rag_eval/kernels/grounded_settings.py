"""Parameters of the grounded profile, checked and in the form the kernels take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from rag_eval.errors import InputError, suggestion
from rag_eval.kernels.languages import LISTED, language_code
from rag_eval.plumbing.extras import stemmer_package, stemmer_version
from rag_eval.samples import Profile

Stemmer: TypeAlias = Literal["light", "snowball"]
"""Light English stems, or Snowball's for every language that it knows (extra ``lang``)."""

STEMMERS: Final[tuple[Stemmer, ...]] = ("light", "snowball")
DETECT: Final = -1
_NO_LIST: Final = 0


def language_number(code: str | None) -> int:
    """The kernels' number of a language; that of "und" where it has no list of words."""
    if code is None:
        return DETECT
    return LISTED.index(code) if code in LISTED else _NO_LIST


@dataclass(frozen=True, slots=True)
class GroundedSettings:
    """The options of the grounded profile with all defaults filled in; hashable, comparable.

    Attributes
    ----------
    language : str or None
        Code of the language that every row is read in; None detects it row by row.
    stemmer : {"light", "snowball"}
    """

    language: str | None = None
    stemmer: Stemmer = "light"

    @property
    def profile(self) -> Profile:
        """The profile that these are settings of."""
        return "grounded"

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> GroundedSettings:
        """Settings from normalized options; None means the default."""
        language, stemmer = options.get("language"), options.get("stemmer")
        if language is not None:
            if not isinstance(language, str):
                raise InputError(f"language must be a language tag, got {language!r}")
            language = language_code(language)
        if stemmer is None or stemmer == "light":
            return cls(language)
        if stemmer != "snowball":
            hint = suggestion(stemmer, STEMMERS)
            raise InputError(f"stemmer must be 'light' or 'snowball', got {stemmer!r}{hint}")
        stemmer_package()  # missing, it is missed here
        return cls(language, "snowball")

    def only(self, names: Sequence[str]) -> dict[str, Any]:
        """The named settings, as JSON values."""
        values = {"language": self.language or "detected", "stemmer": self._stemmer()}
        return {name: value for name, value in values.items() if name in names}

    def _stemmer(self) -> str:
        return "light" if self.stemmer == "light" else f"snowball {stemmer_version()}"
