"""How does a worker run? Claim what is due, send it, record what came of it, until asked to stop.

One task per delivery, as many at once per destination as the settings allow; outcomes are recorded in
groups, one transaction for all that finished meanwhile. Next: ``worker/attempt.py``.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

import structlog

from tocsin.flow.send.dispatch import Dispatch
from tocsin.flow.track.attempts import Finished, kind_of, reason_of
from tocsin.model.delivery import Delivery, OutcomeReason
from tocsin.settings import Settings
from tocsin.worker.attempt import RouteBook, attempt, lost
from tocsin.worker.build import Parts, build
from tocsin.worker.hand import Hand
from tocsin.worker.shares import fair_shares

_RECORD_LIMIT = 256
_PAUSE_S = 1.0
_BEATS_PER_LEASE = 3

_log = structlog.get_logger("tocsin.worker")
T = TypeVar("T")


def main(settings: Settings) -> None:
    """Run one worker in this process until SIGINT or SIGTERM, then finish what is in flight."""
    asyncio.run(_until_signalled(settings))


async def run(settings: Settings, stop: asyncio.Event) -> None:
    """Run one worker until ``stop`` is set; return once what was in flight is recorded or given back."""
    async with build(settings) as parts:
        await Worker(parts).run(stop)


async def _until_signalled(settings: Settings) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_number, stop.set)
    await run(settings, stop)


class Worker:
    """One worker: what it has in hand, and the three things it does at once: claim, record, keep its leases."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._hand = Hand()
        self._book = RouteBook(parts)
        self._tasks: set[asyncio.Task[None]] = set()
        self._finished: asyncio.Queue[Finished] = asyncio.Queue()
        self._recorded = asyncio.Event()
        self._stopping = False
        self._last_served = ""
        limit = parts.limits.per_destination
        self._lanes: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(limit))

    async def run(self, stop: asyncio.Event) -> None:
        """Work until ``stop`` is set, then finish what is in flight and give back the rest."""
        _log.info("worker.started", owner=self._parts.owner)
        beside = [asyncio.create_task(self._record_groups()), asyncio.create_task(self._keep_leases())]
        try:
            while not stop.is_set():
                if not await self._claim():
                    await _first_of(stop, self._recorded, timeout_s=self._parts.limits.poll_s)
                self._recorded.clear()
            await self._wind_up()
        finally:
            await _cancelled((*beside, *self._tasks))
        _log.info("worker.stopped", owner=self._parts.owner)

    async def _claim(self) -> int:
        """Claim what is due and there is room for, and set it going; return how much that was."""
        now_ms = self._parts.clock.now_ms()
        claimed, dispatches = await _steadily(partial(self._take_due, now_ms))
        self._hand.take(claimed, until_ms=now_ms + round(self._parts.limits.lease_s * 1000))
        found = {dispatch.delivery.id for dispatch in dispatches}
        for delivery in claimed:
            if delivery.id not in found:
                self._finished.put_nowait(lost(delivery, now_ms))
        for dispatch in dispatches:
            task = asyncio.create_task(self._deliver(dispatch))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return len(claimed)

    def _take_due(self, now_ms: int) -> tuple[list[Delivery], list[Dispatch]]:
        """Claim fair shares of what is due; the blocking part of a claim."""
        limits, deliveries = self._parts.limits, self._parts.deliveries
        limit = min(limits.claim, limits.in_flight - len(self._hand))
        due = deliveries.due_destinations(now_ms) if limit > 0 else []
        most_each = max(limits.claim, limits.per_destination)
        shares = fair_shares(due, self._hand.per_destination, limit=limit, most_each=most_each, after=self._last_served)
        if not shares:
            return [], []
        self._last_served = list(shares)[-1]
        claimed = deliveries.claim(self._parts.owner, limit, lease_s=limits.lease_s, now_ms=now_ms, shares=shares)
        return claimed, deliveries.dispatches(claimed)

    async def _deliver(self, dispatch: Dispatch) -> None:
        """Send one delivery when its destination has a free lane and its lease still holds."""
        async with self._lanes[dispatch.delivery.destination_id]:
            if self._stopping or not self._hand.holds(dispatch.delivery.id, self._parts.clock.now_ms()):
                return
            self._finished.put_nowait(await attempt(self._parts, dispatch, self._book))

    async def _record_groups(self) -> None:
        """Record what has finished, all that there is at a time."""
        while True:
            group = [await self._finished.get()]
            while len(group) < _RECORD_LIMIT and not self._finished.empty():
                group.append(self._finished.get_nowait())
            await self._record(group)
            for _ in group:
                self._finished.task_done()

    async def _record(self, group: list[Finished]) -> None:
        now_ms = self._parts.clock.now_ms()
        record = partial(self._parts.deliveries.record, self._parts.owner, group, now_ms=now_ms)
        written = await _steadily(record)
        self._hand.drop(one.delivery.id for one in group)
        self._recorded.set()
        for one in group:
            if reason_of(one.attempt.outcome) is OutcomeReason.GONE:
                self._book.forget(one.delivery.subscription_id)
            _log_attempt(one, kept=one.delivery.id in written)

    async def _keep_leases(self) -> None:
        """Renew the leases of everything in hand; what is somebody else's by now is let go."""
        lease_s = self._parts.limits.lease_s
        while True:
            await asyncio.sleep(lease_s / _BEATS_PER_LEASE)
            ids, now_ms = self._hand.ids(), self._parts.clock.now_ms()
            if not ids:
                continue
            renew = partial(self._parts.deliveries.renew, self._parts.owner, ids, lease_s=lease_s, now_ms=now_ms)
            held = await _steadily(renew)
            self._hand.renew(held, until_ms=now_ms + round(lease_s * 1000))

    async def _wind_up(self) -> None:
        """Let what is in flight finish, record it, and give back the rest."""
        self._stopping = True
        grace_s = self._parts.limits.grace_s
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=grace_s)
            await _cancelled(late)
        with contextlib.suppress(TimeoutError):  # the store is away: the leases will end by themselves
            await asyncio.wait_for(self._give_back(), grace_s)

    async def _give_back(self) -> None:
        await self._finished.join()
        if left := self._hand.ids():
            await asyncio.to_thread(self._parts.deliveries.release, self._parts.owner, left)


async def _cancelled(tasks: Iterable[asyncio.Task[None]]) -> None:
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
        except Exception:  # noqa: BLE001  the worker loop's boundary: logged, then asked again
            _log.exception("worker.store_unavailable", again_in_s=_PAUSE_S)
        await asyncio.sleep(_PAUSE_S)


async def _first_of(*events: asyncio.Event, timeout_s: float) -> None:
    """Return when one of the events is set or the time is over."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()


def _log_attempt(one: Finished, *, kept: bool) -> None:
    _log.info(
        "delivery.attempted" if kept else "delivery.lease_lost",
        delivery=one.delivery.id,
        event_id=one.delivery.event_id,
        offset=one.delivery.log_offset,
        subscription=one.delivery.subscription_id,
        destination=one.delivery.destination_id,
        channel=one.delivery.channel,
        attempt=one.attempt.number,
        outcome=kind_of(one.attempt.outcome),
        reason=reason_of(one.attempt.outcome).value,
        status_code=one.attempt.outcome.status_code,
        status=one.step.status.value,
        duration_ms=one.attempt.duration_ms,
    )
