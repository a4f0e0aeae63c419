"""Tests of why changes were made, on both stores: kept with versions and events, and found by a part."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany

from tocsin.flow.eventlog.selection import EventSelection
from tocsin.model.change import ChangeEvent
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.eventlog.log import EventLog


def describe(company: SmallCompany, text: str, reason: str | None) -> None:
    operation = {"op": "add", "path": "/description", "value": text}
    actor = replace(company.actor("dia"), reason=reason)
    company.writes.patch("table", company.key("orders"), [operation], actor=actor)


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    company = SmallCompany(store_engine)
    reasons = ("The AUDITORS asked: 100%_of /it", None, "Über Nacht 東京", "dbt run 4c1f")
    for number, reason in enumerate(reasons):
        describe(company, f"text {number}", reason)
    return company


@pytest.mark.parametrize(
    ("part", "reasons"),
    [
        ("auditors", ["The AUDITORS asked: 100%_of /it"]),
        ("100%_OF /it", ["The AUDITORS asked: 100%_of /it"]),
        ("100__of", []),
        ("über", ["Über Nacht 東京"]),
        ("東京", ["Über Nacht 東京"]),
        ("nacht 京", []),
        ("a", ["The AUDITORS asked: 100%_of /it", "Über Nacht 東京"]),
        ("' OR 1=1 --", []),
    ],
)
def test_events_are_found_by_a_part_of_their_reason(company: SmallCompany, part: str, reasons: list[str]) -> None:
    selection = EventSelection(reason=part)
    events: list[ChangeEvent] = [one.event for one in EventLog(company.engine).list_events(selection, limit=100)]
    assert [event.reason for event in events if selection.gives_reason(event)] == reasons


def test_a_version_and_its_event_have_the_same_reason(company: SmallCompany) -> None:
    reasons = SqlCatalogue(company.engine).reasons(company.ids["orders"])
    events = [one.event for one in EventLog(company.engine).list_events(EventSelection(reason="a"), limit=100)]
    assert {str(event.current_version): event.reason for event in events}.items() <= reasons.items()
    assert set(reasons.values()) == {"The AUDITORS asked: 100%_of /it", "Über Nacht 東京", "dbt run 4c1f"}


@pytest.mark.parametrize("names", [{"dia", "nobody"}, {"nobody"}, set(), {"dia' OR '1'='1"}])
def test_events_are_found_by_any_of_several_authors(company: SmallCompany, names: set[str]) -> None:
    entries = EventLog(company.engine).list_events(EventSelection(user_names=frozenset(names)), limit=99)
    assert {entry.event.user_name for entry in entries} == names & {"dia"}
