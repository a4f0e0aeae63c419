"""Tests of syntax errors, with position and expected tokens."""

from __future__ import annotations

import pytest

from tocsin.conditions import syntax
from tocsin.conditions.parse import MAX_BYTES, MAX_DEPTH, parse
from tocsin.errors import InvalidCondition


@pytest.mark.parametrize(
    ("text", "line", "column", "expected"),
    [
        ("", 1, 1, "a condition"),
        ("   \n", 1, 1, "a condition"),
        ("eventType ==", 1, 13, "text in quotes"),
        ("eventType == 'a' &&", 1, 20, "a field or function"),
        ("eventType == 'a' &&\n  && isBot()", 2, 3, "!"),
        ("(isBot()", 1, 9, ")"),
        ("isBot())", 1, 8, "the end"),
        ("tags.contains('a'", 1, 18, ")"),
        ("eventType = 'a'", 1, 11, "=="),
        ("isBot() userName", 1, 9, "&&"),
        ("a < b < c", 1, 7, "the end"),
        ("userName == 'ann", 1, 13, "a closing quote"),
        ("entity.columns[1.5].name", 1, 16, "an integer"),
        ("entity.columns[-1].name", 1, 16, "an integer"),
        ("entity.columns[2147483648].name", 1, 16, "an integer"),
        (f"entity.columns[{'9' * 4_000}].name", 1, 16, "an integer"),
        ("{'a', eventType}", 1, 7, "text in quotes"),
        ("userName == #", 1, 13, "a number"),
        ("isBot() ||\n  userName == 'a\x00b'", 2, 17, "another character"),
    ],
)
def test_an_error_says_where_and_what_was_expected(text: str, line: int, column: int, expected: str) -> None:
    with pytest.raises(InvalidCondition) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert expected in caught.value.expected


def test_a_condition_of_more_than_four_kilobytes_is_refused() -> None:
    longest = "userName == '" + "x" * (MAX_BYTES - len("userName == ''")) + "'"
    parse(longest)
    with pytest.raises(InvalidCondition, match="longer than 4096 bytes"):
        parse(longest + " ")
    with pytest.raises(InvalidCondition, match="longer than 4096 bytes"):
        parse("userName == '" + "é" * 2048 + "'")


def test_a_condition_nested_too_deep_is_refused_however_deep_it_is() -> None:
    parse("!" * (MAX_DEPTH - 1) + "isBot()")
    for count in (MAX_DEPTH, 4000):
        with pytest.raises(InvalidCondition, match="nested more than 32"):
            parse("!" * count + "isBot()")


def test_a_long_chain_is_not_deep() -> None:
    assert syntax.depth(parse(" || ".join(["isBot()"] * 300))) == 2


def test_parentheses_alone_add_no_depth() -> None:
    assert parse("(" * 100 + "isBot()" + ")" * 100) == syntax.Call("isBot", (), syntax.Position(1, 101))


def test_a_word_that_begins_like_a_keyword_is_a_name() -> None:
    assert parse("input") == syntax.Name("input", syntax.Position(1, 1))
    assert isinstance(parse("notable"), syntax.Name)


def test_a_key_may_be_called_like_a_keyword() -> None:
    step = parse("entity.matches.in")
    assert isinstance(step, syntax.PathStep)
    assert step.key == "in"


def test_a_doubled_quote_stands_for_one_and_a_backslash_for_itself() -> None:
    assert parse("'it''s'") == syntax.Word("it's", syntax.Position(1, 1))
    assert parse('"say ""a"""') == syntax.Word('say "a"', syntax.Position(1, 1))
    assert parse(r"'a\.b'") == syntax.Word(r"a\.b", syntax.Position(1, 1))


def test_a_number_without_end_is_refused() -> None:
    with pytest.raises(InvalidCondition, match="too large"):
        parse("timestamp > 1e999")


def test_not_binds_tighter_than_and_and_and_tighter_than_or() -> None:
    either = parse("a || !b && c")
    assert isinstance(either, syntax.Junction)
    assert either.operator == "or"
    both = either.operands[1]
    assert isinstance(both, syntax.Junction)
    assert both.operator == "and"
    assert isinstance(both.operands[0], syntax.Negation)
