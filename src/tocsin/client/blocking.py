"""Synchronous client: ``Client`` offers every function of ``client/calls.py`` and of the modules beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


def _sent(build: Callable[P, ApiCall[T]]) -> Callable[Concatenate[Client, P], T]:
    """Return a method that sends the call that ``build`` makes."""

    @named_after(build)
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.send(build(*args, **kwargs))

    return method


def _iterated(build: Callable[P, Pages[T]]) -> Callable[Concatenate[Client, P], Iterator[T]]:
    """Return a method that walks through all the pages that ``build`` begins."""

    @named_after(build)
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return self.iterate(build(*args, **kwargs))

    return method


class Client:
    """A connection to a Tocsin server.

    Parameters
    ----------
    server : its address; without it ``TOCSIN_SERVER``, or this machine, on ``TOCSIN_PORT`` or 8585
    token : a person's or bot's token; without it ``TOCSIN_TOKEN``

    Raises
    ------
    TocsinError : from every method, its subclass by what the server answered; Unavailable when it does not answer
    """

    def __init__(self, server: str | None = None, token: str | None = None) -> None:
        self._address = address_of(server, token)
        self._http = httpx.Client(timeout=TIMEOUT_S)

    list_entities = _iterated(calls.list_entities)
    list_tables = _iterated(calls.list_tables)
    get_by_name = _sent(calls.get_by_name)
    get_by_id = _sent(calls.get_by_id)
    create = _sent(calls.create)
    create_or_update = _sent(calls.create_or_update)
    patch = _sent(calls.patch)
    delete = _sent(calls.delete)
    restore = _sent(calls.restore)
    versions = _sent(calls.versions)
    diff = _sent(calls.diff)
    as_of = _sent(calls.as_of)
    rollback = _sent(calls.rollback)

    add_follower = _sent(calls.add_follower)
    remove_follower = _sent(calls.remove_follower)
    followers = _sent(calls.followers)
    follows = _sent(calls.follows)
    get_follower_activity = _iterated(calls.get_follower_activity)
    notifications = _iterated(calls.notifications)
    mark_read = _sent(calls.mark_read)

    lineage = _sent(calls.lineage)
    add_lineage = _sent(calls.add_lineage)
    delete_lineage = _sent(calls.delete_lineage)
    send_lineage_events = _sent(calls.send_lineage_events)
    impact = _sent(calls.impact)
    event_impact = _sent(calls.event_impact)
    explain = _sent(calls.explain)

    mutes = _sent(calls.mutes)
    mute = _sent(calls.mute)
    unmute = _sent(calls.unmute)
    preferences = _sent(calls.preferences)
    prefer = _sent(calls.prefer)

    create_subscription = _sent(calls.create_subscription)
    apply_subscription = _sent(calls.apply_subscription)
    get_subscription = _sent(calls.get_subscription)
    list_subscriptions = _iterated(calls.list_subscriptions)
    patch_subscription = _sent(calls.patch_subscription)
    delete_subscription = _sent(calls.delete_subscription)
    subscription_status = _sent(calls.subscription_status)
    subscription_history = _iterated(calls.subscription_history)
    list_incidents = _iterated(calls.list_incidents)
    get_incident = _sent(calls.get_incident)
    acknowledge_incident = _sent(calls.acknowledge_incident)
    assign_incident = _sent(calls.assign_incident)
    resolve_incident = _sent(calls.resolve_incident)
    alert_editors = _sent(editor_calls.alert_editors)
    take_over_alert = _sent(editor_calls.take_over_alert)
    claim_events = _sent(queue_calls.claim_events)
    acknowledge_events = _sent(queue_calls.acknowledge_events)
    release_events = _sent(queue_calls.release_events)
    extend_events = _sent(queue_calls.extend_events)
    health = _sent(system_calls.health)
    start_backtest = _sent(calls.start_backtest)
    get_backtest = _sent(calls.get_backtest)
    cancel_backtest = _sent(calls.cancel_backtest)
    dead_letters = _iterated(calls.dead_letters)
    delivery = _sent(calls.delivery)
    render_template = _sent(calls.render_template)
    start_replay = _sent(calls.start_replay)
    get_replay = _sent(calls.get_replay)
    cancel_replay = _sent(calls.cancel_replay)
    noise = _sent(calls.noise)
    subscription_noise = _sent(calls.subscription_noise)

    events = _iterated(calls.events)
    read_log = _sent(calls.read_log)
    add_test_result = _sent(calls.add_test_result)
    add_pipeline_status = _sent(calls.add_pipeline_status)
    logged_in_user = _sent(calls.logged_in_user)
    server_version = _sent(calls.server_version)

    def login(self, email: str, password: str) -> str:
        """Log in, use the token from now on, and return it."""
        token = self.send(calls.login(email, password))
        self._address = Address(self._address.server, token)
        return token

    def send(self, call: ApiCall[T]) -> T:
        """Send one call and return its result."""
        with reaching(self._address.server):
            response = self._http.send(request_of(self._http, call, self._address))
        return answer_of(call, response)

    def iterate(self, pages: Pages[T]) -> Iterator[T]:
        """Yield the rows of every page, each fetched when it is needed."""
        call: ApiCall[Page[T]] | None = pages.first
        while call is not None:
            page = self.send(call)
            yield from page.rows
            call = pages.following(page)

    def close(self) -> None:
        """Close the connection; the client cannot be used afterwards."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
