# SPDX-License-Identifier: Apache-2.0
"""Arguments that are no arrays: what is not as it must be is refused here, by its name and value, before it comes to the C interface's types."""
from __future__ import annotations

import operator
import re
from typing import Any, Container, Iterable, Mapping, TypeVar

from ._errors import ArgumentError

INT32 = -1 << 31, (1 << 31) - 1
INT64 = -1 << 63, (1 << 63) - 1
UINT64 = 0, (1 << 64) - 1
SIZE = 0, INT64[1]
_NO_TEXT = re.compile("[\0\ud800-\udfff]")  # ends a text of C, and has no UTF-8
_Value = TypeVar("_Value")


def shown(value: Any) -> str:
    """A value for a sentence, of a line at most."""
    digits = isinstance(value, int) and value.bit_length() > 1 << 13  # more than Python writes
    line = " ".join((hex(value) if digits else repr(value)).split())
    return line if len(line) <= 100 else f"{line[:97]}..."


def integer(name: str, value: Any, limits: tuple[int, int] = INT64) -> int:
    """An integer of Python, numpy or another library, as Python's."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{name}={shown(value)} is no integer") from None
    if not limits[0] <= number <= limits[1]:
        raise ArgumentError(f"{name}={shown(number)} is not between {limits[0]} and {limits[1]}")
    return number


def real(name: str, value: Any) -> float:
    """A number as Python's; a text is none, though float() reads it."""
    try:
        if not isinstance(value, (str, bytes)):
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ArgumentError(f"{name}={shown(value)} is no number that f64 holds")


def text(name: str, value: Any) -> str:
    if not isinstance(value, str) or _NO_TEXT.search(value):
        raise ArgumentError(f"{name}={shown(value)} is no text of UTF-8 without NUL")
    return value


def one_of(name: str, value: Any, table: Mapping[Any, _Value]) -> _Value:
    """What a table has under a name, or None."""
    if (value is not None and not isinstance(value, str)) or value not in table:
        raise ArgumentError(f"{name}={shown(value)} is none of {', '.join(known for known in table if known)}")
    return table[value]


def function(name: str, value: Any) -> Any:
    """What can be called, or None."""
    if value is not None and not callable(value):
        raise ArgumentError(f"{name}={shown(value)} cannot be called")
    return value


def listed(name: str, values: Any, wanted: str = "a list is wanted") -> list[Any]:
    """What can be iterated over; errors of iterating are its own."""
    try:
        found: Iterable[Any] = iter(values)
    except TypeError:
        raise ArgumentError(f"{name}={shown(values)}: {wanted}") from None
    return list(found)


def integer_tuple(name: str, values: Any, counts: Container[int], wanted: str, limits: tuple[int, int] = INT64) -> tuple[int, ...]:
    """So many integers."""
    found = listed(name, values, wanted)
    if len(found) not in counts:
        raise ArgumentError(f"{name}={shown(values)}: {wanted}")
    return tuple(integer(f"{name}[{i}]", value, limits) for i, value in enumerate(found))
