"""Main loop of a worker: claim due messages, send them, record the outcomes, until stopped.

One task per message, with a limit per destination; outcomes are recorded in groups, one transaction for all that
finished within a twentieth of a second. Claims are valid as long as the worker's session.
Next: ``delivery/worker/leases.py``, ``delivery/worker/attempt.py``.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, NamedTuple, TypeVar

import structlog
import uvloop

from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.worker.attempt import Attempts, end_lost_message
from tocsin.delivery.worker.build import build
from tocsin.delivery.worker.lanes import Lanes
from tocsin.delivery.worker.leases import ROOM_SHARES, Capacity, Leases, Watch, fair_shares
from tocsin.delivery.worker.parts import WorkerParts
from tocsin.delivery.worker.processes import work_in
from tocsin.delivery.worker.shares import Place, only_place
from tocsin.flow.track.attempts import Finished, kind_of, reason_of
from tocsin.flow.track.breaker import as_probe, has_failed
from tocsin.model.message import Delivered, Message
from tocsin.model.subscription import Channel
from tocsin.settings import Settings
from tocsin.store.database.faults import fault_of
from tocsin.store.database.startup import wait_for
from tocsin.store.outbox.pauses import Pauses
from tocsin.store.outbox.status import Key
from tocsin.store.upkeep.opening import make_store

_RECORD_LIMIT = 256
_GATHER_S = 0.05
PAUSE_S = 1.0
_IDLE_PAUSE_S = 5.0
_BEATS_PER_LEASE = 3
_OWN_IN_HAND = 2
_GIVE_BACK_S = 5.0
_COLLECT_AFTER = (20_000, 20, 50)

_log = structlog.get_logger("tocsin.worker")
T = TypeVar("T")


class Ended(NamedTuple):
    """A finished attempt, the session under which it was claimed, and what to set once it is recorded."""

    session_id: str
    finished: Finished
    recorded: asyncio.Event | None = None


def main(settings: Settings) -> None:
    """Run a worker until SIGINT or SIGTERM, then finish messages in flight: in one process, and more when needed.

    At its start it waits for an unavailable store.
    """
    _tune_collector()
    limit, prepare, work = settings.worker_process_count(), partial(_prepare, settings), partial(_work, settings)
    if limit == 1:
        prepare()
        work(only_place())
    else:
        work_in(limit, work, prepare)


def _prepare(settings: Settings) -> None:
    wait_for("worker", lambda: make_store(settings), threading.Event())


def _work(settings: Settings, place: Place) -> None:
    uvloop.run(_until_signalled(settings, place))


async def run(settings: Settings, stop: asyncio.Event, place: Place | None = None) -> None:
    """Run one process of a worker until ``stop`` is set; return once all in flight is recorded or given back."""
    async with build(settings, place) as parts:
        await Worker(parts).run(stop)


def _tune_collector() -> None:
    """Look for cyclic garbage less often, and not among what was imported: sending makes next to none."""
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)


async def _until_signalled(settings: Settings, place: Place) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_number, stop.set)
    await run(settings, stop, place)


class Worker:
    """One worker: its claims, and its concurrent tasks: claim, record, renew its session, report what fails."""

    def __init__(self, parts: WorkerParts) -> None:
        self._parts = parts
        self._leases = Leases(parts.limits.lease_s)
        self._sessions = count(1)
        self._watch = Watch()
        self._attempts = Attempts(parts.attempts, parts.time)
        self._tasks: set[asyncio.Task[None]] = set()
        self._probes: dict[str, Key] = {}
        self._finished: asyncio.Queue[Ended] = asyncio.Queue()
        self._recorded = asyncio.Event()
        self._recorded_count = 0
        self._has_failed = False
        self._doubted = asyncio.Event()
        self._renewed = asyncio.Event()
        self._claim_unknown = False
        self._stopping = False
        self._last_served = ""
        self._place = parts.place
        share = partial(parts.place.share, parts.limits.per_destination)
        self._lanes = Lanes(share, parts.intervals_s, steady=parts.time.steady)
        self._pauses = Pauses()

    async def run(self, stop: asyncio.Event) -> None:
        """Work until ``stop`` is set, then finish what is in flight and give back the rest."""
        _log.info("worker.started", owner=self._parts.owner)
        keeping = asyncio.create_task(self._keep_session())
        recording = asyncio.create_task(self._record_groups())
        beginning = [asyncio.create_task(one) for one in (self._claim_until(stop), *self._upkeep())]
        try:
            await stop.wait()
            await _cancel_all(beginning)
            await self._finish_tasks()
            await _cancel_all([keeping])
            await self._give_back()
        finally:
            await _cancel_all((*beginning, keeping, recording, *self._tasks))
        _log.info("worker.stopped", owner=self._parts.owner)

    async def _claim_until(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            self._recorded_count, self._has_failed = 0, False
            claimed_count = await self._claim() if self._place.may_begin() and not self._is_idle() else 0
            self._look_at_processes(stop)
            if claimed_count < self._parts.limits.claim:
                await self._until_half_is_recorded(claimed_count, stop)

    def _is_idle(self) -> bool:
        """Return whether nothing is in hand, and nothing can be claimed as far as one knows without a query."""
        return not (self._leases or self._claim_unknown) and self._parts.queue.messages.are_known_to_be_missing()

    def _look_at_processes(self, stop: asyncio.Event) -> None:
        """Keep to this process's share, ask for another process while webhooks pile up, and end if it is idle."""
        limits, now_s = self._parts.limits, self._parts.time.steady()
        self._place.settle(limits.per_destination, self._lanes.busy_counts)
        webhooks = self._leases.per_channel[Channel.WEBHOOK.value]
        self._place.look_for_more(webhooks, limits.claim // 2, now_s)
        if self._place.is_to_end(len(self._leases), now_s):
            stop.set()

    async def _until_half_is_recorded(self, claimed_count: int, stop: asyncio.Event) -> None:
        """Return when half as much as the last claim is recorded, or the time to look again has come.

        A claim for each outcome would cost the store more than the outcomes do. After a failure it is time at once: its
        destination may be paused by now, and its messages in hand have to be given back.
        """
        look_at_s = self._parts.time.steady() + self._parts.limits.poll_s
        while (left_s := look_at_s - self._parts.time.steady()) > 0 and not stop.is_set():
            await _first_of(stop, self._recorded, timeout_s=left_s)
            self._recorded.clear()
            if self._has_failed or (self._recorded_count and 2 * self._recorded_count >= claimed_count):
                return

    async def _claim(self) -> int:
        """Claim what is due and there is room for, and set it going; return how much that was."""
        await self._assure()
        session_id, in_hand = self._leases.session_id, Counter(self._leases.per_destination)
        room = self._room()
        messages, dispatches = await _steadily(partial(self._take_due, session_id, in_hand, room))
        self._leases.take(session_id, messages, {one.message.id: one.event_bytes for one in dispatches})
        loaded_ids = {dispatch.message.id for dispatch in dispatches}
        for message in messages:
            if message.id not in loaded_ids:
                self._finished.put_nowait(Ended(session_id, end_lost_message(message, self._parts.time.clock.now_ms())))
        for dispatch in await self._attempts.look_ahead(dispatches):
            is_probe = dispatch.message.destination_id in self._pauses.probed
            task = asyncio.create_task(self._deliver(session_id, dispatch, is_probe=is_probe))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        await self._give_way(session_id)
        return len(messages)

    def _room(self) -> Capacity:
        """Return the room that is left: an own address has as much again waiting in hand as it gets at once."""
        limits, leases = self._parts.limits, self._leases
        return Capacity(
            limits.event_bytes,
            leases.event_bytes,
            counts=leases.per_lane,
            most_own=_OWN_IN_HAND * limits.per_destination,
        )

    async def _give_way(self, session_id: str) -> None:
        """Give back what has not begun yet of destinations that are paused by now."""
        if withdrawn := self._lanes.withdraw(self._pauses):
            await _steadily(partial(self._parts.queue.messages.release, session_id, withdrawn))
            self._leases.drop(session_id, withdrawn)
            _log.info("worker.messages_released", messages=len(withdrawn))

    def _take_due(self, session_id: str, in_hand: Counter[str], room: Capacity) -> tuple[list[Message], list[Dispatch]]:
        """Claim fair shares of what is due; the blocking part of a claim.

        ``in_hand`` counts messages by destination. It stays the same during the claim: what is recorded meanwhile
        would make room for replays where there was none for what is live. What finds no ``room`` is given back.
        """
        limits, messages, now_ms = self._parts.limits, self._parts.queue.messages, self._parts.time.clock.now_ms()
        if self._claim_unknown:
            messages.keep_only(session_id, self._leases.ids())
            self._claim_unknown = False
        if not in_hand.total() and not messages.are_waiting():
            return [], []
        self._pauses = pauses = replace(messages.pauses(now_ms), full_lanes=room.full_lanes)
        free = limits.in_flight - in_hand.total()
        limit = min(limits.claim, free)
        due = list(filter(self._place.may_claim, messages.due_destinations(now_ms))) if limit > 0 else []
        most_each = max(limits.per_destination, min(limits.claim, free // ROOM_SHARES))
        shares = fair_shares(due, in_hand, limit=limit, most_each=most_each, after=self._last_served, pauses=pauses)
        self._last_served = list(shares)[-1] if shares else self._last_served
        claimed_messages: list[Message] = []
        if shares:
            self._claim_unknown = True  # until we have the answer: what is claimed and not known would stay claimed
            claimed_messages += messages.claim(session_id, limit, now_ms=now_ms, shares=shares, pauses=pauses)
        claimed_messages += self._take_replayed(
            session_id, limit - len(claimed_messages), in_hand + Counter(_destinations(claimed_messages))
        )
        dispatches = messages.dispatches(claimed_messages, fits=room.take) if claimed_messages else []
        if refused_messages := [message for message in claimed_messages if message.id in room.refused]:
            probes = [
                (message.subscription_id, message.destination_id)
                for message in refused_messages
                if message.destination_id in pauses.probed
            ]
            messages.release(session_id, room.refused, probes=probes, now_ms=now_ms)
        self._claim_unknown = False
        return [message for message in claimed_messages if message.id not in room.refused], dispatches

    def _take_replayed(self, session_id: str, limit: int, in_hand: Counter[str]) -> list[Message]:
        """Claim messages of replays for what room is left, and no more of a destination than it takes at once."""
        messages, now_ms, pauses = self._parts.queue.messages, self._parts.time.clock.now_ms(), self._pauses
        is_to_look = limit > 0 and self._place.is_first
        due = (
            list(filter(self._place.may_claim, messages.due_destinations(now_ms, replayed=True))) if is_to_look else []
        )
        shares = fair_shares(due, in_hand, limit=limit, most_each=self._parts.limits.per_destination, pauses=pauses)
        if not shares:
            return []
        self._claim_unknown = True  # as above
        return messages.claim_replayed(session_id, shares, now_ms=now_ms, pauses=pauses)

    async def _deliver(self, session_id: str, dispatch: Dispatch, *, is_probe: bool) -> None:
        """Send one message when its destination has a free lane, if it is still this worker's by then."""
        sent_message = dispatch.message
        is_held = partial(self._holds, session_id, sent_message.id)
        if is_probe:
            self._probes[sent_message.id] = (sent_message.subscription_id, sent_message.destination_id)

        async def send() -> None:
            finished = await self._attempts.make(dispatch, is_held) if await is_held() else None
            if finished is not None:
                self._probes.pop(sent_message.id, None)
                await self._end(session_id, as_probe(finished) if is_probe else finished)

        with self._attempts.waiting(dispatch):
            await self._lanes.through(sent_message, send, is_probe=is_probe)

    async def _end(self, session_id: str, finished: Finished) -> None:
        """Let an outcome be recorded; a failure keeps its lane until then, when its destination may be paused."""
        if not has_failed(finished.attempt):
            self._finished.put_nowait(Ended(session_id, finished))
            return
        recorded = asyncio.Event()
        self._finished.put_nowait(Ended(session_id, finished, recorded))
        await recorded.wait()

    async def _holds(self, session_id: str, message_id: str) -> bool:
        """Return whether a message is this worker's, and may still be begun."""
        await self._assure()
        return not self._stopping and self._leases.holds(session_id, message_id)

    async def _record_groups(self) -> None:
        """Record what has finished, all that there is at a time."""
        while True:
            group = await self._gather_finished()
            for session_id in dict.fromkeys(ended.session_id for ended in group):
                await self._record(session_id, [ended.finished for ended in group if ended.session_id == session_id])
            for ended in group:
                self._finished.task_done()
                if ended.recorded is not None:
                    ended.recorded.set()

    async def _gather_finished(self) -> list[Ended]:
        """Return what has finished; while there is more in hand, what finishes shortly is waited for.

        A transaction for each would cost the store more than the outcomes do.
        """
        group = [await self._finished.get()]
        if len(self._leases) > len(group) and not self._stopping:
            await asyncio.sleep(_GATHER_S)
        while len(group) < _RECORD_LIMIT and not self._finished.empty():
            group.append(self._finished.get_nowait())
        return group

    async def _record(self, session_id: str, group: list[Finished]) -> None:
        now_ms = self._parts.time.clock.now_ms()
        written = await _steadily(partial(self._parts.queue.messages.record, session_id, group, now_ms=now_ms))
        self._leases.drop(session_id, (finished.message.id for finished in group))
        self._recorded_count += len(group)
        self._has_failed |= any(has_failed(finished.attempt) for finished in group)
        self._recorded.set()
        log = _log.bind()
        for finished in group:
            _log_attempt(log, finished, is_recorded=finished.message.id in written)

    async def _assure(self) -> None:
        """Return once the session is known to hold; where its lease ran out meanwhile, the store is queried."""
        while not self._leases.are_sure(self._parts.time.steady()):
            self._renewed.clear()
            self._doubted.set()
            await self._renewed.wait()

    async def _keep_session(self) -> None:
        """Renew the session before its lease expires, and at once when it is in doubt; check the other sessions."""
        while True:
            await self._renew()
            self._renewed.set()
            await _steadily(self._look_around)
            next_look_s = max(0.0, self._watch.next_look_s(self._parts.time.steady()))
            await _first_of(self._doubted, timeout_s=min(self._parts.limits.lease_s / _BEATS_PER_LEASE, next_look_s))
            self._doubted.clear()

    async def _renew(self) -> None:
        """Renew the session; start another if it no longer exists, and drop its claims."""
        asked_at_s = await _steadily(self._ask_to_renew)
        if asked_at_s is not None:
            self._leases.renew(asked_at_s=asked_at_s)
            return
        if self._leases.session_id:
            _log.warning("worker.leases_lost", session=self._leases.session_id, messages=len(self._leases))
        session_id = f"{self._parts.owner}#{next(self._sessions)}"
        asked_at_s = await _steadily(partial(self._ask_to_begin, session_id))
        self._leases.begin(session_id, asked_at_s=asked_at_s)

    def _ask_to_renew(self) -> float | None:
        """Return when it was asked; None when the session has been ended."""
        time, session_id = self._parts.time, self._leases.session_id
        asked_at_s, now_ms = time.steady(), time.clock.now_ms()
        return asked_at_s if session_id and self._parts.queue.sessions.renew(session_id, now_ms=now_ms) else None

    def _ask_to_begin(self, session_id: str) -> float:
        asked_at_s, lease_ms = self._parts.time.steady(), round(self._parts.limits.lease_s * 1000)
        self._parts.queue.sessions.begin(session_id, lease_ms=lease_ms, now_ms=self._parts.time.clock.now_ms())
        return asked_at_s

    def _look_around(self) -> None:
        """End the sessions of dead workers, and reschedule what a wrong clock had postponed."""
        other_sessions = [one for one in self._parts.queue.sessions.all() if one.id != self._leases.session_id]
        if silent := self._watch.silent(other_sessions, self._parts.time.steady()):
            _log.warning("worker.sessions_ended", sessions=self._parts.queue.sessions.end_silent(silent))
        if planned_count := self._parts.queue.messages.plan_again(self._parts.time.clock.now_ms()):
            _log.warning("worker.clock_was_set_back", planned_again=planned_count)

    def _upkeep(self) -> list[Coroutine[None, None, None]]:
        """Return what a worker does for the queue from time to time, portion by portion.

        Messages of replays are collected, and those of cancelled ones taken back; shared messages that wait at one
        destination move into the queue of another that sends; destinations that deliver nothing and readers of the log
        that lag are reported. Of the processes of a worker, the first does it.
        """
        if not self._place.is_first:
            return []
        queue, clock, limits = self._parts.queue, self._parts.time.clock, self._parts.limits
        return [
            _repeat(queue.failure_reports.report, lambda _: limits.lease_s / _BEATS_PER_LEASE),
            _repeat(queue.lag_reports.report, lambda _: queue.lag_reports.pause_s),
            _repeat(
                lambda: queue.replays.advance_collecting(clock.now_ms()), lambda has_more: 0.0 if has_more else PAUSE_S
            ),
            _repeat(lambda: queue.handovers.advance(clock.now_ms()), lambda moved: PAUSE_S if moved else _IDLE_PAUSE_S),
        ]

    async def _finish_tasks(self) -> None:
        """Let what is in flight finish, as far as it does within the time of grace; begin nothing more."""
        self._stopping = True
        self._lanes.stop_waiting()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=self._parts.limits.grace_s)
            await _cancel_all(late)

    async def _give_back(self) -> None:
        """Record finished messages, let what was to be probed be probed by others, and end the session.

        If the store is away, other workers end it.
        """
        queue, clock, session_id = self._parts.queue, self._parts.time.clock, self._leases.session_id
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GIVE_BACK_S):
                await self._finished.join()
                if probes := self._probes:
                    release = partial(queue.messages.release, session_id, probes, probes=set(probes.values()))
                    await _steadily(partial(release, now_ms=clock.now_ms()))
                await _steadily(partial(queue.sessions.end, session_id))


async def _cancel_all(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel tasks and return when they have ended."""
    waits = list(tasks)
    for task in waits:
        task.cancel()
    await asyncio.gather(*waits, return_exceptions=True)


async def _steadily(call: Callable[[], T]) -> T:
    """Return what the store answers to ``call``; while it does not answer, log and ask again."""
    while True:
        try:
            return await asyncio.to_thread(call)
        except Exception as error:  # noqa: BLE001  the worker loop's boundary: logged, then asked again
            if (fault := fault_of(error)) is None:
                _log.exception("worker.store_unavailable", again_in_s=PAUSE_S)
            else:
                _log.warning("worker.store_unavailable", fault=fault.name, says=fault.sentence, again_in_s=PAUSE_S)
        await asyncio.sleep(PAUSE_S)


async def _repeat(work: Callable[[], T], pause_s: Callable[[T], float]) -> None:
    """Do something in the store again and again, each time after a pause that depends on what was done."""
    while True:
        await asyncio.sleep(pause_s(await _steadily(work)))


async def _first_of(*events: asyncio.Event, timeout_s: float | None = None) -> None:
    """Return when one of the events is set or the time is over."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:  # also when this task is cancelled
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


def _destinations(claimed: Iterable[Message]) -> Iterable[str]:
    return (one.destination_id for one in claimed)


def _log_attempt(log: Any, finished: Finished, *, is_recorded: bool) -> None:  # Any: structlog's
    """Log an attempt; what was delivered as it should be, and is in the store, only for debugging."""
    is_usual = is_recorded and isinstance(finished.attempt.outcome, Delivered) and not finished.attempt.template_error
    if is_usual and not log.is_enabled_for(logging.DEBUG):
        return
    say = log.debug if is_usual else log.info
    say(
        "delivery.attempted" if is_recorded else "delivery.lease_lost",
        message=finished.message.id,
        event_ids=[entry.carried.id for entry in finished.entries],
        offsets=[entry.log_offset for entry in finished.entries],
        subscription=finished.message.subscription_id,
        destination=finished.message.destination_id,
        channel=finished.message.channel,
        attempt=finished.attempt.number,
        probe=finished.is_probe,
        outcome=kind_of(finished.attempt.outcome),
        reason=reason_of(finished.attempt.outcome).value,
        status_code=finished.attempt.outcome.status_code,
        status=finished.step.status.value,
        duration_ms=finished.attempt.duration_ms,
        **({"template_error": finished.attempt.template_error} if finished.attempt.template_error else {}),
    )
