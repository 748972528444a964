"""Numbers in text, and rounded, against JavaScript: values taken from Node 20."""

from __future__ import annotations

import decimal
import math

from hypothesis import given
from hypothesis import strategies as st

from rag_eval.plumbing.javascript_numbers import (
    fixed,
    fixed_number,
    round_half_up,
    shortest,
    three_decimals,
)
from tests.tables import every_row

TO_FIXED_3 = [
    (0.0, "0.000"),
    (-0.0, "0.000"),
    # Odd multiples of 1/16 are the only ties; Python's format rounds them to even.
    (0.0625, "0.063"),
    (0.1875, "0.188"),
    (0.3125, "0.313"),
    (0.4375, "0.438"),
    (0.5625, "0.563"),
    (0.6875, "0.688"),
    (0.8125, "0.813"),
    (0.9375, "0.938"),
    (1.0625, "1.063"),
    (-0.0625, "-0.063"),
    (-0.5625, "-0.563"),
    (1000000.0625, "1000000.063"),
    (2.0**48 + 0.0625, "281474976710656.063"),
    # Look like ties in decimal and are none in binary.
    (0.0005, "0.001"),
    (0.0015, "0.002"),
    (0.0025, "0.003"),
    (0.0035, "0.004"),
    (0.0045, "0.004"),
    (1.0005, "1.000"),
    (1.0015, "1.002"),
    (1.4995, "1.500"),
    (8.3455, "8.345"),
    (10.2345, "10.235"),
    (123456789.0005, "123456789.000"),
    (0.35749999999999998, "0.357"),
    (0.9995, "1.000"),
    (0.99949999, "0.999"),
    (0.99951, "1.000"),
    (0.0004, "0.000"),
    (4.9999e-4, "0.000"),
    (-0.0004, "-0.000"),
    (-0.0005, "-0.001"),
    (-0.0006, "-0.001"),
    (5e-324, "0.000"),
    (1e-7, "0.000"),
    (0.1 + 0.2, "0.300"),
    (1 / 3, "0.333"),
    (2 / 3, "0.667"),
    (100.0, "100.000"),
    (4503599627370495.5, "4503599627370495.500"),
    (9007199254740992.0, "9007199254740992.000"),
    (123456789012345680000.0, "123456789012345683968.000"),
    (1e20, "100000000000000000000.000"),
    (999999999999999900000.0, "999999999999999868928.000"),
    (1e21, "1e+21"),
    (-1e21, "-1e+21"),
    (1.5e21, "1.5e+21"),
    (1.7976931348623157e308, "1.7976931348623157e+308"),
]

TO_FIXED = [
    (0.5, 0, "1"),
    (1.5, 0, "2"),
    (2.5, 0, "3"),
    (-0.5, 0, "-1"),
    (-2.5, 0, "-3"),
    (-0.0, 0, "0"),
    (0.25, 1, "0.3"),
    (0.35, 1, "0.3"),
    (1.45, 1, "1.4"),
    (-0.05, 1, "-0.1"),
    (0.125, 2, "0.13"),
    (1.005, 2, "1.00"),
    (1.125, 2, "1.13"),
    (-1.125, 2, "-1.13"),
    (2.675, 2, "2.67"),
    (4.35, 2, "4.35"),
    (0.0, 4, "0.0000"),
    (0.03125, 4, "0.0313"),
    (1.96325, 4, "1.9632"),
    (0.00005, 4, "0.0001"),
    (-0.00005, 4, "-0.0001"),
    (-0.00004, 4, "-0.0000"),
    (26.94875, 4, "26.9488"),
    (2.68125, 4, "2.6812"),
    (0.50625, 4, "0.5062"),
    (123456789.00005, 4, "123456789.0000"),
    (1e21, 4, "1e+21"),
    (1 / 3, 6, "0.333333"),
    (0.5, 10, "0.5000000000"),
    (math.nan, 2, "NaN"),
    (math.inf, 2, "Infinity"),
    (-math.inf, 2, "-Infinity"),
]

# A value, Math.round(value * 1e4) / 1e4 and Number(value.toFixed(4)).
ROUNDED = [
    (1.96325, 1.9633, 1.9632),
    (1.00115, 1.0012, 1.0011),
    (2.00025, 2.0003, 2.0002),
    (0.58125, 0.5813, 0.5813),
    (-0.58125, -0.5812, -0.5813),
    (-0.00005, 0.0, -0.0001),
    (-0.00001, 0.0, 0.0),
    (-1.5, -1.5, -1.5),
    (0.49999999999999994e-4, 0.0, 0.0),
    (1e300, 1e300, 1e300),
    (math.inf, math.inf, math.inf),
]

TO_STRING = [
    (math.nan, "NaN"),
    (math.inf, "Infinity"),
    (-math.inf, "-Infinity"),
    (0.0, "0"),
    (-0.0, "0"),
    (1.0, "1"),
    (-1.0, "-1"),
    (0.1, "0.1"),
    (0.15, "0.15"),
    (0.2, "0.2"),
    (0.5, "0.5"),
    (4.35, "4.35"),
    (0.1 + 0.2, "0.30000000000000004"),
    (1 / 3, "0.3333333333333333"),
    (-1 / 3, "-0.3333333333333333"),
    (2 / 3, "0.6666666666666666"),
    (1.0000000000000002, "1.0000000000000002"),
    (0.9999999999999999, "0.9999999999999999"),
    (12345.678, "12345.678"),
    (100.0, "100"),
    (1000000.0, "1000000"),
    (123456789.0, "123456789"),
    (4503599627370495.5, "4503599627370495.5"),
    # Python turns to exponents at 1e16, JavaScript at 1e21.
    (1e15, "1000000000000000"),
    (1e16, "10000000000000000"),
    (1.7e17, "170000000000000000"),
    (2.0**53 + 2, "9007199254740994"),
    (2.0**64, "18446744073709552000"),
    (1e20, "100000000000000000000"),
    (123456789012345680000.0, "123456789012345680000"),
    (999999999999999900000.0, "999999999999999900000"),
    (1e21, "1e+21"),
    (-1e21, "-1e+21"),
    (1.5e21, "1.5e+21"),
    (1234567890123456800000.0, "1.2345678901234568e+21"),
    (2.0**70, "1.1805916207174113e+21"),
    (1.2345e25, "1.2345e+25"),
    (1e22, "1e+22"),
    (1e23, "1e+23"),
    (1.7976931348623157e308, "1.7976931348623157e+308"),
    # Python turns to exponents below 1e-4, JavaScript below 1e-6.
    (0.001, "0.001"),
    (0.0001, "0.0001"),
    (0.00001, "0.00001"),
    (0.000001, "0.000001"),
    (0.0000125, "0.0000125"),
    (0.0000012345, "0.0000012345"),
    (9.5e-7, "9.5e-7"),
    (1e-7, "1e-7"),
    (-1e-7, "-1e-7"),
    (1.5e-7, "1.5e-7"),
    (2.2250738585072014e-308, "2.2250738585072014e-308"),
    (5e-324, "5e-324"),
]


@every_row("value, text", TO_FIXED_3)
def test_three_decimals(value: float, text: str) -> None:
    assert three_decimals(value) == text


def test_fixed_takes_any_number_of_decimals() -> None:
    wrong = [(v, d, text, found) for v, d, text in TO_FIXED if (found := fixed(v, d)) != text]
    assert wrong == []


def test_a_product_rounds_otherwise_than_the_number() -> None:
    assert [round_half_up(value, 4) for value, _, _ in ROUNDED] == [row[1] for row in ROUNDED]
    assert [fixed_number(value, 4) for value, _, _ in ROUNDED] == [row[2] for row in ROUNDED]
    assert math.isnan(round_half_up(math.nan, 4))
    assert math.isnan(fixed_number(math.nan, 4))
    assert round_half_up(0.49999999999999994 / 100, 2) == 0.0


def test_a_rounded_number_is_never_minus_zero() -> None:
    """JSON has none: JavaScript writes it as 0, and Python would write -0.0."""
    for rounded in (fixed_number(-0.00001, 4), round_half_up(-0.00001, 4)):
        assert math.copysign(1, rounded) == 1


@every_row("value, text", TO_STRING)
def test_shortest(value: float, text: str) -> None:
    assert shortest(value) == text


def test_python_would_print_ties_otherwise() -> None:
    """What these functions are for: format() and repr() give other texts."""
    assert sum(f"{value:.3f}" != text for value, text in TO_FIXED_3) > 10
    assert sum(repr(value) != text for value, text in TO_STRING) > 20


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_shortest_reads_back(value: float) -> None:
    text = shortest(value)
    assert float(text) == value
    digits = text.split("e")[0].replace(".", "").replace("-", "").strip("0")
    assert len(digits) == len(repr(value).split("e")[0].replace(".", "").strip("-0"))


@given(st.floats(-1e6, 1e6), st.integers(1, 10))
def test_fixed_is_the_nearest(value: float, digits: int) -> None:
    exact, text = decimal.Decimal(value), decimal.Decimal(fixed(value, digits))
    half = decimal.Decimal(5).scaleb(-digits - 1)
    assert abs(exact - text) <= half
    assert text.as_tuple().exponent == -digits
    if abs(exact - text) == half:
        assert abs(text) > abs(exact)


def test_the_callers_decimal_context_changes_nothing() -> None:
    """Regression: a program that computes with a short decimal context got rounded thresholds."""
    with decimal.localcontext() as context:
        context.prec = 3
        context.rounding = decimal.ROUND_DOWN
        context.traps[decimal.Inexact] = True
        assert shortest(0.123456) == "0.123456"
        assert shortest(math.pi) == "3.141592653589793"
        assert three_decimals(1000.0625) == "1000.063"
        assert three_decimals(0.0625) == "0.063"
        assert fixed(0.03125, 4) == "0.0313"
