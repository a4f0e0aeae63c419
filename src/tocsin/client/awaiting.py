"""Asynchronous client: ``AsyncClient`` offers as a coroutine whatever ``Client`` offers (``client/blocking.py``)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

import httpx

from tocsin.client import calls, editor_calls, queue_calls, system_calls
from tocsin.client.call import ApiCall, Page, Pages
from tocsin.client.connection import TIMEOUT_S, Address, address_of, answer_of, request_of
from tocsin.client.failures import reaching
from tocsin.client.method import document_as

P = ParamSpec("P")
T = TypeVar("T")


def _awaitable_method(build: Callable[P, ApiCall[T]]) -> Callable[Concatenate[AsyncClient, P], Awaitable[T]]:
    """Return a method that sends the call that ``build`` makes."""

    @document_as(build)
    def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        return self.send(build(*args, **kwargs))

    return method


def _iterating_method(build: Callable[P, Pages[T]]) -> Callable[Concatenate[AsyncClient, P], AsyncIterator[T]]:
    """Return a method that walks through all the pages that ``build`` begins."""

    @document_as(build)
    def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return self.iterate(build(*args, **kwargs))

    return method


class AsyncClient:
    """A connection to a Tocsin server for asyncio; parameters and errors as for ``Client``."""

    def __init__(self, server: str | None = None, token: str | None = None) -> None:
        self._address = address_of(server, token)
        self._http = httpx.AsyncClient(timeout=TIMEOUT_S)

    list_entities = _iterating_method(calls.list_entities)
    list_tables = _iterating_method(calls.list_tables)
    get_by_name = _awaitable_method(calls.get_by_name)
    get_by_id = _awaitable_method(calls.get_by_id)
    create = _awaitable_method(calls.create)
    create_or_update = _awaitable_method(calls.create_or_update)
    patch = _awaitable_method(calls.patch)
    delete = _awaitable_method(calls.delete)
    restore = _awaitable_method(calls.restore)
    versions = _awaitable_method(calls.versions)
    diff = _awaitable_method(calls.diff)
    as_of = _awaitable_method(calls.as_of)
    rollback = _awaitable_method(calls.rollback)

    add_follower = _awaitable_method(calls.add_follower)
    remove_follower = _awaitable_method(calls.remove_follower)
    followers = _awaitable_method(calls.followers)
    follows = _awaitable_method(calls.follows)
    get_follower_activity = _iterating_method(calls.get_follower_activity)
    notifications = _iterating_method(calls.notifications)
    mark_read = _awaitable_method(calls.mark_read)

    lineage = _awaitable_method(calls.lineage)
    add_lineage = _awaitable_method(calls.add_lineage)
    delete_lineage = _awaitable_method(calls.delete_lineage)
    send_lineage_events = _awaitable_method(calls.send_lineage_events)
    impact = _awaitable_method(calls.impact)
    event_impact = _awaitable_method(calls.event_impact)
    explain = _awaitable_method(calls.explain)

    mutes = _awaitable_method(calls.mutes)
    mute = _awaitable_method(calls.mute)
    unmute = _awaitable_method(calls.unmute)
    preferences = _awaitable_method(calls.preferences)
    prefer = _awaitable_method(calls.prefer)

    create_subscription = _awaitable_method(calls.create_subscription)
    apply_subscription = _awaitable_method(calls.apply_subscription)
    get_subscription = _awaitable_method(calls.get_subscription)
    list_subscriptions = _iterating_method(calls.list_subscriptions)
    patch_subscription = _awaitable_method(calls.patch_subscription)
    delete_subscription = _awaitable_method(calls.delete_subscription)
    subscription_status = _awaitable_method(calls.subscription_status)
    subscription_history = _iterating_method(calls.subscription_history)
    list_incidents = _iterating_method(calls.list_incidents)
    get_incident = _awaitable_method(calls.get_incident)
    acknowledge_incident = _awaitable_method(calls.acknowledge_incident)
    assign_incident = _awaitable_method(calls.assign_incident)
    resolve_incident = _awaitable_method(calls.resolve_incident)
    alert_editors = _awaitable_method(editor_calls.alert_editors)
    take_over_alert = _awaitable_method(editor_calls.take_over_alert)
    claim_events = _awaitable_method(queue_calls.claim_events)
    acknowledge_events = _awaitable_method(queue_calls.acknowledge_events)
    release_events = _awaitable_method(queue_calls.release_events)
    extend_events = _awaitable_method(queue_calls.extend_events)
    health = _awaitable_method(system_calls.health)
    start_backtest = _awaitable_method(calls.start_backtest)
    get_backtest = _awaitable_method(calls.get_backtest)
    cancel_backtest = _awaitable_method(calls.cancel_backtest)
    dead_letters = _iterating_method(calls.dead_letters)
    delivery = _awaitable_method(calls.delivery)
    render_template = _awaitable_method(calls.render_template)
    start_replay = _awaitable_method(calls.start_replay)
    get_replay = _awaitable_method(calls.get_replay)
    cancel_replay = _awaitable_method(calls.cancel_replay)
    noise = _awaitable_method(calls.noise)
    subscription_noise = _awaitable_method(calls.subscription_noise)

    events = _iterating_method(calls.events)
    read_log = _awaitable_method(calls.read_log)
    add_test_result = _awaitable_method(calls.add_test_result)
    add_pipeline_status = _awaitable_method(calls.add_pipeline_status)
    logged_in_user = _awaitable_method(calls.logged_in_user)
    server_version = _awaitable_method(calls.server_version)

    async def login(self, email: str, password: str) -> str:
        """Log in, use the token from now on, and return it."""
        token = await self.send(calls.login(email, password))
        self._address = Address(self._address.server, token)
        return token

    async def send(self, call: ApiCall[T]) -> T:
        """Send one call and return its result."""
        with reaching(self._address.server):
            response = await self._http.send(request_of(self._http, call, self._address))
        return answer_of(call, response)

    async def iterate(self, pages: Pages[T]) -> AsyncIterator[T]:
        """Yield the rows of every page, each fetched when it is needed."""
        call: ApiCall[Page[T]] | None = pages.first
        while call is not None:
            page = await self.send(call)
            for row in page.entries:
                yield row
            call = pages.following(page)

    async def close(self) -> None:
        """Close the connection; the client cannot be used afterwards."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()
