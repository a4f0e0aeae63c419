"""Tests of conditions on what is still so at the times of a schedule."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.flow.match.test_plan import subscription

from tocsin.alerts.explanations.matching import match_trace
from tocsin.errors import InvalidCondition, InvalidInput
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import Plan, between_reports, plan_of
from tocsin.model.change import STATE_AT_SCHEDULE, STILL_FAILING, ChangeEvent, EventType, LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.subscription import FilteringRules, Trigger, TriggerType

EIGHT = Trigger(trigger_type=TriggerType.SCHEDULED, cron_expression="0 0 8 * * ?")
NINE = Trigger(trigger_type=TriggerType.SCHEDULED, cron_expression="0 0 9 * * ?")


def plan(condition: str, trigger: Trigger = EIGHT, resource: str = "testCase") -> Plan:
    rules = FilteringRules.model_validate(
        {"resources": [resource], "rules": [{"effect": "include", "condition": condition}]}
    )
    return plan_of(subscription().model_copy(update={"trigger": trigger, "filtering_rules": rules}))


def check_event(
    *states: str, trigger: Trigger = EIGHT, entity_type: str = "testCase", **derived: object
) -> LoggedEvent:
    event = ChangeEvent(
        id="e", event_type=EventType.SCHEDULED_CHECK, entity_type="testCase", entity_id="t", timestamp=5
    )
    own_states = [f"{trigger.schedule_id}|{state}" for state in states]
    facts: Document = {STATE_AT_SCHEDULE: own_states, **derived}
    return LoggedEvent(1_000, event, facts)


def test_a_check_matches_for_its_own_schedule_alone() -> None:
    red = check_event(STILL_FAILING)
    assert matches(plan("stillFailing()"), red)
    assert not matches(plan("stillFailing()", NINE), red)
    assert matches(plan("stillFailing()", resource="table"), red), "alerts on tables are about their tests as well"
    assert not matches(plan("testStatus != 'Success'"), red), "an alert that asks for no state"


def test_a_check_matches_because_of_a_state_and_other_events_because_of_the_rest() -> None:
    both = plan("stillFailing() || tier == 'Tier.Tier1'")
    assert matches(both, check_event(STILL_FAILING))
    assert not matches(both, check_event("stillWithoutOwner", tier="Tier.Tier1"))
    update_event = LoggedEvent(
        1_000,
        ChangeEvent(id="e", event_type=EventType.ENTITY_UPDATED, entity_type="testCase", entity_id="t", timestamp=5),
        {"tier": "Tier.Tier1"},
    )
    assert matches(both, update_event)
    assert not matches(plan("!stillFailing()"), check_event("stillWithoutOwner"))
    important = plan("stillFailing() && tier == 'Tier.Tier1'")
    assert [matches(important, check_event(STILL_FAILING, tier=tier)) for tier in ("Tier.Tier1", "Tier.Tier2")] == [
        True,
        False,
    ]


def test_a_check_is_matched_beside_conditions_on_earlier_reports() -> None:
    (narrowed,) = between_reports([plan("stillFailing() || firstFailure()")])
    assert matches(narrowed, check_event(STILL_FAILING))


def test_staleness_holds_from_the_shortest_time_on() -> None:
    stale = plan("stillStale({'1h','2d'})")
    assert stale.states == {"stillStale:3600000", "stillStale:172800000"}
    assert matches(stale, check_event("stillStale:3600000"))
    assert not matches(stale, check_event("stillStale:60000"))
    with pytest.raises(InvalidCondition, match="invalid duration"):
        plan("stillStale('soon')")


def test_an_alert_without_a_schedule_is_refused_with_a_way_out() -> None:
    with pytest.raises(InvalidInput, match=r"stillFailing\(\) asks for the state.*triggerType to Scheduled") as refused:
        plan("stillFailing()", Trigger())
    assert refused.value.field == "trigger.triggerType"


def test_an_explanation_says_whether_a_check_was_of_the_schedule_of_the_alert() -> None:
    rules = FilteringRules.model_validate(
        {"resources": ["testCase"], "rules": [{"effect": "include", "condition": "stillFailing()"}]}
    )
    alert = subscription().model_copy(update={"trigger": EIGHT, "filtering_rules": rules})
    matching, another = (match_trace(alert, check_event(STILL_FAILING, trigger=trigger)) for trigger in (EIGHT, NINE))
    assert (matching.matched, matching.obstacles()) == (True, [])
    assert not another.matched
    assert another.obstacles() == [
        "the check is of another alert's schedule",
        "the rule 1 is false: stillFailing() (stateAtSchedule is missing)",
    ]


@pytest.mark.parametrize("event_type", [EventType.SCHEDULED_CHECK, EventType.INCIDENT_REMINDER])
def test_an_alert_that_names_checks_or_reminders_matches_those_of_others_and_nothing_speaks_against_it(
    event_type: EventType,
) -> None:
    rules = FilteringRules.model_validate(
        {"resources": ["testCase"], "rules": [{"effect": "include", "condition": f"eventType == '{event_type}'"}]}
    )
    alert = subscription().model_copy(update={"trigger": Trigger(), "filtering_rules": rules})
    logged = check_event(STILL_FAILING, trigger=NINE)
    logged = replace(logged, event=logged.event.model_copy(update={"event_type": event_type}))
    trace = match_trace(alert, logged)
    assert (trace.matched, trace.obstacles()) == (True, [])
