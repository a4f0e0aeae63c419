"""Tests of what is said of the handling of an incident, on both stores: the same by each way, and once."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pytest
from sqlalchemy import Engine, func, select
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_incident_records import Case, company_on

from tocsin.alerts.incident_tasks import take_transition
from tocsin.alerts.incidents import Handling, handle, take_step_for_all
from tocsin.errors import Conflict, NotFound
from tocsin.model.alert_incident import StepKind
from tocsin.model.change import ChangeDescription
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.store.catalogue.alerts.incidents import AlertIncidentLog
from tocsin.store.database.tables import change_event, notification
from tocsin.store.eventlog.log import events_at

Way = Callable[..., None]

_BEN: Document = {"type": "user", "name": "ben"}
_CAUSE = {"testCaseFailureReason": "MissingData", "testCaseFailureComment": "late"}
_BELL = [{"category": "Owners", "type": "ActivityFeed"}]


def handle_number(case: Case, act: str, who: str = "ana") -> None:
    """Handle the incident as ``/incidents`` does."""
    handling = {
        "ack": Handling(StepKind.ACKNOWLEDGED),
        "assign": Handling(StepKind.ASSIGNED, assignee=_BEN),
        "resolve": Handling(StepKind.RESOLVED, comment="late", reason="MissingData"),
    }[act]
    work = partial(handle, incident_id=case.incidents()[-1].id, handling=handling)
    case.company.writes.within(work, actor=case.company.actor(who))


def take_step_of_test(case: Case, act: str, who: str = "ana") -> None:
    """Handle it as ``testCaseIncidentStatus`` does."""
    status = {"ack": "Ack", "assign": "Assigned", "resolve": "Resolved"}[act]
    details = {"assign": {"assignee": _BEN}, "resolve": _CAUSE}.get(act)
    request = {"testCaseReference": case.name, "testCaseResolutionStatusType": status}
    work = partial(take_step_for_all, request=request | {"testCaseResolutionStatusDetails": details})
    case.company.writes.on_entity("testCase", Key.by_id(case.id), work, actor=case.company.actor(who))


def take_transition_of_task(case: Case, act: str, who: str = "ana") -> None:
    """Handle it as ``tasks`` does."""
    request: Document = {"transitionId": act}
    request |= {"payload": {"assignees": [_BEN]}} if act == "assign" else {}
    request |= {"comment": "late", "payload": _CAUSE} if act == "resolve" else {}

    work = partial(take_transition, state_id=case.last_steps()[-1]["stateId"], request=request)
    case.company.writes.on_entity("testCase", Key.by_id(case.id), work, actor=case.company.actor(who))


def acts_after(engine: Engine, offset: int) -> list[tuple[str, dict[str, str]]]:
    """Return the events after a place in the log: their types, and the state of each incident in them."""
    with engine.connect() as connection:
        places = connection.scalars(select(change_event.c.log_offset).where(change_event.c.log_offset > offset))
        events = events_at(connection, set(places))
    return [(event.event_type, states_in(event.change_description)) for _, event in sorted(events.items())]


def states_in(description: ChangeDescription | None) -> dict[str, str]:
    """Return the state that each changed incident has, by the field of the change."""
    changes = [*description.fields_updated, *description.fields_added] if description else []
    return {
        change.name: change.new_value.get("status") or change.new_value["testCaseResolutionStatusType"]
        for change in changes
        if change.name in ("alertIncident", "incidentStatus")
    }


def last_offset(engine: Engine) -> int:
    """Return the place of the newest event."""
    with engine.connect() as connection:
        return int(connection.execute(select(func.max(change_event.c.log_offset))).scalar_one())


def alerts_telling_after(engine: Engine, offset: int) -> list[list[str]]:
    """Return of each notification of later events the alerts that tell of it."""
    with engine.connect() as connection:
        reasons = connection.scalars(select(notification.c.reasons).where(notification.c.log_offset > offset)).all()
    return [[reason["subscriptionName"] for reason in json.loads(text)] for text in reasons]


@pytest.mark.parametrize("way", [handle_number, take_step_of_test, take_transition_of_task])
def test_each_way_to_handle_an_incident_says_so_once(store_engine: Engine, way: Way) -> None:
    company = company_on(store_engine)
    company.alert("any change", _BELL, resources=("testCase",))
    company.alert("handled", _BELL, "eventType == 'alertIncidentUpdated'", resources=("testCase",))
    case = Case(company)
    case.do("fail")
    notify_all(store_engine)
    for act, status, step in (
        ("ack", "acknowledged", "Ack"),
        ("assign", "acknowledged", "Assigned"),
        ("resolve", "resolved", "Resolved"),
    ):
        company.clock.advance(1_000)
        offset = last_offset(store_engine)
        way(case, act)
        states = {"alertIncident": status, "incidentStatus": step}
        assert acts_after(store_engine, offset) == [("alertIncidentUpdated", states)]
        notify_all(store_engine)
        assert alerts_telling_after(store_engine, offset) == [["handled"]]
    case.check()


@pytest.mark.parametrize("is_watched", [True, False])
@pytest.mark.parametrize("way", [take_step_of_test, take_transition_of_task])
def test_what_is_sent_again_changes_nothing_whoever_sends_it(store_engine: Engine, way: Way, is_watched: bool) -> None:
    case = Case(company_on(store_engine) if is_watched else SmallCompany(store_engine))
    case.do("fail")
    notify_all(store_engine)
    for act in ("ack", "assign", "resolve"):
        way(case, act)
        offset, steps = last_offset(store_engine), case.last_steps()
        case.company.clock.advance(1_000)
        way(case, act)
        way(case, act, "dia")
        assert (acts_after(store_engine, offset), case.last_steps()) == ([], steps)


def test_a_comment_that_is_sent_again_is_said_once(store_engine: Engine) -> None:
    """A resolved incident takes no other comment."""
    case = Case(company_on(store_engine))
    case.do("fail")
    notify_all(store_engine)
    (incident,) = case.incidents()
    for kind, reason in ((StepKind.ACKNOWLEDGED, None), (StepKind.RESOLVED, "MissingData")):
        handling = Handling(kind, comment="the feed was late", reason=reason)
        step_counts = []
        for _ in range(2):
            case.company.clock.advance(1_000)
            work = partial(handle, incident_id=incident.id, handling=handling)
            case.company.writes.within(work, actor=case.company.actor("ana"))
            step_counts.append(len(AlertIncidentLog(store_engine).steps(incident.id)))
        assert step_counts[0] == step_counts[1]
    other_words = partial(handle, incident_id=incident.id, handling=replace(handling, comment="no, it was not"))
    with pytest.raises(Conflict):
        case.company.writes.within(other_words, actor=case.company.actor("ana"))


@pytest.mark.parametrize("way", [take_step_of_test, take_transition_of_task])
def test_two_who_resolve_at_once_are_one_event(store_engine: Engine, way: Way) -> None:
    for _ in range(5):
        case = Case(company_on(store_engine))
        case.do("fail")
        notify_all(store_engine)
        offset = last_offset(store_engine)
        with ThreadPoolExecutor(3) as threads:
            acts = [threads.submit(way, case, "resolve", who) for who in ("ana", "dia", "ana")]
        assert [act.exception() for act in acts] == [None] * 3
        assert len(acts_after(store_engine, offset)) == 1
        case.check()


def test_a_step_of_a_test_that_no_alert_watches_is_one_event(store_engine: Engine) -> None:
    case = Case(SmallCompany(store_engine))
    case.do("fail")
    notify_all(store_engine)
    offset = last_offset(store_engine)
    take_step_of_test(case, "ack")
    assert acts_after(store_engine, offset) == [("entityUpdated", {"incidentStatus": "Ack"})]


def test_two_who_acknowledge_at_once_by_different_ways_are_one_event(store_engine: Engine) -> None:
    for _ in range(5):
        case = Case(company_on(store_engine))
        case.do("fail")
        notify_all(store_engine)
        offset = last_offset(store_engine)
        with ThreadPoolExecutor(3) as threads:
            acts = [threads.submit(way, case, "ack") for way in (handle_number, take_step_of_test, handle_number)]
        assert all(act.exception() is None for act in acts)
        states = {"alertIncident": "acknowledged", "incidentStatus": "Ack"}
        assert acts_after(store_engine, offset) == [("alertIncidentUpdated", states)]
        case.check()


def test_a_deleted_and_restored_test_keeps_its_incident(store_engine: Engine) -> None:
    case = Case(company_on(store_engine))
    case.do("fail")
    notify_all(store_engine)
    case.company.clock.advance(1_000)
    case.company.writes.delete("testCase", Key.by_id(case.id), actor=SYSTEM)
    offset = last_offset(store_engine)
    with pytest.raises(NotFound, match="is deleted"):
        take_step_of_test(case, "ack")
    assert acts_after(store_engine, offset) == []
    handle_number(case, "ack")
    case.company.writes.restore("testCase", case.id, actor=SYSTEM)
    case.company.clock.advance(1_000)
    take_step_of_test(case, "assign")
    case.do("succeed")
    notify_all(store_engine)
    assert [one.is_open for one in case.incidents()] == [False]
    case.check()
