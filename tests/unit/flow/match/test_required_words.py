"""Tests of required words: a text that passes a test contains them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.conditions import nodes
from tocsin.conditions.nodes import FieldValue, TextTest
from tocsin.flow.match.required_words import BETWEEN_WORDS, required_words

TEXTS = st.text(alphabet="ab1é .,_-/\n\x00中", max_size=12)


def text_test(test: nodes.Test, *texts: str) -> TextTest:
    return TextTest(test, FieldValue("at_x"), texts)


def words(text: str) -> set[str]:
    return set(re.split(BETWEEN_WORDS, text))


@given(before=TEXTS, text=TEXTS, after=TEXTS)
def test_whoever_passes_holds_the_word(before: str, text: str, after: str) -> None:
    passing = {
        nodes.Test.INCLUDES: before + text + after,
        nodes.Test.STARTS_WITH: text + after,
        nodes.Test.ENDS_WITH: before + text,
    }
    for test, passing_text in passing.items():
        assert set(required_words(text_test(test, text))) <= words(passing_text)


@pytest.mark.parametrize(
    ("test", "text", "word"),
    [
        (nodes.Test.INCLUDES, "chapter 123.", "123"),
        (nodes.Test.INCLUDES, "a long word within", "long"),
        (nodes.Test.INCLUDES, " whole ", "whole"),
        (nodes.Test.STARTS_WITH, "chapter 123.", "chapter"),
        (nodes.Test.STARTS_WITH, "chap", None),
        (nodes.Test.ENDS_WITH, "chapter 123", "123"),
        (nodes.Test.INCLUDES, "123", None),
        (nodes.Test.INCLUDES, "", None),
        (nodes.Test.INCLUDES, "in größter Eile", "größter"),
        (nodes.Test.MATCHES, r".*\.t123_0[0-9]", "t123"),
        (nodes.Test.MATCHES, r".*", None),
        (nodes.Test.MATCHES, r"(?:a|b) c .*", "c"),
    ],
)
def test_the_longest_word_that_is_surely_whole_is_taken(test: nodes.Test, text: str, word: str | None) -> None:
    assert required_words(text_test(test, text)) == ((word,) if word else ())


def test_one_text_without_a_word_can_be_anywhere() -> None:
    assert required_words(text_test(nodes.Test.INCLUDES, " a ", " b ")) == ("a", "b")
    assert required_words(text_test(nodes.Test.INCLUDES, " a ", "b")) == ()
