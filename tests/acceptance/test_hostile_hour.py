"""Hostile hour: receivers fail in every way, all processes are killed, and every notification has one end.

Under ``make soak``: 2,000 changes and 30 kills, and 300 changes and 8 kills on PostgreSQL.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, func, select
from sqlalchemy.pool import NullPool
from tests.acceptance.hostile_receivers import HostileReceivers, hostile_receivers
from tests.sparksession import SHORT_LIVED
from tests.waiting import until
from truth.processes import Product

from tocsin.client import Client
from tocsin.errors import TocsinError
from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.store.database.tables import attempt, change_event, message, notification, pipeline_progress

SIZES = {"sqlite": (2_000, 30), "postgres": (300, 8)}
"""By store, the number of changes and of kills."""

STORES = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
VICTIMS = ("deliver", "serve", "pipeline")
TABLES = 8
PEOPLE = ("ana", "ben", "cem", "busydia")
LEASE_S = 5
HEALTHY = ("ok/1", "ok/2", "cut", "bomb", "ok/slack", "teams", "space")
"""Where everything has to be delivered in the end."""

OFF = [{"op": "add", "path": "/enabled", "value": False}]
WAITING, DELIVERED, DEAD = {"pending", "awaitingRetry"}, {"delivered"}, {"failed", "retryLimitReached"}

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(3_000)]


@dataclass
class HostileSetup:
    """A running Tocsin with tables, people and 20 alerts; ``goals`` are paths or addresses by destination id."""

    product: Product
    receivers: HostileReceivers
    client: Client
    change_count: int
    kill_count: int
    tables: list[str] = field(default_factory=list)
    owners: dict[str, str] = field(default_factory=dict)
    followers: dict[str, set[str]] = field(default_factory=dict)
    alerts: dict[str, str] = field(default_factory=dict)
    goals: dict[str, str] = field(default_factory=dict)
    kills: Counter[str] = field(default_factory=Counter)

    def furnish(self) -> None:
        put = self.client.create_or_update
        for name in ("MessagesOfAssets", "MessagesOfConversations"):  # the alerts of this test alone send messages
            alert = self.client.get_by_name("eventsubscription", name)
            self.client.patch_subscription(str(alert.id), OFF)
        ids = {name: str(put("user", {"name": name, "email": f"{name}@example.org"}).id) for name in PEOPLE}
        put("databaseService", {"name": "pg", "serviceType": "Postgres"})
        put("database", {"name": "store", "service": "pg"})
        put("databaseSchema", {"name": "public", "database": "pg.store"})
        for number in range(TABLES):
            owner, follower = PEOPLE[number % 2], PEOPLE[2 + number % 2]
            table: dict[str, Any] = {"name": f"t{number}", "databaseSchema": "pg.store.public"}
            table |= {"columns": [{"name": "id", "dataType": "INT"}], "owners": [{"type": "user", "name": owner}]}
            table_id = str(put("table", table).id)
            self.client.add_follower("table", table_id, ids[follower])
            self.tables.append(table_id)
            self.owners[table_id], self.followers[table_id] = ids[owner], {ids[follower]}
        for name, (settings, destinations) in self.alert_plans().items():
            self.add_alert(name, settings, destinations)

    def alert_plans(self) -> dict[str, tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]]:
        """Return the alerts: what is special of each, and its destinations with where they lead."""

        def hooks(*paths: str, kind: str = "Webhook") -> list[tuple[str, dict[str, Any]]]:
            addresses = {
                "refused": "http://127.0.0.1:1/refused",
                "unknown": "http://no-such-host.invalid/unknown",
                "untls": self.receivers.url("untls", "https"),
            }
            configs = ((one, {"endpoint": addresses.get(one) or self.receivers.url(one)}) for one in paths)
            return [(one, {"category": "External", "type": kind, "config": config}) for one, config in configs]

        def mails(category: str, *to: str) -> list[tuple[str, dict[str, Any]]]:
            return [
                (to[0] if to else category, {"category": category, "type": "Email", "config": {"receivers": [*to]}})
            ]

        once: dict[str, Any] = {"retries": 0}
        return {
            **{path.replace("/", ""): ({}, hooks(path)) for path in ("ok/1", "ok/2", "flapping", "down", "limited")},
            **{f"{path}once": (once, hooks(f"{path}/once")) for path in ("down", "missing", "redirect", "hanging")},
            "reset": ({}, hooks("reset")),
            "slow": ({}, hooks("hanging", "dripping", "endless")),
            "odd": ({}, hooks("cut", "bomb")),
            "nowhere": ({}, hooks("refused", "unknown", "untls")),
            "slack": ({}, hooks("ok/slack", kind="Slack")),
            "slacknotok": (once, hooks("notok", kind="Slack")),
            "teams": ({}, hooks("teams", kind="MsTeams")),
            "space": ({}, hooks("space", kind="GChat")),
            "mailowners": ({"pollInterval": 0}, mails("Owners")),
            "mailfollowers": ({"pollInterval": 2}, mails("Followers")),
            "mailothers": (once, mails("External", "refused@example.org") + mails("External", "taken@example.org")),
        }

    def add_alert(self, name: str, settings: dict[str, Any], destinations: list[tuple[str, dict[str, Any]]]) -> None:
        rules = {
            "resources": ["table"],
            "rules": [{"effect": "include", "condition": "fieldChanged == 'description'"}],
        }
        impatient = {"timeout": 1, "readTimeout": 1}
        slow = ("hanging", "dripping", "endless")
        configured_destinations = [one | impatient if goal.startswith(slow) else one for goal, one in destinations]
        alert = self.client.create_subscription(
            {
                "name": name,
                "alertType": "Notification",
                "filteringRules": rules,
                "destinations": configured_destinations,
                **settings,
            }
        )
        self.alerts[name] = alert.id
        for (goal, _), destination in zip(destinations, alert.document["destinations"], strict=True):
            self.goals[destination["id"]] = goal

    def describe(self, number: int) -> None:
        """Change a description; while the server is down, ask again: a change made twice is one change."""
        self.ask_until_done(
            lambda: self.client.patch(
                "table",
                self.tables[number % TABLES],
                [{"op": "add", "path": "/description", "value": f"text {number}"}],
            )
        )

    def ask_until_done(self, ask: Any) -> None:
        def is_answered() -> bool:
            try:
                ask()
            except TocsinError:
                return False
            return True

        until(is_answered, within_s=90, every_s=0.2)

    def kill(self, victim: str) -> None:
        """Kill a process while it works, and start it again at once."""
        if victim != "serve":
            counted = attempt.c.message_id if victim == "deliver" else notification.c.id
            before = self.count(counted)
            self.product.until(lambda: self.count(counted) > before, within_s=120)
        self.product.kill(victim)
        self.kills[victim] += 1
        self.product.start(victim)

    def copies(self, goal: str) -> int:
        """Return how many requests were accepted beyond the first of each message."""
        arrivals = self.receivers.accepted_arrivals(goal)
        return len(arrivals) - len({one.message for one in arrivals})

    def count(self, column: Any) -> int:
        with connection_to(self.product) as connection:
            return int(connection.execute(select(func.count(column))).scalar_one())


def connection_to(product: Product) -> Any:
    engine: Engine = create_engine(product.store_url, poolclass=NullPool)
    return engine.connect()


@pytest.fixture(params=STORES)
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HostileSetup]:
    database = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    with hostile_receivers() as receivers:
        environment = {
            "TOCSIN_SMTP_HOST": "127.0.0.1",
            "TOCSIN_SMTP_PORT": str(receivers.mail_port),
            "TOCSIN_WORKER_LEASE_S": str(LEASE_S),
            "TOCSIN_SPARK_CONF": json.dumps(SHORT_LIVED),
        }
        product = Product(tmp_path, database, environment=environment)
        try:
            product.start("serve")
            product.start("pipeline")
            product.start("deliver")
            with Client(product.url) as client:
                client.login("admin@tocsin.example.org", product.administrator())
                setup = HostileSetup(product, receivers, client, *SIZES[request.param])
                setup.furnish()
                yield setup
        finally:
            product.stop()


def test_every_notification_ends_in_one_way_whatever_fails_and_whoever_is_killed(house: HostileSetup) -> None:
    began_s = time.monotonic()
    interval = house.change_count // house.kill_count
    for number in range(house.change_count):
        house.describe(number)
        if number % interval == interval // 2:
            house.kill(VICTIMS[(number // interval) % len(VICTIMS)])
        if number == house.change_count * 3 // 4:
            house.ask_until_done(partial(house.client.patch_subscription, house.alerts["down"], OFF))
    house.product.until(lambda: _is_done(house), within_s=1_200, every_s=0.5)
    house.product.stop()
    judgement = Judged(house)
    judgement.whoever_must_be_is_notified_once()
    judgement.every_message_has_one_end()
    judgement.the_receivers_got_what_is_recorded()
    _say(house, judgement, time.monotonic() - began_s)


def _is_done(house: HostileSetup) -> bool:
    """Return whether the pipeline has read everything and what can be delivered is."""
    with connection_to(house.product) as connection:
        of_matching = select(pipeline_progress.c.log_offset).where(pipeline_progress.c.query_name == MATCH_STREAM)
        read = connection.execute(of_matching).scalar_one()
        end = connection.execute(select(func.max(change_event.c.log_offset))).scalar_one()
        query = select(message.c.destination_id, message.c.channel, message.c.status)
        waiting_messages = connection.execute(query.where(message.c.status.in_(WAITING))).all()
    open_goals = {house.goals.get(one.destination_id, "") for one in waiting_messages}
    return bool(read >= end and not open_goals & {*HEALTHY, "refused@example.org"})


class Judged:
    """What the store says after the hour, compared with what must be and with what the receivers noted."""

    def __init__(self, house: HostileSetup) -> None:
        self.house = house
        with connection_to(house.product) as connection:
            self.events = connection.execute(select(change_event).order_by(change_event.c.log_offset)).all()
            self.notifications = connection.execute(select(notification)).all()
            self.messages = {one.id: one for one in connection.execute(select(message)).all()}
            attempts = connection.execute(select(attempt).order_by(attempt.c.message_id, attempt.c.number)).all()
        self.last_reasons = {one.message_id: one.reason for one in attempts}
        self.ends = Counter(self.end_of(one.status) for one in self.messages.values())

    def end_of(self, status: str) -> str:
        statuses_by_end = {"delivered": DELIVERED, "waiting": WAITING, "dead letter": DEAD}
        (end,) = [end for end, statuses in statuses_by_end.items() if status in statuses]
        return end

    def whoever_must_be_is_notified_once(self) -> None:
        changes = [one for one in self.events if self._text_of(one) is not None]
        assert Counter(map(self._text_of, changes)) == Counter(
            f"text {number}" for number in range(self.house.change_count)
        )
        must = Counter(row for one in changes for row in self._expected_notifications(one))
        offsets = {one.id: one.log_offset for one in changes}
        got = Counter((one.event_id, *self._whom(one)) for one in self.notifications if one.event_id in offsets)
        assert set(got.values()) == set(must.values()) == {1}
        assert {row for row in got if row[2] != "down"} == set(must)
        off_at = max(one.log_offset for one in self.events if one.entity_id == self.house.alerts["down"])
        assert {row for row in got if row[2] == "down" and offsets[row[0]] > off_at} == set(), "it was switched off"

    def every_message_has_one_end(self) -> None:
        carried = Counter(one.message_id for one in self.notifications if one.channel != "ActivityFeed")
        assert set(carried) == set(self.messages), "every notification has its message, and every message one"
        ended = {one.id: self.end_of(one.status) for one in self.messages.values()}
        assert {one for one, end in ended.items() if end == "dead letter" and not self.last_reasons.get(one)} == set()
        assert {one.status for one in self.messages.values() if one.lease_owner is not None} <= WAITING
        disabled = {one for one, reason in self.last_reasons.items() if reason == "disabled"}
        assert {self._goal(one) for one in disabled} <= {"down"}
        by_goal = {goal: {ended[one] for one in self.messages if self._goal(one) == goal} for goal in HEALTHY}
        assert by_goal == {goal: {"delivered"} for goal in HEALTHY}

    def the_receivers_got_what_is_recorded(self) -> None:
        for goal, arrivals in self.house.receivers.arrived.items():
            by_id = Counter(one.message for one in arrivals if one.message)
            assert set(by_id) <= set(self.messages), f"{goal} got what no message is"
            events = {(one.message, one.event) for one in arrivals if one.message}
            assert len(events) == len(by_id), f"{goal} got two events under one id"
        arrived_messages = {
            arrival.message
            for goal in self.house.receivers.arrived
            for arrival in self.house.receivers.accepted_arrivals(goal)
        }
        delivered_ids = {
            stored_message.id
            for stored_message in self.messages.values()
            if stored_message.status == "delivered" and stored_message.channel in ("Webhook", "Email")
        }
        assert delivered_ids <= arrived_messages, "nothing is recorded as delivered that nobody took"
        for goal in ("ok/1", "ok/2"):
            copy_count = Counter(one.message for one in self.house.receivers.accepted_arrivals(goal)).most_common(1)[0][
                1
            ]
            assert copy_count <= 1 + self.house.kills["deliver"], (
                "a copy is of a worker that was killed before its record"
            )

    def _expected_notifications(self, event: Any) -> Iterator[tuple[str, str, str]]:
        """Yield whom an event must be told, but for the alert that is switched off on the way."""
        owner, followers = self.house.owners[event.entity_id], self.house.followers[event.entity_id]
        for person in {owner, *followers}:
            yield event.id, "ActivityFeed", person
            yield event.id, "Email", person
        for goal in self.house.goals.values():
            if goal not in ("Owners", "Followers", "down"):
                yield event.id, _channel(goal), goal

    def _whom(self, row: Any) -> tuple[str, str]:
        return (row.channel, row.recipient_id or self._goal(row.message_id))

    def _goal(self, message_id: str) -> str:
        return self.house.goals.get(self.messages[message_id].destination_id, "")

    def _text_of(self, event: Any) -> str | None:
        if event.entity_id not in self.house.owners:
            return None
        change = json.loads(event.document).get("changeDescription") or {}
        fields = [*(change.get("fieldsAdded") or ()), *(change.get("fieldsUpdated") or ())]
        return next((one["newValue"] for one in fields if one["name"] == "description"), None)


def _channel(goal: str) -> str:
    channel_by_goal = {"ok/slack": "Slack", "notok": "Slack", "teams": "MsTeams", "space": "GChat"}
    return channel_by_goal.get(goal, "Email" if "@" in goal else "Webhook")


def _say(house: HostileSetup, judged: Judged, took_s: float) -> None:
    dead = [one.id for one in judged.messages.values() if one.status in DEAD]
    sys.stdout.write(
        f"\nhostile hour: {house.change_count:,} changes, {len(house.alerts)} alerts, {dict(house.kills)} kills, "
        f"{took_s:.0f} s; "
        f"{len(judged.notifications):,} notifications, {len(judged.messages):,} messages: {dict(judged.ends)}; "
        f"dead letters: {dict(Counter(judged.last_reasons[one] for one in dead))}; "
        f"{sum(map(house.copies, ('ok/1', 'ok/2')))} copies at the two healthy webhooks\n"
    )
