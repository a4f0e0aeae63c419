"""Main loop of a relay: reads the log, and writes what the topic's reader may see to a broker, each event once.

The broker keeps the position, in the same transaction as the records before it, so a relay that was killed goes on
where the last complete transaction ended. Whatever goes wrong at the broker ends the connection: a new one begins by
taking the lead and reading the position. While one portion of the log is written, the next one is read.
Next: ``relay/target.py``, ``relay/records.py``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass

import structlog
from sqlalchemy.exc import SQLAlchemyError

from tocsin.clock import Clock, Steady, steady_s
from tocsin.errors import Conflict, InvalidInput, InvalidSetting, LogDiverged, TocsinError
from tocsin.flow.eventlog.position import BEGINNING, LogPosition
from tocsin.flow.eventlog.selection import EventSelection
from tocsin.relay.reader import TopicReader
from tocsin.relay.records import BrokerRecord, RecordForm, records_of
from tocsin.relay.target import BrokerUnavailable, Fenced, Target
from tocsin.relay.waits import BrokerWaits
from tocsin.store.database.faults import fault_of
from tocsin.store.database.startup import may_pass
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.relay_lead import SIGN_EVERY_S, RelayLead
from tocsin.store.outbox.notifications import Notifications

END = "end"
"""The place behind the last event of the log."""

AFTER_FENCING_S = 3 * SIGN_EVERY_S
"""Seconds in which the relay that took over takes the lock, too."""

_POSITION_EVERY = 10_000
"""Offsets without a record after which the position is written alone."""

_RIGHTS_HOLD_S = 1.0
"""Most seconds from the reader's rights being read to the begin of the transaction."""

_NOTED_EVERY_MS = 1_000
"""Milliseconds between two notes of how far the relay has read, while it reads nothing that it writes."""

_log = structlog.get_logger("tocsin.relay")


@dataclass(frozen=True)
class RelayParts:
    """What a relay uses.

    Attributes
    ----------
    reader_name : name of the relay among the readers of the log, as the store notes their progress
    selection : which events are written
    batch : most events of one transaction
    poll_s : seconds between two looks at a log that has nothing new
    """

    reader_name: str
    log: EventLog
    progress: Notifications
    reader: TopicReader
    form: RecordForm
    clock: Clock
    lead: RelayLead
    selection: EventSelection
    batch: int = 2_000
    poll_s: float = 0.05
    steady: Steady = steady_s


@dataclass(frozen=True)
class _Portion:
    """What one transaction writes, and the position behind it; ``read_s`` is when it and the rights were read."""

    records: list[BrokerRecord]
    end: LogPosition
    read_s: float


class Relay:
    """One relay; ``connect`` opens a new connection to its broker."""

    def __init__(self, parts: RelayParts, connect: Callable[[], Target]) -> None:
        self._parts, self._connect = parts, connect
        self._waits = BrokerWaits("relay.waits")
        self._noted_offset, self._noted_at_ms = -1, 0

    def run(self, stop: threading.Event) -> None:
        """Relay until ``stop`` is set; stand by while another relay leads, and wait out what passes.

        Raises
        ------
        LogDiverged : the log does not hold what the broker has from it: the store was restored or replaced
        InvalidSetting : the client of the broker refuses a setting
        """
        while not stop.is_set():
            try:
                self._take_turn(stop)
            except Fenced as error:
                _log.warning("relay.fenced", relay=self._parts.reader_name, reason=error.message)
                stop.wait(AFTER_FENCING_S)
            except (LogDiverged, InvalidSetting):
                raise
            except (TocsinError, SQLAlchemyError, OSError) as error:
                self._wait(error, stop)

    def restart(self, place: str) -> LogPosition:
        """Set how far the log is written to an offset, or to the ``END`` of the log, and return it.

        Raises
        ------
        Conflict : a relay of this name runs
        InvalidInput : the log has no such offset
        """
        if not self._parts.lead.try_to_take():
            raise Conflict("A relay of this name runs: stop it first.")
        try:
            with closing(self._connect()) as target:
                target.begin()
                position = self._position_at(place)
                parts = self._parts  # the store first: retention must not remove what is to be written again
                parts.progress.begin_again(parts.reader_name, position.offset, now_ms=parts.clock.now_ms())
                target.restart(position)
            return position
        finally:
            self._parts.lead.give_up()

    def _position_at(self, place: str) -> LogPosition:
        log = self._parts.log
        if place == END:
            return log.end()
        if (offset := int(place)) > (end := log.readable_end()):
            raise InvalidInput(f"the log ends at offset {end}, before {offset}", field="--restart-at")
        return log.position_at(offset) if offset else BEGINNING

    def _take_turn(self, stop: threading.Event) -> None:
        """Wait for the lead, and relay until ``stop`` is set or something fails."""
        try:
            if self._parts.lead.take(stop):
                with closing(self._connect()) as target:
                    self._relay(target, stop)
        finally:
            self._parts.lead.give_up()

    def _relay(self, target: Target, stop: threading.Event) -> None:
        self._parts.reader.check()
        position = self._check(target.begin() or self._lost_position(target))
        if (unfinished_position := target.unfinished_end()) is not None:
            self._check(unfinished_position)
        _log.info("relay.leads", topic=self._parts.form.topic, offset=position.offset, relay=self._parts.reader_name)
        with ThreadPoolExecutor(1, "relay-writer") as writer:
            written_offset, portion = position.offset, self._portion_after(position)
            while not stop.is_set():
                self._parts.lead.check()
                is_due = portion.records or portion.end.offset - written_offset >= _POSITION_EVERY
                if portion.end == position:
                    stop.wait(self._parts.poll_s)
                position = portion.end
                if is_due:
                    written_offset, portion = position.offset, self._write(target, writer, portion)
                else:
                    self._record_progress(position)
                    portion = self._portion_after(position)

    def _write(self, target: Target, writer: Executor, portion: _Portion) -> _Portion:
        """Write a portion, and return the one after it, which is read meanwhile."""
        writing = writer.submit(target.publish, portion.records, portion.end)
        next_portion = self._portion_after(portion.end)
        writing.result()
        self._waits.end()
        self._record_progress(portion.end, is_written=True)
        if self._parts.steady() - next_portion.read_s > _RIGHTS_HOLD_S:
            return self._portion_after(portion.end)
        return next_portion

    def _lost_position(self, target: Target) -> LogPosition:
        """Return where the relay was, from its topics and the store; the beginning if it never wrote."""
        last_written = target.last_position() or BEGINNING
        noted_offset = self._parts.log.progress(self._parts.reader_name)
        if noted_offset <= last_written.offset:
            return last_written
        return self._parts.log.position_at(noted_offset)

    def _check(self, position: LogPosition) -> LogPosition:
        if not self._parts.log.holds(position):
            raise LogDiverged(
                f"The broker has events of this relay up to {position}, which the log does not hold: the store was "
                "restored or replaced. Run `tocsin relay --restart-at OFFSET` once, with the offset after which the "
                "log is to be written, or `end`."
            )
        return position

    def _portion_after(self, position: LogPosition) -> _Portion:
        """Return the records of the next selected events, up to the position behind them and what is not selected."""
        log, read_s = self._parts.log, self._parts.steady()
        end = log.readable_end()
        if end == position.offset:
            return _Portion([], position, read_s)
        self._check(position)
        events = log.list_documents(self._parts.selection, after=position.offset, through=end, limit=self._parts.batch)
        is_full = events.is_cut or len(events) == self._parts.batch
        reached_offset = events[-1].offset if is_full else max(position.offset, end)  # the end may have fallen back
        records = records_of(self._parts.reader.visible(events), self._parts.form)
        return _Portion(records, log.position_at(reached_offset), read_s)

    def _record_progress(self, position: LogPosition, *, is_written: bool = False) -> None:
        """Note how far the relay has read: at once where it wrote, else from time to time."""
        now_ms = self._parts.clock.now_ms()
        is_due = is_written or abs(now_ms - self._noted_at_ms) >= _NOTED_EVERY_MS
        if position.offset == self._noted_offset or not is_due:
            return
        self._parts.progress.advance(self._parts.reader_name, position.offset, now_ms=now_ms)
        self._noted_offset, self._noted_at_ms = position.offset, now_ms

    def _wait(self, error: Exception, stop: threading.Event) -> None:
        """Wait out a fault of the broker or the store, longer each time; raise what no waiting mends."""
        fault = None if isinstance(error, BrokerUnavailable) else fault_of(error)
        if fault is not None and not may_pass(fault):
            raise error
        self._waits.wait(error, stop)
