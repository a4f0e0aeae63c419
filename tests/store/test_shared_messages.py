"""Property: one alert changes nothing in what others tell a recipient but the reasons, and what it tells itself."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email import message_from_bytes
from email.policy import default
from operator import attrgetter
from pathlib import Path

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from tests.company import STARTED_MS, SmallCompany, destination_id
from tests.notifying import notify_all
from tests.soak import SOAK
from tests.store.catalogues import add_tags
from tests.store.test_independence import opened_copy, yes
from tests.workers import with_parts, worker_parts

from tocsin.catalogue.writes import Writes
from tocsin.clock import FixedClock
from tocsin.delivery.channels.email.mails import MailSettings, render_mail
from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.transport.outcome import of_smtp_code
from tocsin.delivery.worker.attempt import Attempts
from tocsin.delivery.worker.parts import WorkerParts
from tocsin.model.message import Delivered, Message, Outcome
from tocsin.model.people import Actor
from tocsin.model.stored import Key
from tocsin.model.subscription import Channel, Destination
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import open_engine

SECOND_MS = 1_000
HOUR_S = 3_600
START_MS = (STARTED_MS // (HOUR_S * SECOND_MS) + 2) * HOUR_S * SECOND_MS
ADMIN, USERS = "root", ("ann", "eve")
NEUTRAL = ""
TO_BEN = "ben@example.com"


@dataclass(frozen=True)
class Made:
    """An alert that mails ben: whose it is, how old among the others, and how it is set up.

    It mails as many other addresses, too, as are ``refused`` by the mail server, so that its destination fails.
    """

    owner: str = ADMIN
    age: int = 0
    assets: tuple[str, ...] = ("orders", "revenue")
    batch_size: int = 100
    poll_interval_s: int = 60
    group_by: str = "alert"
    schedule: str = ""
    template: str = NEUTRAL
    is_critical: bool = False
    refused: int = 0

    @property
    def name(self) -> str:
        """Return a name that sorts the other way round than the age."""
        return f"alert{9 - self.age}"


@dataclass(frozen=True)
class Told:
    """What a mail says of an event: when it was due, whether it is shown, in whose words, and for which alerts."""

    due_at_ms: int
    is_shown: bool
    wording: str
    alerts: frozenset[str]


Happening = tuple[int, str]
"""Seconds after the one before, and the table that changes."""
MADE = st.builds(
    Made,
    owner=st.sampled_from([ADMIN, *USERS]),
    age=st.integers(0, 8),
    assets=st.sampled_from([("orders",), ("revenue",), ("orders", "revenue")]),
    batch_size=st.sampled_from([1, 2, 3, 100]),
    poll_interval_s=st.sampled_from([0, 10, 60, 86_400]),
    group_by=st.sampled_from(["alert", "asset", "none"]),
    schedule=st.sampled_from(["", "", "hourly", "daily"]),
    template=st.sampled_from([NEUTRAL, "Short", "Long"]),
    is_critical=st.booleans(),
    refused=st.sampled_from([0, 0, 0, 10]),
)
HAPPENINGS = st.lists(
    st.tuples(st.sampled_from([1, 5, 40, 61, HOUR_S]), st.sampled_from(["orders", "revenue"])), min_size=1, max_size=6
)
EIGHT: list[Happening] = [(1, "orders")] * 8


@given(
    alerts=st.lists(MADE, min_size=2, max_size=3, unique_by=attrgetter("age")),
    happenings=HAPPENINGS,
)
@example(alerts=[Made(age=1), Made("eve", 0, batch_size=2)], happenings=EIGHT)
@example(alerts=[Made(age=1), Made("eve", 0, template="Short")], happenings=EIGHT)
@example(alerts=[Made(age=1), Made("eve", 0, poll_interval_s=86_400)], happenings=EIGHT)
@example(alerts=[Made(age=1, schedule="hourly"), Made("eve", 0, schedule="hourly", batch_size=2)], happenings=EIGHT)
@example(
    alerts=[Made(age=1, assets=("revenue",)), Made("eve", 0, schedule="daily", is_critical=True)], happenings=EIGHT
)
@example(
    alerts=[Made(age=1, schedule="hourly", batch_size=2), Made("eve", 0, schedule="hourly", batch_size=1)],
    happenings=EIGHT,
)
@example(alerts=[Made(age=1, batch_size=1, group_by="asset"), Made("eve", 0, batch_size=2)], happenings=EIGHT)
@example(alerts=[Made("ann", 0), Made("eve", 1, refused=10)], happenings=EIGHT)
@example(alerts=[Made("ann", 0, template="Short"), Made("eve", 1, template="Short", refused=10)], happenings=EIGHT)
@settings(max_examples=80, phases=tuple(Phase) if SOAK else (Phase.explicit,), deadline=None)
def test_an_alert_changes_nothing_for_others_but_what_it_tells_first_itself(
    beginning: Beginning, alerts: list[Made], happenings: list[Happening]
) -> None:
    *other_alerts, added_alert = alerts
    without = _messages_told(beginning, other_alerts, happenings)
    alone = _messages_told(beginning, [added_alert], happenings)
    together = _messages_told(beginning, alerts, happenings)
    assert together.keys() == without.keys() | alone.keys()
    by_name = {one.name: one for one in alerts}
    for event, message in together.items():
        ways = [one for one in (without.get(event), alone.get(event)) if one is not None]
        assert message.due_at_ms == min(one.due_at_ms for one in ways)
        assert message.is_shown or not any(one.is_shown for one in ways), (event, alerts, happenings, ways)
        assert message.alerts == frozenset().union(*(one.alerts for one in ways))
        if message.is_shown:
            assert message.wording == _template_of([by_name[one] for one in message.alerts])


def _template_of(alerts: Sequence[Made]) -> str:
    """Return in whose words alerts tell of an event together: the administrators', or those that all agree on."""
    deciding = [one for one in alerts if one.owner == ADMIN] or alerts
    words = {one.template for one in deciding}
    return words.pop() if len(words) == 1 else NEUTRAL


@dataclass
class Mailbox:
    """A channel that renders every message as a mail and notes what it says of each event."""

    deliveries: dict[str, Told] = field(default_factory=dict)

    async def send(self, dispatch: Dispatch, _destination: Destination, *, now_ms: int) -> Outcome:
        if dispatch.message.target != TO_BEN:
            return of_smtp_code(550)
        mail = render_mail(dispatch, MailSettings("tocsin@example.com", "https://tocsin.example.com"), now_ms=now_ms)
        part = message_from_bytes(mail.content, policy=default).get_body(("plain",))
        text = part.get_content() if part else ""
        for entry in dispatch.entries:
            mark = str((entry.event.entity or {})["description"])
            assert mark not in self.deliveries, "told twice"
            word_match = re.search(rf"(\w*)<{mark}>", text)
            is_shown = word_match is not None or mark in text
            alerts = frozenset(one.subscription_name for one in entry.reasons)
            self.deliveries[mark] = Told(
                dispatch.message.due_at_ms, is_shown, word_match[1] if word_match else NEUTRAL, alerts
            )
        return Delivered()


@dataclass(frozen=True)
class Beginning:
    """A store with a company and no alert of ours yet: its file, the ids of what is in it, and the time."""

    path: Path
    ids: dict[str, str]
    at_ms: int


@pytest.fixture(scope="module")
def beginning(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Beginning:
    path = tmp_path_factory.mktemp("shared") / "store.db"
    path.write_bytes(sqlite_template.read_bytes())
    engine = open_engine(f"sqlite:///{path}")
    company = SmallCompany(engine)
    add_tags(company.writes, "Priority.Critical")
    for name in (ADMIN, *USERS):
        company.put("user", {"name": name, "email": f"{name}@example.com", "isAdmin": name == ADMIN})
    for name in ("Short", "Long"):
        body = f"<p>{name}&lt;{{{{entity.description}}}}&gt;</p>"
        company.put("notificationTemplate", {"name": name, "templateSubject": "{{headline}}", "templateBody": body})
    notify_all(engine)
    engine.dispose()
    return Beginning(path, company.ids, company.clock.now_ms())


def _messages_told(beginning: Beginning, alerts: Sequence[Made], happenings: Sequence[Happening]) -> dict[str, Told]:
    """Return what ben is told of each event by these alerts, while a worker sends what is due when it is due."""
    with opened_copy(beginning.path) as engine:
        clock, mailbox = FixedClock(beginning.at_ms), Mailbox()
        writes = Writes(SqlCatalogue(engine), clock)
        for alert in sorted(alerts, key=attrgetter("age"), reverse=True):
            clock.at_ms = beginning.at_ms + (9 - alert.age) * SECOND_MS
            _make(writes, beginning.ids, alert)
        parts = with_parts(worker_parts(engine, {Channel.EMAIL: mailbox}), clock=clock)
        parts.queue.sessions.begin("s", lease_ms=10**12, now_ms=0)
        at_ms = START_MS
        for number, (gap_s, table) in enumerate(happenings):
            at_ms += gap_s * SECOND_MS
            asyncio.run(_send_due(parts, at_ms - 1))
            clock.at_ms = at_ms - SECOND_MS
            change = [{"op": "add", "path": "/description", "value": f"event{number}of{len(happenings)}"}]
            author = Actor(beginning.ids["dia"], "dia", reason=f"step {number}")  # digests keep such changes apart
            writes.patch("table", Key.by_id(beginning.ids[table]), change, actor=author)
            notify_all(engine, now_ms=at_ms)
        asyncio.run(_send_due(parts, at_ms + 10**9))
        return mailbox.deliveries


def _make(writes: Writes, ids: Mapping[str, str], alert: Made) -> None:
    trigger = {"triggerType": "RealTime", "groupBy": alert.group_by}
    if alert.schedule:
        cron = {"hourly": "0 0 * * * ?", "daily": "0 0 8 * * ?"}[alert.schedule]
        trigger = {"triggerType": "Scheduled", "scheduleInfo": "Custom", "cronExpression": cron}
    names = ",".join(f"'pg.store.public.{one}'" for one in alert.assets)
    rule = {"effect": "include", "condition": f"matchAnyEntityFqn({{{names}}})"}
    strangers = [f"nobody{number}@example.com" for number in range(alert.refused)]
    request = {
        "name": alert.name,
        "alertType": "Notification",
        "filteringRules": {"resources": ["table"], "rules": [rule]},
        "trigger": trigger,
        "batchSize": alert.batch_size,
        "pollInterval": alert.poll_interval_s,
        "destinations": [
            {
                "id": destination_id(alert.name),
                "category": "External" if alert.refused else "Users",
                "type": "Email",
                "config": {"receivers": [TO_BEN, *strangers] if alert.refused else ["ben"]},
            }
        ],
    }
    if alert.template:
        request["notificationTemplate"] = {"id": ids[alert.template], "type": "notificationTemplate"}
    if alert.is_critical:
        request["tags"] = [
            {"tagFQN": "Priority.Critical", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
        ]
    writes.create("eventsubscription", request, actor=Actor(ids[alert.owner], alert.owner))


async def _send_due(parts: WorkerParts, until_ms: int) -> None:
    messages, attempts = parts.queue.messages, Attempts(parts.attempts, parts.time)

    def claim_due() -> list[Message]:
        pauses = messages.pauses(until_ms)
        shares = {one: pauses.room(one, 64) for one in messages.due_destinations(until_ms)}
        return messages.claim("s", 64, now_ms=until_ms, shares=shares, pauses=pauses)

    while claimed := claim_due():
        for dispatch in messages.dispatches(claimed):
            finished = await attempts.make(dispatch, yes)
            assert finished is not None
            messages.record("s", [finished], now_ms=dispatch.message.due_at_ms)
