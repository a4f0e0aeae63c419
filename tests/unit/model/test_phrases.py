"""Tests of the wording of values in messages."""

from __future__ import annotations

import pytest

from tocsin.model.phrases import LONGEST_WORD, list_text, nearest, nearest_by_word, similar, value_in_words


def test_of_many_names_the_first_are_said_and_the_others_counted() -> None:
    texts = [list_text("abcde"[:count]) for count in range(6)]
    assert texts == ["", "a", "a and b", "a, b and c", "a, b, c and 1 more", "a, b, c and 2 more"]


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


@pytest.mark.parametrize(
    ("word", "similar_name"),
    [
        ("dana", "dana.whitlock"),
        ("Whitlock", "dana.whitlock"),
        ("dana.witlock", "dana.whitlock"),
        ("ana", "dana.whitlock"),
        ("a.", None),
        ("", None),
        ("lea", None),
        ("d" * (LONGEST_WORD + 1), None),
    ],
)
def test_a_part_of_a_name_means_the_shortest_that_contains_it(word: str, similar_name: str | None) -> None:
    assert similar(word, ["dana.whitlock.the.younger", "dana.whitlock", "elena.ruiz"]) == similar_name


def test_a_word_of_a_name_counts_where_no_whole_name_is_near() -> None:
    people = [("dana.whitlock", 1), ("dan", 2), ("elena.ruiz", 3)]
    assert nearest_by_word("danna", people) == [2]
    assert nearest_by_word("danna", [people[0], people[2]]) == [1]
    assert nearest_by_word("whitlok", people) == [1]
    assert nearest_by_word("nobody", people) == []
