"""Next digests of a person, composed as a worker composes what it sends: the same rights, folding, words and limits.

Nothing changes: no message is claimed, no notification marked. Next: ``delivery/channels/previews.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from threading import BoundedSemaphore

from tocsin.delivery.dispatch import Dispatch, Routes, leading_route, narrow_dispatch, route_objection
from tocsin.delivery.templates.accounts import TemplateAccounts
from tocsin.delivery.templates.choice import with_route_settings, word_message
from tocsin.delivery.templates.message_text import MessagePlace
from tocsin.delivery.wording.notices import notice_objection, with_notices
from tocsin.model.next_digest import NextDigest
from tocsin.model.subscription import Channel
from tocsin.server.request import Caller
from tocsin.store.catalogue.alerts.subscriptions import UNREADABLE

_ACCOUNTS = TemplateAccounts()
_COMPOSITION = BoundedSemaphore(2)
"""How many digests are composed at a time: each may hold thousands of changes."""


def next_digests(user_id: str, caller: Caller) -> list[NextDigest]:
    """Return what a person would be sent now of the messages that wait for their time, the first due first."""
    stores = caller.parts.alert_stores
    with _COMPOSITION:
        dispatches = stores.next_digests.of(user_id)
        if not dispatches:
            return []
        routes, zone = routes_of(dispatches, caller), stores.next_digests.zone_of(user_id)
        digests = (_composed_digest(dispatch, routes, zone, caller) for dispatch in dispatches)
        return [digest for digest in digests if digest is not None]


def routes_of(dispatches: Sequence[Dispatch], caller: Caller) -> Routes:
    """Return where the reasons of these messages lead now; what cannot be read leads nowhere."""
    reasons = [reason for dispatch in dispatches for entry in dispatch.entries for reason in entry.reasons]
    keys = dict.fromkeys(reason.destination_key for reason in reasons)
    routes = caller.parts.alert_stores.routes.of_all({alert for alert, _ in keys})
    readable = {alert: {} if isinstance(some, UNREADABLE) else some for alert, some in routes.items()}
    return {(alert, destination): readable[alert].get(destination) for alert, destination in keys}


def _composed_digest(dispatch: Dispatch, routes: Routes, zone: str | None, caller: Caller) -> NextDigest | None:
    """Return a message as it would be sent now; None if nothing of it would."""
    from tocsin.delivery.channels.previews import PREVIEWS  # loads the templates of mails, which no start needs

    stores, base_url, now_ms = caller.parts.alert_stores, caller.parts.settings.base_url(), caller.parts.clock.now_ms()
    open_dispatch, _ = narrow_dispatch(dispatch, partial(route_objection, routes, now_ms))
    permitted_dispatch, _ = (
        stores.permitted.permitted_part(open_dispatch, now_ms=now_ms) if open_dispatch else (None, ())
    )
    if permitted_dispatch is None:
        return None
    reasons = [reason for entry in permitted_dispatch.entries for reason in entry.reasons]
    own_routes = {reason.destination_key: routes[reason.destination_key] for reason in reasons}
    route = leading_route(permitted_dispatch, own_routes)
    notice_texts = stores.notice_texts.of(permitted_dispatch, zone or route.zone)
    said_dispatch, _ = narrow_dispatch(permitted_dispatch, notice_objection(notice_texts))
    if said_dispatch is None:
        return None
    whole_dispatch = with_route_settings(said_dispatch, route, own_routes, zone or route.zone)
    place = MessagePlace(dispatch.message.channel, base_url, zone=zone or route.zone)
    worded_dispatch, _ = word_message(whole_dispatch, own_routes, stores.routes.system_templates(), place, _ACCOUNTS)
    channel = Channel(dispatch.message.channel)
    return NextDigest(
        channel=channel,
        due_at=dispatch.message.due_at_ms,
        notification_count=len(said_dispatch.entries),
        message=PREVIEWS[channel](with_notices(worded_dispatch, notice_texts), base_url),
    )
