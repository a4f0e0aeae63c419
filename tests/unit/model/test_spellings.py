"""Tests of spellings: what readers take for the same text is found, and nothing else."""

from __future__ import annotations

import re
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.model.spellings import constant_parts, fold, spelling_pattern

NAMES = st.text(st.sampled_from("aeszkZS ßẞäÄéİÅçñứИйΣ李.-%"), min_size=1, max_size=8)
WAYS = (
    lambda text: normalize("NFC", text),
    lambda text: normalize("NFD", text),
    lambda text: normalize("NFD", text.upper()),
    lambda text: normalize("NFC", text.casefold()),
)


@given(name=NAMES, way=st.sampled_from(WAYS))
def test_every_spelling_is_found_and_has_the_same_fold(name: str, way: object) -> None:
    assert callable(way)
    spelling = way(name)
    assert re.fullmatch(spelling_pattern(name), spelling, re.IGNORECASE)
    assert fold(spelling) == fold(name)
    place = 0
    for part in constant_parts(name):
        place = spelling.lower().index(part.lower(), place) + len(part)


@pytest.mark.parametrize(
    ("name", "another_name"), [("zoe", "zoë"), ("Weis", "Weiß"), ("Jose", "José"), ("ana", "anna"), ("é", "è")]
)
def test_another_name_is_not_found(name: str, another_name: str) -> None:
    assert not re.fullmatch(spelling_pattern(name), another_name, re.IGNORECASE)
    assert not re.fullmatch(spelling_pattern(name), normalize("NFD", another_name), re.IGNORECASE)
    assert fold(name) != fold(another_name)


def test_only_letters_that_are_spelled_in_one_way_are_constant() -> None:
    assert constant_parts("Zoë.Weiss") == ["Zo", ".Wei"]
    assert constant_parts("Straße") == ["Stra", "e"]
