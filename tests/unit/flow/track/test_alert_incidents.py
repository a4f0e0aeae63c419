"""Tests of which failures open which incidents, whatever the order in which they are read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tocsin.flow.track.alert_incidents import Failure, incidents_to_open
from tocsin.model.alert_incident import AlertIncident, IncidentStatus, incident_id, number_in


def failure(offset: int, *, after: int = 0, until: int | None = None, entity: str = "case") -> Failure:
    return Failure(offset, f"event {offset}", entity, "testCase", offset * 10, after, until)


def test_all_failures_up_to_the_next_success_are_one_incident() -> None:
    failures = {one: failure(one, until=5) for one in (2, 3)} | {6: failure(6, after=5)}
    incidents = incidents_to_open([(3, "a"), (2, "a"), (6, "a")], failures, {})
    assert [(one.first.log_offset, one.first.until) for one in incidents] == [(2, 5), (6, None)]
    assert [one.id for one in incidents] == [incident_id("a", "case", 0), incident_id("a", "case", 5)]


def test_alerts_and_assets_have_incidents_of_their_own() -> None:
    failures = {2: failure(2), 3: failure(3, entity="other")}
    assert len({one.id for one in incidents_to_open([(2, "a"), (2, "b"), (3, "a")], failures, {})}) == 3


def test_what_is_no_failure_opens_nothing() -> None:
    assert incidents_to_open([(2, "a")], {}, {}) == []


def test_what_fails_after_somebody_resolved_it_opens_another_one() -> None:
    failures = {one: failure(one) for one in (2, 4, 8)}
    pairs = [(2, "a"), (4, "a"), (8, "a"), (8, "b")]
    incidents = incidents_to_open(pairs, failures, {("a", "case"): [5]})
    assert [(one.subscription_id, one.first.log_offset) for one in incidents] == [("a", 2), ("a", 8), ("b", 8)]


@given(st.permutations([(offset, alert) for offset in (2, 3, 6, 9) for alert in "ab"]))
def test_the_order_does_not_matter(pairs: list[tuple[int, str]]) -> None:
    failures = {2: failure(2, until=5), 3: failure(3, until=5), 6: failure(6, after=5), 9: failure(9, after=5)}
    by_hand = {("a", "case"): [7]}
    assert incidents_to_open(pairs, failures, by_hand) == incidents_to_open(sorted(pairs), failures, by_hand)


def test_an_incident_has_a_number_as_its_name() -> None:
    incident = AlertIncident("i", 7, "a", "case", "testCase", IncidentStatus.OPEN, 1, 1, "e", 1)
    assert (incident.name, incident.is_open, number_in(incident.name), number_in("inc-12")) == ("INC-7", True, 7, 12)
    assert [number_in(text) for text in ("INC-0", "INC-", "7", "INC-٣", "INC-1234567890123456789")] == [None] * 5
