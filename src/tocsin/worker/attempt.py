"""One delivery attempt: look up the route, send, and determine the next step.

What is asked of the store before anything is sent is asked until it answers: a store that is away costs no attempt.
Next: ``flow/send/channels``, then ``flow/track/attempts.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from tocsin.flow.send.dispatch import Dispatch, Route
from tocsin.flow.send.outcome import of_reason
from tocsin.flow.send.retry import wait_s
from tocsin.flow.track.attempts import Finished, Step, next_step
from tocsin.model.message import Attempt, Message, Outcome, OutcomeReason, Rejected, Retry
from tocsin.store.faults import fault_of
from tocsin.worker.build import Parts

ROUTE_AGE_S = 1.0
"""A route is read again when it is older than this: so long may something leave after it was switched off."""

_HIDDEN = "never sent: a policy now hides it from the recipient, or from the alert's creator or editor"
_RETRIES = 3  # where nobody could say how many: upstream's default, EventSubscription.retries
_AGAIN_AFTER_S = 1.0
_log = structlog.get_logger("tocsin.worker")
T = TypeVar("T")
IsHeld = Callable[[], Awaitable[bool]]
"""Says whether the message is still this worker's to send."""

Reading = tuple[float, asyncio.Future[dict[str, Route]]]


class RouteBook:
    """Where messages lead, read from the store at most once a second per subscription."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._readings: dict[str, Reading] = {}

    async def route(self, message: Message) -> Route | None:
        """Return where the message leads now; None when its subscription or destination is gone."""
        now_s, name = self._parts.steady(), message.subscription_id
        reading = self._readings.get(name)
        if reading is None or now_s - reading[0] > ROUTE_AGE_S:
            reading = (now_s, asyncio.ensure_future(_answered(lambda: self._parts.routes.of(name))))
            self._readings[name] = reading
        return (await asyncio.shield(reading[1])).get(message.destination_id)

    def forget(self, subscription_id: str) -> None:
        """Drop the subscription's cached routes: its status is known to have changed."""
        self._readings.pop(subscription_id, None)


async def attempt(parts: Parts, dispatch: Dispatch, book: RouteBook, is_held: IsHeld) -> Finished | None:
    """Try ``dispatch`` once and return the outcome; an unexpected exception counts as a failed try.

    Returns None, and has sent nothing, where ``is_held`` says that another worker may have the message by now.
    """
    started_at_ms, started_s = parts.clock.now_ms(), parts.steady()
    retries = _RETRIES
    try:
        route = await book.route(dispatch.message)
        retries = route.retries if route else 0
        outcome = await _outcome(parts, dispatch, route, is_held)
    except Exception as surprise:  # noqa: BLE001  the worker loop's boundary: recorded, so that it ends
        _log.exception("delivery.surprise", message=dispatch.message.id, event_id=dispatch.event.id)
        outcome = of_reason(OutcomeReason.INTERNAL_ERROR, detail=type(surprise).__name__)
    if outcome is None:
        return None
    made = Attempt(
        message_id=dispatch.message.id,
        number=dispatch.message.attempt_count + 1,
        started_at_ms=started_at_ms,
        duration_ms=round((parts.steady() - started_s) * 1000),
        outcome=outcome,
    )
    return Finished(dispatch.message, made, _step(parts, made, retries), dispatch.entries)


def lost(message: Message, now_ms: int) -> Finished:
    """Return the end of a message whose event or notification is no longer in the store."""
    outcome = Rejected(OutcomeReason.INTERNAL_ERROR, detail="its event is no longer stored")
    made = Attempt(message.id, message.attempt_count + 1, now_ms, 0, outcome)
    return Finished(message, made, next_step(made, retries=0, wait_s=0.0))


async def _answered(ask: Callable[[], T]) -> T:
    """Return the result of the store, retrying while it is unavailable."""
    while True:
        try:
            return await asyncio.to_thread(ask)
        except Exception as error:
            fault = fault_of(error)
            if fault is None or not fault.passes:
                raise
            _log.warning("worker.store_unavailable", fault=fault.name, says=fault.sentence, again_in_s=_AGAIN_AFTER_S)
        await asyncio.sleep(_AGAIN_AFTER_S)


async def _outcome(parts: Parts, dispatch: Dispatch, route: Route | None, is_held: IsHeld) -> Outcome | None:
    """Return the outcome of sending; None if the claim no longer belongs to this worker."""
    if route is None:
        return of_reason(OutcomeReason.DISABLED, detail="the alert or its destination no longer exists")
    if route.closed_because is not None:
        return of_reason(OutcomeReason.DISABLED, detail=route.closed_because)
    if route.waits_because is not None:
        return of_reason(OutcomeReason.INTERNAL_ERROR, detail=route.waits_because)
    if dispatch.recipient_gone:
        return of_reason(OutcomeReason.RECIPIENT_GONE)
    channel = parts.channels.get(dispatch.message.channel)
    if channel is None:
        return of_reason(OutcomeReason.DISABLED, detail=f"{dispatch.message.channel} is not supported yet")
    permitted = await _answered(lambda: parts.permitted.now(dispatch))
    if permitted is None:
        return of_reason(OutcomeReason.MAY_NOT_VIEW, detail=_HIDDEN)
    if not await is_held():
        return None
    return await channel.send(permitted, route.destination, now_ms=parts.clock.now_ms())


def _step(parts: Parts, made: Attempt, retries: int) -> Step:
    wait = wait_s(made.outcome, made.number, jitter=parts.jitter()) if isinstance(made.outcome, Retry) else 0.0
    return next_step(made, retries=retries, wait_s=wait)
