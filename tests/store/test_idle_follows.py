"""Tests of follows that end because nobody uses them, on both stores: who is warned, what is kept, and what ends."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from sqlalchemy import Engine, insert, select
from tests.company import SmallCompany
from tests.notifying import notify_all

from tocsin.jobs import idle_follows
from tocsin.jobs.idle_follows import IdleFollowsJob
from tocsin.jobs.notices import NoticeBeginning
from tocsin.model.people import SYSTEM
from tocsin.store.database.engine import writing
from tocsin.store.database.feed_tables import thread
from tocsin.store.database.follow_tables import idle_follow
from tocsin.store.database.people_tables import personal_notice
from tocsin.store.database.retention_tables import retention_state
from tocsin.store.eventlog.log import EventLog
from tocsin.store.recipients.followed_assets import FollowedAssets
from tocsin.store.recipients.idle_follows import DAY_MS, FollowPlace, IdleFollows
from tocsin.store.recipients.team_follows import TeamFollows

IDLE_DAYS = 30


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    """A company in which cem follows orders and one of its columns, and the schema."""
    company = SmallCompany(store_engine)
    company.put("team", {"name": "Organization", "teamType": "Organization"})
    cem = company.ids["cem"]
    company.writes.follow("table", company.ids["orders"], cem, actor=company.actor("cem"), column="email")
    company.writes.follow("databaseSchema", company.ids["public"], cem, actor=company.actor("cem"))
    return company


@pytest.fixture
def job(company: SmallCompany) -> IdleFollowsJob:
    return IdleFollowsJob(company.engine, IDLE_DAYS, company.clock)


def pass_days(company: SmallCompany, job: IdleFollowsJob, days: int) -> None:
    """Let the job run once a day."""
    for _ in range(days):
        company.clock.advance(DAY_MS)
        job.look()


def names_followed_by(company: SmallCompany, name: str = "cem") -> Sequence[str]:
    return sorted(one.name for one in FollowedAssets(company.engine).of(company.ids[name]))


def threads(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return list(connection.scalars(select(thread.c.id)))


EVERYTHING = ["pg.store.public", "pg.store.public.orders", "pg.store.public.orders.email"]
SCHEMA = ["pg.store.public"]


def test_what_is_not_used_ends_a_week_after_one_warning(company: SmallCompany, job: IdleFollowsJob) -> None:
    pass_days(company, job, IDLE_DAYS)
    assert (names_followed_by(company), threads(company.engine)) == (EVERYTHING, [])
    pass_days(company, job, 1)
    assert (names_followed_by(company), len(threads(company.engine))) == (EVERYTHING, 1)
    ends = {idle.expires_ms for idle in IdleFollows(company.engine).of(company.ids["cem"]).values()}
    assert ends == {company.clock.now_ms() + 7 * DAY_MS}
    pass_days(company, job, 6)
    assert (names_followed_by(company), len(threads(company.engine))) == (EVERYTHING, 1)
    pass_days(company, job, 1)
    assert (names_followed_by(company), len(threads(company.engine))) == (SCHEMA, 1), (
        "what holds other assets is never idle"
    )
    endings = [one.event for one in EventLog(company.engine).read(0, 100) if one.event.reason]
    assert [event.entity_fully_qualified_name for event in endings] == ["pg.store.public.orders"] * 2
    assert {event.user_id for event in endings} == {SYSTEM.id}
    assert {event.reason for event in endings} == {"not used for 30 days; the follower was warned a week before"}
    pass_days(company, job, 9)
    assert len(threads(company.engine)) == 1


def test_without_the_setting_nothing_ends_and_what_was_warned_of_goes_on(
    company: SmallCompany, job: IdleFollowsJob
) -> None:
    pass_days(company, job, IDLE_DAYS + 2)
    job_off = IdleFollowsJob(company.engine, 0, company.clock)
    pass_days(company, job_off, 30)
    assert names_followed_by(company) == EVERYTHING
    assert IdleFollows(company.engine).of(company.ids["cem"]) == {}


def test_what_is_kept_is_judged_anew_and_warned_of_again(company: SmallCompany, job: IdleFollowsJob) -> None:
    pass_days(company, job, IDLE_DAYS + 2)
    place = FollowPlace(company.ids["cem"], company.ids["orders"])
    idle = IdleFollows(company.engine)
    assert (idle.keep(place, company.clock.now_ms()), idle.keep(place, company.clock.now_ms())) == (True, False)
    pass_days(company, job, 7)
    assert names_followed_by(company) == ["pg.store.public", "pg.store.public.orders"]
    pass_days(company, job, IDLE_DAYS - 6)
    assert len(threads(company.engine)) == 2
    pass_days(company, job, 7)
    assert names_followed_by(company) == SCHEMA


def test_what_is_used_meanwhile_goes_on(company: SmallCompany, job: IdleFollowsJob) -> None:
    pass_days(company, job, IDLE_DAYS + 2)
    company.describe("orders", "It changes after all.")
    pass_days(company, job, 10)
    assert names_followed_by(company) == EVERYTHING


def test_what_was_told_often_and_never_read_is_idle(company: SmallCompany, job: IdleFollowsJob) -> None:
    company.alert("inbox", [{"category": "Followers", "type": "ActivityFeed"}], resources=("table",))
    for number in range(10):
        company.describe("orders", f"text {number}")
    notify_all(company.engine, now_ms=company.clock.now_ms())
    pass_days(company, job, IDLE_DAYS - 1)
    company.describe("orders", "The last change.")
    notify_all(company.engine, now_ms=company.clock.now_ms())
    pass_days(company, job, 2 + 7)
    assert "pg.store.public.orders" not in names_followed_by(company)


def test_neither_a_leap_of_the_clock_nor_a_month_off_ends_what_nobody_was_warned_of_for_a_week(
    company: SmallCompany, job: IdleFollowsJob
) -> None:
    pass_days(company, job, IDLE_DAYS + 1)
    company.clock.advance(400 * DAY_MS)
    for _ in range(5):
        job.look()
    assert names_followed_by(company) == EVERYTHING, "one day at most has passed in which it could be kept"
    company.clock.advance(-399 * DAY_MS)
    for _ in range(5):
        job.look()
    assert names_followed_by(company) == EVERYTHING
    pass_days(company, job, 5)
    assert names_followed_by(company) == EVERYTHING
    pass_days(company, job, 1)
    assert names_followed_by(company) == SCHEMA


def test_a_crash_before_the_warning_warns_later_and_counts_no_day(
    company: SmallCompany, job: IdleFollowsJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    pass_days(company, job, IDLE_DAYS)

    def fail(*_: object) -> bool:
        raise ConnectionError

    with monkeypatch.context() as patch:
        patch.setattr(NoticeBeginning, "begin", fail)
        for _ in range(9):
            company.clock.advance(DAY_MS)
            with pytest.raises(ConnectionError):
                job.look()
    assert threads(company.engine) == []
    job.look()
    assert len(threads(company.engine)) == 1, "one for all that was found meanwhile"
    pass_days(company, job, 6)
    assert names_followed_by(company) == EVERYTHING
    pass_days(company, job, 1)
    assert names_followed_by(company) == SCHEMA


def test_two_pipelines_warn_once(company: SmallCompany, job: IdleFollowsJob) -> None:
    second_job = IdleFollowsJob(company.engine, IDLE_DAYS, company.clock)
    pass_days(company, job, IDLE_DAYS)
    company.clock.advance(DAY_MS)
    second_job.look()
    company.clock.advance(1_000)
    job.look()
    assert len(threads(company.engine)) == 1


def test_follows_of_teams_and_of_deleted_people_are_left_alone(company: SmallCompany, job: IdleFollowsJob) -> None:
    teams = TeamFollows(company.engine)
    teams.add(company.ids["shop"], "table", company.ids["revenue"], now_ms=company.clock.now_ms())
    company.writes.delete("user", company.key("cem"), actor=SYSTEM)
    pass_days(company, job, IDLE_DAYS + 9)
    assert [one.name for one in teams.of_member(company.ids["ana"])] == ["pg.store.public.revenue"]
    assert names_followed_by(company) == EVERYTHING
    assert threads(company.engine) == []


def test_a_follow_whose_event_is_gone_is_as_young_as_what_retention_removed_last(
    company: SmallCompany, job: IdleFollowsJob
) -> None:
    with writing(company.engine) as connection:
        removed_until_ms = company.clock.now_ms() + 20 * DAY_MS
        connection.execute(insert(retention_state).values(id=1, removed_until_ms=removed_until_ms))
        connection.exec_driver_sql("UPDATE follow SET since_offset = 0")
        connection.exec_driver_sql("UPDATE column_follow SET since_offset = 0")
    pass_days(company, job, IDLE_DAYS + 10)
    assert threads(company.engine) == []
    pass_days(company, job, 11)
    assert len(threads(company.engine)) == 1


def test_a_hard_delete_removes_what_was_known_of_the_asset_and_the_person(
    company: SmallCompany, job: IdleFollowsJob
) -> None:
    pass_days(company, job, IDLE_DAYS + 2)
    company.writes.delete("user", company.key("cem"), actor=SYSTEM, hard=True)
    with company.engine.connect() as connection:
        for table in (idle_follow, personal_notice):
            assert connection.execute(select(table)).all() == []


def test_more_people_than_one_run_judges_take_several(
    company: SmallCompany, job: IdleFollowsJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle_follows, "PEOPLE_EACH_TIME", 1)
    for name in ("ana", "ben", "dia"):
        company.writes.follow("table", company.ids["revenue"], company.ids[name], actor=company.actor(name))
    company.clock.advance((IDLE_DAYS + 1) * DAY_MS)
    for _ in range(5):
        job.look()
    assert len(threads(company.engine)) == 4


def test_what_was_warned_of_and_is_followed_anew_does_not_end(company: SmallCompany, job: IdleFollowsJob) -> None:
    pass_days(company, job, IDLE_DAYS + 2)
    cem, actor = company.ids["cem"], company.actor("cem")
    for column in (None, "email"):
        company.writes.unfollow("table", company.ids["orders"], cem, actor=actor, column=column)
    assert IdleFollows(company.engine).of(cem) == {}, "the notice names only what still ends"
    for column in (None, "email"):
        company.writes.follow("table", company.ids["orders"], cem, actor=actor, column=column)
    pass_days(company, job, 9)
    assert names_followed_by(company) == EVERYTHING


def test_what_is_kept_while_a_run_ends_follows_is_remembered_as_kept(
    company: SmallCompany, job: IdleFollowsJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    pass_days(company, job, IDLE_DAYS + 7)
    place, kept_ms = FollowPlace(company.ids["cem"], company.ids["orders"]), company.clock.now_ms() + DAY_MS
    read_due = IdleFollows.due

    def read_and_keep(self: IdleFollows, limit: int) -> list[FollowPlace]:
        places = read_due(self, limit)
        self.keep(place, kept_ms)
        return places

    with monkeypatch.context() as patch:
        patch.setattr(IdleFollows, "due", read_and_keep)
        pass_days(company, job, 1)
    assert names_followed_by(company) == ["pg.store.public", "pg.store.public.orders"]
    idle = IdleFollows(company.engine).of(company.ids["cem"])[company.ids["orders"], None]
    assert (idle.kept_ms, idle.notice_id) == (kept_ms, None)
    assert len(threads(company.engine)) == 1, "it is not warned of once more"
