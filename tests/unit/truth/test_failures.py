"""Tests of the second model of incidents: by hand."""

from __future__ import annotations

from truth.compare import unlike_incidents
from truth.facts import Event
from truth.failures import Incident, incidents_of


def report(number: int, status: str, asset: str = "a") -> Event:
    nothing = frozenset[str]()
    key = ("testCase", f"s.d.p.t.{asset}")
    return Event(str(number), "entityUpdated", key, asset, "bot", number, nothing, nothing, nothing, status=status)


EVENTS = [
    report(1, "Failed"),
    report(2, "Failed"),
    report(3, "Success", "b"),
    report(4, "Success"),
    report(5, "Failed"),
    report(6, "Failed", "b"),
]


def test_failures_belong_to_one_incident_until_the_next_success_of_the_asset() -> None:
    firings = {"First": {"1", "6"}, "Any": {"1", "2", "5", "6"}, "Plain": {"1"}}
    both = frozenset({"First", "Any"})
    assert set(incidents_of(EVENTS, firings, ("First", "Any"))) == {
        Incident("a", "1", both, "4"),
        Incident("a", "5", frozenset({"Any"})),
        Incident("b", "6", both),
    }


def test_a_missing_one_one_too_many_and_a_gap_are_found() -> None:
    watchers = frozenset({"Any"})
    due, other_incident = Incident("a", "1", watchers, "4"), Incident("b", "6", watchers)
    assert list(unlike_incidents([due], {1: due})) == []
    assert len(list(unlike_incidents([due], {1: other_incident}))) == 2
    assert len(list(unlike_incidents([due, other_incident], {1: due, 3: other_incident}))) == 1
