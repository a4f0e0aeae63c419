"""Tests of names that can be mistaken for others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.model.look_alikes import deceptive_part, invisible_character, look_of


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("jane", "Jane"),
        ("jane", "j\u0430ne"),  # Cyrillic
        ("coco", "\u0441\u043e\u0441\u043e"),  # Cyrillic throughout
        ("tom", "\u0422\u041e\u041c"),
        ("nov", "\u039d\u039f\u03bd"),  # Greek
        ("jane", "\uff4aane"),  # full width
        ("jane", "ja\u200bne"),
        ("jane", "jane\ufe0f"),
        ("jane doe", " jane\u00a0 doe"),
        ("ivy", "\u0131vy"),  # dotless
    ],
)
def test_look_alikes_look_the_same(left: str, right: str) -> None:
    assert left != right
    assert look_of(left) == look_of(right)


@pytest.mark.parametrize(("left", "right"), [("modem", "modern"), ("user1", "userl"), ("jose", "josé"), ("a.b", "ab")])
def test_names_that_can_be_told_apart_look_different(left: str, right: str) -> None:
    assert look_of(left) != look_of(right)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("ja\u200bne", "contains the invisible character U+200B"),
        ("\u202eenaj", "contains the invisible character U+202E"),
        ("ja\u3164ne", "contains the invisible character U+3164"),
        ("\uff4aane", "contains variants of other characters; write 'jane'"),
        ("j\u0430ne", "mixes the scripts Cyrillic and Latin"),
        ("jane ", "begins or ends with a space, or contains several in a row"),
    ],
)
def test_what_deceives_is_named(name: str, problem: str) -> None:
    assert deceptive_part(name) == problem


@pytest.mark.parametrize(
    "name",
    ["jane", "Søren", "Анна", "Ελένη", "田中", "田中 tanaka", "データ-team", "한국 team", "José 2", "नमन", "a.b-c_d@e"],
)
def test_honest_names_of_all_scripts_are_fine(name: str) -> None:
    assert deceptive_part(name) is None


def test_display_names_may_have_emoji_but_nothing_invisible() -> None:
    assert invisible_character("Data \U0001f469\u200d\U0001f4bb\ufe0f") is None
    assert invisible_character("Jane\u202e") == "U+202E"


@given(st.text())
def test_a_look_looks_like_itself(name: str) -> None:
    assert look_of(look_of(name)) == look_of(name)
