"""Questions of a worker about many messages at once: about those that it has claimed, and those that have waited.

An answer holds for a second. A message that begins later is judged again with all that have begun so, and will soon
(``docs/decisions/0207-what-waits-in-a-worker-is-judged-together.md``). Next: ``delivery/worker/attempt.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import structlog

from tocsin.clock import Steady
from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.wording.surroundings import has_surroundings
from tocsin.delivery.worker.parts import AttemptParts
from tocsin.delivery.worker.waiting import WaitingDispatches
from tocsin.model.channels import WORDED

STATE_AGE_S = 1.0
"""A message is judged again when that was longer ago: it waited for others to its receiver."""

T = TypeVar("T")
_log = structlog.get_logger("tocsin.worker")
_Judgement = asyncio.Future[Mapping[str, Dispatch]]
"""Messages that are judged again together, by id."""


class Judgements:
    """The questions of one worker about its messages, one judgement at a time.

    Attributes
    ----------
    waiting : the messages that have not begun
    """

    def __init__(self, parts: AttemptParts, steady: Steady) -> None:
        self._parts, self._steady = parts, steady
        self.waiting = WaitingDispatches()
        self._turn = asyncio.Lock()
        self._coming: dict[str, _Judgement] = {}
        self._next: tuple[list[Dispatch], _Judgement] | None = None
        self._uncertain: tuple[list[Dispatch], asyncio.Future[None]] | None = None

    async def look_ahead(self, dispatches: Sequence[Dispatch]) -> Sequence[Dispatch]:
        """Ask together what messages need that will be sent soon; where that fails, each asks for itself.

        That is what rights and mutes allow, the zones of their readers, the failing rows that they may see, which of
        them may acknowledge incidents, and what surrounds failures and breaking changes, with which the messages about
        them are returned.
        """
        now_s = self._steady()
        dispatches = [replace(one, judged_at_s=now_s) for one in dispatches]
        with_incidents = any(map(_has_incident, dispatches))
        with_surroundings = any(one.streaks or tells_of_surroundings(one) for one in dispatches)
        if not (with_incidents or with_surroundings) and self._are_certain(dispatches):
            return dispatches
        async with self._turn:
            return await self._ask_ahead(dispatches, lambda: dispatches)

    async def judge_again(self, dispatch: Dispatch) -> Dispatch | None:
        """Return a message that has waited for others as it is now, with what it needs; None on failure.

        The same statements judge what has waited as well, and what will begin soon.
        """
        if not self._has_waited(dispatch):
            return dispatch
        judged = (await asyncio.shield(self._next_judgement(dispatch)))[dispatch.message.id]
        return judged if judged.judged_at_s != dispatch.judged_at_s else None

    async def make_certain(self, dispatch: Dispatch) -> None:
        """Ask again what is permitted of a message that was judged in time but has not been sent for a second.

        The same statements ask for all that have come so far by then: those of a claim do on a slow machine.
        """
        if not self._has_waited(dispatch) or self._parts.permitted.is_certain(dispatch):
            return
        if self._uncertain is None:
            self._uncertain = [], asyncio.ensure_future(self._ask_permissions())
        dispatches, coming = self._uncertain
        dispatches.append(dispatch)
        await asyncio.shield(coming)

    async def _ask_permissions(self) -> None:
        async with self._turn:
            if self._uncertain is not None:
                (dispatches, _), self._uncertain = self._uncertain, None
                await _ask_together(lambda: self._look_ahead(dispatches), None)

    def _has_waited(self, dispatch: Dispatch) -> bool:
        return dispatch.judged_at_s is not None and self._steady() - dispatch.judged_at_s >= STATE_AGE_S

    def _look_ahead(self, dispatches: Sequence[Dispatch]) -> None:
        self._parts.permitted.look_ahead(dispatches, self._parts.quiet_times.look_ahead(dispatches))

    def _are_certain(self, dispatches: Sequence[Dispatch]) -> bool:
        return self._parts.quiet_times.are_known(dispatches) and all(map(self._parts.permitted.is_certain, dispatches))

    async def _ask_ahead(
        self, dispatches: Sequence[Dispatch], find: Callable[[], Sequence[Dispatch]]
    ) -> Sequence[Dispatch]:
        """Return these messages as ``find`` finds them, with what they need, from few statements."""
        parts = self._parts

        def ask() -> Sequence[Dispatch]:
            current_dispatches = find()
            reporting = list(filter(tells_of_surroundings, current_dispatches))
            self._look_ahead(current_dispatches)
            parts.failing_rows.look_ahead(reporting)
            whole_dispatches = parts.failure_messages.with_contexts_in_digests(
                parts.failure_messages.with_contexts(current_dispatches, reporting)
            )
            read_only = parts.permitted.read_only(list(filter(_has_incident, whole_dispatches)))
            return [replace(one, read_only=read_only) if _has_incident(one) else one for one in whole_dispatches]

        return await _ask_together(ask, dispatches)

    def _next_judgement(self, dispatch: Dispatch) -> _Judgement:
        """Return the judgement, to come, of this message: the next, if it is not in one already."""
        if (coming := self._coming.get(dispatch.message.id)) is not None:
            return coming
        if self._next is None:
            self._next = [], asyncio.ensure_future(self._judge_next())
        begun_dispatches, coming = self._next
        begun_dispatches.append(dispatch)
        self._coming[dispatch.message.id] = coming
        return coming

    async def _judge_next(self) -> Mapping[str, Dispatch]:
        """Return, by id, what has begun by now and what will soon as they are now, with all that depends on that."""
        async with self._turn:
            now_s, states = self._steady(), self._parts.current_states
            dispatches = self._take_portion(judged_before_s=now_s - STATE_AGE_S / 2)

            def find() -> Sequence[Dispatch]:
                return [replace(one, judged_at_s=now_s) for one in states.judge_again(dispatches)]

            try:
                judged_dispatches = await self._ask_ahead(dispatches, find)
                self.waiting.renew(judged_dispatches)
            finally:
                for dispatch in dispatches:
                    del self._coming[dispatch.message.id]
            return {one.message.id: one for one in judged_dispatches}

    def _take_portion(self, *, judged_before_s: float) -> list[Dispatch]:
        """Return what is judged next; what begins from now on is judged after it, unless it is among them."""
        if self._next is None:
            return []
        (begun_dispatches, coming), self._next = self._next, None
        waiting_dispatches = self.waiting.next_portion(judged_before_s=judged_before_s)
        self._coming |= dict.fromkeys((one.message.id for one in waiting_dispatches), coming)
        return begun_dispatches + waiting_dispatches


async def _ask_together(ask: Callable[[], T], otherwise: T) -> T:
    """Return the result of the store, and ``otherwise`` where it fails: then each message asks for itself."""
    try:
        return await asyncio.to_thread(ask)
    except Exception:  # noqa: BLE001  the worker loop's boundary: each message records what is wrong with it
        _log.exception("worker.look_ahead_failed")
        return otherwise


def _has_incident(dispatch: Dispatch) -> bool:
    return any(entry.incident for entry in dispatch.entries)


def tells_of_surroundings(dispatch: Dispatch) -> bool:
    """Return whether a message tells people of one event that others surround, such as a failure or a deletion."""
    if dispatch.message.channel not in WORDED or len(dispatch.entries) > 1:
        return False
    return has_surroundings(dispatch.event)
