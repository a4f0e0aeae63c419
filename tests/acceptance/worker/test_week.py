"""Week of a person who has chosen much, in fast time with a worker: every mail once, in time, and short."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine, func, select
from tests.acceptance.office import due_times
from tests.acceptance.worker.test_worker import until, working
from tests.company import SmallCompany
from tests.mails import read_mail, text_of
from tests.notifying import notify_all
from tests.store.test_container_follows import follow

from tocsin.alerts.incidents import take_step_for_all
from tocsin.alerts.saved_searches import rules_of_search
from tocsin.clock import Clock
from tocsin.delivery.channels.email.mails import MailSettings, render_mail
from tocsin.delivery.dispatch import Dispatch
from tocsin.flow.schedule.preferences import NEVER_MS
from tocsin.model.entity import Document
from tocsin.model.message import Delivered, Outcome
from tocsin.model.mute import Mute, MuteKind
from tocsin.model.people import SYSTEM
from tocsin.model.preferences import Preferences
from tocsin.model.subscription import Channel, Destination
from tocsin.model.substitute import StandIn
from tocsin.server.bootstrap import ACTIVITY_FEED_ALERT, ASSIGNED_INCIDENTS_ALERT, MESSAGE_ALERTS
from tocsin.store.database.tables import notification
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.recipients.mutes import Mutes
from tocsin.store.recipients.team_follows import TeamFollows

SUBJECT_TO_BEN = (
    "has_rows of customers: incident assigned to you (substitute of dana, who is away until 2026-01-09 23:00 UTC)"
)
LONGEST_MAIL = 60
"""Lines, for five changes of two assets in two days."""

BELL_COUNT = 47
"""Changes in the app: 3 of customers, 32 of deals, 2 of revenue, 3 of letters, 6 results, 1 assignment."""

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 1, 5, tzinfo=BERLIN)
DANA, BEN = "dana@example.com", "ben@example.com"
SETTINGS = MailSettings("tocsin@example.com", "https://tocsin.example.com")
PREFERENCES: Document = {
    "timezone": "Europe/Berlin",
    "quietHours": {"start": "20:00", "end": "07:00"},
    "digestAt": "08:00",
    "frequency": "daily",
    "kinds": {kind: {"Email": "immediate"} for kind in ("testFailure", "recovery", "incident", "softDeletion")},
}


def ms_at(day: int, time: str = "00:00") -> int:
    """Return a time of a day of the week (0: Monday) in epoch milliseconds."""
    hours, minutes = map(int, time.split(":"))
    return round((MONDAY + timedelta(days=day, hours=hours, minutes=minutes)).timestamp() * 1_000)


@dataclass
class Mailbox:
    """A mail server that notes what Dana gets, and when; and what her substitute gets."""

    clock: Clock
    mails: list[tuple[str, str]] = field(default_factory=list)
    subjects_to_ben: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    async def send(self, dispatch: Dispatch, _destination: Destination, *, now_ms: int) -> Outcome:
        mail = read_mail(render_mail(dispatch, SETTINGS, now_ms=now_ms).content)
        if dispatch.message.target == BEN:
            self.subjects_to_ben.append(str(mail["Subject"]))
        if dispatch.message.target == DANA:
            when = datetime.fromtimestamp(self.clock.now_ms() / 1_000, BERLIN).strftime("%a %H:%M")
            self.mails.append((when, str(mail["Subject"])))
            self.texts.append(text_of(mail))
        return Delivered()


@dataclass
class Week:
    """A company in which time passes as it is told to."""

    company: SmallCompany
    mailbox: Mailbox

    async def pass_until(self, day: int, time: str) -> None:
        """Let time pass, and whatever is due in between be sent."""
        end_ms, clock = ms_at(day, time), self.company.clock
        while times := [due for due in due_times(self.company.engine) if due <= end_ms]:
            clock.at_ms = max(clock.at_ms, min(times))
            await self.send_due()
        clock.at_ms = max(clock.at_ms, end_ms)

    async def send_due(self) -> None:
        await until(lambda: not due_times(self.company.engine, self.company.clock.now_ms()))

    def prefer(self, **choices: Document) -> None:
        preferences = Preferences.model_validate(PREFERENCES | choices)
        now_ms = self.company.clock.now_ms()
        SqlPreferences(self.company.engine).put(self.company.ids["dana"], preferences, now_ms=now_ms)

    def tell(self) -> None:
        notify_all(self.company.engine, now_ms=self.company.clock.now_ms())

    def change(self, table: str, *texts: str, by: str = "dia") -> None:
        for text in texts:
            self.company.describe(table, text, by=by)
        self.tell()

    def report(self, status: str) -> None:
        self.company.result("customers", status)
        self.tell()

    def tag(self, table: str) -> None:
        self.company.clock.advance(1_000)
        label = {"tagFQN": "Privacy.Secret", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
        patch = [{"op": "add", "path": "/tags", "value": [label]}]
        self.company.writes.patch("table", self.company.key(table), patch, actor=SYSTEM)
        self.tell()

    def delete(self, table: str) -> None:
        self.company.clock.advance(1_000)
        self.company.writes.delete("table", self.company.key(table), actor=SYSTEM)
        self.tell()

    def assign_to_substitute(self) -> None:
        """Assign the incident of Dana's test to her, who is away: it goes to Ben."""
        company = self.company
        company.clock.advance(1_000)
        request = {
            "testCaseReference": "pg.store.public.customers.has_rows",
            "testCaseResolutionStatusType": "Assigned",
            "testCaseResolutionStatusDetails": {"assignee": {"type": "user", "name": "ben"}},
        }
        stand_in = StandIn(company.ids["dana"], ms_at(5), company.ids["ben"])
        work = partial(take_step_for_all, request=request, stand_in=stand_in)
        company.writes.on_entity("testCase", company.key("has_rows"), work, actor=company.actor("ana"))
        self.tell()

    def bell_count(self) -> int:
        """Return of how many changes Dana is told in the app."""
        is_to_dana = notification.c.recipient == self.company.ids["dana"]
        is_told = is_to_dana & (notification.c.due_at_ms < NEVER_MS)
        with self.company.engine.connect() as connection:
            return connection.scalar(select(func.count()).select_from(notification).where(is_told)) or 0


def furnish(company: SmallCompany) -> None:
    """Let Dana own a table, follow a domain, a table of a service that she mutes, and what her team follows."""
    ids, now_ms = company.ids, company.clock.now_ms()
    company.put("user", {"name": "dana", "email": DANA})
    company.put("team", {"name": "ops", "users": [{"id": ids["dana"], "type": "user"}]})
    company.put("domain", {"name": "Sales", "domainType": "Aggregate", "description": "x"})
    company.put("classification", {"name": "Privacy", "description": "x"})
    company.put("tag", {"name": "Secret", "classification": "Privacy", "description": "x"})
    company.put("databaseService", {"name": "lab", "serviceType": "Postgres"})
    company.put("database", {"name": "tries", "service": "lab"})
    company.put("databaseSchema", {"name": "all", "database": "lab.tries"})
    company.table("scratch", databaseSchema="lab.tries.all")
    company.table("customers", owners=[{"type": "user", "name": "dana"}])
    company.table("deals", domains=[{"type": "domain", "id": ids["Sales"]}])
    company.table("letters")
    company.test_case("customers")
    follow(company, "dana", ("domain", "Sales"))
    follow(company, "dana", ("table", "scratch"))
    TeamFollows(company.engine).add(ids["ops"], "table", ids["revenue"], now_ms=now_ms)
    Mutes(company.engine).put(Mute(ids["dana"], MuteKind.ASSET, ids["lab"], since_ms=now_ms))
    search = {"name": "secrets", "query": "tag:Privacy.Secret", "index": "table"}
    ways: list[Document] = [{"category": "Users", "type": channel} for channel in ("ActivityFeed", "Email")]
    owners, rules = [{"id": ids["dana"], "type": "user"}], rules_of_search(search)
    company.alert("dana: secrets", ways, toMeOnly=True, owners=owners, search=search, filteringRules=rules)
    notify_all(company.engine, now_ms=now_ms)
    for alert in (ACTIVITY_FEED_ALERT, MESSAGE_ALERTS[0], ASSIGNED_INCIDENTS_ALERT):
        company.put("eventsubscription", {**alert, "enabled": True})


@asynccontextmanager
async def week_on(engine: Engine) -> AsyncIterator[Week]:
    """Yield a week that begins, with a worker."""
    company = SmallCompany(engine)
    company.clock.at_ms = ms_at(0)
    furnish(company)
    week = Week(company, Mailbox(company.clock))
    week.prefer()
    notify_all(engine, now_ms=company.clock.now_ms())
    async with working(engine, senders={Channel.EMAIL: week.mailbox}, clock=company.clock):
        yield week


async def live_until_wednesday(week: Week) -> None:
    """Let changes come by day and night; on Wednesday the clock is set back by an hour after the digest."""
    await week.pass_until(0, "09:30")
    week.change("customers", "All who bought.", "All who ever bought.")
    week.change("deals", "Signed ones.")
    week.change("revenue", "Net.", by="ana")
    week.change("scratch", "Nothing.")
    for time, status in (("14:00", "Failed"), ("16:00", "Success"), ("22:00", "Failed")):
        await week.pass_until(0, time)
        week.report(status)
    await week.pass_until(1, "10:00")
    week.report("Success")
    week.tag("letters")
    week.change("letters", "Kept for two years.")
    week.change("deals", *(f"Version {number}." for number in range(30)))
    await week.pass_until(2, "08:15")
    week.company.clock.advance(-3_600_000)
    week.prefer(away={"start": ms_at(3), "until": ms_at(5)})
    await week.pass_until(2, "09:00")


async def live_until_sunday(week: Week) -> None:
    """Let Dana be away on Thursday and Friday, and her substitute take an incident."""
    await week.pass_until(3, "11:00")
    week.change("customers", "While away.")
    week.report("Failed")
    week.assign_to_substitute()
    await week.pass_until(4, "12:00")
    week.report("Success")
    week.change("deals", "On Friday.")
    await week.pass_until(5, "12:00")
    week.change("revenue", "Before tax.", by="ana")
    await week.pass_until(6, "12:00")
    week.delete("letters")
    await week.pass_until(7, "09:00")


@pytest.mark.soak_on_postgresql
async def test_a_person_who_has_chosen_much_gets_each_mail_of_a_week_once_and_in_time(store_engine: Engine) -> None:
    async with week_on(store_engine) as week:
        await live_until_wednesday(week)
        await live_until_sunday(week)
    mailbox, text = week.mailbox, "\n".join(week.mailbox.texts)
    assert mailbox.mails == [
        ("Mon 14:00", "customers: has_rows failed"),
        ("Mon 16:00", "customers: has_rows passes again"),
        ("Tue 07:00", "customers: has_rows failed"),
        ("Tue 08:00", "4 changes: revenue, customers, deals"),
        ("Tue 10:00", "customers: has_rows passes again"),
        ("Wed 08:00", "32 changes: letters, deals"),
        ("Sat 07:00", "1 failure, 1 recovery, 3 changes: customers, deals"),
        ("Sun 08:00", "revenue: description changed"),
        ("Sun 12:00", "letters: deleted"),
    ]
    single_marks = (
        "now: All",
        "now: Signed",
        "now: Net",
        "now: Kept",
        "now: Version 29",
        "now: While",
        "now: On Friday",
    )
    assert {mark: text.count(mark) for mark in single_marks} == dict.fromkeys(single_marks, 1)
    assert "Nothing." not in text, "of a service that she mutes"
    assert "incident assigned to ben (your substitute, as you are away until 2026-01-10 00:00 CET)" in text
    assert mailbox.subjects_to_ben == [SUBJECT_TO_BEN]
    assert "What to do: nothing: it is well again" in text
    assert max(len(mail.splitlines()) for mail in mailbox.texts) <= LONGEST_MAIL
    assert week.bell_count() == BELL_COUNT
