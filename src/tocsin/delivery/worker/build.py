"""Wiring of a worker: everything it uses, from its settings.

Next: ``delivery/worker/deliver.py``.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from uuid import uuid4

from sqlalchemy import Engine

from tocsin.clock import SystemClock
from tocsin.delivery.channels.push.vapid import new_vapid_key
from tocsin.delivery.channels.sender_setup import PushSetup, SenderSetup
from tocsin.delivery.channels.senders import SENDERS
from tocsin.delivery.channels.table import CHANNELS
from tocsin.delivery.dispatch import Sender
from tocsin.delivery.worker.failure_reports import failure_reports
from tocsin.delivery.worker.hidden_wholes import HiddenWholes
from tocsin.delivery.worker.lag_reports import lag_reports
from tocsin.delivery.worker.parts import AttemptParts, Limits, QueueParts, WorkerParts
from tocsin.delivery.worker.shares import Place, only_place
from tocsin.model.push_browser import PushBrowser
from tocsin.model.subscription import Channel
from tocsin.settings import Settings
from tocsin.store.catalogue.people.identities import People, unsubscribe_key
from tocsin.store.catalogue.people.own_addresses import OwnAddresses
from tocsin.store.catalogue.people.push_browsers import PUSH_KEY, PushBrowsers
from tocsin.store.outbox.addresses import Routes
from tocsin.store.outbox.cause_threads import CauseThreads
from tocsin.store.outbox.current_state import CurrentStates
from tocsin.store.outbox.failing_rows import FailedRowSamples
from tocsin.store.outbox.failure_messages import FailureMessages
from tocsin.store.outbox.handovers import Handovers
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.personal_notices import NoticeTexts
from tocsin.store.outbox.quiet_times import SqlQuietTimes
from tocsin.store.outbox.replays import Replays
from tocsin.store.outbox.send_permission import Permitted
from tocsin.store.outbox.sessions import Sessions
from tocsin.store.recipients.asked import AskedConsumers
from tocsin.store.upkeep.opening import open_store

_CONNECTIONS, _FEWEST_CONNECTIONS = 24, 4
"""Connections that all processes of a worker open together at most, and at least each of them."""


@asynccontextmanager
async def build(settings: Settings, place: Place | None = None) -> AsyncIterator[WorkerParts]:
    """Yield the parts of a worker for a process at ``place``, over an existing store; close them afterwards."""
    most_connections = max(_FEWEST_CONNECTIONS, _CONNECTIONS // settings.worker_process_count())
    with open_store(settings, most_connections=most_connections) as engine:
        async with AsyncExitStack() as stack:
            key = unsubscribe_key(People(engine))
            setup = SenderSetup(settings, key, push=push_setup(engine) if settings.web_push else None)
            openers = {name.value: open_sender(setup) for name, open_sender in SENDERS.items() if _is_open(name, setup)}
            senders = {name: await stack.enter_async_context(opener) for name, opener in openers.items()}
            yield parts_of(settings, engine, senders, place or only_place())


def push_setup(engine: Engine) -> PushSetup:
    """Return what web push is sent with; the key is made once."""
    browsers = PushBrowsers(engine)

    async def browsers_of(user_id: str, now_ms: int) -> Sequence[PushBrowser]:
        return (await asyncio.to_thread(browsers.of, [user_id], now_ms)).get(user_id, ())

    async def forget(browser: PushBrowser) -> None:
        await asyncio.to_thread(browsers.forget, browser)

    return PushSetup(People(engine).secret(PUSH_KEY, new_vapid_key), browsers_of, forget)


def _is_open(channel: Channel, setup: SenderSetup) -> bool:
    return channel is not Channel.PUSH or setup.push is not None


def parts_of(settings: Settings, engine: Engine, senders: Mapping[str, Sender], place: Place) -> WorkerParts:
    """Return the parts of a worker over an open store and open senders, by channel."""
    people, routes, send_permission = People(engine), Routes(engine), Permitted(engine)
    return WorkerParts(
        queue=QueueParts(
            messages=Messages(engine, webhooks_only=not place.is_first),
            sessions=Sessions(engine),
            replays=Replays(engine),
            handovers=Handovers(engine, routes.is_open),
            failure_reports=failure_reports(engine, SystemClock()),
            lag_reports=lag_reports(settings, engine, SystemClock()),
        ),
        attempts=AttemptParts(
            routes=routes,
            permitted=send_permission,
            people=people,
            own_addresses=OwnAddresses(engine),
            failure_messages=FailureMessages(engine),
            failing_rows=FailedRowSamples(engine, settings.masked_tags, send_permission.permission_cache),
            quiet_times=SqlQuietTimes(engine),
            asked_consumers=AskedConsumers(engine),
            current_states=CurrentStates(engine),
            hidden_wholes=HiddenWholes(engine, send_permission.permission_cache),
            cause_threads=CauseThreads(engine, Messages(engine).dispatches),
            notice_texts=NoticeTexts(engine, send_permission.permission_cache, base_url=settings.base_url()),
            senders=senders,
            base_url=settings.base_url(),
            link_key=unsubscribe_key(people),
        ),
        limits=Limits(
            claim=settings.worker_claim_limit,
            per_destination=settings.destination_concurrency,
            lease_s=settings.worker_lease_s,
            poll_s=settings.worker_poll_s,
        ),
        intervals_s={name.value: one.interval_s for name, one in CHANNELS.items() if one.interval_s},
        place=place,
        owner=f"{socket.gethostname()[:30]}:{os.getpid()}:{uuid4().hex[:12]}",
    )
