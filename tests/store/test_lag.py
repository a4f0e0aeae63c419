"""Tests of the lags of readers on both stores: counted, told once when exceeded and once when recovered."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import Engine, insert
from tests.company import SmallCompany
from tests.store.rows import add_messages, some_id
from tests.unit.delivery.events import NOW_MS

from tocsin.alerts.events import EVENT_LAG
from tocsin.delivery.worker.lag_reports import LagReports, lag_reports
from tocsin.flow.eventlog.lag import ReaderLag
from tocsin.flow.eventlog.readers import MATCH_STREAM, SEARCH_STREAM, STREAK_STREAM
from tocsin.flow.eventlog.selection import EventSelection
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.server.bootstrap import EVENT_LAG_ALERT
from tocsin.settings import Settings
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import change_event, message
from tocsin.store.eventlog.lag_states import ConsumerGroups, LagStates
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.upkeep.lag import STALE_AFTER_MS, ReaderLags

TOLD = (EventType.LAG_EXCEEDED, EventType.LAG_RECOVERED)
EVERY_MS = 10_000


class Lagging:
    """A company whose readers may have 4 unread events; ``SEARCH_STREAM`` is the one that lags."""

    def __init__(self, engine: Engine, *, has_alert: bool = True, limits: dict[str, int] | None = None) -> None:
        self.engine, self.company = engine, SmallCompany(engine)
        self.clock = self.company.clock
        if has_alert:
            self.make_alert()
        unwatched = {MATCH_STREAM: 0, STREAK_STREAM: 0, "lake": 0}
        self.settings = Settings(event_lag_limit=4, event_lag_limits=unwatched | (limits or {}))
        self.reports = self.worker()
        self.read()

    def make_alert(self) -> None:
        self.company.writes.create("eventsubscription", EVENT_LAG_ALERT, actor=SYSTEM)

    def worker(self) -> LagReports:
        """Return what another worker, or this one after a restart, measures with."""
        return lag_reports(self.settings, self.engine, self.clock)

    def happen(self, count: int) -> None:
        for _ in range(count):
            self.company.describe("orders", f"text {self.clock.now_ms()}")
            self.clock.advance(1)

    def read(self, *, up_to: int | None = None) -> None:
        """Let the search query read the log, all of it or up to an offset."""
        offset = EventLog(self.engine).readable_end() if up_to is None else up_to
        Notifications(self.engine).advance(SEARCH_STREAM, offset, now_ms=self.clock.now_ms())

    def measure(self) -> int:
        self.clock.advance(EVERY_MS)
        return self.reports.report()

    def events_about_lags(self) -> list[ChangeEvent]:
        logged = EventLog(self.engine).list_events(EventSelection(kinds=dict.fromkeys(TOLD)), limit=100)
        return [one.event for one in logged]

    def types(self) -> list[str]:
        return [event.event_type.value for event in self.events_about_lags()]


def lag_of(engine: Engine, reader: str, *, exact_count: int = 20_000, now_ms: int = 0) -> ReaderLag:
    lags = ReaderLags(engine).measure(now_ms=now_ms, exact_count=exact_count).lags
    return next(lag for lag in lags if lag.reader == reader)


def test_a_lag_is_told_once_when_it_is_exceeded_and_once_when_it_has_recovered(store_engine: Engine) -> None:
    lagging = Lagging(store_engine)
    lagging.happen(5)
    assert [lagging.measure() for _ in range(4)] == [0, 1, 0, 0]
    lagging.reports = lagging.worker()
    assert [lagging.measure() for _ in range(2)] == [0, 0], "a restart tells nothing"
    lagging.read(up_to=EventLog(store_engine).readable_end() - 3)
    assert lagging.measure() == 0, "below the limit, above half of it"
    lagging.read()
    assert [lagging.measure() for _ in range(3)] == [1, 0, 0]
    assert lagging.types() == ["lagExceeded", "lagRecovered"]
    lagging.read()
    lagging.happen(5)
    assert [lagging.measure() for _ in range(3)] == [0, 1, 0], "the next time"


def test_the_events_say_which_reader_lags_how_much_and_since_when(store_engine: Engine) -> None:
    lagging = Lagging(store_engine)
    lagging.happen(1)
    since_ms = EventLog(store_engine).list_events(EventSelection(), limit=1_000)[-1].event.timestamp
    lagging.happen(5)
    lagging.measure()
    lagging.measure()
    exceeded_ms = lagging.clock.now_ms()
    lagging.read()
    lagging.measure()
    excess_event, recovery_event = lagging.events_about_lags()
    assert (excess_event.entity_type, excess_event.entity_fully_qualified_name) == ("eventsubscription", EVENT_LAG)
    assert excess_event.user_name == "system"
    assert excess_event.change_description is not None and recovery_event.change_description is not None
    (change,) = excess_event.change_description.fields_updated
    assert (change.name, change.new_value) == (
        "lag",
        {
            "reader": SEARCH_STREAM,
            "kind": "query",
            "lagEvents": 6,
            "isEstimate": False,
            "lagSeconds": round((exceeded_ms - since_ms) / 1000),
            "limit": 4,
            "exceededSince": exceeded_ms,
        },
    )
    (after,) = recovery_event.change_description.fields_updated
    assert (after.new_value["lagEvents"], after.new_value["exceededSince"]) == (0, exceeded_ms)
    assert excess_event.id != recovery_event.id


def test_two_workers_tell_it_once(store_engine: Engine) -> None:
    lagging = Lagging(store_engine)
    lagging.happen(5)
    lagging.measure()
    lagging.clock.advance(EVERY_MS)
    workers = [lagging.worker() for _ in range(4)]
    with ThreadPoolExecutor(len(workers)) as threads:
        counts = list(threads.map(lambda worker: worker.report(), workers))
    assert sum(counts) == 1
    assert lagging.types() == ["lagExceeded"]


def test_what_could_not_be_told_is_told_later(store_engine: Engine) -> None:
    lagging = Lagging(store_engine, has_alert=False)
    lagging.happen(5)
    assert [lagging.measure() for _ in range(3)] == [0, 0, 0]
    lagging.make_alert()
    assert [lagging.measure() for _ in range(2)] == [1, 0]


def test_a_switched_off_measurement_and_unwatched_readers_tell_nothing(store_engine: Engine) -> None:
    lagging = Lagging(store_engine, limits={SEARCH_STREAM: 0})
    lagging.happen(9)
    assert [lagging.measure() for _ in range(3)] == [0, 0, 0]
    never = lag_reports(Settings(event_lag_limit=1, event_lag_every_s=0), store_engine, lagging.clock)
    assert (never.report(), never.report()) == (0, 0)


def test_gaps_in_the_offsets_are_no_events(store_engine: Engine) -> None:
    lagging = Lagging(store_engine)
    lagging.happen(3)
    log = EventLog(store_engine)
    last = log.list_events(EventSelection(), limit=1, after=log.readable_end() - 1)[0]
    with writing(store_engine) as connection:
        newest = change_event.select().order_by(change_event.c.log_offset.desc()).limit(1)
        row = dict(connection.execute(newest).mappings().one())
        connection.execute(insert(change_event), row | {"log_offset": last.offset + 1_000, "id": "another"})
    with writing(store_engine) as connection:
        if store_engine.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SELECT setval('change_event_log_offset_seq', {last.offset + 1_000})")
    lag = lag_of(store_engine, SEARCH_STREAM)
    assert (lag.event_count, lag.is_estimate) == (4, False)
    estimate = lag_of(store_engine, SEARCH_STREAM, exact_count=2)
    assert estimate.is_estimate and estimate.event_count > 2
    lagging.read()
    assert lag_of(store_engine, SEARCH_STREAM).event_count == 0


def test_a_reader_that_never_read_has_everything_to_read(store_engine: Engine) -> None:
    lagging = Lagging(store_engine)
    count = len(EventLog(store_engine).list_events(EventSelection(), limit=1000))
    for reader in (MATCH_STREAM, "lake"):
        lag = lag_of(store_engine, reader)
        assert (lag.event_count, lag.log_offset, lag.read_at_ms) == (count, 0, None)
    Notifications(store_engine).advance("relay ours", 1, now_ms=lagging.clock.now_ms())
    assert lag_of(store_engine, "relay ours").event_count == count - 1


def test_what_waits_in_a_queue_is_its_lag(store_engine: Engine) -> None:
    for number in range(3):
        name = f"alert{number}"
        add_messages(store_engine, number + 1, name=name, status="queued", subscription_id=some_id(name))
    add_messages(store_engine, 1, status="pending")
    lags = [lag for lag in ReaderLags(store_engine).measure(now_ms=0).lags if lag.reader.startswith("queue ")]
    assert {lag.reader: lag.event_count for lag in lags} == {
        f"queue {some_id(f'alert{number}')}": number + 1 for number in range(3)
    }
    assert {lag.oldest_ms for lag in lags} == {NOW_MS}
    (cut,) = [lag for lag in ReaderLags(store_engine).measure(now_ms=0, exact_count=3).lags if lag.event_count == 3]
    assert cut.is_estimate


def groups(*counts: int) -> dict[str, object]:
    return {"groups": [{"reader": f"group g{at}", "eventCount": one, "oldestMs": 5} for at, one in enumerate(counts)]}


def test_groups_are_those_that_a_relay_measured_just_now(store_engine: Engine) -> None:
    consumer_groups = ConsumerGroups(store_engine)
    assert ReaderLags(store_engine).measure(now_ms=0).missing == ()
    (reason,) = ReaderLags(store_engine, has_relay=True).measure(now_ms=0).missing
    assert "no relay has measured them yet" in reason
    consumer_groups.put("ours", groups(7, 0), now_ms=100)
    measurement = ReaderLags(store_engine).measure(now_ms=200)
    lags_by_reader = {lag.reader: (lag.event_count, lag.oldest_ms, lag.read_at_ms) for lag in measurement.lags}
    assert (lags_by_reader["group g0"], lags_by_reader["group g1"]) == ((7, 5, 100), (0, 5, 100))
    assert measurement.missing == ()
    late = ReaderLags(store_engine).measure(now_ms=100 + STALE_AFTER_MS + 1_000)
    assert [lag for lag in late.lags if lag.reader.startswith("group ")] == []
    assert late.missing == ("Consumer groups of the relay ours: last measured 61 s ago. Is `tocsin relay` running?",)
    consumer_groups.put("ours", {"fault": "the broker is away"}, now_ms=100)
    assert ReaderLags(store_engine).measure(now_ms=100).missing == (
        "Consumer groups of the relay ours: the broker is away",
    )


def test_a_group_that_nobody_can_measure_stays_exceeded_and_one_that_is_gone_is_forgotten(store_engine: Engine) -> None:
    lagging, measured = Lagging(store_engine), ConsumerGroups(store_engine)

    def measure(document: dict[str, object]) -> int:
        measured.put("ours", document, now_ms=lagging.clock.now_ms() + EVERY_MS)
        return lagging.measure()

    assert [measure(groups(9)), measure(groups(9)), measure({"fault": "away"}), measure(groups(9))] == [0, 1, 0, 0]
    assert "group g0" in LagStates(store_engine).all()
    assert measure(groups()) == 0
    assert "group g0" not in LagStates(store_engine).all()
    assert lagging.types() == ["lagExceeded"]


def test_a_group_that_reads_the_topics_of_two_relays_has_one_lag(store_engine: Engine) -> None:
    lagging, measured = Lagging(store_engine), ConsumerGroups(store_engine)

    def measure(one_count: int, other_count: int) -> int:
        for relay_name, count in (("one", one_count), ("other", other_count)):
            measured.put(relay_name, groups(count), now_ms=lagging.clock.now_ms() + EVERY_MS)
        return lagging.measure()

    assert [measure(9, 0) for _ in range(5)] == [0, 1, 0, 0, 0]
    assert [measure(0, 9), measure(0, 0), measure(0, 0)] == [0, 1, 0]
    assert lagging.types() == ["lagExceeded", "lagRecovered"]


def test_an_empty_queue_has_recovered_unless_its_alert_is_gone(store_engine: Engine) -> None:
    lagging = Lagging(store_engine)
    alert_id = SqlCatalogue(store_engine).get("eventsubscription", Key.by_name(EVENT_LAG))["id"]
    for name, subscription_id in (("kept", alert_id), ("gone", some_id("gone"))):
        add_messages(store_engine, 9, name=name, status="queued", subscription_id=subscription_id)
    lagging.read()
    assert [lagging.measure() for _ in range(3)] == [0, 2, 0]
    with writing(store_engine) as connection:
        connection.execute(message.update().values(status="delivered"))
    assert [lagging.measure() for _ in range(2)] == [1, 0]
    recovery_event = lagging.events_about_lags()[-1]
    assert recovery_event.event_type is EventType.LAG_RECOVERED and recovery_event.change_description is not None
    (change,) = recovery_event.change_description.fields_updated
    reference = {"id": alert_id, "type": "eventsubscription", "name": EVENT_LAG}
    assert (change.new_value["reader"], change.new_value["alert"]) == (f"queue {alert_id}", reference)
    assert f"queue {some_id('gone')}" not in LagStates(store_engine).all()


def test_groups_measured_at_long_intervals_are_shown_between_two_measurements(store_engine: Engine) -> None:
    ConsumerGroups(store_engine).put("ours", groups(7), now_ms=0)
    measurement = ReaderLags(store_engine, every_s=300).measure(now_ms=599_000)
    assert [lag.event_count for lag in measurement.lags if lag.reader == "group g0"] == [7]


def test_a_measurement_of_nothing_that_lags_writes_nothing(store_engine: Engine) -> None:
    lagging = Lagging(store_engine)
    end = EventLog(store_engine).readable_end()
    for reader in (MATCH_STREAM, STREAK_STREAM, SEARCH_STREAM):
        Notifications(store_engine).advance(reader, end, now_ms=1)
    lags = ReaderLags(store_engine, has_lake=False)
    assert {lag.event_count for lag in lags.measure(now_ms=1).lags} == {0}
    reports = LagReports(
        lags, LagStates(store_engine), lagging.reports.limits, lagging.reports.log, lagging.clock, EVERY_MS
    )
    assert reports.report() == 0
    assert LagStates(store_engine).all() == {}
