"""Composer of digests ahead of their time: what a worker does with a message, but for sending it.

The functions are the worker's, in its order, so that the words are those that it would write itself. Digests that need
more than words are left to the worker: those that templates word, that ask their reader for an answer, that lead to a
person's own address, and those of which one notification remains. Next: ``delivery/channels/email/composed.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import structlog
from sqlalchemy import Engine

from tocsin.delivery.channels.email.composed import may_be_composed
from tocsin.delivery.channels.email.render import compose_ahead
from tocsin.delivery.dispatch import (
    ComposedContent,
    Dispatch,
    Route,
    Routes,
    leading_route,
    narrow_dispatch,
    route_objection,
)
from tocsin.delivery.links.acknowledge import LinkSigner, buttons_of
from tocsin.delivery.links.answer import answer_buttons_of
from tocsin.delivery.templates.choice import has_templates, with_route_settings
from tocsin.delivery.wording.visible_contexts import has_names, visible_streaks
from tocsin.model.message import Message
from tocsin.model.notification import ReasonKind
from tocsin.model.own_address import own_address_of
from tocsin.store.outbox.addresses import Routes as StoredRoutes
from tocsin.store.outbox.failure_messages import FailureMessages
from tocsin.store.outbox.messages import Messages, RememberedTexts
from tocsin.store.outbox.quiet_times import SqlQuietTimes
from tocsin.store.outbox.send_permission import SURE_FOR_S, Permitted

_REMEMBERED_CHARACTERS = 8 * 2**20
"""Of events, kept with their words for all people who hear of them: in memory some ten times as much."""

_LOG = structlog.get_logger(__name__)


@dataclass(frozen=True)
class ComposedDigest:
    """What is stored of a digest."""

    message: Message
    content: ComposedContent


class DigestComposer:
    """Composes digests of one store; the links in them lead to ``base_url``."""

    def __init__(self, engine: Engine, base_url: str) -> None:
        self.engine, self._base_url = engine, base_url
        self._messages = Messages(engine, events=RememberedTexts(_REMEMBERED_CHARACTERS))
        self._routes = StoredRoutes(engine)
        self._portion_count = 0
        self._permitted = Permitted(engine, steady=self._moment_s)
        self._quiet_times = SqlQuietTimes(engine, steady=self._moment_s)
        self._failures = FailureMessages(engine)

    def compose(self, messages: Sequence[Message], *, now_ms: int) -> Iterator[ComposedDigest]:
        """Yield those of these digests that can be composed, with rights and preferences as they are now.

        One that cannot be composed for an error is left to the worker, which records it.
        """
        self._portion_count += 1
        system_templates = self._routes.system_templates()
        dispatches = [one for one in self._messages.dispatches(messages) if may_be_composed(one)]
        if system_templates or not dispatches:
            return
        routes = self._routes_of(dispatches)
        for dispatch in self._with_surroundings(dispatches):
            if (content := self._compose_apart(dispatch, routes, now_ms)) is not None:
                yield ComposedDigest(dispatch.message, content)

    def _moment_s(self) -> float:
        """Return a time that stands still while a portion is composed: it is judged once, and again when it is sent."""
        return self._portion_count * 2 * SURE_FOR_S

    def _routes_of(self, dispatches: Sequence[Dispatch]) -> Mapping[str, Mapping[str, Route]]:
        """Return where the alerts of these messages lead now."""
        alerts = {reason.subscription_id for one in dispatches for entry in one.entries for reason in entry.reasons}
        return self._routes.without_secrets(alerts)

    def _with_surroundings(self, dispatches: Sequence[Dispatch]) -> Sequence[Dispatch]:
        """Return digests with what surrounds their failures, after a look at what all of their readers may see."""
        self._permitted.look_ahead(dispatches, self._quiet_times.look_ahead(dispatches))
        with_incidents = [one for one in dispatches if any(entry.incident for entry in one.entries)]
        read_only = self._permitted.read_only(with_incidents)
        return [replace(one, read_only=read_only) for one in self._failures.with_contexts_in_digests(dispatches)]

    def _compose_apart(
        self, dispatch: Dispatch, routes: Mapping[str, Mapping[str, Route]], now_ms: int
    ) -> ComposedContent | None:
        """Return the words of a digest; None where they are left to the worker, or something goes wrong with it."""
        try:
            keys = {reason.destination_key for entry in dispatch.entries for reason in entry.reasons}
            own_routes = {key: routes.get(key[0], {}).get(key[1]) for key in keys}
            return self._composed_content(dispatch, own_routes, now_ms)
        except Exception as error:  # noqa: BLE001  one digest keeps no other from being composed
            # Not its text or trace: logs of executors would show what the digest says. The worker meets it again.
            _LOG.error("digest_not_composed", message=dispatch.message.id, error=type(error).__name__)
            return None

    def _composed_content(self, dispatch: Dispatch, routes: Routes, now_ms: int) -> ComposedContent | None:
        permitted_dispatch = self._permitted_part(dispatch, routes, now_ms)
        if permitted_dispatch is None or not may_be_composed(permitted_dispatch):
            return None
        route = leading_route(permitted_dispatch, routes)
        kinds = {reason.kind for entry in permitted_dispatch.entries for reason in entry.reasons}
        is_own_address = own_address_of(dispatch.message.target) is not None
        if is_own_address or has_templates(routes, {}) or ReasonKind.ASKED in kinds:
            return None
        zone = self._permitted.zone_of(permitted_dispatch.first.recipient_id) or route.zone
        whole_dispatch = replace(
            with_route_settings(permitted_dispatch, route, routes, zone),
            requests={key: request.at(now_ms) for key, request in permitted_dispatch.requests.items()},
        )
        if any(map(has_names, whole_dispatch.streaks.values())):
            streaks = visible_streaks(whole_dispatch, self._permitted)
            whole_dispatch = replace(whole_dispatch, streaks=streaks)
        links = LinkSigner(self._base_url, b"")
        buttons = {
            **buttons_of(whole_dispatch, links, now_ms=now_ms),
            **answer_buttons_of(whole_dispatch, links, now_ms=now_ms),
        }
        return compose_ahead(replace(whole_dispatch, buttons=buttons), self._base_url)

    def _permitted_part(self, dispatch: Dispatch, routes: Routes, now_ms: int) -> Dispatch | None:
        """Return what may be sent of a digest, as far as that is known now."""
        open_dispatch, _ = narrow_dispatch(dispatch, partial(route_objection, routes, now_ms))
        if open_dispatch is None or self._permitted.is_certain(open_dispatch):
            return open_dispatch
        return self._permitted.permitted_part(open_dispatch, now_ms=now_ms)[0]
