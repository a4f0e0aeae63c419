"""Tests of reading YAML with places, and of writing it: every value comes back, also through another reader."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tocsin.cli.yaml_documents import YamlDocument, placed_json, read_yaml, to_yaml
from tocsin.errors import InvalidInput

TEXT = """# a comment
- name: a
  numbers: [1, 012, 1.5, 1e3, ~, null, "5", 'it''s', 2026-01-01, 0x1f, yes, true]
  plain: tags ==
    foo  bar
  literal: |
    ab cd
      ef gh
  folded: >-
    ab cd
    ef gh
  quoted: "a \\"b\\" \\u0041 c\\
    d"
  single: 'it''s so'
  anchored: &one "hello you"
  alias: *one
"""


@pytest.fixture
def document() -> YamlDocument:
    (document,) = read_yaml(TEXT)
    return document


def test_scalars_are_read_as_json_has_them(document: YamlDocument) -> None:
    (mapping,) = document.value
    assert mapping["numbers"] == [1, "012", 1.5, 1000, None, None, "5", "it's", "2026-01-01", "0x1f", "yes", True]
    assert (mapping["quoted"], mapping["alias"]) == ('a "b" A cd', "hello you")


@pytest.mark.parametrize(
    ("field", "at", "source_end"),
    [
        ("plain", (1, 9), "foo  bar"),
        ("plain", (1, 1), "tags =="),
        ("literal", (2, 6), "gh"),
        ("literal", (1, 1), "ab cd"),
        ("folded", (1, 7), "ef gh"),
        ("quoted", (1, 4), 'b\\" \\u0041'),
        ("quoted", (1, 7), "\\u0041 c"),
        ("quoted", (1, 10), 'd"'),
        ("single", (1, 4), "s so'"),
        ("anchored", (1, 7), 'you"'),
        ("anchored", (1, 10), '"'),
        ("alias", (1, 7), 'you"'),
        ("numbers[7]", (1, 4), "s', 2026"),
    ],
)
def test_a_place_in_a_text_is_found_in_the_file(
    document: YamlDocument, field: str, at: tuple[int, int], source_end: str
) -> None:
    place = document.place_within(f"[0].{field}", *at)
    assert place.source == TEXT.splitlines()[place.line - 1]
    assert place.source[place.column - 1 :].startswith(source_end)


def test_fields_have_places_and_what_is_not_there_has_the_nearest(document: YamlDocument) -> None:
    places = [document.place(field) for field in ("[0].numbers[2]", "[0].numbers", "[0].nothing.at.all", "[7]", "")]
    assert [(place.line, place.column) for place in places] == [(3, 21), (3, 3), (2, 3), (2, 1), (2, 1)]


def test_several_documents_are_read_and_empty_ones_left_out() -> None:
    assert [one.value for one in read_yaml("---\na: 1\n---\n---\n- b\n...\n")] == [{"a": 1}, None, ["b"]]
    assert read_yaml("# nothing\n") == []


BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{at + 1}: &a{at + 1} [*a{at}, *a{at}, *a{at}]\n" for at in range(20))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: !!python/object:os.system x", "1:4: tags (!) are not supported"),
        ("a: !isBot()", "1:4: tags (!) are not supported; a text that begins with ! needs quotes"),
        ("a: !!omap [b: 1]", "1:4: tags such as tag:yaml.org,2002:omap are not supported"),
        ("a: &a [*a]", "1:4: contains itself"),
        ("x: 1\nx: 2", "2:1: key x is already in line 1"),
        ("a: b: c", "1:5: mapping values are not allowed here"),
        ("a: [1", "1:6: expected ',' or ']', but got '<stream end>'"),
        ("a:\n\t- b", "2:1: found character '\\t' that cannot start any token"),
        ("a: b\nc: \x00", "2:4: contains '\\x00', which YAML does not allow"),
        ("a: *b", "1:4: found undefined alias 'b'"),
        ("<<: {a: 1}", "1:1: merge keys are not supported"),
        ("? [a]\n: b", "1:3: a key must be a text"),
        ("a: " + "[" * 5000, "1:1: is nested too deeply"),
        (BOMB, "more than 100,000 values"),
        (f"a: &a {'x' * 20_000}\nb: [{'*a, ' * 600}*a]", "10,000,000 characters; aliases count each time"),
    ],
)
def test_what_is_not_plain_data_is_refused_with_its_place(text: str, says: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_yaml(text)
    assert says in refused.value.message


WORDS = (
    "yes NO on null ~ true 012 08 1e3 1.0 .5 5. +5 0x1f 0o14 0b1 1_000 2026-01-01 12:30:45 *a &a !x % @ ` - = << ? :"
).split()
TEXTS = [
    *WORDS,
    "",
    "a: b",
    "#x",
    "'x'",
    "- a",
    "a\nb\n",
    "a\nb",
    " x ",
    "x\ty",
    "\n x",
    "\u2028",
    "\U0001f600",
    "a # b",
]


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_written_is_read_as_it_was(text: str) -> None:
    for value in ({"key": text}, {text: 1}, [text], {"deep": [{"er": text}]}):
        written = to_yaml(value)
        assert read_yaml(written)[0].value == value
        assert yaml.safe_load(written) == value


SHOWN = st.text(st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n\t"), max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | SHOWN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SHOWN, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_any_value_survives(value: Any) -> None:
    assert read_yaml(to_yaml([value]))[0].value == [value]


def test_places_are_found_in_json_too() -> None:
    text = '{\n\t"a": [1,\n\t\t{"b": "x \\"y\\" z"}]\n}'
    document = placed_json(text, json.loads(text))
    assert document is not None
    place = document.place_within("a[1].b", 1, 7)
    assert (place.line, place.source[place.column - 1 :]) == (3, 'z"}]')
    assert placed_json('{"a": "\\ud83d\\ude00 z"}', {"a": "😀 z"}) is not None


def test_what_a_terminal_would_obey_is_written_in_escapes() -> None:
    value = {"why": "a\u202eb", "key\u2066": "c\x1b[31m\nd", "plain": "e\nf\tg"}
    text = to_yaml(value)
    assert not {"\u202e", "\u2066", "\x1b"} & set(text)
    assert read_yaml(text)[0].value == value
