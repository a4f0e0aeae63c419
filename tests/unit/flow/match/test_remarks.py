"""Tests of warnings about conditions, with no false ones."""

from __future__ import annotations

import pytest

from tocsin.conditions.check import parse_and_check
from tocsin.conditions.functions import FUNCTIONS
from tocsin.errors import InvalidCondition
from tocsin.flow.match.plan import plan_of
from tocsin.flow.match.remarks import RemarkKind, of_alert, of_condition
from tocsin.model.subscription import EventSubscription

MANY = " && ".join(
    f"(tags == 'a{n}' && owners == 'b{n}' || domains == 'c{n}' && tier != 'Tier.d{n}')" for n in range(9)
)


def alert(*conditions: str, resources: tuple[str, ...] = ("all",), effect: str = "include") -> EventSubscription:
    rules = [{"effect": effect, "condition": one} for one in conditions]
    return EventSubscription.model_validate(
        {
            "id": "1",
            "name": "a",
            "fullyQualifiedName": "a",
            "alertType": "Notification",
            "filteringRules": {"resources": list(resources), "rules": rules},
            "destinations": [{"id": "d", "category": "Owners", "type": "Email"}],
        }
    )


@pytest.mark.parametrize(
    ("subscription", "kinds"),
    [
        (alert("isBot()"), []),
        (alert(), [RemarkKind.UNINDEXED]),
        (alert(resources=("table",)), []),
        (alert("true"), [RemarkKind.ALWAYS_TRUE, RemarkKind.UNINDEXED]),
        (alert("!isBot()"), [RemarkKind.UNINDEXED]),
        (alert("user.follows(entity)"), [RemarkKind.UNINDEXED]),
        (alert("user.follows(entity) && tier == 'Tier.a'"), []),
        (alert("isBot()", "tier == 'Tier.a' && tier == 'Tier.b'"), [RemarkKind.NEVER_TRUE]),
        (alert("tier == 'Tier.a'", "tier == 'Tier.b'"), [RemarkKind.NEVER_TRUE]),
        (alert("isBot()", resources=()), [RemarkKind.NO_RESOURCES]),
        (alert("entityType == 'table'", resources=("topic", "pipeline")), [RemarkKind.OUTSIDE_RESOURCES]),
        (alert("matchPipelineState('Failed')", resources=("table",)), [RemarkKind.OUTSIDE_RESOURCES]),
        (alert("matchPipelineState('Failed')", resources=("table", "pipeline")), []),
        (alert("threadType == 'Task'", resources=("conversation",)), [RemarkKind.OUTSIDE_RESOURCES]),
        (alert(MANY), [RemarkKind.UNINDEXED]),
        (alert(MANY, resources=("table",)), [RemarkKind.UNINDEXED]),
        (alert("testStatus == 'Fialed'"), [RemarkKind.UNKNOWN_WORD]),
        (alert("matchAnySource({'tabel','topic'})"), [RemarkKind.UNKNOWN_WORD]),
        (alert("entityType == 'Table'", "false"), [RemarkKind.UNKNOWN_WORD, RemarkKind.NEVER_TRUE]),
        (alert("threadType == 'Taks'"), [RemarkKind.UNKNOWN_WORD]),
        (alert("fieldChanged == 'colums.email'"), [RemarkKind.UNKNOWN_WORD]),
        (alert("fieldsAdded == 'columns.email' || fieldChanged == 'lineage'"), []),
        (alert("eventType == 'userLogin'", resources=("table",)), [RemarkKind.OUTSIDE_RESOURCES]),
        (alert("eventType == 'userLogin'", resources=("table", "user")), []),
        (alert("eventType == 'userLogin'"), []),
        (alert("matchTestResult('Failed')", resources=("testSuite",)), [RemarkKind.OUTSIDE_RESOURCES]),
        (alert(resources=("testSuite",)), [RemarkKind.OUTSIDE_RESOURCES]),
        (alert("isBot()", resources=("testSuite",)), []),
        (alert(resources=("testCase",)), []),
        (alert("matchTestResult('Failed')", resources=("testSuite", "testCase")), []),
        (alert("eventType == 'testSuiteRunCompleted' && failures > 2", resources=("testSuite",)), []),
        (alert("eventType == 'testSuiteRunCompleted'", resources=("testCase",)), [RemarkKind.OUTSIDE_RESOURCES]),
        (
            alert("matchAnyEventType({'entityUpdated','taskClosed'})", resources=("topic",)),
            [RemarkKind.OUTSIDE_RESOURCES],
        ),
        (alert("eventType == 'taskClosed'", resources=("task",)), []),
        (alert("eventType == 'testCaseFailure'", resources=("table",)), []),
        (alert("eventType == 'testCaseFailure'", resources=("pipeline",)), [RemarkKind.OUTSIDE_RESOURCES]),
        (alert("eventType == 'entitySoftDeleted'", resources=("domain",)), [RemarkKind.OUTSIDE_RESOURCES]),
        (alert("eventType == 'entitySoftDeleted'", resources=("domain", "table")), []),
        (alert("eventType == 'entityRestored'", resources=("query",)), [RemarkKind.OUTSIDE_RESOURCES]),
        (alert("eventType == 'entityUpdated'", resources=("conversation",)), [RemarkKind.OUTSIDE_RESOURCES]),
        (alert("eventType == 'entityDeleted'", resources=("conversation",)), []),
        (alert("eventType == 'entityCreated'", resources=("task",)), [RemarkKind.OUTSIDE_RESOURCES]),
        (alert("eventType == 'alertIncidentUpdated'", resources=("user",)), [RemarkKind.OUTSIDE_RESOURCES]),
        (alert("eventType == 'alertIncidentUpdated'", resources=("table",)), []),
        (alert("owners == 'ann'", resources=("user",)), [RemarkKind.OUTSIDE_RESOURCES]),
        (alert("owners == 'ann'", resources=("task",)), []),
        (alert("service == 'shop'", resources=("user",)), [RemarkKind.OUTSIDE_RESOURCES]),
        (alert("service == 'shop'", resources=("databaseService",)), []),
        (alert("service == 'shop'", resources=("testCase",)), []),
        (alert("matchAnyFieldChange('columns')", resources=("dashboard",)), [RemarkKind.OUTSIDE_RESOURCES]),
        (alert("fieldChanged == 'columns.email'", resources=("user",)), [RemarkKind.OUTSIDE_RESOURCES]),
        (alert("fieldsAdded.contains('columns')", resources=("dashboard", "table")), []),
        (alert("fieldChanged == 'testCaseResult'", resources=("table",)), []),
        (alert("fieldChanged == 'pipelineStatus'", resources=("ingestionPipeline",)), []),
        *(
            (alert(condition, resources=(resource,)), [RemarkKind.OUTSIDE_RESOURCES])
            for condition, resource in (
                ("matchAnyChange('schema')", "user"),
                ("matchAnyChange('schema', 'add', 'columns')", "databaseService"),
                ("matchAnyChange('schema')", "conversation"),
                ("matchAnyChange({'tag','tier','glossaryTerm'})", "team"),
                ("changeCategory == 'certification'", "glossary"),
                ("changeCategory == 'conversation'", "table"),
                ("matchAnyChange('owner')", "role"),
                ("matchAnyTag('PII.Sensitive')", "user"),
                ("tags.startsWith('PII')", "classification"),
                ("matchAnyTier('Tier.Tier1')", "tag"),
                ("matchAnyDomain('Sales')", "domain"),
            )
        ),
        *(
            (alert(condition, resources=resources), [])
            for condition, resources in (
                ("matchAnyChange('schema')", ("user", "table")),
                ("matchAnyChange('schema')", ("all",)),
                ("matchAnyChange('lifecycle')", ("user",)),
                ("matchAnyChange('*', 'add')", ("user",)),
                ("matchAnyChange('membership')", ("user",)),
                ("matchAnyChange('follower')", ("glossary",)),
                ("matchAnyChange('run')", ("pipeline",)),
                ("matchAnyChange('quality')", ("table",)),
                ("changeCategory == 'conversation'", ("task",)),
                ("matchAnyTag('PII.Sensitive')", ("policy",)),
                ("matchAnyTag('PII.Sensitive')", ("conversation",)),
                ("matchAnyDomain('Sales')", ("user",)),
            )
        ),
        *(
            (alert(f"eventType == '{kind}'", resources=("all",)), [RemarkKind.UNKNOWN_WORD])
            for kind in ("freshnessViolation", "profileAnomaly", "usageDrop", "queryPatternChange")
        ),
        (alert("eventType == 'destinationStopped'", resources=("eventsubscription",)), []),
        (alert("testStatus == 'Failed'", resources=("topic",)), [RemarkKind.OUTSIDE_RESOURCES]),
        (alert("pipelineStatus == 'Failed' && isBot()", resources=("table",)), [RemarkKind.OUTSIDE_RESOURCES]),
        (alert("firstFailure()", resources=("dashboard",)), [RemarkKind.OUTSIDE_RESOURCES]),
        (alert("testSuites == 'nightly'", resources=("pipeline",)), [RemarkKind.OUTSIDE_RESOURCES]),
        (alert("matchConversationUser('ann')", resources=("table",)), [RemarkKind.OUTSIDE_RESOURCES]),
        (alert("isBot() && testStatus != 'Failed'", resources=("topic",)), []),
        (alert("noSuccessFor('6h')", resources=("pipeline",)), []),
        (alert("eventType == 'suggestionCreated'"), [RemarkKind.UNKNOWN_WORD]),
        (alert("isBot() && eventType != 'entityUpdated'", resources=("table",)), []),
        (alert("matchStatusTransition('Success','Failed')", "pipelineStatus == 'PARTIALSUCCESS'"), []),
        (alert("matchAnySource('thread') && userName == 'nobody'"), []),
    ],
)
def test_what_is_odd_is_remarked_upon_once(subscription: EventSubscription, kinds: list[RemarkKind]) -> None:
    assert [remark.kind for remark in of_alert(subscription, plan_of(subscription))] == kinds


def test_an_alert_that_notifies_nobody_gets_a_warning() -> None:
    silent = alert("isBot()").model_copy(update={"destinations": ()})
    assert [remark.to_wire() for remark in of_alert(silent, plan_of(silent))] == [
        {
            "kind": "noDestinations",
            "message": "The alert has no destinations, so it notifies nobody",
            "field": "destinations",
        }
    ]


def test_a_remark_has_its_place() -> None:
    odd = alert("isBot()", "false")
    (remark,) = of_alert(odd, plan_of(odd))
    assert remark.to_wire() == {
        "kind": "neverTrue",
        "message": "This condition is never true",
        "field": "filteringRules.rules[1].condition",
    }


def test_a_word_that_no_event_has_is_named_with_the_nearest_one() -> None:
    (remark,) = of_condition(parse_and_check("matchStatusTransition('Sucess','Failed')"))
    assert remark.message == "No event has the previousStatus 'sucess'; did you mean Success?"
    (remark,) = of_condition(parse_and_check("entityType == 'Table'"))
    assert remark.message == "No event has the entityType 'Table'; did you mean table?"


@pytest.mark.parametrize(
    ("tier", "suggestion"), [("Tier1", "Tier.Tier1"), ("tier.tier1", "Tier.Tier1"), ("gold", "Tier.Gold")]
)
def test_a_tier_without_its_prefix_is_remarked_upon(tier: str, suggestion: str) -> None:
    (remark,) = of_condition(parse_and_check(f"tier == '{tier}'"))
    assert remark.kind is RemarkKind.UNKNOWN_WORD
    assert remark.message == f"No asset has the tier '{tier}': tiers begin with Tier.; did you mean {suggestion}?"
    assert not list(of_condition(parse_and_check("matchAnyTier('Tier.Tier1')")))


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        (
            "changeTarget == 'column.email'",
            "'column.email': a target is asset, or begins with a list of members; did you mean columns.e",
        ),
        (
            "matchAnyChange('tag','add','email')",
            "'email': a target is asset, or begins with a list of members; did you mean columns.e",
        ),
        (
            "matchAnyChange('*','*',{'asset','colums.a'},'PII.None')",
            "'colums.a': a target is asset, or begins with a list of members; ",
        ),
    ],
)
def test_a_target_that_no_change_can_have_is_remarked_upon(condition: str, says: str) -> None:
    (remark,) = of_condition(parse_and_check(condition))
    assert remark.kind is RemarkKind.UNKNOWN_WORD
    assert remark.message.startswith(f"No change has the target {says}")


@pytest.mark.parametrize(
    "target", ["asset", "columns", "columns.a.children", 'columns."a.b"', "messageSchema.schemaFields.a"]
)
def test_a_target_that_a_change_can_have_is_not(target: str) -> None:
    assert not list(
        of_condition(parse_and_check(f"matchAnyChange('tag', 'add', '{target}') || changeTarget == '{target}'"))
    )


_ERROR, _WARNING = "error", "warning"
_MISSPELT: dict[str, dict[str, tuple[str, str]]] = {
    "matchAnySource": {"types": ("tabel", _WARNING)},
    "matchAnyEventType": {"types": ("entityUpdatd", _ERROR)},
    "matchTestResult": {"statuses": ("Faild", _WARNING)},
    "getTestCaseStatusIfInTestSuite": {"statuses": ("Faild", _WARNING), "suites": ("x", "")},
    "matchIngestionPipelineState": {"states": ("sucess", _WARNING)},
    "matchPipelineState": {"states": ("Sucessful", _WARNING)},
    "matchAnyFieldChange": {"paths": ("colums", _WARNING)},
    "onlyFieldsChanged": {"fields": ("colums", _WARNING)},
    "matchAnyChange": {
        "categories": ("schma", _ERROR),
        "operations": ("ad", _ERROR),
        "targets": ("colums", _WARNING),
        "values": ("faild", _WARNING),
    },
    "olderThan": {"durations": ("7dd", _ERROR)},
    "matchAnyTier": {"tiers": ("Tier1", _WARNING)},
    "matchStatusTransition": {"before": ("sucess", _WARNING), "after": ("faild", _WARNING)},
    "matchStatusInARow": {"statuses": ("faild", _WARNING), "times": ("0", _ERROR)},
    "noSuccessFor": {"durations": ("6hh", _ERROR)},
    "stillStale": {"durations": ("6hh", _ERROR)},
}
"""What is misspelt in each parameter, and what comes of it; parameters that are not here take names."""

_RIGHT = {
    **{"types": "table", "statuses": "Failed", "states": "failed", "paths": "tags", "fields": "tags", "times": "3"},
    **{"categories": "quality", "operations": "*", "targets": "*", "values": "Failed", "durations": "7d"},
    **{"tiers": "Tier.Tier1", "before": "success", "after": "failed"},
}
_CALLS = [(name, parameter.rstrip("?+")) for name, function in FUNCTIONS.items() for parameter in function.parameters]


@pytest.mark.parametrize(("name", "parameter"), _CALLS)
def test_every_word_of_a_closed_list_is_checked_in_every_function(name: str, parameter: str) -> None:
    word, outcome = _MISSPELT.get(name, {}).get(parameter, ("", ""))

    def outcome_of(words: dict[str, str]) -> str:
        """Return what is said of a call, all parameters of which have these words, or right ones."""
        parameters = [parameter.rstrip("?+") for parameter in FUNCTIONS[name].parameters]
        right_words = _RIGHT | ({"types": "entityUpdated"} if name == "matchAnyEventType" else {})
        texts = {parameter: words.get(parameter) or right_words.get(parameter, "x") for parameter in parameters}
        arguments = [text if parameter == "times" else f"{{'{text}'}}" for parameter, text in texts.items()]
        call = f"{name}('{texts['fields']}')" if name == "onlyFieldsChanged" else f"{name}({', '.join(arguments)})"
        try:
            remarks = list(of_condition(parse_and_check(call)))
        except InvalidCondition:
            return _ERROR
        return _WARNING if RemarkKind.UNKNOWN_WORD in {remark.kind for remark in remarks} else ""

    assert outcome_of({}) == ""
    assert outcome_of({parameter: word}) == outcome


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("onlyFieldsChanged('tags', 'colums')", "No event changes the field 'colums'; did you mean columns?"),
        (
            "matchAnyChange({'quality', 'run'}, '*', '*', 'faild')",
            "the category quality has the value 'faild'; did you mean F",
        ),
        (
            "matchAnyChange('run', '*', '*', 'Succesful')",
            "the category run has the value 'Succesful'; did you mean Suc",
        ),
        ("matchAnyChange('lifecycle', 'remove', '*', 'softDelted')", "'softDelted'; did you mean softDeleted?"),
        ("matchAnyChange('tier', '*', '*', 'gold')", "No asset has the tier 'gold': tiers begin with Tier."),
        ("entity.entityStatus == 'Deprecatd'", "No event has the entityStatus 'Deprecatd'; did you mean Deprecated?"),
        ("entity.tableType != 'Regulr'", "No event has the tableType 'Regulr'; did you mean Regular?"),
        ("newValue('entityStatus') == 'Aproved'", "No event has the entityStatus 'Aproved'; did you mean Approved?"),
        ("oldValue('testCaseResult.testCaseStatus') in {'Faild'}", "the testCaseStatus 'Faild'; did you mean Failed?"),
        ("changeCategory.contains('schma')", "No event has the changeCategory 'schma'; did you mean schema?"),
        ("changeRequest == 'CR12'", "No change request has the number 'CR12'"),
    ],
)
def test_a_value_of_a_closed_list_is_checked(condition: str, says: str) -> None:
    messages = [one.message for one in of_condition(parse_and_check(condition)) if one.kind is RemarkKind.UNKNOWN_WORD]
    assert says in messages[0]
    assert len(messages) == len(set(messages))


@pytest.mark.parametrize(
    "condition",
    [
        "matchAnyChange('quality', '*', '*', 'warehouse.shop.orders.testSuite')",
        "matchAnyChange('*', '*', '*', 'faild')",
        "matchAnyChange({'quality', 'run'}, '*', '*', {'Aborted', 'Failed', 'failed'})",
        "entity.displayName == 'Regulr'",
        "newValue('description') == 'Failed'",
        "changeRequest == 'CR-12'",
        "entity.entityStatus == 'In Review'",
    ],
)
def test_a_value_that_may_be_anything_is_not(condition: str) -> None:
    assert RemarkKind.UNKNOWN_WORD not in {one.kind for one in of_condition(parse_and_check(condition))}
