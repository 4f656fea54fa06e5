"""Records as plain JSON values and back."""

import math
from dataclasses import dataclass

import pytest

from edgewright.core.json_text import parse_json
from edgewright.core.plain import from_plain, to_json, to_plain


@dataclass(frozen=True)
class Part:
    factors: bytes = b""
    limit: float = 0.0


@dataclass(frozen=True)
class Whole:
    parts: tuple[Part, ...]
    names: dict[str, int]


def test_a_record_comes_back_as_it_was() -> None:
    whole = Whole((Part(b"\x01\xff"), Part(limit=math.inf)), {"a": 1})
    assert from_plain(Whole, parse_json(to_json(whole).decode())) == whole


@pytest.mark.parametrize("factors", [[256], [-1], [1.5], 10**12, "ab", [True]])
def test_what_is_no_list_of_bytes_is_refused(factors: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        from_plain(Part, {"factors": factors})


def test_bytes_are_whole_numbers() -> None:
    assert to_plain(Part(b"\x00\x07")) == {"factors": [0, 7], "limit": 0.0}
