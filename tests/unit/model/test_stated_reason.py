"""Tests of stated reasons: what is one, and how a header says it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.errors import InvalidInput
from tocsin.model.stated_reason import LONGEST_REASON, header_value, parse_reason, reason_in_header


@pytest.mark.parametrize(
    "text", ["backfill of October", "50 % off, see #12", "Grüße aus 東京", "👩‍🔧 mended", "'" * 500]
)
def test_a_line_of_plain_text_is_a_reason(text: str) -> None:
    assert parse_reason(f"  {text} ") == text


@pytest.mark.parametrize("text", ["", "   "])
def test_nothing_is_no_reason(text: str) -> None:
    assert parse_reason(text) is None


@pytest.mark.parametrize(
    "text", ["a\r\nSet-Cookie: b", "a\nb", "a\tb", "a\0b", "a\x1b[31mb", "a\u2028b", "a\u202eb", "a\u2066b", "a\x85b"]
)
def test_controls_and_marks_of_direction_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="plain text in one line"):
        parse_reason(text)


def test_a_long_reason_is_refused() -> None:
    assert parse_reason("x" * LONGEST_REASON) == "x" * LONGEST_REASON
    with pytest.raises(InvalidInput, match="at most 500 characters"):
        parse_reason("x" * (LONGEST_REASON + 1))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"plain", "plain"),
        ("Grüße".encode(), "Grüße"),
        (b"UTF-8''Gr%C3%BC%C3%9Fe%20%22a%22", 'Grüße "a"'),
        (b"utf-8'de'caf%c3%a9", "café"),
        (b"100%25 of it", "100%25 of it"),
        (b"", None),
        (b"UTF-8''", None),
    ],
)
def test_a_header_says_a_reason_as_it_is_or_as_an_extended_value(value: bytes, reason: str | None) -> None:
    assert reason_in_header(value) == reason


@pytest.mark.parametrize(
    "value",
    [
        b"caf\xe9",
        b"UTF-8''caf%E9",
        b"UTF-8''a b",
        b"UTF-8''%zz",
        b"UTF-8''%0D%0ASet-Cookie:%20a",
        b"UTF-8''a%0Ab",
        b"UTF-8''" + b"%C3%BC" * (LONGEST_REASON + 1),
    ],
)
def test_other_values_are_refused(value: bytes) -> None:
    with pytest.raises(InvalidInput):
        reason_in_header(value)


@given(st.text(max_size=LONGEST_REASON))
def test_every_reason_comes_out_of_a_header_as_it_went_in(text: str) -> None:
    try:
        reason = parse_reason(text)
    except InvalidInput:
        return
    if reason is not None:
        value = header_value(reason)
        assert value.isascii()
        assert value.isprintable()
        assert reason_in_header(value.encode()) == reason
