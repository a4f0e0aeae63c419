"""Tests of health summaries on both stores: the numbers of a week, and one for each time of a person."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from sqlalchemy import Engine, event, select
from tests.company import SmallCompany
from tests.notifying import notify_all

from tocsin.access.defaults import POLICIES, ROLES, ROOT_TEAM
from tocsin.access.permission_cache import PermissionCache
from tocsin.delivery.wording.health import health_text
from tocsin.flow.schedule.health_times import DAY_MS, last_due_ms, next_due_ms
from tocsin.jobs.health_summaries import HealthSummariesJob
from tocsin.jobs.notices import NoticeBeginning
from tocsin.model.health_summary import HealthSummary
from tocsin.model.people import SYSTEM
from tocsin.model.preferences import HealthSchedule, Preferences, Weekday
from tocsin.store.catalogue.access.subjects import SqlSubjects
from tocsin.store.database.feed_tables import thread
from tocsin.store.database.people_tables import personal_notice
from tocsin.store.outbox.health_summaries import HealthSummaries
from tocsin.store.outbox.preferences import SqlPreferences

MONDAYS = Preferences(timezone="Europe/Berlin", health_summary=HealthSchedule())
"""Mondays at nine in Berlin."""


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    """A company with a test of orders, whose failures open incidents."""
    company = SmallCompany(store_engine)
    for request in POLICIES:
        company.writes.create("policy", request, actor=SYSTEM)
    for request in ROLES:
        company.writes.create("role", request, actor=SYSTEM)
    company.writes.create("team", ROOT_TEAM, actor=SYSTEM)
    company.test_case("orders")
    inbox = {"type": "ActivityFeed"}
    company.alert("all", [{"category": "Owners", **inbox}, {"category": "Followers", **inbox}], resources=("table",))
    return company


def summary_of(company: SmallCompany, name: str, days: int = 7) -> HealthSummary:
    """Return the summary of the last days."""
    summaries = HealthSummaries(company.engine, PermissionCache(SqlSubjects(company.engine)))
    now_ms = company.clock.now_ms()
    return summaries.of(company.ids[name], now_ms - days * DAY_MS, now_ms + 1)


def choose(company: SmallCompany, name: str, preferences: Preferences = MONDAYS) -> None:
    SqlPreferences(company.engine).put(company.ids[name], preferences, now_ms=company.clock.now_ms())


def threads(company: SmallCompany) -> int:
    with company.engine.connect() as connection:
        return len(connection.execute(select(thread.c.id)).all())


def pass_hours(company: SmallCompany, job: HealthSummariesJob, hours: int) -> None:
    for _ in range(hours):
        company.clock.advance(3_600_000)
        job.look()


def advance_to(company: SmallCompany, moment: datetime) -> None:
    company.clock.advance(round(moment.timestamp() * 1_000) - company.clock.now_ms())


SUNDAY = datetime(2025, 10, 12, 12, tzinfo=UTC)
DUE = datetime(2025, 10, 13, 7, tzinfo=UTC)
"""Nine o'clock in Berlin."""


def test_the_numbers_are_those_of_what_one_owns_and_follows(company: SmallCompany) -> None:
    company.clock.advance(8 * DAY_MS)
    for number in range(3):
        company.describe("orders", f"text {number}")
    company.result("orders", "Failed")
    notify_all(company.engine, now_ms=company.clock.now_ms())
    of_follower, of_member, of_stranger = (summary_of(company, name) for name in ("cem", "ben", "dia"))
    for summary in (of_follower, of_member):
        assert (summary.changed_assets.count, summary.version_count) == (1, 3)
        assert summary.failing_tests.count == 1
        assert summary.failing_tests.first[0].asset.name == "has_rows"
    assert of_stranger.is_empty
    company.result("orders", "Success")
    assert summary_of(company, "cem").failing_tests.count == 0
    company.clock.advance(8 * DAY_MS)
    assert summary_of(company, "cem").is_empty


def test_incidents_that_were_opened_and_resolved_are_counted(company: SmallCompany) -> None:
    company.alert("fails", [{"category": "Owners", "type": "Email"}], "failures >= 1", resources=("testCase",))
    company.result("orders", "Failed")
    notify_all(company.engine, now_ms=company.clock.now_ms())
    summary = summary_of(company, "cem")
    assert (summary.opened_incidents.count, summary.resolved_incidents.count) == (1, 0)
    company.clock.advance(8 * DAY_MS)
    company.result("orders", "Success")
    notify_all(company.engine, now_ms=company.clock.now_ms())
    summary = summary_of(company, "cem")
    assert (summary.opened_incidents.count, summary.resolved_incidents.count) == (0, 1)
    assert str(summary.resolved_incidents.first[0].incident).startswith("INC-")


def test_the_text_is_read_in_a_minute(company: SmallCompany) -> None:
    for number in range(12):
        name = f"t{number}"
        company.table(name, owners=[{"type": "user", "name": "cem"}])
        company.describe(name, "A text.")
    text = health_text(summary_of(company, "cem"), zone="Europe/Berlin", base_url="https://tocsin.example.org")
    assert text.subject.startswith("Your week: ")
    assert "of 13 assets" in text.subject or "of 12 assets" in text.subject
    lines = [block.text() for block in text.body]
    assert len(lines) < 20
    assert any(line.startswith("… and ") for line in lines)


def test_times_are_weekly_in_the_zone_of_the_person_across_daylight_saving() -> None:
    before = round(datetime(2025, 10, 24, tzinfo=UTC).timestamp() * 1_000)
    due_ms = next_due_ms(MONDAYS, before)
    assert due_ms == round(datetime(2025, 10, 27, 8, tzinfo=UTC).timestamp() * 1_000), "clocks were set back"
    assert last_due_ms(MONDAYS, due_ms) == due_ms
    assert last_due_ms(MONDAYS, due_ms - 1) == due_ms - 7 * DAY_MS - 3_600_000
    assert next_due_ms(Preferences(), before) is None
    assert last_due_ms(Preferences(), before) is None


def test_one_is_sent_for_each_time_from_the_choice_on(company: SmallCompany) -> None:
    advance_to(company, SUNDAY)
    company.describe("orders", "A text.")
    first_job, second_job = (HealthSummariesJob(company.engine, company.clock) for _ in range(2))
    choose(company, "cem")
    first_job.look()
    company.clock.advance(1_000)
    company.describe("orders", "Another text.")
    advance_to(company, DUE)
    assert threads(company) == 0
    for job in (second_job, first_job, second_job):
        job.look()
    assert threads(company) == 1
    with company.engine.connect() as connection:
        notices = connection.execute(select(personal_notice.c.until_ms, personal_notice.c.is_begun)).all()
    assert notices[-1].is_begun
    pass_hours(company, first_job, 30)
    assert threads(company) == 1
    advance_to(company, datetime(2025, 10, 20, 8, tzinfo=UTC))
    first_job.look()
    assert threads(company) == 1, "nothing happened since"


def test_changing_the_day_loses_nothing_and_sends_nothing_twice(company: SmallCompany) -> None:
    advance_to(company, SUNDAY)
    job = HealthSummariesJob(company.engine, company.clock)
    choose(company, "cem")
    job.look()
    company.describe("orders", "Before Monday.")
    advance_to(company, DUE)
    job.look()
    company.describe("orders", "After Monday.")
    choose(company, "cem", Preferences(health_summary=HealthSchedule(day=Weekday.WEDNESDAY)))
    pass_hours(company, job, 3 * 24)
    assert threads(company) == 2
    with company.engine.connect() as connection:
        query = select(personal_notice.c.since_ms, personal_notice.c.until_ms).order_by(personal_notice.c.until_ms)
        windows = [tuple(row) for row in connection.execute(query)]
    assert all(later[0] == earlier[1] for earlier, later in pairwise(windows))


def test_after_a_month_off_the_last_time_alone_is_told(company: SmallCompany) -> None:
    advance_to(company, SUNDAY)
    job = HealthSummariesJob(company.engine, company.clock)
    choose(company, "cem")
    job.look()
    company.describe("orders", "Long ago.")
    company.clock.advance(29 * DAY_MS)
    job.look()
    assert threads(company) == 1


def test_a_clock_that_was_ahead_silences_nobody_once_it_is_right(company: SmallCompany) -> None:
    advance_to(company, SUNDAY)
    job = HealthSummariesJob(company.engine, company.clock)
    choose(company, "cem")
    job.look()
    company.clock.advance(400 * DAY_MS)
    job.look()
    company.clock.advance(-400 * DAY_MS)
    job.look()
    company.describe("orders", "Now.")
    advance_to(company, DUE)
    job.look()
    assert threads(company) == 1


def test_a_clock_that_leapt_loses_nothing_of_the_week(company: SmallCompany) -> None:
    advance_to(company, SUNDAY)
    job = HealthSummariesJob(company.engine, company.clock)
    choose(company, "cem")
    job.look()
    began_ms = company.clock.now_ms()
    company.describe("orders", "Before the leap.")
    for _ in range(3):
        company.clock.advance(400 * DAY_MS)
        job.look()
    company.clock.advance(-1_200 * DAY_MS)
    job.look()
    advance_to(company, DUE)
    job.look()
    with company.engine.connect() as connection:
        query = select(personal_notice.c.since_ms, personal_notice.c.until_ms).order_by(personal_notice.c.until_ms)
        assert connection.execute(query).all()[-1] == (began_ms, company.clock.now_ms())
    assert threads(company) == 1


def test_notices_of_long_ago_are_forgotten(company: SmallCompany) -> None:
    advance_to(company, SUNDAY)
    job = HealthSummariesJob(company.engine, company.clock)
    choose(company, "cem")
    for _ in range(60):
        job.look()
        company.clock.advance(7 * DAY_MS)
    with company.engine.connect() as connection:
        assert 10 < len(connection.execute(select(personal_notice)).all()) < 30


def test_a_crash_between_notice_and_thread_loses_nothing(
    company: SmallCompany, monkeypatch: pytest.MonkeyPatch
) -> None:
    advance_to(company, SUNDAY)
    job = HealthSummariesJob(company.engine, company.clock)
    choose(company, "cem")
    job.look()
    company.describe("orders", "A text.")
    advance_to(company, DUE)

    def fail(*_: object, **__: object) -> bool:
        raise ConnectionError

    with monkeypatch.context() as patch:
        patch.setattr(NoticeBeginning, "begin", fail)
        with pytest.raises(ConnectionError):
            job.look()
    assert threads(company) == 0
    job.look()
    job.look()
    assert threads(company) == 1


def test_nobody_gets_one_who_has_not_chosen_it_or_is_gone(company: SmallCompany) -> None:
    advance_to(company, SUNDAY)
    job = HealthSummariesJob(company.engine, company.clock)
    for name in ("ana", "cem"):
        choose(company, name)
    choose(company, "ben", Preferences(timezone="Europe/Berlin"))
    job.look()
    company.describe("orders", "A text.")
    company.writes.delete("user", company.key("ana"), actor=SYSTEM)
    choose(company, "cem", Preferences())
    advance_to(company, DUE)
    job.look()
    assert threads(company) == 0


def test_it_needs_nothing_of_its_person(company: SmallCompany) -> None:
    advance_to(company, SUNDAY)
    job = HealthSummariesJob(company.engine, company.clock)
    choose(company, "cem")
    job.look()
    company.describe("orders", "A text.")
    advance_to(company, DUE)
    job.look()
    with company.engine.connect() as connection:
        assert connection.scalars(select(thread.c.resolved)).all() == [True]


@pytest.mark.parametrize("table_count", [1, 40])
def test_statements_do_not_grow_with_what_one_owns(company: SmallCompany, table_count: int) -> None:
    for number in range(table_count):
        company.table(f"t{number}", owners=[{"type": "user", "name": "cem"}])
    summary_of(company, "cem")
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    event.listen(company.engine, "before_cursor_execute", note)
    try:
        assert summary_of(company, "cem").changed_assets.count >= table_count
    finally:
        event.remove(company.engine, "before_cursor_execute", note)
    assert len([one for one in statements if one.startswith(("SELECT", "WITH"))]) <= 20
