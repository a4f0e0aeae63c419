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
from tocsin.client.method import document_as

P = ParamSpec("P")
T = TypeVar("T")


def _sending_method(build: Callable[P, ApiCall[T]]) -> Callable[Concatenate[Client, P], T]:
    """Return a method that sends the call that ``build`` makes."""

    @document_as(build)
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.send(build(*args, **kwargs))

    return method


def _iterating_method(build: Callable[P, Pages[T]]) -> Callable[Concatenate[Client, P], Iterator[T]]:
    """Return a method that walks through all the pages that ``build`` begins."""

    @document_as(build)
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

    list_entities = _iterating_method(calls.list_entities)
    list_tables = _iterating_method(calls.list_tables)
    get_by_name = _sending_method(calls.get_by_name)
    get_by_id = _sending_method(calls.get_by_id)
    create = _sending_method(calls.create)
    create_or_update = _sending_method(calls.create_or_update)
    patch = _sending_method(calls.patch)
    delete = _sending_method(calls.delete)
    restore = _sending_method(calls.restore)
    versions = _sending_method(calls.versions)
    diff = _sending_method(calls.diff)
    as_of = _sending_method(calls.as_of)
    rollback = _sending_method(calls.rollback)

    add_follower = _sending_method(calls.add_follower)
    remove_follower = _sending_method(calls.remove_follower)
    followers = _sending_method(calls.followers)
    follows = _sending_method(calls.follows)
    get_follower_activity = _iterating_method(calls.get_follower_activity)
    notifications = _iterating_method(calls.notifications)
    mark_read = _sending_method(calls.mark_read)

    lineage = _sending_method(calls.lineage)
    add_lineage = _sending_method(calls.add_lineage)
    delete_lineage = _sending_method(calls.delete_lineage)
    send_lineage_events = _sending_method(calls.send_lineage_events)
    impact = _sending_method(calls.impact)
    event_impact = _sending_method(calls.event_impact)
    explain = _sending_method(calls.explain)

    mutes = _sending_method(calls.mutes)
    mute = _sending_method(calls.mute)
    unmute = _sending_method(calls.unmute)
    preferences = _sending_method(calls.preferences)
    prefer = _sending_method(calls.prefer)

    create_subscription = _sending_method(calls.create_subscription)
    apply_subscription = _sending_method(calls.apply_subscription)
    get_subscription = _sending_method(calls.get_subscription)
    list_subscriptions = _iterating_method(calls.list_subscriptions)
    patch_subscription = _sending_method(calls.patch_subscription)
    delete_subscription = _sending_method(calls.delete_subscription)
    subscription_status = _sending_method(calls.subscription_status)
    subscription_history = _iterating_method(calls.subscription_history)
    list_incidents = _iterating_method(calls.list_incidents)
    get_incident = _sending_method(calls.get_incident)
    acknowledge_incident = _sending_method(calls.acknowledge_incident)
    assign_incident = _sending_method(calls.assign_incident)
    resolve_incident = _sending_method(calls.resolve_incident)
    alert_editors = _sending_method(editor_calls.alert_editors)
    take_over_alert = _sending_method(editor_calls.take_over_alert)
    claim_events = _sending_method(queue_calls.claim_events)
    acknowledge_events = _sending_method(queue_calls.acknowledge_events)
    release_events = _sending_method(queue_calls.release_events)
    extend_events = _sending_method(queue_calls.extend_events)
    health = _sending_method(system_calls.health)
    start_backtest = _sending_method(calls.start_backtest)
    get_backtest = _sending_method(calls.get_backtest)
    cancel_backtest = _sending_method(calls.cancel_backtest)
    dead_letters = _iterating_method(calls.dead_letters)
    delivery = _sending_method(calls.delivery)
    render_template = _sending_method(calls.render_template)
    start_replay = _sending_method(calls.start_replay)
    get_replay = _sending_method(calls.get_replay)
    cancel_replay = _sending_method(calls.cancel_replay)
    noise = _sending_method(calls.noise)
    subscription_noise = _sending_method(calls.subscription_noise)

    events = _iterating_method(calls.events)
    read_log = _sending_method(calls.read_log)
    add_test_result = _sending_method(calls.add_test_result)
    add_pipeline_status = _sending_method(calls.add_pipeline_status)
    logged_in_user = _sending_method(calls.logged_in_user)
    server_version = _sending_method(calls.server_version)

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
            yield from page.entries
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
