"""Tests of silence events: written once, on the entity, without a new version."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany

from tocsin.catalogue.observations.silences import Silence, add_silence
from tocsin.errors import NotFound
from tocsin.flow.match.streak import StatusReport, report_of
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.reports import Reports


def test_a_silence_is_an_event_on_the_entity_that_has_an_id_made_of_its_causes(store_engine: Engine) -> None:
    company, reports = SmallCompany(store_engine), Reports(store_engine)
    before = company.pipeline("etl", owners=[{"type": "user", "name": "ana"}])
    silence = Silence(company.ids["etl"], since_ms=1_000, asked_ms=60_000, at_ms=65_000)
    add_silence(company.writes, "pipeline", silence)
    logged_silence = EventLog(store_engine).find(silence.event_id)
    assert logged_silence is not None
    wire = logged_silence.event.to_wire()
    assert (wire["eventType"], wire["entityType"], wire["userName"]) == ("slaViolation", "pipeline", "system")
    assert wire["previousVersion"] == wire["currentVersion"] == before["version"]
    (change,) = wire["changeDescription"]["fieldsAdded"]
    silence_value = {"timestamp": 65_000, "since": 1_000, "withoutSuccess": 60_000}
    assert (change["name"], change["newValue"]) == ("silence", silence_value)
    assert logged_silence.derived["owners"] == ["ana"]
    assert report_of(logged_silence) == StatusReport(None, 65_000)
    assert reports.newest() == logged_silence.offset
    assert reports.logged_ids([silence.event_id]) == {silence.event_id}


def test_the_same_silence_noticed_later_is_the_same_one_and_another_is_another() -> None:
    silence = Silence("e", since_ms=1_000, asked_ms=60_000, at_ms=65_000)
    assert silence.event_id == Silence("e", 1_000, 60_000, 90_000).event_id
    other_silences = [
        Silence("f", 1_000, 60_000, 65_000),
        Silence("e", 2_000, 60_000, 65_000),
        Silence("e", 1_000, 70_000, 1),
    ]
    assert len({silence.event_id, *(other.event_id for other in other_silences)}) == 4


def test_nothing_is_written_on_what_is_gone(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    company.pipeline("etl")
    company.writes.delete("pipeline", company.key("etl"), actor=company.actor("ana"))
    newest = EventLog(store_engine).readable_end()
    with pytest.raises(NotFound):
        add_silence(company.writes, "pipeline", Silence(company.ids["etl"], 1_000, 60_000, 65_000))
    assert EventLog(store_engine).readable_end() == newest
