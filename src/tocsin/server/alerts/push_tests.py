"""Test messages to one browser by its push service, made and sent at once, never stored.

What the push service answers is reported as that of a test send is: a status and a reason, never its body.
Next: ``delivery/channels/push/sender.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from starlette.concurrency import run_in_threadpool

from tocsin.delivery.channels.push.vapid import new_vapid_key
from tocsin.delivery.channels.sender_setup import PushSetup, SenderSetup
from tocsin.model.entity import Document
from tocsin.model.push_browser import PushBrowser
from tocsin.model.subscription import Category, Channel, Destination
from tocsin.server.alerts.trial import status_of, trial_dispatch, trial_event
from tocsin.server.request import Caller
from tocsin.store.catalogue.people.push_browsers import PUSH_KEY


async def send_push_test(browser: PushBrowser, caller: Caller) -> Document:
    """Send a test message to a browser of the caller's; return ``testDestinationStatus``."""
    from tocsin.delivery.channels.senders import SENDERS  # libraries of HTTP and mail, which no start needs

    parts = caller.parts
    now_ms = parts.clock.now_ms()

    async def browsers_of(_user_id: str, _now_ms: int) -> Sequence[PushBrowser]:
        return (browser,)

    async def forget(gone_browser: PushBrowser) -> None:
        await run_in_threadpool(parts.alert_stores.push_browsers.forget, gone_browser)

    key = await run_in_threadpool(parts.people.secret, PUSH_KEY, new_vapid_key)
    destination = Destination(id=str(uuid4()), category=Category.USERS, type=Channel.PUSH)
    dispatch = trial_dispatch(destination, caller.actor.id, trial_event(caller.actor, now_ms), now_ms)
    async with SENDERS[Channel.PUSH](SenderSetup(parts.settings, push=PushSetup(key, browsers_of, forget))) as sender:
        outcome = await sender.send(dispatch, destination, now_ms=now_ms)
    return status_of(outcome, now_ms)
