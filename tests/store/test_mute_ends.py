"""Tests of mutes that end with a change or an incident, on both stores: by places in the log, whoever asks and when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine, event, select
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_alert_incidents import handle_incident
from tests.store.test_preferences import in_app

from tocsin.alerts.incidents import Handling
from tocsin.flow.schedule.preferences import NEVER_MS
from tocsin.jobs.mutes import KEPT_MS, MutesJob
from tocsin.model.alert_incident import StepKind
from tocsin.model.mute import EVERYTHING_ID, FOR_GOOD_MS, Mute, MuteEnd, MuteKind
from tocsin.store.catalogue.alerts.incidents import AlertIncidentLog
from tocsin.store.database.alert_tables import mute
from tocsin.store.database.feed_tables import thread
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.inbox import Inbox
from tocsin.store.recipients.mutes import Mutes

OWNERS = [{"category": "Owners", "type": "ActivityFeed"}]
FAILED, WELL = "Failed", "Successful"


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    small_company = SmallCompany(store_engine)
    small_company.pipeline("etl", owners=[{"type": "user", "name": "ana"}])
    small_company.clock.advance(1_000)
    small_company.alert("failed", OWNERS, "pipelineStatus == 'Failed'", resources=("pipeline",))
    small_company.alert("all", OWNERS)
    notify_all(store_engine)
    return small_company


def put_mute(company: SmallCompany, ends_by: MuteEnd | None, ends_of: str = "", **options: Any) -> None:
    row = Mute(company.ids["ana"], MuteKind.ASSET, company.ids["etl"], since_ms=company.clock.now_ms())
    Mutes(company.engine).put(replace(row, ends_by=ends_by, ends_of=ends_of, **options))


def heard(company: SmallCompany, who: str = "ana") -> list[bool]:
    """Return of each notification in the app of a person, in order of the log, whether it is shown."""
    return [due_ms != NEVER_MS for due_ms, _ in in_app(company.engine, company.ids[who])]


def text(company: SmallCompany, words: str) -> None:
    company.clock.advance(1_000)
    patch = [{"op": "add", "path": "/description", "value": words}]
    company.writes.patch("pipeline", company.key("etl"), patch, actor=company.actor("dia"))


def listener_into(statements: list[str]) -> Callable[..., None]:
    """Return what adds the text of each statement to a list."""
    return lambda _connection, _cursor, sql, *_values: statements.append(sql)


def incident_id(company: SmallCompany) -> str:
    incident = AlertIncidentLog(company.engine).find("INC-1")
    assert incident is not None
    return incident.id


def test_many_mutes_are_settled_by_as_many_statements_as_two(company: SmallCompany) -> None:
    counts: list[tuple[int, int]] = []
    for pairs in (1, 20):
        for number in range(pairs):
            for fate, ends_of in (("ends", company.ids["etl"]), ("lasts", company.ids["ana"])):
                who = f"{fate} {number} of {pairs}"
                put_mute(company, MuteEnd.CHANGED, ends_of, who=who)
        text(company, f"changed after {pairs}")
        statements: list[str] = []
        note = listener_into(statements)
        event.listen(company.engine, "before_cursor_execute", note)
        ended_count = Mutes(company.engine).settle(EventLog(company.engine).readable_end())
        event.remove(company.engine, "before_cursor_execute", note)
        counts.append((ended_count, len(statements)))
    (two_ended, two_statements), (many_ended, many_statements) = counts
    assert (two_ended, many_ended, many_statements) == (1, 20, two_statements)


@pytest.mark.parametrize("settles", [False, True], ids=["not settled", "settled"])
def test_until_it_changes_runs_are_not_told_and_the_change_is(company: SmallCompany, settles: bool) -> None:
    put_mute(company, MuteEnd.CHANGED, company.ids["etl"])
    steps = [FAILED, WELL, "a text", FAILED, "more"]
    for step in steps:
        company.run("etl", step) if step in (FAILED, WELL) else text(company, step)
        if settles:
            notify_all(company.engine)
            MutesJob(company.engine, company.clock).look()
    notify_all(company.engine)
    assert heard(company) == [False, False, True, True, True]
    assert Mutes(company.engine).of(company.ids["ana"], company.clock.now_ms()) == []


def test_until_the_incident_is_resolved_the_success_is_told_again(company: SmallCompany) -> None:
    company.run("etl", FAILED)
    notify_all(company.engine)
    put_mute(company, MuteEnd.RESOLVED, incident_id(company))
    for status in (FAILED, FAILED, WELL, FAILED):
        company.run("etl", status)
    notify_all(company.engine)
    assert heard(company) == [True, False, False, True, True]


def test_an_incident_that_a_person_resolves_ends_a_mute_there(company: SmallCompany) -> None:
    company.run("etl", FAILED)
    notify_all(company.engine)
    put_mute(company, MuteEnd.RESOLVED, incident_id(company))
    company.run("etl", FAILED)
    notify_all(company.engine)
    handle_incident(company, "INC-1", Handling(StepKind.ACKNOWLEDGED))
    notify_all(company.engine)
    handle_incident(company, "INC-1", Handling(StepKind.RESOLVED))
    company.run("etl", FAILED)
    notify_all(company.engine)
    assert heard(company) == [True, False, True]


def test_an_incident_that_was_resolved_before_the_mute_was_stored_ends_it(company: SmallCompany) -> None:
    company.run("etl", FAILED)
    notify_all(company.engine)
    company.run("etl", WELL)
    put_mute(company, MuteEnd.RESOLVED, incident_id(company))
    MutesJob(company.engine, company.clock).look()
    company.run("etl", FAILED)
    notify_all(company.engine)
    assert heard(company) == [True, True, False], "the pipeline has not read the success yet"
    MutesJob(company.engine, company.clock).look()
    company.run("etl", FAILED)
    notify_all(company.engine)
    assert heard(company) == [True, True, False, True]
    assert Mutes(company.engine).of(company.ids["ana"], company.clock.now_ms()) == []


@pytest.mark.parametrize("is_hard", [False, True], ids=["soft", "hard"])
def test_an_incident_that_is_gone_with_its_asset_ends_a_mute(company: SmallCompany, is_hard: bool) -> None:
    company.run("etl", FAILED)
    notify_all(company.engine)
    put_mute(company, MuteEnd.RESOLVED, incident_id(company), about_id=company.ids["orders"])
    company.writes.delete("pipeline", company.key("etl"), actor=company.actor("dia"), hard=is_hard)
    patch = [{"op": "add", "path": "/description", "value": "a text"}]
    company.writes.patch("table", company.key("orders"), patch, actor=company.actor("dia"))
    notify_all(company.engine)
    assert all(heard(company))
    assert Mutes(company.engine).of(company.ids["ana"], company.clock.now_ms()) == []


def test_mutes_that_events_have_ended_keep_no_notice_from_others(
    company: SmallCompany, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tocsin.store.recipients.mutes._MOST_TOLD", 1)
    until_ms = company.clock.now_ms() + 240 * 3_600_000
    put_mute(company, MuteEnd.CHANGED, company.ids["etl"], until_ms=until_ms)
    put_mute(company, None, who=company.ids["ben"], about_id=company.ids["orders"], until_ms=until_ms)
    text(company, "ends the first")
    notify_all(company.engine)
    company.clock.at_ms = until_ms - 1_000
    MutesJob(company.engine, company.clock).look()
    assert notices(company.engine) == 1


def test_a_mute_that_has_ended_begins_anew_and_one_under_way_takes_the_new_end(company: SmallCompany) -> None:
    put_mute(company, MuteEnd.CHANGED, company.ids["etl"])
    text(company, "ends it")
    notify_all(company.engine)
    put_mute(company, MuteEnd.CHANGED, company.ids["etl"])
    company.run("etl", FAILED)
    put_mute(company, None)
    text(company, "no longer ends it")
    notify_all(company.engine)
    assert heard(company) == [True, False, False]


def test_what_a_time_and_a_change_may_end_ends_with_the_first(company: SmallCompany) -> None:
    put_mute(company, MuteEnd.CHANGED, company.ids["etl"], until_ms=company.clock.now_ms() + 1)
    company.clock.advance(5_000)
    company.run("etl", FAILED, after_s=600)
    notify_all(company.engine)
    assert heard(company) == [True]


def test_mutes_that_ended_a_month_ago_are_deleted_once_the_pipeline_has_read_so_far(company: SmallCompany) -> None:
    engine, now_ms = company.engine, company.clock.now_ms()
    put_mute(company, MuteEnd.CHANGED, company.ids["etl"])
    put_mute(company, None, about_id=company.ids["orders"], until_ms=now_ms + 1)
    put_mute(company, None, about_id=company.ids["revenue"])
    text(company, "ends it")

    def about() -> set[str]:
        with engine.connect() as connection:
            names = {identity: name for name, identity in company.ids.items()}
            return {names[one] for one in connection.scalars(select(mute.c.about_id))}

    job = MutesJob(engine, company.clock)
    job.look()
    assert about() == {"etl", "orders", "revenue"}
    company.clock.advance(KEPT_MS + 60_000)
    job.look()
    assert about() == {"etl", "revenue"}, "the event that ended the first is not read yet"
    notify_all(engine)
    job.look()
    assert about() == {"revenue"}
    company.clock.advance(-2 * KEPT_MS)
    job.look()
    assert about() == {"revenue"}
    assert Inbox(engine).counts(company.ids["ana"], now_ms).total_count == 1


def notices(engine: Engine) -> int:
    with engine.connect() as connection:
        texts = connection.scalars(select(thread.c.document)).all()
    return sum("One of your mutes" in document for document in texts)


def test_nobody_is_told_of_a_mute_of_what_is_gone_for_good(company: SmallCompany) -> None:
    put_mute(company, None, about_id=company.ids["orders"])
    put_mute(company, None, about_id=company.ids["etl"])
    for hard in (False, True):
        company.writes.delete("table", company.key("orders"), hard=hard, actor=company.actor("dia"))
    company.clock.advance(31 * 24 * 3_600_000)
    MutesJob(company.engine, company.clock).look()
    with company.engine.connect() as connection:
        told_ids = connection.scalars(select(mute.c.about_id).where(mute.c.told_ms.is_not(None))).all()
    assert list(told_ids) == [company.ids["etl"]]


@pytest.mark.parametrize(
    ("kind", "hours", "told_from", "told_until"),
    [
        (MuteKind.ASSET, 240, 216, 240),
        (MuteKind.ASSET, 8, 6, 8),
        (MuteKind.EVERYTHING, 240, 240, 264),
        (MuteKind.ASSET, None, 720, 10_000),
    ],
    ids=["ten days", "eight hours", "everything", "without an end"],
)
def test_before_a_mute_ends_and_after_a_month_its_person_is_told_once(
    company: SmallCompany, kind: MuteKind, hours: int | None, told_from: int, told_until: int
) -> None:
    start_ms, hour_ms = company.clock.now_ms(), 3_600_000
    until_ms = FOR_GOOD_MS if hours is None else start_ms + hours * hour_ms
    about_id = EVERYTHING_ID if kind is MuteKind.EVERYTHING else company.ids["orders"]
    put_mute(company, None, kind=kind, about_id=about_id, until_ms=until_ms)
    put_mute(company, None, who="out@example.com", until_ms=until_ms)
    put_mute(company, None, who=company.ids["ben"], until_ms=until_ms, unsubscribed=True)
    counts = []
    for hour in (told_from - 1, told_from, told_from, told_from - 1, told_until - 1):  # a clock that is set back
        company.clock.at_ms = start_ms + hour * hour_ms + 1
        for job in (MutesJob(company.engine, company.clock), MutesJob(company.engine, company.clock)):
            job.look()
        counts.append(notices(company.engine))
    assert counts == [0, 1, 1, 1, 1]
    notify_all(company.engine)


def test_who_was_told_and_mutes_longer_is_told_again_and_a_crash_between_tells_once(company: SmallCompany) -> None:
    engine, now_ms, day_ms = company.engine, company.clock.now_ms(), 86_400_000
    put_mute(company, None, until_ms=now_ms + 10 * day_ms)
    company.clock.at_ms = now_ms + 9 * day_ms + 1
    MutesJob(engine, company.clock).look()
    with engine.begin() as connection:
        connection.execute(mute.update().values(told_ms=None))
    MutesJob(engine, company.clock).look()
    assert notices(engine) == 1
    put_mute(company, None, until_ms=now_ms + 20 * day_ms)
    company.clock.at_ms = now_ms + 19 * day_ms + 1
    MutesJob(engine, company.clock).look()
    assert notices(engine) == 2
