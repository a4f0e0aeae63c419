"""Benchmark of daily digests that are due at once: twenty notifications each, composed by a worker's functions.

The first row is what one process of a worker does for people with an alert each, but for sending: reading, rights,
folding, words, the mail; the floor is reading alone. The last is the job of the pipeline: Spark's tasks compose the
digests of ``PEOPLE_ON_SPARK`` people who hear of the same 2,000 changes, and store them; the floor is one process that
reads the same rows (docs/decisions/0235-digests-are-composed-on-spark.md). Next: ``bench/mails.py``.
"""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from pathlib import Path

from sqlalchemy import Engine, select

from bench.deliveries import add_messages, destination_at, make_alerts
from bench.due_digests import add_due_digests
from bench.measured import Measurement, Report, scale_count
from bench.running import open_store, settings_in
from tocsin.chunks import chunks_of
from tocsin.clock import SystemClock
from tocsin.delivery.channels.previews import PREVIEWS
from tocsin.delivery.dispatch import Dispatch, leading_route
from tocsin.delivery.templates.accounts import TemplateAccounts
from tocsin.delivery.templates.choice import with_route_settings, word_message
from tocsin.delivery.templates.message_text import MessagePlace
from tocsin.delivery.wording.folding import fold_repeated
from tocsin.flow.schedule.messages import timings_of
from tocsin.jobs.digests import SHARE_SIZE, build, compose_shares
from tocsin.model.message import Message
from tocsin.model.subscription import Channel
from tocsin.spark.session import open_session
from tocsin.store.catalogue.alerts.subscriptions import UNREADABLE, Subscriptions
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import message
from tocsin.store.outbox.addresses import Routes
from tocsin.store.outbox.composed_digests import ComposedDigests
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.quiet_times import SqlQuietTimes
from tocsin.store.outbox.send_permission import Permitted

PEOPLE, NOTIFICATION_COUNT = 2_000, 20
PEOPLE_ON_SPARK = 1_000_000
_CLAIMED_AT_ONCE = 100
_COLUMNS = [message.c[field.name] for field in fields(Message)]
_BASE_URL = "http://127.0.0.1:8585"


class Composer:
    """What a worker uses to compose messages of a store, and the seconds that each step took."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._accounts = engine, TemplateAccounts()
        self._outbox, self._routes = Messages(engine), Routes(engine)
        self._permitted, self._quiet_times = Permitted(engine), SqlQuietTimes(engine)
        self.times_s: dict[str, float] = defaultdict(float)

    def compose_all(self) -> int:
        """Compose all waiting messages in portions such as a worker claims; return how many they are."""
        with reading(self._engine) as connection:
            messages = [Message(*row) for row in connection.execute(select(*_COLUMNS))]
        for number, portion in enumerate(chunks_of(messages, _CLAIMED_AT_ONCE)):
            if number == 1:
                self.times_s.clear()  # the first portion warms up
            with self._timing("read"):
                dispatches = self._outbox.dispatches(portion)
            with self._timing("fold"):
                list(map(fold_repeated, dispatches))
            with self._timing("compose"):
                self._compose(dispatches)
        return max(0, len(messages) - _CLAIMED_AT_ONCE)

    def _compose(self, dispatches: Sequence[Dispatch]) -> None:
        """Compose messages as ``delivery/worker/attempt.py`` does, with one judgement of all rights."""
        now_ms, place = SystemClock().now_ms(), MessagePlace(Channel.EMAIL.value, _BASE_URL)
        self._permitted.look_ahead(dispatches, self._quiet_times.look_ahead(dispatches))
        keys = {reason.destination_key for one in dispatches for entry in one.entries for reason in entry.reasons}
        by_alert = self._routes.of_all({alert for alert, _ in keys})
        every_route = {
            (alert, destination): route
            for alert, routes_of_alert in by_alert.items()
            if not isinstance(routes_of_alert, UNREADABLE)
            for destination, route in routes_of_alert.items()
        }
        for dispatch in dispatches:
            allowed_dispatch, _ = self._permitted.permitted_part(dispatch, now_ms=now_ms)
            if allowed_dispatch is None:
                raise AssertionError("everybody may view everything here")
            own_keys = {reason.destination_key for entry in dispatch.entries for reason in entry.reasons}
            routes = {key: every_route[key] for key in own_keys}
            route = leading_route(allowed_dispatch, routes)
            whole_dispatch = with_route_settings(allowed_dispatch, route, routes, route.zone)
            worded_dispatch, _ = word_message(whole_dispatch, routes, {}, place, self._accounts)
            PREVIEWS[Channel.EMAIL](worded_dispatch, _BASE_URL)

    @contextmanager
    def _timing(self, name: str) -> Iterator[None]:
        started_s = time.perf_counter()
        yield
        self.times_s[name] += time.perf_counter() - started_s


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure people per second: composed in a worker, folded alone, composed on Spark."""
    people = scale_count(PEOPLE, scale, least=2 * _CLAIMED_AT_ONCE)
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder, ExitStack() as stack:
        engine, _ = stack.enter_context(open_store(settings_in(Path(folder))))
        addresses = [f"p{number}@bench.example.org" for number in range(people)]
        destinations = [destination_at(Channel.EMAIL, receivers=[one]) for one in addresses]
        alerts = make_alerts(engine, destinations, trigger={"triggerType": "Scheduled", "scheduleInfo": "Daily"})
        timings = timings_of(Subscriptions(engine).list_enabled({alert for alert, _ in alerts}))
        add_messages(engine, alerts, NOTIFICATION_COUNT, timings)
        report(1, 3)
        composer = Composer(engine)
        count = composer.compose_all()
    report(2, 3)
    read_s, fold_s, compose_s = (composer.times_s[name] for name in ("read", "fold", "compose"))
    people_on_spark = scale_count(PEOPLE_ON_SPARK, scale, least=SHARE_SIZE)
    on_spark = _compose_on_spark(people_on_spark)
    return [
        Measurement(
            "digests", "composed in one process", count / (read_s + compose_s), "people/s", count / read_s, count
        ),
        Measurement("digests", "folded alone, in one process", count / fold_s, "people/s", None, count),
        Measurement("digests", "composed on Spark", *on_spark, people_on_spark, "1,000"),
    ]


def _compose_on_spark(people: int) -> tuple[float, str, float]:
    """Return how many people's digests a second one Spark job composes and stores, and how many one process reads.

    Raises
    ------
    AssertionError : a person's is missing
    """
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder, ExitStack() as stack:
        settings = settings_in(Path(folder))
        engine, _ = stack.enter_context(open_store(settings))
        due_ms = add_due_digests(engine, people, NOTIFICATION_COUNT)
        session = open_session(master="local[2]")
        stack.callback(session.stop)
        parts, digests = build(settings, session, engine), ComposedDigests(engine)
        shares = digests.shares(0, due_ms, SHARE_SIZE)
        compose_shares(parts, shares[:1], due_ms)  # Spark starts and compiles its plan
        digests.forget_all()
        started_s = time.perf_counter()
        composed_count = compose_shares(parts, shares, due_ms)
        composed_s = time.perf_counter() - started_s
        if composed_count != people:
            raise AssertionError(f"{composed_count} of {people} digests were composed")
        digests.forget_all()
        messages = next(iter(digests.waiting_messages(shares[0], SHARE_SIZE)))
        outbox = Messages(engine)
        read_s = _seconds(lambda: [outbox.dispatches(portion) for portion in chunks_of(messages, _CLAIMED_AT_ONCE)])
    return people / composed_s, "people/s", len(messages) / read_s


def _seconds(work: Callable[[], object]) -> float:
    started_s = time.perf_counter()
    work()
    return time.perf_counter() - started_s
