"""Words in conditions that no event can have: misspelt types, statuses, fields, tiers and other enumerated values.

Next: ``flow/match/remarks.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from tocsin.conditions.changes import (
    CATEGORY,
    CLOSED_VALUES,
    KNOWN_CATEGORIES,
    SEPARATOR,
    TARGETS,
    TIER,
    VALUE,
    ChangeOperation,
    parts_of,
    target_asked,
)
from tocsin.conditions.documents import TIER_PREFIX
from tocsin.conditions.fields import CHANGED_TOGETHER, canonical
from tocsin.conditions.nodes import Compare, Has, Kind, Literals, Lowered, Node, PathRoot, PathValue, Value
from tocsin.conditions.paths import parts
from tocsin.flow.match.producers import CHANGEABLE, CHANGED
from tocsin.logic import leaves
from tocsin.model.change import CHANGE_REQUEST, EventType
from tocsin.model.change_request import number_in
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import hint, nearest
from tocsin.model.shapes import enumeration, shapes_of
from tocsin.model.status import INCIDENT_STATUSES, INGESTION_STATES, RESULT_STATUSES, RUN_STATUSES
from tocsin.model.thread import THREAD, ThreadType

_STATUSES = (*INGESTION_STATES, *RUN_STATUSES, *RESULT_STATUSES)
_WORDS: dict[str, tuple[str, ...]] = {
    "entityType": (*ENTITY_TYPES, THREAD),
    "eventType": tuple(EventType),
    "changeCategory": KNOWN_CATEGORIES,
    "changeOperation": tuple(ChangeOperation),
    "threadType": tuple(ThreadType),
    "testStatus": _STATUSES,
    "pipelineStatus": _STATUSES,
    "previousStatus": _STATUSES,
}
"""Fields that can have but a few values, and which: another one is allowed, as upstream has it, and warned of."""

_REPORTED: dict[str, tuple[str, ...]] = {
    "testCaseStatus": RESULT_STATUSES,
    "executionStatus": RUN_STATUSES,
    "pipelineState": INGESTION_STATES,
    "testCaseResolutionStatusType": INCIDENT_STATUSES,
}
"""Keys of reports, wherever they stand, and their values."""


def wrong_words(node: Node) -> Iterator[str]:
    """Yield, once each, what is wrong with words that no event has, with the nearest that some event has."""
    yield from dict.fromkeys(message for leaf in leaves(node) for message in _wrong_in(leaf))


def _wrong_in(leaf: object) -> Iterator[str]:
    match leaf:
        case Has(field=field, values=words):
            for word in words:
                yield from _wrong_of_field(field, word)
            yield from _wrong_values(field, words)
        case Compare(left=value, right=Literals(kind=Kind.TEXT, values=texts)):
            key, choices = _closed_path(value)
            for text in texts if choices else ():
                if text not in choices:
                    yield f"No event has the {key} {text!r}{hint(text, choices)}"


def _wrong_of_field(field: str, word: str) -> Iterator[str]:
    words, target = _WORDS.get(field, ()), target_asked(field, word)
    if field == "tier" and not word.startswith(TIER_PREFIX):
        yield _wrong_tier(word)
    if target is not None and (parts(target) or ("",))[0] not in TARGETS:
        says = f"a target is asset, or begins with a list of members; did you mean {_as_target(target)}?"
        yield f"No change has the target {target!r}: {says}"
    if field in CHANGED or field == CHANGED_TOGETHER:
        for key in (path.partition(".")[0] for path in word.split(SEPARATOR)):
            if key not in CHANGEABLE and (near := nearest(key, CHANGEABLE)):
                yield f"No event changes the field {key!r}; did you mean {near}?"
    if field == CHANGE_REQUEST and number_in(word) is None:
        yield f"No change request has the number {word!r}; they are called CR-1, CR-2, …"
    if words and word not in {canonical(field, one) for one in words}:
        yield f"No event has the {field} {word!r}{hint(word, words)}"


def _wrong_values(field: str, words: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong with values of changes whose categories have but a few; of quality, with those like one."""
    places = parts_of(field)
    if CATEGORY not in places or VALUE not in places:
        return
    categories_by_value: dict[str, list[str]] = {}
    for change in (word.split(SEPARATOR) for word in words):
        categories_by_value.setdefault(change[places.index(VALUE)], []).append(change[places.index(CATEGORY)])
    for value, categories in categories_by_value.items():
        problems = [_problem_of_value(category, value) for category in dict.fromkeys(categories)]
        if all(problems):
            yield problems[0]


def _problem_of_value(category: str, value: str) -> str:
    if category == TIER and not value.startswith(TIER_PREFIX):
        return _wrong_tier(value)
    values, is_open = CLOSED_VALUES.get(category, ((), True))
    if value in values or (is_open and not nearest(value, values)):
        return ""
    return f"No change of the category {category} has the value {value!r}{hint(value, values)}"


def _closed_path(value: Value) -> tuple[str, tuple[str, ...]]:
    """Return the key that a path into the asset or a change ends with, and its values; none if it may have any."""
    if isinstance(value, Lowered):
        key, words = _closed_path(value.value)
        return key, tuple(one.lower() for one in words)
    if not isinstance(value, PathValue):
        return "", ()
    changed = parts(value.change) if value.change else ()
    steps = (*(changed or ()), *value.steps)
    key = str(steps[-1]) if steps else ""
    if value.root is PathRoot.ENTITY or value.change:
        return key, _REPORTED.get(key) or (_enumeration_of(key) if len(steps) == 1 else ())
    return key, ()


@cache
def _enumeration_of(key: str) -> tuple[str, ...]:
    """Return the values that documents may have under a key; none if those of some type may have any."""
    enumerations = [enumeration(name, key) for name in ENTITY_TYPES if key in shapes_of(name)]
    return tuple(dict.fromkeys(one for many in enumerations for one in many)) if all(enumerations) else ()


def _wrong_tier(word: str) -> str:
    """Say how ``Tier1``, ``tier.tier1`` or ``Gold`` is written as a tag."""
    cut = word[len(TIER_PREFIX) :] if word.lower().startswith(TIER_PREFIX.lower()) else word
    near = f"{TIER_PREFIX}{cut[:1].upper()}{cut[1:]}"
    return f"No asset has the tier {word!r}: tiers begin with {TIER_PREFIX}; did you mean {near}?"


def _as_target(target: str) -> str:
    """Return ``column.email`` or ``email`` as the column that is meant."""
    first, dot, tail = target.partition(".")
    near = nearest(first, TARGETS)
    return f"{near}{dot}{tail}" if near else f"columns.{target}"
