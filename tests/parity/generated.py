"""Generators of conditions and events from a small vocabulary, so that matches are frequent."""

from __future__ import annotations

from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from tests.parity.logged import event_at_offset

from tocsin.conditions.check import parse_and_check
from tocsin.errors import InvalidCondition
from tocsin.model.change import LoggedEvent

T = TypeVar("T")

_WORDS = ["a", "b", "A", "ab", "a.b", "", "É", "Failed", "failed", "7", "true", "Tier.a"]
_TEXT_FIELDS = [
    *("eventType", "entityType", "userName", "tier", "service", "testStatus", "entityFullyQualifiedName"),
    "previousStatus",
]
_SET_FIELDS = [
    "changeTarget",
    "tags",
    "owners",
    "domains",
    "fieldChanged",
    "fieldsAdded",
    "testSuites",
    "changeRequest",
]
_NUMBER_FIELDS = [
    *("openAnswers", "timestamp", "previousVersion", "currentVersion", "unchangedFor", "reportedAt"),
    *("streak", "failures", "failuresBefore", "withoutSuccess", "withoutSuccessBefore"),
]
_PATHS = [
    "entity.name",
    "entity.extension.x",
    "entity.extension.x.y",
    "entity.extension.x[0]",
    "entity.columns.name",
    "entity.columns[0].name",
    "entity.testCaseResult.testCaseStatus",
    "table.name",
    "testCase.name",
    "newValue('description')",
    "oldValue('extension.x')",
    "newValue('extension.x').y",
]
_TEXT_FUNCTIONS = [
    "matchAnySource",
    "matchAnyOwnerName",
    "matchAnyEntityFqn",
    "matchAnyEventType",
    "matchTestResult",
    "matchUpdatedBy",
    "matchAnyFieldChange",
    "matchAnyColumnChange",
    "matchAnyTag",
    "matchAnyDomain",
    "filterByTableNameTestCaseBelongsTo",
    "matchAnyDatabase",
    "matchAnySchema",
]
_PATTERNS = ["a.*", "[ab]+", "(?:a|b)?", "\\w{1,3}", ".", "\\D*", "[^a]*", "a\\.b", "(Failed|failed)"]


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_words = st.sampled_from(_WORDS).map(_quote)
_types = st.sampled_from(["table", "testCase", "pipeline", "entityUpdated", "entityDeleted"]).map(_quote)
_texts = _words | _types
_numbers = st.sampled_from(["0", "7", "0.1", "1.5", "-1", "1700000000002"])
_lists = st.lists(_texts, max_size=3).map(lambda words: "{" + ",".join(words) + "}")
_order = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
_equality = st.sampled_from(["==", "!=", "in"])
_categories = st.sampled_from(
    ["'tag'", "'tier'", "{'schema','quality'}", "'description'", "{'other','customProperty'}"]
)
_operations = st.sampled_from(["'add'", "'remove'", "{'modify','add'}"])
_targets = st.sampled_from(["'asset'", "'columns'", "'columns.a'", "{'columns.\"a.b\"','asset'}", "'*'"])


def _put(template: str, *parts: SearchStrategy[str]) -> SearchStrategy[str]:
    return st.tuples(*parts).map(lambda given: template.format(*given))


_textual = st.sampled_from([*_TEXT_FIELDS, *_SET_FIELDS, *_PATHS])
_lowered = _textual | _textual.map(lambda name: f"{name}.toLowerCase()")
_countable = st.sampled_from([*_SET_FIELDS, *_PATHS])

_leaf = st.one_of(
    _put("{} {} {}", _lowered, _order, _texts),
    _put("{} in {}", _lowered, _lists),
    _put("{} {} {}", st.sampled_from([*_NUMBER_FIELDS, *_PATHS]), _order, _numbers),
    _put("{} {} {}", _lowered, _order, _lowered),
    _put("{} == null", _lowered),
    _put("{}.{}({})", _lowered, st.sampled_from(["contains", "startsWith", "endsWith"]), _texts),
    _put("{}.containsAny({})", _lowered, _lists),
    _put("{}.isEmpty()", _lowered),
    _put("{}.size() {} {}", _countable, _order, _numbers),
    _put("{} matches {}", _lowered, st.sampled_from(_PATTERNS).map(_quote)),
    _put("{}({})", st.sampled_from(_TEXT_FUNCTIONS), _lists),
    _put("getTestCaseStatusIfInTestSuite({},{})", _lists, _lists),
    _put("changeCategory {} {}", _equality, _categories),
    _put("changeOperation {} {}", _equality, _operations),
    _put("matchAnyChange({})", _categories),
    _put("matchAnyChange({},{},{})", _categories, _operations, _targets),
    _put("matchAnyChange({},{},{},{})", _categories, _operations, _targets, _lists),
    _put("{} == {}", st.sampled_from(_PATHS), st.sampled_from(["true", "false"])),
    st.sampled_from(
        ["onlyFieldsChanged('a')", "onlyFieldsChanged({'a','b','A'})", "!onlyFieldsChanged({'columns','description'})"]
    ),
    st.sampled_from(["olderThan('7s')", "firstFailure()", "resolved()", "noSuccessFor({'1s','7s'})"]),
    st.sampled_from(["matchStatusTransition('a','Failed')", "matchStatusInARow({'a','Failed'}, {1,7})"]),
    st.sampled_from(["user.follows(entity)", "user.isMemberOf('a')"]),
    st.sampled_from(
        [
            "isBot()",
            "isBot",
            "breaking()",
            "announced()",
            "true",
            "false",
            "entity.extension.x",
            "entity.extension.x.contains(7)",
        ]
    ),
    st.sampled_from(
        ["reason == 'a'", "reason != {'a','7'}", "reason.contains('b')", "reason matches 'a.*'", "reason == null"]
    ),
)


def _joined_conditions(inner: SearchStrategy[str]) -> SearchStrategy[str]:
    return st.one_of(
        _put("!({})", inner),
        _put("({} && {})", inner, inner),
        _put("({} || {})", inner, inner),
        _put("({} || {} && {})", inner, inner, inner),
    )


def _names_known_events(condition: str) -> bool:
    """Return whether it compares types of event with some that there are; any other comparison here checks."""
    try:
        parse_and_check(condition)
    except InvalidCondition as error:
        assert "type of event" in error.message, error.message
        return False
    return True


conditions = st.recursive(_leaf, _joined_conditions, max_leaves=5).filter(_names_known_events)
"""Conditions that check."""

_word = st.sampled_from([*_WORDS, "table"])
_scalar = st.none() | st.booleans() | st.sampled_from([0, 7, 0.1, -1.5, 10**20]) | _word
_json = st.recursive(
    _scalar,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "y"]), inner, max_size=2),
    max_leaves=5,
)
_label = st.fixed_dictionaries({"tagFQN": _word})
_reference = st.fixed_dictionaries({"name": _word}, optional={"fullyQualifiedName": _word})
_document = st.fixed_dictionaries(
    {},
    optional={
        "name": _scalar,
        "extension": st.fixed_dictionaries({}, optional={"x": _json}) | _json,
        "columns": st.lists(st.fixed_dictionaries({"name": _word}, optional={"tags": st.lists(_label)}), max_size=3),
        "tags": st.lists(_label, max_size=2),
        "owners": st.lists(_reference, max_size=2),
        "domains": st.lists(_reference, max_size=2),
        "testSuites": st.lists(_reference, max_size=2),
        "database": _reference,
        "service": _reference,
        "entityRef": st.fixed_dictionaries({"type": st.sampled_from(["table", "pipeline"])}),
        "testCaseResult": st.fixed_dictionaries({}, optional={"testCaseStatus": _scalar}),
        "entityLink": st.sampled_from(["<#E::table::a.b>", "<#E::table::a.b::columns::a>", "nothing"]),
    },
)
_change = st.fixed_dictionaries(
    {
        "name": st.sampled_from(
            ["description", "extension.x", "columns", "columns.a.tags", "tags", "a", 'columns."a.b"', "testCaseResult"]
        )
    },
    optional={"oldValue": _json, "newValue": _json | st.fixed_dictionaries({"testCaseStatus": _word})},
)
_changes = st.lists(_change, max_size=2)
_description = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("fieldsAdded", "fieldsUpdated", "fieldsDeleted"), _changes)
)
_wire = st.fixed_dictionaries(
    {
        "eventType": st.sampled_from(["entityUpdated", "entityDeleted", "testCaseFailure"]),
        "entityType": st.sampled_from(["table", "testCase", "pipeline", "thread", "a"]),
    },
    optional={
        "entityFullyQualifiedName": st.sampled_from(["a", "a.b", "a.b.A", '"a.b".b', 'a."a.b".A', 'a"b.a', "ab.É", ""]),
        "userName": _word,
        "reason": _word,
        "previousVersion": st.sampled_from([0.1, 1.5]),
        "currentVersion": st.sampled_from([0.1, 1.5]),
        "changeDescription": _description,
        "entity": _document,
    },
)


_moments = st.sampled_from([0, 1, 7, 1_000, 7_000, 8_000])
_facts = st.fixed_dictionaries(
    {},
    optional={
        "previousStatus": st.sampled_from(["a", "failed", "success"]),
        **dict.fromkeys(("streak", "failures", "failuresBefore", "withoutSuccess", "withoutSuccessBefore"), _moments),
    },
)
event_parts = st.tuples(_wire, st.booleans(), st.none() | _moments, _facts)
"""What one event is made of."""

Parts = tuple[dict[str, Any], bool, int | None, dict[str, object]]


def log_of(parts: list[Parts]) -> list[LoggedEvent]:
    """Return the events as a log holds them."""
    return [
        event_at_offset(number, is_bot=is_bot, unchanged_for=unchanged_for, facts=facts, **wire)
        for number, (wire, is_bot, unchanged_for, facts) in enumerate(parts)
    ]


events = st.lists(event_parts, min_size=40, max_size=60).map(log_of)
"""A log of some events."""


def draw_examples(strategy: SearchStrategy[T], count: int) -> list[T]:
    """Return ``count`` things that a strategy makes. Nothing is shrunk: that would take a Spark job a step."""
    examples: list[T] = []

    @settings(
        max_examples=count,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(example: T) -> None:
        examples.append(example)

    collect()
    return examples
