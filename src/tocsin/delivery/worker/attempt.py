"""One delivery attempt: look up the route, send, and determine the next step.

Queries before anything is sent are repeated until the store answers: a store that is away costs no attempt.
Next: ``delivery/channels``, then ``flow/track/attempts.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import structlog

from tocsin.clock import Clock, Steady
from tocsin.delivery.channels.answer_masks import mask_secrets
from tocsin.delivery.channels.table import CHANNELS
from tocsin.delivery.dispatch import (
    Answered,
    Button,
    Dispatch,
    FailingRows,
    FailureContext,
    Route,
    Routes,
    at_own_address,
    leading_route,
    narrow_dispatch,
    route_objection,
)
from tocsin.delivery.links.acknowledge import LinkSigner, buttons_of
from tocsin.delivery.links.answer import answer_buttons_of
from tocsin.delivery.links.pages import page_link_of
from tocsin.delivery.templates.choice import has_templates, with_route_settings, word_message
from tocsin.delivery.templates.message_text import MessagePlace
from tocsin.delivery.transport.outcome import of_reason
from tocsin.delivery.transport.retry import wait_s
from tocsin.delivery.wording.content import MOST_OWNERS, owners_of
from tocsin.delivery.wording.notices import NoticeWords, notice_objection, with_notices
from tocsin.delivery.wording.reports import is_recovery
from tocsin.delivery.wording.visible_contexts import has_names, visible_context, visible_streaks
from tocsin.delivery.worker.earlier_parts import is_calm, with_earlier_entries
from tocsin.delivery.worker.judgements import Judgements, tells_of_surroundings
from tocsin.delivery.worker.parts import AttemptParts, WorkerTime
from tocsin.flow.track.attempts import Finished, NextStep, hold, next_step
from tocsin.model.change_request import AskedFor
from tocsin.model.channels import WORDED
from tocsin.model.message import (
    Attempt,
    DroppedReason,
    Entry,
    Message,
    Outcome,
    OutcomeReason,
    Rejected,
    Retry,
)
from tocsin.model.notification import ReasonKind
from tocsin.model.own_address import own_address_of
from tocsin.model.personal_notice import is_notice
from tocsin.model.subscription import Channel, Destination
from tocsin.model.template import Template
from tocsin.store.catalogue.alerts.subscriptions import UNREADABLE, UnreadableError
from tocsin.store.database.engine import STORE_FAILURES
from tocsin.store.database.faults import fault_of
from tocsin.store.outbox.addresses import Routes as StoredRoutes

ROUTE_AGE_S = 1.0
"""A route is read again when it is older than this: so long may something leave after it was switched off."""

_RETRIES = 3  # where nobody could say how many: upstream's default, EventSubscription.retries
AGAIN_AFTER_S = 1.0
_ADDRESS_CHANGED = "not sent: the recipient has no verified address for this now, or one of another person"
_log = structlog.get_logger("tocsin.worker")
T = TypeVar("T")
IsHeld = Callable[[], Awaitable[bool]]
"""Says whether the message is still this worker's to send."""

RoutesOfAlerts = Mapping[str, dict[str, Route] | UnreadableError]
Reading = tuple[float, asyncio.Future[RoutesOfAlerts]]


class RouteBook:
    """Where messages lead, read from the store at most once a second per subscription.

    What messages that begin in the same turn of the loop ask is read together: those of one claim do.
    """

    def __init__(self, stored: StoredRoutes, steady: Steady) -> None:
        self._stored, self._steady = stored, steady
        self._readings: dict[str, Reading] = {}
        self._next: tuple[set[str], asyncio.Future[RoutesOfAlerts]] | None = None
        self._system_templates: tuple[float, asyncio.Future[dict[str, Template]]] | None = None

    async def routes(self, dispatch: Dispatch) -> Routes:
        """Return where each reason of the message leads now; raise why the alert of one cannot be read."""
        keys = list(dict.fromkeys(one.destination_key for entry in dispatch.entries for one in entry.reasons))
        readings = {alert: self._next_reading(alert) for alert, _ in keys}
        routes = {alert: _readable((await asyncio.shield(read))[alert]) for alert, read in readings.items()}
        return {(alert, destination): routes[alert].get(destination) for alert, destination in keys}

    async def system_templates(self) -> Mapping[str, Template]:
        """Return the changed system templates, by name."""
        now_s = self._steady()
        if self._system_templates is None or now_s - self._system_templates[0] > ROUTE_AGE_S:
            self._system_templates = now_s, asyncio.ensure_future(_ask_store(self._stored.system_templates))
        return await asyncio.shield(self._system_templates[1])

    def _next_reading(self, subscription_id: str) -> asyncio.Future[RoutesOfAlerts]:
        """Return the reading, done or to come, that has the routes of a subscription."""
        now_s, reading = self._steady(), self._readings.get(subscription_id)
        if reading is not None and now_s - reading[0] <= ROUTE_AGE_S:
            return reading[1]
        if self._next is None:
            wanted_ids = set[str]()
            self._next = wanted_ids, asyncio.ensure_future(self._read(wanted_ids))
        wanted_ids, coming = self._next
        wanted_ids.add(subscription_id)
        self._readings[subscription_id] = now_s, coming
        return coming

    async def _read(self, wanted_ids: set[str]) -> RoutesOfAlerts:
        self._next = None  # begins in the next turn of the loop: nothing more is added
        return await _ask_store(lambda: self._stored.of_all(wanted_ids))


def _readable(routes: dict[str, Route] | UnreadableError) -> dict[str, Route]:
    if isinstance(routes, UNREADABLE):
        raise routes
    return routes


@dataclass(frozen=True)
class _Try:
    """How an attempt went: its outcome, what it carried, the reasons left out, and what was wrong with a template."""

    outcome: Outcome
    entries: tuple[Entry, ...]
    dropped: tuple[DroppedReason, ...] = ()
    template_error: str = ""


class Attempts:
    """Attempts of a worker at the messages that it has claimed."""

    def __init__(self, parts: AttemptParts, time: WorkerTime) -> None:
        self._parts, self._time = parts, time
        self._book = RouteBook(parts.routes, time.steady)
        self._judgements = Judgements(parts, time.steady)

    async def look_ahead(self, dispatches: Sequence[Dispatch]) -> Sequence[Dispatch]:
        """Return messages that will be sent soon with what was asked about them together."""
        return await self._judgements.look_ahead(dispatches)

    def waiting(self, dispatch: Dispatch) -> AbstractContextManager[None]:
        """Return the block in which a message waits for its turn: those that wait are judged again together."""
        return self._judgements.waiting.hold(dispatch)

    async def make(self, dispatch: Dispatch, is_held: IsHeld) -> Finished | None:
        """Try ``dispatch`` once and return the outcome; an unexpected exception counts as a failed try.

        Returns None, and has sent nothing, where ``is_held`` says that another worker may have the message by now.
        """
        time, message = self._time, dispatch.message
        started_at_ms, started_s = time.clock.now_ms(), time.steady()
        routes: Routes = {}
        try:
            dispatch = await self._judge_again(self._judgements.waiting.begin(dispatch))
            if (held_until_ms := await self._held_until_ms(dispatch, started_at_ms)) is not None:
                return hold(message, dispatch.entries, until_ms=held_until_ms, now_ms=started_at_ms)
            routes = await self._book.routes(dispatch)
            await self._judgements.make_certain(dispatch)
            result = await MessageAttempt(self._parts, time.clock, self._book, routes).run(dispatch, is_held)
        except Exception as error:  # noqa: BLE001  the worker loop's boundary: recorded, so that it ends
            _log.exception("delivery.failed_unexpectedly", message=dispatch.message.id, event_id=dispatch.event.id)
            result = _Try(of_reason(OutcomeReason.INTERNAL_ERROR, detail=type(error).__name__), dispatch.entries)
        if result is None:
            return None
        attempt = Attempt(
            message_id=message.id,
            number=message.attempt_count + 1,
            started_at_ms=started_at_ms,
            duration_ms=round((time.steady() - started_s) * 1000),
            outcome=result.outcome,
            dropped=result.dropped,
            template_error=result.template_error,
        )
        step = _step(attempt, _retries(result.entries, routes), message.attempts_before, time.jitter)
        return Finished(message, attempt, step, result.entries)

    async def _held_until_ms(self, dispatch: Dispatch, now_ms: int) -> int | None:
        """Return when the quiet times of a message's readers end; None if it may go out now."""
        quiet_times = self._parts.quiet_times
        if quiet_times.are_surely_over(dispatch, now_ms=now_ms):
            return None
        return await _ask_store(partial(quiet_times.held_until_ms, dispatch, now_ms=now_ms))

    async def _judge_again(self, dispatch: Dispatch) -> Dispatch:
        """Return a message that has waited for others as it is now: alone where judging it with others fails."""
        judged = await self._judgements.judge_again(dispatch)
        if judged is None:
            (judged,) = await _ask_store(partial(self._parts.current_states.judge_again, [dispatch]))
        return judged


def _retries(entries: Sequence[Entry], routes: Routes) -> int:
    """Return the highest ``retries`` of the alerts that the message is sent for."""
    if not routes:
        return _RETRIES
    message_routes = (routes.get(reason.destination_key) for entry in entries for reason in entry.reasons)
    return max((route.retries for route in message_routes if route is not None), default=0)


def end_lost_message(message: Message, now_ms: int) -> Finished:
    """Return the end of a message whose event or notification is no longer in the store."""
    outcome = Rejected(OutcomeReason.INTERNAL_ERROR, detail="its event is no longer stored")
    recorded = Attempt(message.id, message.attempt_count + 1, now_ms, 0, outcome)
    return Finished(message, recorded, next_step(recorded, retries=0, wait_s=0.0))


async def _ask_store(ask: Callable[[], T]) -> T:
    """Return the result of the store, retrying while it is unavailable."""
    while True:
        try:
            return await asyncio.to_thread(ask)
        except STORE_FAILURES as error:
            fault = fault_of(error)
            if fault is None or not fault.passes:
                raise
            _log.warning("worker.store_unavailable", fault=fault.name, says=fault.sentence, again_in_s=AGAIN_AFTER_S)
        await asyncio.sleep(AGAIN_AFTER_S)


class MessageAttempt:
    """One attempt at a message: what may be sent of it now, in which words, and its outcome."""

    def __init__(self, parts: AttemptParts, clock: Clock, book: RouteBook, routes: Routes) -> None:
        self._parts, self._clock, self._book, self._routes = parts, clock, book, routes
        self._links = LinkSigner(parts.base_url, parts.link_key)

    async def run(self, dispatch: Dispatch, is_held: IsHeld) -> _Try | None:
        """Send what may be sent now of a message; None if the claim no longer belongs to this worker."""
        if dispatch.message.channel not in self._parts.senders:
            detail = f"{dispatch.message.channel} is not supported yet"
            return _Try(of_reason(OutcomeReason.DISABLED, detail=detail), dispatch.entries)
        objection = partial(route_objection, self._routes, self._clock.now_ms())
        open_dispatch, closed_drops = narrow_dispatch(dispatch, objection)
        if open_dispatch is None:
            return _refusal(dispatch, closed_drops)
        permitted_dispatch, refusals = await self._narrow_to_permitted(open_dispatch)
        drops = (*closed_drops, *refusals)
        if permitted_dispatch is None:
            return _refusal(dispatch, drops)
        route = leading_route(permitted_dispatch, self._routes)
        own_address = own_address_of(permitted_dispatch.message.target)
        if own_address is not None:
            config = await _ask_store(
                lambda: self._parts.own_addresses.of(own_address, permitted_dispatch.message.channel)
            )
            if config is None:
                outcome = of_reason(OutcomeReason.RECIPIENT_GONE, detail=_ADDRESS_CHANGED)
                return _Try(outcome, permitted_dispatch.entries, drops)
            route = at_own_address(route, config)
        if route.waits_because is not None:
            outcome = of_reason(OutcomeReason.INTERNAL_ERROR, detail=route.waits_because)
            return _Try(outcome, permitted_dispatch.entries, drops)
        if not await is_held():
            return None
        result = await self._send(permitted_dispatch, route)
        return replace(result, dropped=drops) if drops else result

    async def _send(self, permitted: Dispatch, route: Route) -> _Try:
        """Send a message to one of the destinations that its reasons name."""
        now_ms = self._clock.now_ms()
        channel = self._parts.senders[permitted.message.channel]
        zone = self._parts.permitted.zone_of(permitted.first.recipient_id) or route.zone
        notice_texts = await self._notice_texts(permitted, zone)
        speaking_dispatch, empty_notices = (
            narrow_dispatch(permitted, notice_objection(notice_texts)) if notice_texts else (permitted, ())
        )
        if speaking_dispatch is None:
            return _refusal(permitted, empty_notices)
        dispatch = await self._with_earlier(speaking_dispatch, route.destination)
        whole_dispatch = with_route_settings(
            dispatch,
            route,
            self._routes,
            zone,
            addresses=await self._addresses(dispatch, route.destination),
            answers=await self._answers(dispatch, route.destination),
            answerable=await self._answerable(dispatch),
            requests={identity: request.at(now_ms) for identity, request in dispatch.requests.items()},
            read_only=await self._read_only(dispatch),
            failure=await self._failure(dispatch),
            streaks=await self._streaks(dispatch),
            page_link=page_link_of(self._links, now_ms),
        )
        if whole_dispatch.failure is not None and (failing_rows := await self._failing_rows(whole_dispatch)):
            whole_dispatch = replace(whole_dispatch, failure=replace(whole_dispatch.failure, failing_rows=failing_rows))
        if buttons := self._buttons(whole_dispatch, now_ms):
            whole_dispatch = replace(whole_dispatch, buttons=buttons)
        worded_dispatch, problem = await self._with_templates(whole_dispatch)
        worded_dispatch = with_notices(worded_dispatch, notice_texts)
        outcome = await channel.send(worded_dispatch, route.destination, now_ms=self._clock.now_ms())
        detail = mask_secrets(outcome.detail, route.destination)
        outcome = outcome if detail == outcome.detail else replace(outcome, detail=detail)
        problem = problem or mask_secrets(outcome.template_error, route.destination)
        return _Try(outcome, speaking_dispatch.entries, template_error=problem)

    def _buttons(self, dispatch: Dispatch, now_ms: int) -> Mapping[str, tuple[Button, ...]]:
        """Return the buttons of a message, by the ids of the notifications in it."""
        if dispatch.message.channel not in WORDED:
            return {}
        buttons, answer_buttons = (of(dispatch, self._links, now_ms=now_ms) for of in (buttons_of, answer_buttons_of))
        return {**buttons, **answer_buttons}

    async def _with_templates(self, dispatch: Dispatch) -> tuple[Dispatch, str]:
        """Return a message in the words of templates, and what was wrong with one."""
        if dispatch.message.channel not in WORDED:
            return dispatch, ""
        place = MessagePlace(dispatch.message.channel, self._parts.base_url, dispatch.page_link, dispatch.zone)
        system = await self._book.system_templates()
        work = partial(word_message, dispatch, self._routes, system, place, self._parts.renderings.accounts)
        return await self._parts.renderings.run(dispatch.payer, work) if has_templates(self._routes, system) else work()

    async def _narrow_to_permitted(self, dispatch: Dispatch) -> tuple[Dispatch | None, tuple[DroppedReason, ...]]:
        """Return what rights and mutes allow to be sent now, and the reasons that they do not."""
        parts, now_ms = self._parts, self._clock.now_ms()
        untold_dispatch, told_reasons = await self._without_told_wholes(dispatch)
        if untold_dispatch is None or parts.permitted.is_certain(untold_dispatch):
            return untold_dispatch, told_reasons
        permitted_dispatch, refusals = await _ask_store(
            lambda: parts.permitted.permitted_part(untold_dispatch, now_ms=now_ms)
        )
        if refusals:
            await _ask_store(lambda: parts.hidden_wholes.tell_parts(untold_dispatch, refusals, now_ms=now_ms))
        return permitted_dispatch, (*told_reasons, *refusals)

    async def _without_told_wholes(self, dispatch: Dispatch) -> tuple[Dispatch | None, tuple[DroppedReason, ...]]:
        """Return a message without wholes whose parts an earlier attempt has told, and the reasons of these."""
        if not any(entry.carried.is_recursive for entry in dispatch.entries):
            return dispatch, ()
        return await _ask_store(lambda: self._parts.hidden_wholes.without_told(dispatch))

    async def _notice_texts(self, dispatch: Dispatch, zone: str) -> NoticeWords:
        """Return what the notices in a message say to their person; nothing of other messages."""
        if not any(entry.carried.begins_thread and is_notice(entry.event) for entry in dispatch.entries):
            return {}
        return await _ask_store(partial(self._parts.notice_texts.of, dispatch, zone))

    async def _addresses(self, dispatch: Dispatch, destination: Destination) -> Mapping[str, str]:
        """Return the addresses of the owners whom the message can mention."""
        if len(dispatch.entries) > 1 or not CHANNELS[destination.type].mentions(destination):
            return {}
        owners = {one.user_id for one in owners_of(dispatch.event)[:MOST_OWNERS] if one.user_id}
        return await _ask_store(lambda: self._parts.people.addresses(owners)) if owners else {}

    async def _answers(self, dispatch: Dispatch, destination: Destination) -> Answered | None:
        """Return the message that this one answers, where the channel shows that."""
        if not CHANNELS[destination.type].threads or len(dispatch.entries) > 1 or not is_recovery(dispatch.event):
            return None
        return await _ask_store(lambda: self._parts.failure_messages.find_answered(dispatch))

    async def _with_earlier(self, dispatch: Dispatch, destination: Destination) -> Dispatch:
        """Return a message with what the earlier one shows that it changes in place, as far as that may be shown now.

        Where nothing can be changed, or what is new needs attention, which a change draws from nobody, it is the same.
        """
        can_change = CHANNELS[destination.type].changes_in_place(destination)
        if dispatch.cause_thread is None or not can_change or not is_calm(dispatch):
            return dispatch
        entries = await _ask_store(lambda: self._parts.cause_threads.entries_to_repeat(dispatch))
        if not entries:
            return dispatch
        return await _ask_store(lambda: with_earlier_entries(dispatch, entries, self._routes, self._parts.permitted))

    async def _answerable(self, dispatch: Dispatch) -> Mapping[str, AskedFor]:
        """Return what change requests ask the reader of a message for, by notification, as far as they may see it."""
        kinds = {reason.kind for entry in dispatch.entries for reason in entry.reasons}
        if dispatch.message.channel not in WORDED or ReasonKind.ASKED not in kinds:
            return {}

        def ask(entry: Entry) -> AskedFor:
            answerable = self._parts.asked_consumers.of_notification(entry.event, entry.reasons, entry.recipient_id)
            names = sorted(answerable.full_names)
            return answerable.among(self._parts.permitted.names_seen(replace(dispatch, entries=(entry,)), names))

        return await _ask_store(lambda: {entry.notification_id: ask(entry) for entry in dispatch.entries})

    async def _read_only(self, dispatch: Dispatch) -> frozenset[str]:
        """Return the notifications of a message whose recipients may not acknowledge their incidents."""
        if dispatch.read_only is not None or not any(entry.incident for entry in dispatch.entries):
            return dispatch.read_only or frozenset()
        return await _ask_store(lambda: self._parts.permitted.read_only([dispatch]))

    async def _failing_rows(self, dispatch: Dispatch) -> FailingRows | None:
        """Return rows that failed the test which a mail to one person is about."""
        if dispatch.message.channel != Channel.EMAIL:
            return None
        return await _ask_store(lambda: self._parts.failing_rows.of(dispatch))

    async def _failure(self, dispatch: Dispatch) -> FailureContext | None:
        """Return what surrounds the event that a message for people is about, as far as its reader may see it."""
        if not tells_of_surroundings(dispatch):
            return None
        context = dispatch.failure
        if context is not None and not has_names(context):
            return context

        def ask() -> FailureContext:
            whole_context = context or self._parts.failure_messages.context_of(dispatch)
            return visible_context(dispatch, whole_context, self._parts.permitted)

        return await _ask_store(ask)

    async def _streaks(self, dispatch: Dispatch) -> Mapping[str, FailureContext]:
        """Return what surrounds the failures that a digest tells of, as far as their readers may see it."""
        if not any(map(has_names, dispatch.streaks.values())):
            return dispatch.streaks
        return await _ask_store(partial(visible_streaks, dispatch, self._parts.permitted))


def _refusal(dispatch: Dispatch, dropped: tuple[DroppedReason, ...]) -> _Try:
    """Return the end of a message of which nothing may be sent: for the last objection, with all of them."""
    because = dropped[-1].because if dropped else OutcomeReason.DISABLED
    says = "; ".join(dict.fromkeys(one.says for one in dropped))
    return _Try(of_reason(because, detail=f"not sent: {says}"), dispatch.entries, dropped)


def _step(recorded: Attempt, retries: int, before: int, jitter: Callable[[], float]) -> NextStep:
    """Return what follows an attempt; those made before a replay do not count."""
    number = recorded.number - before
    wait = wait_s(recorded.outcome, number, jitter=jitter()) if isinstance(recorded.outcome, Retry) else 0.0
    return next_step(recorded, retries=retries + before, wait_s=wait)
