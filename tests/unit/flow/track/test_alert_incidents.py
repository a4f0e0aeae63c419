"""Tests of which failures open which incidents, whatever the order in which they are read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tocsin.flow.track.alert_incidents import Failure, KnownIncident, incidents_to_open
from tocsin.model.alert_incident import AlertIncident, IncidentStatus, incident_id, number_in

RESOLVED_AT_5 = {"case": [KnownIncident("old", 2, 5)]}


def failure(offset: int, *, after: int = 0, until: int | None = None, entity: str = "case") -> Failure:
    return Failure(offset, f"event {offset}", entity, "testCase", offset * 10, after, until)


def test_all_failures_up_to_the_next_success_are_one_incident() -> None:
    failures = {one: failure(one, until=5) for one in (2, 3)} | {6: failure(6, after=5)}
    incidents = incidents_to_open([(3, "a"), (2, "a"), (6, "a")], failures, {})
    assert [(one.first.log_offset, one.first.until) for one in incidents] == [(2, 5), (6, None)]
    assert [one.id for one in incidents] == [incident_id("case", 0), incident_id("case", 5)]
    assert all(one.known_offset is None for one in incidents)


def test_alerts_watch_one_incident_each_from_its_own_first_failure_and_assets_have_their_own() -> None:
    failures = {2: failure(2), 3: failure(3, entity="other"), 4: failure(4)}
    of_case, of_other = incidents_to_open([(4, "b"), (2, "a"), (4, "a"), (3, "a")], failures, {})
    assert (of_case.watchers, of_other.watchers) == ({"a": 2, "b": 4}, {"a": 3})


def test_what_is_no_failure_opens_nothing() -> None:
    assert incidents_to_open([(2, "a")], {}, {}) == []


def test_what_fails_after_somebody_resolved_it_opens_another_one_for_all_alerts() -> None:
    failures = {one: failure(one) for one in (2, 4, 8)}
    pairs = [(2, "a"), (4, "a"), (8, "a"), (8, "b")]
    old, new = incidents_to_open(pairs, failures, RESOLVED_AT_5)
    assert (old.id, old.known_offset, old.watchers) == ("old", 2, {"a": 2})
    assert (new.id, new.known_offset, new.watchers) == (incident_id("case", 5), None, {"a": 8, "b": 8})


def test_an_earlier_failure_belongs_to_the_incident_that_later_ones_opened_unless_a_success_lies_between() -> None:
    incidents_by_asset = {"case": [KnownIncident("next", 9, None), KnownIncident("later", 20, None)]}
    (incident,) = incidents_to_open([(7, "a")], {7: failure(7, after=5, until=15)}, incidents_by_asset)
    assert (incident.id, incident.known_offset) == ("next", 9)
    (incident,) = incidents_to_open([(7, "a")], {7: failure(7, after=5, until=8)}, incidents_by_asset)
    assert incident.known_offset is None


def test_an_incident_that_lasts_keeps_its_failures_though_a_person_resolved_one_beside_it() -> None:
    """Stores from before had an incident for each alert: somebody resolved one of them."""
    incidents_by_asset = {"case": [KnownIncident("resolved", 1, 5), KnownIncident("lasting", 3, None)]}
    (incident,) = incidents_to_open([(8, "a")], {8: failure(8)}, incidents_by_asset)
    assert incident.id == "lasting"


@given(st.permutations([(offset, alert) for offset in (2, 3, 6, 9) for alert in "ab"]))
def test_the_order_does_not_matter(pairs: list[tuple[int, str]]) -> None:
    failures = {2: failure(2, until=5), 3: failure(3, until=5), 6: failure(6, after=5), 9: failure(9, after=5)}
    incidents_by_asset = {"case": [KnownIncident("by hand", 6, 7)]}
    assert incidents_to_open(pairs, failures, incidents_by_asset) == incidents_to_open(
        sorted(pairs), failures, incidents_by_asset
    )


def test_an_incident_has_a_number_as_its_name() -> None:
    incident = AlertIncident("i", 7, "case", "testCase", IncidentStatus.OPEN, 1, 1, "e", 1)
    assert (incident.name, incident.is_open, number_in(incident.name), number_in("inc-12")) == ("INC-7", True, 7, 12)
    assert [number_in(text) for text in ("INC-0", "INC-", "7", "INC-٣", "INC-1234567890123456789")] == [None] * 5


def test_a_merged_incident_is_the_one_that_it_is_part_of_under_its_own_name() -> None:
    lead = AlertIncident("lead", 3, "case", "testCase", IncidentStatus.ACKNOWLEDGED, 1, 1, "e", 1)
    part = AlertIncident("part", 7, "case", "testCase", IncidentStatus.OPEN, 2, 2, "f", 2).as_part(lead)
    assert (part.name, part.lead_id, part.status, part.opened_offset) == ("INC-7", "lead", lead.status, 1)
    assert (part.merged_into, lead.lead_id) == (("lead", 3), "lead")
