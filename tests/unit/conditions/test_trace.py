"""Tests of traces against the evaluator, on generated conditions and events."""

from __future__ import annotations

from hypothesis import given, settings
from tests.parity.generated import conditions, events
from tests.soak import SOAK

from tocsin.conditions.check import check
from tocsin.conditions.evaluate import holds
from tocsin.conditions.fields import derive
from tocsin.conditions.nodes import Personal
from tocsin.conditions.parse import parse
from tocsin.conditions.syntax import text_of
from tocsin.conditions.trace import Seen, decisive, trace_condition
from tocsin.logic import leaves
from tocsin.model.change import ChangeEvent, LoggedEvent


def event_with(**keys: object) -> LoggedEvent:
    wire = {"id": "1", "eventType": "entityUpdated", "entityType": "table", "entityId": "2", "timestamp": 7, **keys}
    event = ChangeEvent.model_validate(wire)
    return LoggedEvent(1, event, derive(event, actor_is_bot=False))


@settings(max_examples=160 if SOAK else 20)
@given(text=conditions, log=events)
def test_a_trace_says_what_the_evaluator_says(text: str, log: list[LoggedEvent]) -> None:
    written = parse(text)
    node = check(written)
    asks_of_people = any(isinstance(leaf, Personal) for leaf in leaves(node))
    for event in log:
        verdict = trace_condition(written, event).holds
        assert verdict is holds(node, event) or (verdict is None and asks_of_people)


@settings(max_examples=80 if SOAK else 40)
@given(text=conditions)
def test_what_is_written_anew_means_the_same(text: str) -> None:
    written = parse(text)
    assert check(parse(text_of(written))) == check(written)


def test_every_test_has_its_position_and_observed_values() -> None:
    text = "eventType == 'entityUpdated' && (tier == 'Tier.Tier1' ||\n !tags.contains('PII.Sensitive'))"
    tagged = event_with(entity={"tags": [{"tagFQN": "PII.Sensitive"}], "owners": [{"name": "ann"}]})
    trace = trace_condition(parse(text), tagged)
    assert (trace.holds, trace.joined) == (False, "and")
    event_type, (tier, untagged) = trace.parts[0], trace.parts[1].parts
    tests = (event_type, tier, *untagged.parts)
    observations = [(one.text, one.at.line, one.at.column, one.holds, one.observations) for one in tests]
    assert observations == [
        ("eventType == 'entityUpdated'", 1, 1, True, (Seen("eventType", ("entityUpdated",)),)),
        ("tier == 'Tier.Tier1'", 1, 34, False, (Seen("tier", ()),)),
        ("tags.contains('PII.Sensitive')", 2, 3, True, (Seen("tags", ("PII.Sensitive",)),)),
    ]


def test_both_sides_of_a_comparison_are_seen_and_what_a_function_asks() -> None:
    change = {"fieldsUpdated": [{"name": "extension.score", "oldValue": 3, "newValue": 5}]}
    scored = event_with(changeDescription=change, userName="ann", entity={"owners": [{"name": "ben"}]})
    observed = trace_condition(parse("newValue('extension.score') <= oldValue('extension.score')"), scored).observations
    assert observed == (Seen("newValue('extension.score')", (5,)), Seen("oldValue('extension.score')", (3,)))
    both = trace_condition(parse("userName in owners"), scored)
    assert (both.holds, both.observations) == (False, (Seen("userName", ("ann",)), Seen("owners", ("ben",))))
    assert trace_condition(parse("matchAnyEntityFqn({'a.b'})"), scored).observations[0] == Seen(
        "entityFullyQualifiedName", ()
    )


def test_what_is_asked_of_each_person_stays_open() -> None:
    def verdict(text: str) -> bool | None:
        return trace_condition(parse(text), event_with()).holds

    assert verdict("user.follows(entity)") is None
    assert verdict("!user.follows(entity) && eventType == 'entityUpdated'") is None
    assert verdict("user.follows(entity) && eventType == 'entityCreated'") is False
    assert verdict("user.owns(entity) || eventType == 'entityUpdated'") is True


def test_the_tests_that_decided_are_distinguished_from_the_others() -> None:
    def decisive_texts(text: str) -> list[str]:
        return [one.text for one in decisive(trace_condition(parse(text), event_with()))]

    yes, no = "eventType == 'entityUpdated'", "tier == 'x'"
    assert decisive_texts(f"{yes} && {no}") == [no]
    assert decisive_texts(f"{yes} || {no}") == [yes]
    assert decisive_texts(f"{no} || !({yes} && {yes})") == [no, yes, yes]
    assert decisive_texts(f"{yes} && !({no} || {no})") == [yes, no, no]
