"""Tests of an alert's history on both stores: edits and firings, newest first, with what was not sent."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import Engine, insert, select
from tests.company import SmallCompany
from tests.notifying import notify_all

from tocsin.flow.eventlog.lake import Window
from tocsin.model.people import SYSTEM
from tocsin.store.catalogue.alerts.history import AlertHistory, HistoryAsked, HistoryKind
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import attempt, notification

FIRING, EDIT = HistoryKind.FIRING, HistoryKind.EDIT
MAIL = {"category": "Owners", "type": "Email"}


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    """An alert on descriptions: created, fired twice, edited, fired again."""
    small_company = SmallCompany(store_engine)
    small_company.alert("mails", [MAIL], "fieldChanged == 'description'", resources=("table",))
    small_company.describe("orders", "one")
    small_company.describe("revenue", "two", by="ben")
    small_company.clock.advance(1_000)
    small_company.writes.patch(
        "eventsubscription",
        small_company.key("mails"),
        [{"op": "add", "path": "/description", "value": "for mails"}],
        actor=SYSTEM,
    )
    small_company.describe("orders", "three")
    notify_all(store_engine)
    return small_company


def kinds(company: SmallCompany, **parameters: object) -> list[tuple[str, int | None]]:
    entries = AlertHistory(company.engine).page(HistoryAsked(company.ids["mails"], **parameters), limit=100)  # type: ignore[arg-type]
    return [(one.kind.value, one.counts and one.counts.notified_count) for one in entries]


def test_edits_and_firings_are_one_list_newest_first(company: SmallCompany) -> None:
    assert kinds(company) == [("firing", 2), ("edit", None), ("firing", 1), ("firing", 2), ("edit", None)]
    assert kinds(company, kinds=(EDIT,)) == [("edit", None)] * 2
    assert kinds(company, kinds=(HistoryKind.REPORT,)) == []


def test_a_window_is_about_the_time_of_the_events(company: SmallCompany) -> None:
    all_entries = AlertHistory(company.engine).page(HistoryAsked(company.ids["mails"]), limit=100)
    times = [one.event.timestamp for one in all_entries]
    assert kinds(company, window=Window(times[2], times[1])) == [("edit", None), ("firing", 1)]
    assert kinds(company, window=Window(times[0] + 1)) == []


@pytest.mark.parametrize("size", [1, 2, 3])
def test_pages_continue_each_other(company: SmallCompany, size: int) -> None:
    reader, question = AlertHistory(company.engine), HistoryAsked(company.ids["mails"])
    all_places = [one.place for one in reader.page(question, limit=100)]
    places, last = [], None
    while page := reader.page(question, limit=size, before=last):
        assert len(page) <= size
        places += [one.place for one in page]
        last = places[-1]
    assert places == all_places


def test_an_alert_that_matches_its_own_edit_fires_after_it(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    alert_id = company.alert("selfish", [MAIL], resources=("eventsubscription",))
    for text in ("one", "two"):
        company.clock.advance(1_000)
        patch = [{"op": "add", "path": "/description", "value": text}]
        company.writes.patch("eventsubscription", company.key("selfish"), patch, actor=SYSTEM)
    notify_all(store_engine)
    reader, question, last = AlertHistory(store_engine), HistoryAsked(alert_id), None
    kinds_newest_first = []
    while page := reader.page(question, limit=1, before=last):
        kinds_newest_first.append(page[0].kind)
        last = page[0].place
    assert kinds_newest_first == [FIRING, EDIT, FIRING, EDIT, FIRING, EDIT] or kinds_newest_first == [
        FIRING,
        EDIT,
        FIRING,
        EDIT,
        EDIT,
    ]


def test_what_a_worker_leaves_out_is_counted_as_suppressed(company: SmallCompany) -> None:
    note = notification.c
    with writing(company.engine) as connection:
        newest = select(note.id, note.message_id, note.reasons).order_by(note.log_offset.desc(), note.id).limit(1)
        newest_notification = connection.execute(newest).one()
        (reason,) = json.loads(newest_notification.reasons)
        omission = {"notificationId": newest_notification.id, "reason": reason, "because": "muted", "says": "muted"}
        attempt_row = {
            "message_id": newest_notification.message_id,
            "started_at_ms": 1,
            "duration_ms": 1,
            "reason": "muted",
            "detail": "",
        }
        attempts = [
            {**attempt_row, "number": 1, "outcome": "retry", "dropped": None},
            {**attempt_row, "number": 2, "outcome": "rejected", "dropped": json.dumps([omission])},
        ]
        connection.execute(insert(attempt), attempts)
    question = HistoryAsked(company.ids["mails"], (FIRING,))
    page = AlertHistory(company.engine).page(question, limit=100)
    assert [one.counts and one.counts.suppressed_count for one in page] == [1, 0, 0]
    page = AlertHistory(company.engine, examined_count=4).page(question, limit=100)
    assert [one.counts and one.counts.suppressed_count for one in page] == [None] * 3


def test_a_page_ends_where_its_events_are_too_large(company: SmallCompany) -> None:
    page = AlertHistory(company.engine, page_bytes=1).page(HistoryAsked(company.ids["mails"]), limit=100)
    assert (len(page), page.is_cut) == (1, True)
