"""Tests of the wording of values in messages."""

from __future__ import annotations

import pytest

from tocsin.model.phrases import LONGEST_WORD, nearest, value_in_words


@pytest.mark.parametrize(
    ("value", "phrase"),
    [
        ("Tier.Tier1", "Tier.Tier1"),
        (False, "false"),
        (2, "2"),
        (1.5, "1.5"),
        (None, "null"),
        ({"ü": [1]}, '{"ü": [1]}'),
    ],
)
def test_a_text_stands_as_it_is_and_all_else_as_json(value: object, phrase: str) -> None:
    assert value_in_words(value) == phrase


def test_what_is_too_long_for_a_name_is_compared_with_none() -> None:
    assert nearest("colums", ["columns"]) == "columns"

    class NeverRead(list[str]):
        def __iter__(self):  # type: ignore[no-untyped-def]
            raise AssertionError("compared")

    assert nearest("k" * (LONGEST_WORD + 1), NeverRead()) is None
