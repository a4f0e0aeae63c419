"""Tests of notification preferences on both stores: who waits, for what, and what becomes of it when they change."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, func, select, update
from sqlalchemy import event as sqlalchemy_event
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.soak import SOAK
from tests.store.rows import finish_of

from tocsin.errors import PreconditionFailed
from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.flow.schedule.preferences import NEVER_MS
from tocsin.model.change_kinds import Frequency
from tocsin.model.message import Delivered
from tocsin.model.people import Actor
from tocsin.model.preferences import RECOMMENDED, DefaultPreferences, Layers, Preferences, QuietHours, times_of
from tocsin.store.database.alert_tables import match_result
from tocsin.store.database.engine import open_engine
from tocsin.store.database.tables import message, notification
from tocsin.store.outbox.inbox import Inbox
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.outbox.preferences import SqlPreferences, find_preferences
from tocsin.store.outbox.records import Records
from tocsin.store.outbox.sessions import Sessions
from tocsin.store.outbox.team_preferences import SqlTeamPreferences
from tocsin.store.upkeep.fsck.inspection import inspect

HOUR_MS = 3_600_000
NIGHT_MS = 1_764_028_800_000  # midnight, UTC
MORNING_MS = NIGHT_MS + 8 * HOUR_MS
NIGHT = Preferences(quiet_hours=QuietHours(start="22:00", end="08:00"))
OWNERS = [{"category": "Owners", "type": "Email"}, {"category": "Owners", "type": "ActivityFeed"}]


def company_of(engine: Engine, **alert: Any) -> SmallCompany:
    """Return a company whose owners hear of everything, by mail and in the app."""
    company = SmallCompany(engine)
    company.put("classification", {"name": "Priority", "description": ""})
    company.put("tag", {"name": "Critical", "classification": "Priority", "description": ""})
    company.clock.advance(1_000)
    company.alert("all", OWNERS, poll_interval_s=0, **alert)
    notify_all(engine, now_ms=NIGHT_MS)
    return company


def due(engine: Engine) -> dict[str, list[tuple[int, int]]]:
    """Return, by recipient, when each message is due and how many notifications are in it."""
    query = select(message.c.id, message.c.recipient, message.c.due_at_ms)
    carried = select(notification.c.message_id, notification.c.due_at_ms)
    due_by_recipient: dict[str, list[tuple[int, int]]] = {}
    with engine.connect() as connection:
        inside = [tuple(row) for row in connection.execute(carried)]
        for row in connection.execute(query.order_by(message.c.due_at_ms)):
            assert {at for one, at in inside if one == row.id} == {row.due_at_ms}
            due_by_recipient.setdefault(row.recipient, []).append(
                (row.due_at_ms, sum(one == row.id for one, _ in inside))
            )
    return due_by_recipient


def test_mail_of_the_night_comes_as_one_message_in_the_morning(store_engine: Engine) -> None:
    company = company_of(store_engine)
    SqlPreferences(store_engine).put(company.ids["ana"], NIGHT, now_ms=1)
    for number in range(3):
        company.describe("orders", f"text {number}")
    notify_all(store_engine, now_ms=NIGHT_MS)
    company.describe("orders", "later")
    notify_all(store_engine, now_ms=NIGHT_MS + HOUR_MS)
    messages_by_recipient = due(store_engine)
    assert messages_by_recipient["ana@example.com"] == [(MORNING_MS, 4)]
    assert sum(count for _, count in messages_by_recipient["ben@example.com"]) == 4
    assert {at for at, _ in messages_by_recipient["ben@example.com"]} == {NIGHT_MS, NIGHT_MS + HOUR_MS}
    with store_engine.connect() as connection:
        bells = connection.execute(select(notification.c.due_at_ms).where(notification.c.message_id.is_(None)))
        assert MORNING_MS not in {row.due_at_ms for row in bells}


def test_what_comes_after_the_morning_has_begun_is_sent_at_once(store_engine: Engine) -> None:
    company = company_of(store_engine)
    SqlPreferences(store_engine).put(company.ids["ana"], NIGHT, now_ms=1)
    company.describe("orders", "night")
    notify_all(store_engine, now_ms=NIGHT_MS)
    Sessions(store_engine).begin("worker", lease_ms=90_000, now_ms=1)
    Messages(store_engine).claim("worker", 64, now_ms=MORNING_MS)
    company.describe("orders", "morning")
    notify_all(store_engine, now_ms=MORNING_MS)
    assert due(store_engine)["ana@example.com"] == [(MORNING_MS, 1), (MORNING_MS, 1)]


def test_each_category_of_changes_comes_as_often_as_its_reader_prefers(store_engine: Engine) -> None:
    company = company_of(store_engine)
    often = Preferences(categories={"description": Frequency.DAILY, "tag": Frequency.WEEKLY})
    SqlPreferences(store_engine).put(company.ids["ana"], often, now_ms=1)
    company.describe("orders", "text")
    owners = [{"op": "add", "path": "/displayName", "value": "Orders"}]
    company.writes.patch("table", company.key("orders"), owners, actor=company.actor("dia"))
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert due(store_engine)["ana@example.com"] == [(NIGHT_MS, 1), (NIGHT_MS + 9 * HOUR_MS, 1)]


def test_a_changed_preference_moves_what_waits(store_engine: Engine) -> None:
    """Fault scenario 36."""
    company = company_of(store_engine)
    preferences = SqlPreferences(store_engine)
    preferences.put(company.ids["ana"], Preferences(frequency=Frequency.WEEKLY), now_ms=1)
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=NIGHT_MS)
    preferences.put(company.ids["ana"], NIGHT, now_ms=NIGHT_MS)
    assert due(store_engine)["ana@example.com"] == [(MORNING_MS, 1)]
    preferences.put(company.ids["ana"], Preferences(), now_ms=NIGHT_MS + 1)
    assert due(store_engine)["ana@example.com"] == [(NIGHT_MS + 1, 1)]
    preferences.put(company.ids["ana"], NIGHT, now_ms=NIGHT_MS + 2)
    company.describe("orders", "more")
    notify_all(store_engine, now_ms=NIGHT_MS + 3)
    assert due(store_engine)["ana@example.com"] == [(MORNING_MS, 2)]


def test_what_a_changed_preference_releases_is_one_message(store_engine: Engine) -> None:
    company = company_of(store_engine)
    preferences = SqlPreferences(store_engine)
    often = Preferences(frequency=Frequency.DAILY, categories={"name": Frequency.WEEKLY})
    preferences.put(company.ids["ana"], often, now_ms=1)
    company.describe("orders", "text")
    name = [{"op": "add", "path": "/displayName", "value": "Orders"}]
    company.writes.patch("table", company.key("orders"), name, actor=company.actor("dia"))
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert [count for _, count in due(store_engine)["ana@example.com"]] == [1, 1]
    preferences.put(company.ids["ana"], Preferences(), now_ms=NIGHT_MS + 1)
    assert due(store_engine)["ana@example.com"] == [(NIGHT_MS + 1, 2)]
    assert inspect(store_engine).findings == []


def test_a_message_that_is_being_sent_keeps_what_it_carries_when_preferences_change(store_engine: Engine) -> None:
    company = company_of(store_engine)
    preferences = SqlPreferences(store_engine)
    preferences.put(company.ids["ana"], NIGHT, now_ms=1)
    company.describe("orders", "night")
    notify_all(store_engine, now_ms=NIGHT_MS)
    Sessions(store_engine).begin("worker", lease_ms=90_000, now_ms=1)
    Messages(store_engine).claim("worker", 64, now_ms=MORNING_MS)
    preferences.put(company.ids["ana"], Preferences(), now_ms=MORNING_MS + 1)
    assert due(store_engine)["ana@example.com"] == [(MORNING_MS, 1)]


def test_a_critical_alert_waits_for_nobody(store_engine: Engine) -> None:
    company = company_of(store_engine, tags=[{"tagFQN": "Priority.Critical"}])
    SqlPreferences(store_engine).put(company.ids["ana"], NIGHT, now_ms=1)
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert {at for at, _ in due(store_engine)["ana@example.com"]} == {NIGHT_MS}


def test_whoever_is_removed_for_good_leaves_no_preferences(store_engine: Engine) -> None:
    company = company_of(store_engine)
    preferences = SqlPreferences(store_engine)
    preferences.put(company.ids["cem"], NIGHT, now_ms=1)
    company.writes.delete("user", company.key("cem"), hard=True, actor=company.actor("dia"))
    assert preferences.of(company.ids["cem"]) == Preferences()


def in_app(engine: Engine, user_id: str) -> list[tuple[int, str | None]]:
    """Return when each notification of a person is shown in the app, and by which choice."""
    query = select(notification.c.due_at_ms, notification.c.preferred).where(notification.c.message_id.is_(None))
    with engine.connect() as connection:
        own_rows = connection.execute(query.where(notification.c.recipient_id == user_id))
        return [(row.due_at_ms, row.preferred) for row in own_rows]


def unread_and_all(inbox: Inbox, user_id: str, now_ms: int) -> tuple[int, int]:
    counts = inbox.counts(user_id, now_ms)
    return counts.unread_count, counts.total_count


def of_kind(kind: str, **frequencies: str) -> Preferences:
    return Preferences.model_validate({"kinds": {kind: frequencies}})


def test_a_kind_that_is_off_in_the_app_is_kept_and_not_shown(store_engine: Engine) -> None:
    company, inbox = company_of(store_engine), Inbox(store_engine)
    ana, ben = company.ids["ana"], company.ids["ben"]
    SqlPreferences(store_engine).put(ana, of_kind("description", ActivityFeed="never"), now_ms=1)
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert in_app(store_engine, ana) == [(NEVER_MS, "own never description")]
    assert (unread_and_all(inbox, ana, NIGHT_MS), unread_and_all(inbox, ben, NIGHT_MS)) == ((0, 0), (1, 1))
    assert ana not in {one.recipient_id for one in inbox.arrivals(0, limit=10)}
    SqlPreferences(store_engine).put(ana, Preferences(), now_ms=NIGHT_MS + 1)
    assert unread_and_all(inbox, ana, NIGHT_MS + 1) == (0, 0)
    assert [count for _, count in due(store_engine)["ana@example.com"]] == [1]


def test_a_kind_that_is_daily_in_the_app_is_shown_at_its_time_or_when_that_changes(store_engine: Engine) -> None:
    company, preferences, inbox = company_of(store_engine), SqlPreferences(store_engine), Inbox(store_engine)
    ana = company.ids["ana"]
    preferences.put(ana, of_kind("description", ActivityFeed="daily"), now_ms=1)
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert in_app(store_engine, ana) == [(NIGHT_MS + 9 * HOUR_MS, "own daily description")]
    assert unread_and_all(inbox, ana, NIGHT_MS) == (0, 0)
    preferences.put(ana, Preferences(), now_ms=NIGHT_MS + 1)
    assert unread_and_all(inbox, ana, NIGHT_MS + 1) == (1, 1)


@pytest.mark.parametrize("defaults", [{}, {"kinds": {"description": {"ActivityFeed": "immediate"}}}])
def test_what_comes_into_the_app_with_a_scheduled_alert_keeps_its_time_when_preferences_change(
    store_engine: Engine, defaults: dict[str, Any]
) -> None:
    company, preferences = SmallCompany(store_engine), SqlPreferences(store_engine)
    company.alert("weekly", OWNERS, trigger={"triggerType": "Scheduled", "scheduleInfo": "Weekly"})
    ana = company.ids["ana"]
    preferences.put_defaults(DefaultPreferences.model_validate(defaults), now_ms=1)
    preferences.put(ana, of_kind("tag", Email="daily"), now_ms=1)
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=NIGHT_MS)
    ((due_at_ms, choice),) = in_app(store_engine, ana)
    assert due_at_ms > NIGHT_MS + 9 * HOUR_MS
    preferences.put(ana, of_kind("tag", Email="weekly"), now_ms=NIGHT_MS + 5)
    assert in_app(store_engine, ana) == [(due_at_ms, choice)]


def test_a_changed_preference_reads_only_what_comes_later(sqlite_engine: Engine) -> None:
    company, plans = SmallCompany(sqlite_engine), list[str]()

    @sqlalchemy_event.listens_for(sqlite_engine, "before_cursor_execute")
    def explain(*call: Any) -> None:  # Any: what SQLAlchemy hands over
        cursor, statement, parameters = call[1:4]
        if statement.startswith("UPDATE notification"):
            plans.extend(row[3] for row in cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters))

    SqlPreferences(sqlite_engine).put(company.ids["ana"], Preferences(), now_ms=5)
    assert [plan for plan in plans if "ix_notification_later (recipient_id=? AND due_at_ms>?" in plan] == plans != []


def test_a_critical_alert_is_shown_in_the_app_whatever_is_off(store_engine: Engine) -> None:
    company = company_of(store_engine, tags=[{"tagFQN": "Priority.Critical"}])
    ana = company.ids["ana"]
    SqlPreferences(store_engine).put(ana, of_kind("description", ActivityFeed="never"), now_ms=1)
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert in_app(store_engine, ana) == [(NIGHT_MS, None)]


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ((NEVER_MS, "own never description"), (NIGHT_MS + 1, None)),
        ((NIGHT_MS + 9 * HOUR_MS, "server daily description"), (NIGHT_MS + 1, None)),
        ((NIGHT_MS - 1, "own immediate description"), (NIGHT_MS - 1, "own immediate description")),
    ],
)
def test_what_a_critical_alert_finds_later_has_the_choice_by_which_it_has_its_time(
    store_engine: Engine, stored: tuple[int, str], expected: tuple[int, str | None]
) -> None:
    company = company_of(store_engine, tags=[{"tagFQN": "Priority.Critical"}])
    ana = company.ids["ana"]
    SqlPreferences(store_engine).put(ana, of_kind("description", ActivityFeed="never"), now_ms=1)
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=NIGHT_MS)
    with store_engine.begin() as connection:  # as if another alert had found it, and not the critical one
        connection.execute(match_result.delete())
        before = {"reasons": "[]", "due_at_ms": stored[0], "preferred": stored[1]}
        connection.execute(update(notification).where(notification.c.message_id.is_(None)).values(before))
    Notifications(store_engine).begin_again(MATCH_STREAM, 0, now_ms=NIGHT_MS)
    notify_all(store_engine, now_ms=NIGHT_MS + 1)
    assert in_app(store_engine, ana) == [expected]
    with store_engine.connect() as connection:
        offset = connection.scalar(select(func.max(notification.c.log_offset)))
    of_person = Records(store_engine).of_user(offset, ana)
    (record,) = (one for one in of_person.values() if not one.message)
    assert not record.is_off


def test_an_hourly_kind_is_one_message_per_hour_and_none_for_an_empty_hour(store_engine: Engine) -> None:
    company = company_of(store_engine)
    SqlPreferences(store_engine).put(company.ids["ana"], of_kind("description", Email="hourly"), now_ms=1)
    for minutes in (1, 30, 61, 190):
        company.describe("orders", f"after {minutes} minutes")
        notify_all(store_engine, now_ms=NIGHT_MS + minutes * 60_000)
    hours = [(NIGHT_MS + hour * HOUR_MS, count) for hour, count in ((1, 2), (2, 1), (4, 1))]
    assert due(store_engine)["ana@example.com"] == hours


@pytest.mark.parametrize(
    ("frequency", "hours"), [("daily 17:30", 17.5), ("weekly", 9), ("weekly tuesday", 9), ("weekly tuesday 08:00", 8)]
)
def test_a_kind_comes_at_a_time_of_its_own_in_ones_zone(store_engine: Engine, frequency: str, hours: float) -> None:
    company, preferences = company_of(store_engine), SqlPreferences(store_engine)
    document = {"kinds": {"description": {"Email": frequency}}, "digestDay": "tuesday"}
    preferences.put(company.ids["ana"], Preferences.model_validate(document), now_ms=1)
    preferences.put(company.ids["ben"], Preferences.model_validate(document | {"timezone": "Etc/GMT+1"}), now_ms=1)
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=NIGHT_MS)  # a Tuesday
    due_by_recipient = due(store_engine)
    assert due_by_recipient["ana@example.com"] == [(NIGHT_MS + int(hours * HOUR_MS), 1)]
    assert due_by_recipient["ben@example.com"] == [(NIGHT_MS + int((hours + 1) * HOUR_MS), 1)]


def test_defaults_hold_beneath_what_people_choose_and_what_is_mandatory_is_never_off(store_engine: Engine) -> None:
    company, preferences = company_of(store_engine), SqlPreferences(store_engine)
    ana, ben = company.ids["ana"], company.ids["ben"]
    daily = {"description": {"Email": "daily", "ActivityFeed": "never"}}
    preferences.put_defaults(DefaultPreferences.model_validate({"kinds": daily}), now_ms=1)
    preferences.put(ben, Preferences(frequency=Frequency.NEVER), now_ms=1)
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert due(store_engine)["ana@example.com"] == [(NIGHT_MS + 9 * HOUR_MS, 1)]
    assert due(store_engine)["ben@example.com"] == [(NIGHT_MS, 1)]  # a worker drops it
    assert in_app(store_engine, ana) == [(NEVER_MS, "server never description")]
    mandatory = DefaultPreferences.model_validate({"kinds": daily, "mandatory": ["description"]})
    preferences.put_defaults(mandatory, now_ms=2)
    company.describe("orders", "more")
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert in_app(store_engine, ana)[1:] == [(NIGHT_MS, "mandatory immediate description")]
    assert due(store_engine)["ben@example.com"][1:] == [(NIGHT_MS + 9 * HOUR_MS, 1)]


SERVER_NIGHT = DefaultPreferences.model_validate(
    {
        **{"timezone": "Asia/Kolkata", "quietHours": {"start": "00:00", "end": "08:00"}},
        **{"digestAt": "11:30", "kinds": {"description": {"Email": "daily"}}},
    }
)


@pytest.mark.parametrize(
    ("document", "minutes"),
    [
        ({"kinds": {"vote": {"Email": "weekly"}}}, 6 * 60),
        ({"kinds": {"description": {"Email": "immediate"}}}, 150),
        ({"frequency": "immediate", "quietHours": None}, 0),
        ({"frequency": "immediate", "timezone": "UTC"}, 8 * 60),
        ({"frequency": "immediate", "quietHours": {"start": "05:00", "end": "06:00"}}, 30),
        ({"digestAt": "09:00"}, 210),
        ({"digestAt": "09:00", "timezone": "UTC"}, 9 * 60),
        ({"timezone": "UTC", "digestAt": "09:00", "digestDay": "monday", "frequency": "daily"}, 9 * 60),
    ],
)
def test_each_time_is_that_of_the_server_where_a_persons_own_is_unset(
    store_engine: Engine, document: dict[str, Any], minutes: int
) -> None:
    company, preferences = company_of(store_engine), SqlPreferences(store_engine)
    preferences.put_defaults(SERVER_NIGHT, now_ms=1)
    preferences.put(company.ids["ana"], Preferences.model_validate(document), now_ms=1)
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=NIGHT_MS)
    due_by_recipient = due(store_engine)
    assert due_by_recipient["ana@example.com"] == [(NIGHT_MS + minutes * 60_000, 1)]
    assert due_by_recipient["ben@example.com"] == [(NIGHT_MS + 6 * HOUR_MS, 1)]


def test_people_who_chose_the_same_share_what_holds_unless_the_defaults_of_their_teams_differ(
    store_engine: Engine,
) -> None:
    company, preferences = SmallCompany(store_engine), SqlPreferences(store_engine)
    SqlTeamPreferences(store_engine).put(company.ids["shop"], Preferences(digest_at="07:00"), now_ms=1)
    choices_by_name = {"ana": NIGHT, "cem": NIGHT, "dia": NIGHT, "ben": Preferences(frequency=Frequency.DAILY)}
    for name, choices in choices_by_name.items():
        preferences.put(company.ids[name], choices, now_ms=1)
    with store_engine.connect() as connection:
        layers = find_preferences(connection, [company.ids[name] for name in choices_by_name]).layers
    ana, ben, cem, dia = (layers[company.ids[name]] for name in ("ana", "ben", "cem", "dia"))
    assert cem is dia, "a million people who chose the same are judged once"
    assert [times_of(one).digest_at for one in (ana, ben, cem)] == ["07:00", "07:00", Preferences().digest_at]
    assert times_of(ben).quiet_hours is None


def test_what_a_changed_preference_releases_waits_for_the_end_of_the_servers_quiet_hours(store_engine: Engine) -> None:
    company, preferences = company_of(store_engine), SqlPreferences(store_engine)
    preferences.put_defaults(SERVER_NIGHT, now_ms=1)
    company.describe("orders", "text")
    preferences.put(company.ids["ana"], Preferences(frequency=Frequency.WEEKLY), now_ms=1)
    notify_all(store_engine, now_ms=NIGHT_MS)
    preferences.put(company.ids["ana"], of_kind("vote", Email="weekly"), now_ms=NIGHT_MS)
    assert due(store_engine)["ana@example.com"] == [(NIGHT_MS + 150 * 60_000, 1)]


def test_a_person_without_a_choice_has_a_mail_at_once_until_there_are_defaults(store_engine: Engine) -> None:
    company = company_of(store_engine)
    company.describe("orders", "text")
    notify_all(store_engine, now_ms=NIGHT_MS)
    SqlPreferences(store_engine).put_defaults(RECOMMENDED, now_ms=1)
    company.describe("orders", "more")
    notify_all(store_engine, now_ms=NIGHT_MS)
    assert due(store_engine)["ana@example.com"] == [(NIGHT_MS, 1), (NIGHT_MS + 9 * HOUR_MS, 1)]


def test_what_a_bot_breaks_is_mailed_at_once_and_a_choice_of_ones_own_comes_before_the_default_for_bots(
    store_engine: Engine,
) -> None:
    company, preferences = company_of(store_engine), SqlPreferences(store_engine)
    preferences.put_defaults(RECOMMENDED, now_ms=1)
    preferences.put(company.ids["ben"], of_kind("columns", Email="weekly"), now_ms=1)
    bot = company.put("user", {"name": "ingestion-bot", "email": "ingestion@example.com", "isBot": True})
    actor = Actor(id=bot["id"], name="ingestion-bot", is_bot=True)
    notify_all(store_engine, now_ms=NIGHT_MS - 1)
    removal = [{"op": "remove", "path": "/columns/0"}]
    company.writes.patch("table", company.key("orders"), removal, actor=actor)
    notify_all(store_engine, now_ms=NIGHT_MS)
    due_by_recipient = due(store_engine)
    assert due_by_recipient["ana@example.com"] == [(NIGHT_MS, 1)]
    assert due_by_recipient["ben@example.com"][0][0] > NIGHT_MS + 9 * HOUR_MS


PEOPLE_WAIT = st.sampled_from(["immediate", "hourly", "daily", "daily 05:45", "weekly", "weekly friday", "never"])
CHOICES = st.builds(
    lambda mail, app, quiet, zone: Preferences.model_validate(
        {"kinds": {"description": {"Email": mail, "ActivityFeed": app}}, "quietHours": quiet, "timezone": zone}
    ),
    PEOPLE_WAIT,
    PEOPLE_WAIT,
    st.sampled_from([None, {"start": "22:00", "end": "08:00"}, {"start": "01:00", "end": "03:00"}]),
    st.sampled_from(["UTC", "Asia/Kolkata", "America/New_York"]),
)
TEAM_CHOICES = st.tuples(st.sampled_from(["shop", "server"]), CHOICES)
ANY_STEP = st.sampled_from(["change", "send"]) | CHOICES | TEAM_CHOICES
STEPS = st.lists(st.tuples(ANY_STEP, st.integers(1, 700)), min_size=3, max_size=12)


@settings(max_examples=100 if SOAK else 10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_in_any_order_of_choices_and_digests_each_notification_ends_once(
    sqlite_template: Path,
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[str | Preferences | tuple[str, Preferences], int]],
) -> None:
    path = tmp_path_factory.mktemp("interleaved") / "tocsin.db"
    path.write_bytes(sqlite_template.read_bytes())
    engine = open_engine(f"sqlite:///{path}", synchronous="OFF")
    company, now_ms, sent_ids, change_count = company_of(engine), NIGHT_MS, list[str](), 0
    Sessions(engine).begin("worker", lease_ms=90_000, now_ms=1)
    for step, minutes in [*steps, ("send", 15 * 24 * 60), ("send", 1)]:
        now_ms += minutes * 60_000
        if isinstance(step, Preferences):
            SqlPreferences(engine).put(company.ids["ana"], step, now_ms=now_ms)
        elif isinstance(step, tuple):
            put_defaults(company, *step, now_ms=now_ms)
        elif step == "change":
            change_count += 1
            company.describe("orders", f"text {change_count}")
            notify_all(engine, now_ms=now_ms)
        else:
            sent_ids += send_due(engine, now_ms)
    ana = company.ids["ana"]
    assert len(sent_ids) == len(set(sent_ids)) == change_count
    shown_count, off_count = (
        Inbox(engine).counts(ana, now_ms).total_count,
        sum(at == NEVER_MS for at, _ in in_app(engine, ana)),
    )
    assert shown_count + off_count == change_count
    assert inspect(engine).findings == []
    engine.dispose()


def put_defaults(company: SmallCompany, who: str, defaults: Preferences, *, now_ms: int) -> None:
    """Set the defaults of Ana's team, or of the server."""
    if who == "server":
        of_server = DefaultPreferences.model_validate(defaults.to_stored())
        SqlPreferences(company.engine).put_defaults(of_server, now_ms=now_ms)
    else:
        SqlTeamPreferences(company.engine).put(company.ids[who], defaults, now_ms=now_ms)


def send_due(engine: Engine, now_ms: int) -> list[str]:
    """Deliver what is due; return the notifications to Ana that were in it."""
    messages = Messages(engine)
    Sessions(engine).renew("worker", now_ms=now_ms)
    claimed_messages = messages.claim("worker", 1_000, now_ms=now_ms)
    query = select(notification.c.id).where(notification.c.recipient == "ana@example.com")
    with engine.connect() as connection:
        of_claimed = query.where(notification.c.message_id.in_({claimed.id for claimed in claimed_messages}))
        carried_ids = list(connection.scalars(of_claimed))
    ended = [finish_of(claimed, Delivered(), at_ms=now_ms) for claimed in claimed_messages]
    messages.record("worker", ended, now_ms=now_ms)
    return carried_ids


def test_of_two_who_change_what_they_have_read_at_the_same_time_one_is_refused(store_engine: Engine) -> None:
    ana = company_of(store_engine).ids["ana"]
    preferences, both_have_read = SqlPreferences(store_engine), Barrier(2)
    read_layers = preferences.layers_of(ana)

    def check(layers: Layers) -> None:
        if layers != read_layers:
            raise PreconditionFailed

    def change(frequency: Frequency) -> bool:
        both_have_read.wait()
        try:
            preferences.put(ana, Preferences(frequency=frequency), now_ms=1, check=check)
        except PreconditionFailed:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        frequencies = (Frequency.DAILY, Frequency.WEEKLY)
        has_changed = list(pool.map(change, frequencies))
    assert sorted(has_changed) == [False, True]
    assert preferences.of(ana).frequency == frequencies[has_changed.index(True)]
