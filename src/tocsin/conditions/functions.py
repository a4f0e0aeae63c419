"""Table of condition functions and their meaning, one row per function.

Names and arguments are upstream's where upstream has the function (``AlertsRuleEvaluator.java``); where upstream's
behaviour is accidental, ours follows the name (``docs/conditions.md`` lists the differences). To add one, add
a row. Next: ``conditions/check.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations, product
from math import prod

from tocsin.conditions.announced import IS_ANNOUNCED
from tocsin.conditions.asset_states import still_failing, still_stale, still_without_owner
from tocsin.conditions.breaking import IS_BREAKING
from tocsin.conditions.changes import ANY_PART, CATEGORY, SEPARATOR, VALUE, plain, set_of, values_named
from tocsin.conditions.fields import CHANGED_TOGETHER, FQN_PATH, TESTED_NAMES, has, text_of_set
from tocsin.conditions.nodes import Compare, FieldValue, Kind, Literals, Node, Operator, PathRoot, PathValue, Present
from tocsin.conditions.streaks import (
    check_verdict,
    count_of,
    duration_ms,
    first_failure,
    in_a_row,
    no_success_for,
    resolution,
    transition,
)
from tocsin.errors import InvalidCondition
from tocsin.logic import conjunction_of, disjunction_of
from tocsin.model.entity_types import types_below
from tocsin.model.fqn import quote
from tocsin.model.thread import THREAD

Texts = tuple[str, ...]

TIMES = "times"
"""The parameter that takes numbers instead of texts."""

_EVERYBODY = "all"
_MOST_TOGETHER = 1_000
"""Changes that one ``matchAnyChange`` may ask for: the product of its lists' lengths."""

_MOST_FIELDS = 6
"""Fields that one ``onlyFieldsChanged`` may name: 63 combinations, so that its negation is indexed as well."""


@dataclass(frozen=True)
class Function:
    """One function.

    Attributes
    ----------
    parameters : names of its arguments, each a list of texts; a name followed by ``?`` may be omitted; one
        followed by ``+``, the only one, may be given as several arguments
    asks : the condition for given arguments
    meaning : one line for ``docs/conditions.md``
    words : parameters with a closed set of texts, with the name of the field that defines it
    checks : per parameter, a check that raises InvalidCondition for an invalid text
    """

    parameters: tuple[str, ...]
    asks: Callable[..., Node]
    meaning: str
    words: Mapping[str, str] = field(default_factory=dict)
    checks: Mapping[str, Callable[[str], object]] = field(default_factory=dict)


def _any_of(field: str) -> Callable[[Texts], Node]:
    return lambda values: has(field, values)


def _entity_fqn(names: Texts) -> Node:
    return disjunction_of(has(FQN_PATH, names), has("testSuites", names))


def _entity_id(ids: Texts) -> Node:
    return has("entityId", tuple(one.lower() for one in ids))


def _of_type(entity_type: str, field: str) -> Callable[[Texts], Node]:
    return lambda values: conjunction_of(has("entityType", (entity_type,)), has(field, values))


def _column_change(columns: Texts) -> Node:
    return has("fieldChanged", tuple(f"columns.{quote(column)}" for column in columns))


def _only_fields(names: Texts) -> Node:
    """Return the condition that one or more of these fields changed and no other: one value for each combination."""
    if len(set(names)) > _MOST_FIELDS:
        raise InvalidCondition(f"onlyFieldsChanged takes at most {_MOST_FIELDS} fields")
    sizes = range(1, len(set(names)) + 1)
    return has(
        CHANGED_TOGETHER,
        tuple(one for size in sizes for some in combinations(names, size) for one in text_of_set(some)),
    )


def _check_field(name: str) -> None:
    above = name.partition(".")[0]
    if above != name or not name or SEPARATOR in name:
        expected = (f"'{above}'",) if above else ()
        raise InvalidCondition("onlyFieldsChanged takes names of fields, not of what is below them", expected=expected)


def _status_in_suite(statuses: Texts, suites: Texts) -> Node:
    return conjunction_of(has("testStatus", statuses), has("testSuites", suites))


def _conversation_user(names: Texts) -> Node:
    return has("entityType", (THREAD,)) if _EVERYBODY in names else has("mentions", names)


def _older_than(durations: Texts) -> Node:
    literals = Literals(Kind.NUMBER, tuple(sorted({float(duration_ms(one)) for one in durations})))
    return Compare(Operator.GE, FieldValue("unchangedFor"), literals)


def _change(*texts_per_part: Texts) -> Node:
    """Return the condition that one change has all of these properties; ``*`` matches anything."""
    texts_by_part = {at: texts for at, texts in enumerate(texts_per_part) if ANY_PART not in texts}
    if VALUE in texts_by_part:
        texts_by_part[VALUE] = values_named(texts_by_part.get(CATEGORY, ()), texts_by_part[VALUE])
    if not texts_by_part:
        return Present(FieldValue("changeCategory"))
    if prod(map(len, texts_by_part.values())) > _MOST_TOGETHER:
        raise InvalidCondition(f"matchAnyChange combines more than {_MOST_TOGETHER} changes; use fewer")
    together = product(*(map(plain, texts) for texts in texts_by_part.values()))
    return has(set_of(texts_by_part), tuple(SEPARATOR.join(parts) for parts in together))


def _lies_in(entity_type: str, names_field: str) -> Callable[[Texts], Node]:
    """Return the condition for one of this type by name or FQN: the entity, a descendant, or a thread about either."""
    types = (entity_type, *types_below(entity_type), "testCase")  # whose FQN begins with that of what it tests
    subject = PathValue(PathRoot.ENTITY, ("entityRef", "type"))  # only threads have one
    is_there = disjunction_of(has("entityType", types), Compare(Operator.EQ, subject, Literals(Kind.TEXT, types)))
    return lambda names: conjunction_of(has(names_field, names), is_there)


FUNCTIONS: dict[str, Function] = {
    "matchAnySource": Function(("types",), _any_of("entityType"), "the entity has one of these types"),
    "matchAnyOwnerName": Function(("names",), _any_of("owners"), "one of these people or teams owns the asset"),
    "matchAnyEntityFqn": Function(
        ("fqns",), _entity_fqn, "the entity is one of these or below one; for test cases also by suite"
    ),
    "matchAnyEntityId": Function(("ids",), _entity_id, "the entity has one of these ids"),
    "matchAnyEventType": Function(
        ("types",), _any_of("eventType"), "the event has one of these types", {"types": "eventType"}
    ),
    "matchTestResult": Function(("statuses",), _any_of("testStatus"), "the event reports one of these test results"),
    "filterByTableNameTestCaseBelongsTo": Function(
        ("tables",), _any_of(TESTED_NAMES), "a test case tests one of these tables, by FQN or its last parts"
    ),
    "getTestCaseStatusIfInTestSuite": Function(
        ("statuses", "suites"), _status_in_suite, "a test case of one of these suites reports one of these results"
    ),
    "matchUpdatedBy": Function(("users",), _any_of("userName"), "one of these users made the change"),
    "changedBy": Function(("users",), _any_of("userName"), "the same as `matchUpdatedBy`"),
    "isBot": Function((), lambda: has("isBot", (True,)), "a bot made the change"),
    "breaking": Function((), lambda: has(IS_BREAKING, (True,)), "the change is breaking"),
    "announced": Function(
        (), lambda: has(IS_ANNOUNCED, (True,)), "change requests announced the change, and all that is breaking in it"
    ),
    "matchIngestionPipelineState": Function(
        ("states",),
        _of_type("ingestionPipeline", "pipelineStatus"),
        "an ingestion pipeline reports one of these states",
    ),
    "matchPipelineState": Function(
        ("states",), _of_type("pipeline", "pipelineStatus"), "a pipeline reports one of these states"
    ),
    "matchAnyFieldChange": Function(("paths",), _any_of("fieldChanged"), "one of these fields, or one below, changed"),
    "onlyFieldsChanged": Function(
        ("fields+",),
        _only_fields,
        "one of these fields, or one below, changed, and no other field",
        checks={"fields": _check_field},
    ),
    "matchAnyColumnChange": Function(
        ("columns",), _column_change, "one of these columns was added, removed or changed"
    ),
    "matchAnyChange": Function(
        ("categories", "operations?", "targets?", "values?"),
        _change,
        "one change has one of these categories, operations, targets and values; `'*'`: any",
        {"categories": "changeCategory", "operations": "changeOperation"},
    ),
    "olderThan": Function(
        ("durations",),
        _older_than,
        "the asset's previous change is at least `7d`, `12h`, … old",
        checks={"durations": duration_ms},
    ),
    "matchAnyDomain": Function(("domains",), _any_of("domains"), "the asset is in one of these domains"),
    "matchAnyTag": Function(("tags",), _any_of("tags"), "the asset or one of its columns has one of these tags"),
    "matchAnyTier": Function(("tiers",), _any_of("tier"), "the asset has one of these tiers"),
    "matchAnyService": Function(("services",), _any_of("service"), "the asset belongs to one of these services"),
    "matchAnyDatabase": Function(
        ("databases",),
        _lies_in("database", "databaseNames"),
        "the asset is or is in one of these databases (name or FQN); test cases by their table",
    ),
    "matchAnySchema": Function(
        ("schemas",), _lies_in("databaseSchema", "schemaNames"), "the same for database schemas"
    ),
    "matchConversationUser": Function(
        ("names",),
        _conversation_user,
        "a thread newly mentions one of these people or teams; `all`: any thread",
    ),
    "matchStatusTransition": Function(
        ("before", "after"),
        transition,
        "the verdict changes from one of `before` to one of `after`",
        checks={"before": check_verdict, "after": check_verdict},
    ),
    "matchStatusInARow": Function(
        ("statuses", TIMES),
        in_a_row,
        "one of these verdicts is reported for exactly the given time in a row",
        checks={"statuses": check_verdict, TIMES: count_of},
    ),
    "firstFailure": Function((), first_failure, "the first failure since the last success, or ever"),
    "resolved": Function((), resolution, "a success after failures"),
    "noSuccessFor": Function(
        ("durations",),
        no_success_for,
        "no success for `30m`, `6h`, `7d`, …; once until the next success",
        checks={"durations": duration_ms},
    ),
    "stillFailing": Function((), still_failing, "at a scheduled alert's time: the test or run fails"),
    "stillStale": Function(
        ("durations",),
        still_stale,
        "at a scheduled alert's time: no success for `30m`, `6h`, `7d`, …",
        checks={"durations": duration_ms},
    ),
    "stillWithoutOwner": Function((), still_without_owner, "at a scheduled alert's time: the asset has no owner"),
}
"""Every function that holds or not, by name; ``oldValue`` and ``newValue`` return values and live in ``check``."""
