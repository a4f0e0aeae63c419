"""Tests of hostile texts in every place of a condition where a text may be, on both engines.

No text may be more than a text: no reference that Spark substitutes, no part of an expression, no end of a literal.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from tests.parity.engines import pairs_from_spark, plan, python
from tests.parity.generated import draw_examples
from tests.parity.logged import event_at_offset
from tests.soak import SOAK

from tocsin.conditions.check import parse_and_check
from tocsin.conditions.examples import call_of
from tocsin.conditions.fields import FIELDS
from tocsin.conditions.functions import FUNCTIONS
from tocsin.conditions.methods import METHODS, TEXTUAL
from tocsin.conditions.nodes import Node
from tocsin.conditions.normal_form import normal_form
from tocsin.conditions.parse import MAX_BYTES, MAX_INDEX
from tocsin.errors import InvalidCondition
from tocsin.flow.capture.bounds import LONGEST_KEY
from tocsin.model.change import LoggedEvent

pytestmark = pytest.mark.spark

TEXTS = (
    *("${spark.sql.ansi.enabled}", "${env:HOME}", "${system:user.name}", "a${foo}b", "$", "${", "${spark:x}", "{{x}}"),
    *("'", "''", "\\", "\\'", "\\\\'", '"', '""', "`", "`x`", "{", "}", "[", "]", "(", ")", ",", ";", "--", "/*", "*/"),
    *(
        "' OR true OR '",
        "') OR true --",
        "\\' OR true --",
        "x'] OR true",
        "$.entity",
        "$['x']",
        "%s",
        "{0}",
        ":name",
        "?",
    ),
    *("\x00", "a\x00b", "\n", "\r\n", "\t", " ", " x ", "\u2028", "\u00a0", "\ufeff", "\u200b", "\u202e", "\U0001f600"),
    *("\\u0027", "\\x27", "\\0", "%", "_", "*", ".", "..", "a.b", "0", "true", "null", "NaN", "1e999", "é", "e\u0301"),
    *("x" * 900, "'" * 300, "${a}" * 100, "\\" * 300),
)
_EVERY, _GENERATED_COUNT = (1, 60) if SOAK else (6, 25)
"""Which of the texts are asked of large conditions, and how many are made up."""
_PIECES = st.sampled_from([text for text in TEXTS if len(text) < 40])
_GENERATED = st.lists(_PIECES | st.text(max_size=3), min_size=1, max_size=4).map("".join)

Place = Callable[[str], str]
_PLACES: dict[str, Place] = {
    "value of a path": lambda text: f"entity.name == {text}",
    "value of a path, not equal": lambda text: f"entity.name != {text}",
    "value of a field": lambda text: f"userName == {text}",
    "order": lambda text: f"entity.name >= {text}",
    "order of a field": lambda text: f"userName >= {text}",
    "start": lambda text: f"entity.name.startsWith({text})",
    "end of a field": lambda text: f"userName.endsWith({text})",
    "part": lambda text: f"entity.name.contains({text})",
    "member": lambda text: f"entity.extension.list.contains({text})",
    "members": lambda text: f"entity.extension.list.containsAny({{{text}, {text}}})",
    "lower case": lambda text: f"entity.name.toLowerCase() == {text}",
    "list": lambda text: f"entity.name in {{'x', {text}}}",
    "changed field": lambda text: f"newValue({text}) != null",
    "old value": lambda text: f"oldValue({text}).x == {text}",
    "key": lambda text: f"entity.extension[{text}] == 'found'",
    "key of a key": lambda text: f"entity.extension.object[{text}][0] == 'found'",
    "pattern": lambda text: f"entity.name matches {text}",
    "team": lambda text: f"user.isMemberOf({text})",
}


def _call(name: str, at: int) -> Place:
    """Return a call of a condition function with a text as one argument; the others are those of its example."""
    example = call_of(name).removeprefix(f"{name}(").removesuffix(")")
    arguments = [one for one in example.split(", ") if one]
    before, after = [*arguments, *["'*'"] * at][:at], arguments[at + 1 :]
    return lambda text: f"{name}({', '.join((*before, text, *after))})"


def _method(name: str) -> Place:
    is_list = METHODS[name].takes == "one list of values"
    return lambda text: f"tags.{name}({{{text}}})" if is_list else f"tags.{name}({text})"


def _comparison(field: str) -> Place:
    return lambda text: f"{field} == {text}"


_DERIVED: dict[str, Place] = {
    **{
        f"{name}: {parameter}": _call(name, at)
        for name, function in FUNCTIONS.items()
        for at, parameter in enumerate(function.parameters)
    },
    **{f"method {name}": _method(name) for name, row in METHODS.items() if row.takes},
    **{f"field {name}": _comparison(name) for name, row in FIELDS.items() if row.kind in TEXTUAL},
}
"""A place for each argument of each function and method, and for each field, of the tables of these."""

_OPEN = {"matchAnyTag", "matchAnyOwnerName", "matchAnyEntityFqn", "matchAnyDomain", "matchAnyChange", "matchUpdatedBy"}
_LITERALS = _PLACES | _DERIVED
_FINDS_ITS_EVENT = {"value of a path", "value of a field", "start", "end of a field", "part", "member", "list", "key"}


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _event(offset: int, text: str) -> LoggedEvent:
    extension = {text: "found", "list": [text], "object": {text: ["found"]}}
    change = {"name": text, "oldValue": {"x": text}, "newValue": text}
    return event_at_offset(
        offset,
        entityType="table",
        eventType="entityUpdated",
        userName=text,
        entityFullyQualifiedName=text,
        changeDescription={"fieldsUpdated": [change, {"name": "description", "newValue": text}]},
        entity={"name": text, "extension": extension, "tags": [{"tagFQN": text}], "owners": [{"name": text}]},
    )


def _large(condition: str) -> str:
    """Return an equivalent of a condition that is too large for a normal form."""
    pairs = (f"(entity.name == 'n{n}' && userName == 'u{n}' || tags == 't{n}' && isBot())" for n in range(8))
    return f"({condition}) || {' && '.join(pairs)}"


def _parse_or_none(condition: str) -> Node | None:
    try:
        return parse_and_check(condition)
    except InvalidCondition:
        return None


def _compare(spark: SparkSession, conditions: dict[tuple[str, str], Node], log: list[LoggedEvent]) -> None:
    nodes = list(conditions.values())
    expected = python(nodes, log)
    pairs = pairs_from_spark(spark, [plan(number, node) for number, node in enumerate(nodes)], log)
    assert _describe(set(pairs) ^ expected, conditions, log) == []
    assert len(pairs) == len(set(pairs))


def _describe(
    pairs: set[tuple[int, int]], conditions: dict[tuple[str, str], Node], log: list[LoggedEvent]
) -> list[tuple[str, str, str | None]]:
    names = list(conditions)
    return [(*names[number], log[offset].event.user_name) for number, offset in sorted(pairs)][:5]


def test_a_hostile_text_is_a_text_in_every_place(spark: SparkSession) -> None:
    log = [_event(offset, text) for offset, text in enumerate(TEXTS)]
    conditions = {
        (place, text): node
        for place, condition in _PLACES.items()
        for text in TEXTS
        if (node := _parse_or_none(condition(_quote(text)))) is not None
    }
    texts_by_place = {place: {text for at, text in conditions if at == place} for place in _PLACES}
    assert all(len(texts_by_place[place]) > 50 for place in _FINDS_ITS_EVENT), "most texts are accepted"
    pairs = python(list(conditions.values()), log)
    for number, (place, text) in enumerate(conditions):
        if place in _FINDS_ITS_EVENT:
            assert (number, TEXTS.index(text)) in pairs, f"{place} finds {text!r}"
    _compare(spark, conditions, log)


def test_a_hostile_text_is_a_text_in_every_argument_and_field(spark: SparkSession) -> None:
    log = [_event(offset, text) for offset, text in enumerate(TEXTS)]
    conditions: dict[tuple[str, str], Node] = {}
    for place, condition in _DERIVED.items():
        if _parse_or_none(condition("'x'")) is None:
            continue  # one of a few words, or a duration
        accepted = {text: node for text in TEXTS if (node := _parse_or_none(condition(_quote(text)))) is not None}
        assert len(accepted) > 30, place
        conditions |= {(place, text): node for text, node in accepted.items()}
    assert {place.partition(":")[0] for place, _ in conditions} >= _OPEN, "these take any text"
    _compare(spark, conditions, log)


def test_a_hostile_text_is_a_text_in_a_condition_without_a_normal_form(spark: SparkSession) -> None:
    log = [_event(offset, text) for offset, text in enumerate(TEXTS)]
    written = {(place, text): _LITERALS[place](_quote(text)) for place in _PLACES for text in TEXTS[::_EVERY]}
    conditions = {key: node for key, text in written.items() if (node := _parse_or_none(_large(text))) is not None}
    assert sum(normal_form(node) is None for node in conditions.values()) > 100
    _compare(spark, conditions, log)


def test_generated_texts_are_texts_in_every_place(spark: SparkSession) -> None:
    drawn = draw_examples(_GENERATED, _GENERATED_COUNT)
    texts = sorted({text for text in drawn if not re.search("[\ud800-\udfff]", text)})
    log = [_event(offset, text) for offset, text in enumerate(texts)]
    conditions = {
        (place, text): node
        for place, condition in _PLACES.items()
        for text in texts
        if (node := _parse_or_none(condition(_quote(text)))) is not None
    }
    _compare(spark, conditions, log)


@pytest.mark.parametrize("place", sorted(_LITERALS))
def test_what_cannot_be_stored_or_is_too_long_is_refused(place: str) -> None:
    for text in ("\ud800", "a\udfffb", "x" * 60_000, "x" * MAX_BYTES):
        with pytest.raises(InvalidCondition):
            parse_and_check(_LITERALS[place](_quote(text)))


def test_the_largest_position_is_one_in_both_engines(spark: SparkSession) -> None:
    path = f"entity.extension.list[{MAX_INDEX}]"
    log = [_event(0, "a")]
    nodes = [
        parse_and_check(f"{path} == 'a'"),
        parse_and_check(f"{path} == null"),
        parse_and_check(f"{path}.size() == 0"),
    ]
    assert set(pairs_from_spark(spark, [plan(number, node) for number, node in enumerate(nodes)], log)) == python(
        nodes, log
    )


def test_a_document_with_the_longest_key_is_read_by_both_engines(spark: SparkSession) -> None:
    log = [_event(0, "\U0001f600" * LONGEST_KEY)]
    nodes = [parse_and_check("entity.extension.list.size() == 1"), parse_and_check("newValue('description') != null")]
    pairs = pairs_from_spark(spark, [plan(number, node) for number, node in enumerate(nodes)], log)
    assert set(pairs) == python(nodes, log) == {(0, 0), (1, 0)}
