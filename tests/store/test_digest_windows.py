"""Digests whose person changes zone and frequency in the middle of a window, while clocks change and workers crash."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from sqlalchemy import Engine, select
from tests.notifying import notify_all
from tests.soak import SOAK
from tests.store.rows import finish_of
from tests.store.test_preferences import company_of

from tocsin.model.message import Delivered, Message
from tocsin.model.preferences import Preferences
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import notification
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.outbox.sessions import Sessions

MINUTE_MS = 60_000
LEASE_MS = 90_000
FORWARD_MS = 1_774_731_600_000  # 28 March 2026, 21:00 UTC: in Berlin the clocks skip from 2:00 to 3:00 that night
BACK_MS = 1_792_875_600_000  # 24 October 2026, 21:00 UTC: in Berlin it is 2:30 twice that night
RHYTHMS = ("immediate", "hourly", "daily", "weekly")
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata")
TIMES = ("02:30", "03:00", "09:00")
QUIET = (None, {"start": "22:00", "end": "02:30"}, {"start": "01:00", "end": "03:00"})


def chosen_preferences(chance: Random) -> Preferences:
    document = {"frequency": chance.choice(RHYTHMS), "timezone": chance.choice(ZONES)}
    times = {"digestAt": chance.choice(TIMES), "quietHours": chance.choice(QUIET), "digestDay": "sunday"}
    return Preferences.model_validate(document | times)


class Workers:
    """Two workers that claim at the same time, and others that crash before they send."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._messages, self._sessions = engine, Messages(engine), Sessions(engine)
        self._crash_count = 0

    def send(self, now_ms: int) -> Iterator[list[str]]:
        """Deliver what is due; yield the notifications to Ana of each message to her."""
        claims: dict[str, list[Message]] = {}
        for worker in ("a", "b"):
            self._sessions.begin(worker, lease_ms=LEASE_MS, now_ms=now_ms)
            claims[worker] = self._messages.claim(worker, 2, now_ms=now_ms)
        for worker, messages in claims.items():
            yield from filter(None, map(self._notifications_of, messages))
            ended = [finish_of(one, Delivered(), at_ms=now_ms) for one in messages]
            assert self._messages.record(worker, ended, now_ms=now_ms) == {one.id for one in messages}

    def crash(self, now_ms: int) -> None:
        """Claim and read what is due, and end without an outcome."""
        self._crash_count += 1
        session_id = f"crash {self._crash_count}"
        self._sessions.begin(session_id, lease_ms=LEASE_MS, now_ms=now_ms)
        messages = self._messages.claim(session_id, 1_000, now_ms=now_ms)
        assert len(self._messages.dispatches(messages)) == len(messages), "no message is empty"
        self._sessions.end(session_id)

    def _notifications_of(self, message: Message) -> list[str]:
        query = select(notification.c.id).where(notification.c.message_id == message.id)
        with reading(self._engine) as connection:
            assert connection.scalars(query).first() is not None, "no message is empty"
            return list(connection.scalars(query.where(notification.c.recipient == "ana@example.com")))


@pytest.mark.parametrize("start_ms", [FORWARD_MS, BACK_MS])
@pytest.mark.parametrize("seed", range(12 if SOAK else 2))
def test_a_window_that_changes_loses_nothing_and_sends_nothing_twice(
    store_engine: Engine, seed: int, start_ms: int
) -> None:
    chance, company, workers = Random(seed), company_of(store_engine), Workers(store_engine)
    now_ms, sent_ids, change_count = start_ms, list[str](), 0
    preferences = SqlPreferences(store_engine)
    for _ in range(24):
        now_ms += chance.randint(1, 90) * MINUTE_MS
        step = chance.choice(("change", "change", "prefer", "send", "crash"))
        if step == "change":
            change_count += 1
            company.describe("orders", f"text {change_count}")
            notify_all(store_engine, now_ms=now_ms)
        elif step == "prefer":
            preferences.put(company.ids["ana"], chosen_preferences(chance), now_ms=now_ms)
        elif step == "crash":
            workers.crash(now_ms)
        else:
            sent_ids += [identity for message in workers.send(now_ms) for identity in message]
    for _ in range(40):
        now_ms += 9 * 60 * MINUTE_MS
        sent_ids += [identity for message in workers.send(now_ms) for identity in message]
    assert len(sent_ids) == len(set(sent_ids)) == change_count
