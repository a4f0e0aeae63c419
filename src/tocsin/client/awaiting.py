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
from tocsin.client.method import named_after

P = ParamSpec("P")
T = TypeVar("T")


def _awaited(build: Callable[P, ApiCall[T]]) -> Callable[Concatenate[AsyncClient, P], Awaitable[T]]:
    """Return a method that sends the call that ``build`` makes."""

    @named_after(build)
    def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        return self.send(build(*args, **kwargs))

    return method


def _iterated(build: Callable[P, Pages[T]]) -> Callable[Concatenate[AsyncClient, P], AsyncIterator[T]]:
    """Return a method that walks through all the pages that ``build`` begins."""

    @named_after(build)
    def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return self.iterate(build(*args, **kwargs))

    return method


class AsyncClient:
    """A connection to a Tocsin server for asyncio; parameters and errors as for ``Client``."""

    def __init__(self, server: str | None = None, token: str | None = None) -> None:
        self._address = address_of(server, token)
        self._http = httpx.AsyncClient(timeout=TIMEOUT_S)

    list_entities = _iterated(calls.list_entities)
    list_tables = _iterated(calls.list_tables)
    get_by_name = _awaited(calls.get_by_name)
    get_by_id = _awaited(calls.get_by_id)
    create = _awaited(calls.create)
    create_or_update = _awaited(calls.create_or_update)
    patch = _awaited(calls.patch)
    delete = _awaited(calls.delete)
    restore = _awaited(calls.restore)
    versions = _awaited(calls.versions)
    diff = _awaited(calls.diff)
    as_of = _awaited(calls.as_of)
    rollback = _awaited(calls.rollback)

    add_follower = _awaited(calls.add_follower)
    remove_follower = _awaited(calls.remove_follower)
    followers = _awaited(calls.followers)
    follows = _awaited(calls.follows)
    get_follower_activity = _iterated(calls.get_follower_activity)
    notifications = _iterated(calls.notifications)
    mark_read = _awaited(calls.mark_read)

    lineage = _awaited(calls.lineage)
    add_lineage = _awaited(calls.add_lineage)
    delete_lineage = _awaited(calls.delete_lineage)
    send_lineage_events = _awaited(calls.send_lineage_events)
    impact = _awaited(calls.impact)
    event_impact = _awaited(calls.event_impact)
    explain = _awaited(calls.explain)

    mutes = _awaited(calls.mutes)
    mute = _awaited(calls.mute)
    unmute = _awaited(calls.unmute)
    preferences = _awaited(calls.preferences)
    prefer = _awaited(calls.prefer)

    create_subscription = _awaited(calls.create_subscription)
    apply_subscription = _awaited(calls.apply_subscription)
    get_subscription = _awaited(calls.get_subscription)
    list_subscriptions = _iterated(calls.list_subscriptions)
    patch_subscription = _awaited(calls.patch_subscription)
    delete_subscription = _awaited(calls.delete_subscription)
    subscription_status = _awaited(calls.subscription_status)
    subscription_history = _iterated(calls.subscription_history)
    list_incidents = _iterated(calls.list_incidents)
    get_incident = _awaited(calls.get_incident)
    acknowledge_incident = _awaited(calls.acknowledge_incident)
    assign_incident = _awaited(calls.assign_incident)
    resolve_incident = _awaited(calls.resolve_incident)
    alert_editors = _awaited(editor_calls.alert_editors)
    take_over_alert = _awaited(editor_calls.take_over_alert)
    claim_events = _awaited(queue_calls.claim_events)
    acknowledge_events = _awaited(queue_calls.acknowledge_events)
    release_events = _awaited(queue_calls.release_events)
    extend_events = _awaited(queue_calls.extend_events)
    health = _awaited(system_calls.health)
    start_backtest = _awaited(calls.start_backtest)
    get_backtest = _awaited(calls.get_backtest)
    cancel_backtest = _awaited(calls.cancel_backtest)
    dead_letters = _iterated(calls.dead_letters)
    delivery = _awaited(calls.delivery)
    render_template = _awaited(calls.render_template)
    start_replay = _awaited(calls.start_replay)
    get_replay = _awaited(calls.get_replay)
    cancel_replay = _awaited(calls.cancel_replay)
    noise = _awaited(calls.noise)
    subscription_noise = _awaited(calls.subscription_noise)

    events = _iterated(calls.events)
    read_log = _awaited(calls.read_log)
    add_test_result = _awaited(calls.add_test_result)
    add_pipeline_status = _awaited(calls.add_pipeline_status)
    logged_in_user = _awaited(calls.logged_in_user)
    server_version = _awaited(calls.server_version)

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
            for row in page.rows:
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
