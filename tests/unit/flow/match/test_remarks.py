"""Tests of warnings about conditions, with no false ones."""

from __future__ import annotations

import pytest

from tocsin.conditions.check import parse_and_check
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
