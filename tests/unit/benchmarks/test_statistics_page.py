"""The page of simulations: its bars, and sections that are simulated anew by themselves."""

from __future__ import annotations

import pytest

from benchmarks.rendering import Bar
from benchmarks.statistics.page import Figures, Section, joined, lost, renewed, two_errors
from tests.tables import every_row


def section(name: str, share: float) -> Section:
    covers = Figures(f"{name} cover", 0.93, least=True)
    covers.add(share, "n = 50")
    return Section(f"## Of {name}\n\nText of {name}, {share}.", [covers.bar])


def test_a_section_simulated_anew_leaves_the_others_as_they_are() -> None:
    page = renewed("", "# Page\n", {name: section(name, 0.95) for name in ("coverage", "tests")})
    again = renewed(page, "# Page\n", {"tests": section("tests", 0.90)})
    assert "| coverage | coverage cover | ≥ 0.93 | 0.950 (n = 50) | met |" in again
    assert "| tests | tests cover | ≥ 0.93 | 0.900 (n = 50) | **lost** |" in again
    assert again.count("| tests |") == 1
    assert "Text of coverage, 0.95." in again
    assert "Text of tests, 0.95." not in again
    assert again.index("| coverage |") < again.index("| tests |") < again.index("## Of coverage")
    assert renewed(again, "# Page\n", {}) == again


def test_rows_of_a_table_are_no_requirements_of_its_section() -> None:
    """A table whose head began with "tests" was taken for one of them."""
    table = Section("## Tests\n\n| tests | rows |\n| --- | --- |\n| 7 | 20 |")
    page = renewed("", "# Page\n", {"tests": table})
    again = renewed(page, "# Page\n", {"coverage": section("coverage", 0.95)})
    assert again.count("| tests | rows |") == 1


def test_a_section_that_was_never_simulated_finds_its_place() -> None:
    page = renewed("", "# Page\n", {"predictions": section("predictions", 0.95)})
    page = renewed(page, "# Page\n", {"coverage": section("coverage", 0.95)})
    assert page.index("Of coverage") < page.index("Of predictions")


@every_row(
    ("least", "shares", "worst", "missed"),
    [
        (True, (0.95, 0.91, 0.94), "0.910 (b)", []),
        (True, (0.95, 0.90, 0.89), "0.890 (c)", ["b: 0.900", "c: 0.890"]),
        (False, (0.95, 0.94, 0.91), "0.950 (a)", []),
        (False, (0.96, 0.94, 0.91), "0.960 (a)", ["a: 0.960"]),
    ],
)
def test_the_worst_share_stands_beside_its_bar(
    least: bool, shares: tuple[float, ...], worst: str, missed: list[str]
) -> None:
    figures = Figures("some", 0.93, slack=0.025, least=least)
    for share, where in zip(shares, "abc", strict=True):
        figures.add(share, where)
    assert (figures.bar.measured, figures.bar.met) == (worst, not missed)
    assert figures.missed == missed
    assert lost(figures) == (
        f"Missed: {'; '.join(missed)}." if missed else "Every row meets its threshold."
    )


def test_tables_are_joined_with_their_bars() -> None:
    bars = [Bar("a", "b", "c", True), Bar("d", "e", "f", False)]
    whole = joined([Section("one\n", bars[:1]), Section("two"), Section("\nthree", bars[1:])])
    assert whole == Section("one\n\ntwo\n\nthree", bars)


def test_two_errors_of_a_share() -> None:
    assert two_errors(0.05, 4_000) == pytest.approx(0.0069, abs=1e-4)
