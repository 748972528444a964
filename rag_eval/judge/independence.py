"""Who stands behind judges and answers: their vendors in, what that casts doubt on out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rag_eval.judge.replies import JudgeIdentity
from rag_eval.judge.server_urls import vendor_of


@dataclass(frozen=True, slots=True)
class Independence:
    """Vendors of the judges, and of the model that wrote the answers.

    A vendor that is not known casts no doubt, and takes none away.

    Attributes
    ----------
    judge_vendors : tuple of str or None
        One for each judge; None where not known.
    generator_vendor : str or None
    """

    judge_vendors: tuple[str | None, ...]
    generator_vendor: str | None = None

    @property
    def one_vendor(self) -> bool:
        """Several judges, all of one vendor: what they agree on may be its habit."""
        return len(self.judge_vendors) > 1 and self._all_of(self.judge_vendors[0])

    @property
    def shares_vendor(self) -> bool:
        """All judges come from the vendor of the model that they judge."""
        return bool(self.judge_vendors) and self._all_of(self.generator_vendor)

    @property
    def outside_judge(self) -> bool:
        """Some judge is known to come from another vendor than the answers."""
        known = {vendor for vendor in self.judge_vendors if vendor is not None}
        return self.generator_vendor is not None and bool(known - {self.generator_vendor})

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before the scores are relied on; empty where nothing is amiss."""
        found = []
        if self.one_vendor:
            found.append(
                f"all {len(self.judge_vendors)} judges are of one vendor "
                f"({self.judge_vendors[0]}): they may share their habits, and agree because of them"
            )
        if self.shares_vendor:
            who = "the judge" if len(self.judge_vendors) == 1 else "every judge"
            found.append(
                f"{who} comes from the vendor of the answers ({self.generator_vendor}): "
                "models are known to favour their own kind"
            )
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "judgeVendors": list(self.judge_vendors),
            "generatorVendor": self.generator_vendor,
            "oneVendor": self.one_vendor,
            "sharesVendor": self.shares_vendor,
            "outsideJudge": self.outside_judge,
            "warnings": list(self.warnings),
        }

    def _all_of(self, vendor: str | None) -> bool:
        return vendor is not None and all(other == vendor for other in self.judge_vendors)


def independence_of(
    judge_vendors: Sequence[str | None], generator_vendor: str | None = None
) -> Independence:
    """Whether judges are independent of each other and of the answers' model.

    Parameters
    ----------
    judge_vendors : sequence of str or None
        One for each judge; upper and lower case are one.
    generator_vendor : str, optional
        Of the model that wrote the answers, when it is known.
    """
    return Independence(tuple(map(_plain, judge_vendors)), _plain(generator_vendor))


def independence_warnings(
    judges: Iterable[JudgeIdentity], generator_vendor: str | None = None
) -> tuple[str, ...]:
    """What the vendors of judges cast doubt on; empty where nothing is amiss or known."""
    return independence_of(list(map(vendor_of, judges)), generator_vendor).warnings


def _plain(vendor: str | None) -> str | None:
    return (vendor or "").strip().lower() or None
