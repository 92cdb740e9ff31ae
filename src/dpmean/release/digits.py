"""Numbers as a reader wants them: as many digits as the error supports, and no more."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LARGE, _SMALL = 7, -6  # powers of ten from where on digits are counted in an exponent
_DIGITS = 17  # that a float has


def with_error(value: float, error: float) -> tuple[str, str]:
    """Return a value and its error, which is given two digits, rounded up, and decides where the value ends."""
    if not error > 0 or not math.isfinite(error):
        return plain(value), plain(error)
    place = _read(error).adjusted() - 1
    upper = _round(error, place, up=True)
    if upper.adjusted() - 1 > place:  # 0.0999 is 0.10, not 0.100
        place += 1
        upper = _round(error, place, up=True)
    last = max(place, _read(value).adjusted() - _DIGITS + 1)
    return _written(_round(value, last), last), _written(upper, place)


def between(low: float, high: float, error: float) -> str:
    """Return the ends of an interval, with two digits of its margin of error, rounded outward."""
    if not error > 0 or not math.isfinite(error):
        return f"{plain(low)} to {plain(high)}"
    digits = [_read(end).adjusted() - _DIGITS + 1 for end in (low, high) if end]
    place = max([_read(error).adjusted() - 1, *digits])
    lower, upper = -_round(-low, place, up=True), _round(high, place, up=True)
    return f"{_written(lower, place)} to {_written(upper, place)}"


def plain(value: float, digits: int = 4) -> str:
    """Return a number with this many significant digits, without zeros that say nothing."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}".replace("-0", "0")
    place = _read(value).adjusted() - digits + 1
    rounded = _round(value, place)
    if _SMALL <= rounded.adjusted() < _LARGE:
        text = format(rounded, "f")
        return _signed(text.rstrip("0").rstrip(".") if "." in text else text)
    return power(float(rounded), digits)


def significant(value: float, digits: int) -> str:
    """Return a number with this many significant digits, without a sign that not every terminal has."""
    if value == 0 or not math.isfinite(value):
        return plain(value)
    place = _read(value).adjusted() - digits + 1
    if value == int(value):  # an integer needs no digits after the point, however many are asked for
        place = max(place, 0)
    rounded = _written(_round(value, place), place)
    return rounded.rstrip("0").rstrip(".") if "." in rounded and "e" not in rounded else rounded


def from_to(values: NDArray[np.float64]) -> str:
    """Return the range of some numbers, with two digits."""
    low, high = plain(float(values.min()), 2), plain(float(values.max()), 2)
    return low if low == high else f"{low} to {high}"


def power(value: float, digits: int = 3) -> str:
    """Return a number with a power of ten: 10⁻⁶, 2.5·10⁻⁷."""
    front, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    front = front.rstrip("0").rstrip(".")
    tail = "10" + str(int(exponent)).translate(_SUPERSCRIPTS)
    return tail if front == "1" else f"{_signed(front)}·{tail}"


def small(value: float) -> str:
    """Return a probability with three digits, rounded up, as a power of ten if it is below a thousandth."""
    if value > 0:
        value = float(_round(value, _read(value).adjusted() - 2, up=True))
    return power(value) if 0 < value < 1e-3 else plain(value, 3)


def fraction(value: Fraction) -> str:
    """Return an exact number, as a decimal where that is exact and short."""
    decimal = Decimal(value.numerator) / Decimal(value.denominator)
    if Fraction(decimal) == value and len(text := format(decimal, "f")) <= 12:
        return text
    return f"{value.numerator}/{value.denominator}"


def percent(share: float) -> str:
    """Return a share in per cent, with one digit after the point."""
    return f"{100 * share:.1f} %"


def percent_up(share: float) -> str:
    """Return a share in per cent, rounded up: for what is promised to stay below."""
    return f"{min(math.ceil(1000 * share - 1e-9) / 10, 100.0):.1f} %"


def times_up(factor: float) -> str:
    """Return a factor with three digits, rounded up."""
    if factor >= 10**_LARGE:
        return power(factor * 1.005)
    place = min(_read(factor).adjusted() - 2, 0)
    return _written(_round(factor, place, up=True), place)


def _read(value: float) -> Decimal:
    """Read a float as the decimal it prints as."""
    return Decimal(repr(float(value)))


def _round(value: float, place: int, *, up: bool = False) -> Decimal:
    unit = Decimal(1).scaleb(place)
    whole = _read(value) / unit
    mode = "ROUND_CEILING" if up else "ROUND_HALF_EVEN"
    return whole.to_integral_value(mode) * unit


def _written(value: Decimal, place: int) -> str:
    """Write a number that ends at this place."""
    if value.adjusted() < _LARGE and place >= _SMALL - 2:
        return _signed(format(value.quantize(Decimal(1).scaleb(min(place, 0))), "f"))
    digits = max(value.adjusted() - place, 0) if value else 0
    return _signed(f"{value:.{digits}e}".replace("e+", "e"))


def _signed(text: str) -> str:
    """Write no minus before zero."""
    if not text.startswith("-"):
        return text
    return text if text.strip("-0.") else text[1:]
