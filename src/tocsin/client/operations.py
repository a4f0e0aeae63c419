"""Both clients: ``Client`` waits for answers, ``AsyncClient`` returns awaitables; they offer the same operations.

Each operation is a function of ``client/calls.py``, ``activity_calls.py``, ``alert_calls.py``, ``change_calls.py``,
``conversation_calls.py``, ``event_calls.py``, ``follow_calls.py``, ``inbox_calls.py``, ``incident_calls.py``,
``lake_calls.py``, ``preference_calls.py``, ``rdf_calls.py``, ``retention_calls.py``, ``search_calls.py``,
``substitute_calls.py`` or ``task_calls.py``, which documents it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from copy import copy
from dataclasses import replace
from types import MethodType, TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

import httpx

from tocsin.client import (
    activity_calls,
    alert_calls,
    calls,
    change_calls,
    conversation_calls,
    event_calls,
    follow_calls,
    inbox_calls,
    incident_calls,
    lake_calls,
    preference_calls,
    rdf_calls,
    retention_calls,
    search_calls,
    substitute_calls,
    task_calls,
)
from tocsin.client.call import ApiCall, Page, Pages
from tocsin.client.connection import TIMEOUT_S, Address, address_of, answer_of, reaching, request_of
from tocsin.client.consume.api_source import ApiSource
from tocsin.client.consume.loop import ConsumerOptions, EventSource, OnRetry, consume
from tocsin.client.consume.steps import Handle, run_steps, run_steps_async
from tocsin.model.stated_reason import parse_reason

P = ParamSpec("P")
T = TypeVar("T")
Now = TypeVar("Now")
Later = TypeVar("Later")


class ApiOperation(Generic[P, Now, Later]):
    """An operation as a method: ``Client``'s returns ``Now``, ``AsyncClient``'s ``Later``."""

    def __init__(self, method: Callable[Concatenate[Any, P], Any]) -> None:  # Any: either client, either result
        self._method = method

    @overload
    def __get__(self, client: Client, owner: type[Client]) -> Callable[P, Now]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type[AsyncClient]) -> Callable[P, Later]: ...
    @overload
    def __get__(self, client: None, owner: type[Client]) -> Callable[Concatenate[Client, P], Now]: ...
    @overload
    def __get__(self, client: None, owner: type[AsyncClient]) -> Callable[Concatenate[AsyncClient, P], Later]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type) -> Any:  # Any: as the overloads say
        """Return the method, bound to a client or not."""
        return self._method if client is None else MethodType(self._method, client)


def _operation(build: Callable[P, ApiCall[T]]) -> ApiOperation[P, T, Awaitable[T]]:
    """Return the operation that sends the call that ``build`` makes."""
    return ApiOperation(_method(build, lambda client, call: client.send(call)))


def _listing(build: Callable[P, Pages[T]]) -> ApiOperation[P, Iterator[T], AsyncIterator[T]]:
    """Return the operation that walks through all the pages that ``build`` begins."""
    return ApiOperation(_method(build, lambda client, pages: client.iterate(pages)))


def _method(build: Callable[P, T], send: Callable[[Any, T], Any]) -> Callable[Concatenate[Any, P], Any]:  # Any: above
    """Return a method that shows, in ``help()`` and editors, the name, docstring and parameters of ``build``."""

    @functools.wraps(build)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
        return send(self, build(*args, **kwargs))

    signature = inspect.signature(build)
    receiver = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    vars(method)["__signature__"] = signature.replace(parameters=[receiver, *signature.parameters.values()])
    del vars(method)["__wrapped__"]  # else inspect would look through the method and miss its self
    return method


class _Operations:
    """Every operation of the API."""

    _address: Address
    _owns_connection = True

    def because(self, why: str | None) -> Self:
        """Return the same client, on the same connection, whose writes give this reason: ``None`` for none.

        ``client.because("backfill of October").patch(…)``, or ``with client.because(…) as backfill:``, which leaves the
        connection open for the others. Versions, events and messages show the reason.

        Raises
        ------
        InvalidInput : it is longer than 500 characters, or no plain text in one line
        """
        client = copy(self)
        client._owns_connection = False
        client._address = replace(self._address, why=None if why is None else parse_reason(why))
        return client

    list_entities = _listing(calls.list_entities)
    list_tables = _listing(calls.list_tables)
    get_by_name = _operation(calls.get_by_name)
    search = _operation(search_calls.search)
    suggest = _operation(search_calls.suggest)
    get_by_id = _operation(calls.get_by_id)
    create = _operation(calls.create)
    create_or_update = _operation(calls.create_or_update)
    patch = _operation(calls.patch)
    delete = _operation(calls.delete)
    restore = _operation(calls.restore)
    versions = _operation(calls.versions)
    diff = _operation(calls.diff)
    as_of = _operation(calls.as_of)
    rollback = _operation(calls.rollback)

    add_follower = _operation(calls.add_follower)
    remove_follower = _operation(calls.remove_follower)
    followers = _operation(calls.followers)
    follows = _operation(calls.follows)
    followed_assets = _listing(follow_calls.followed_assets)
    follow_assets = _operation(follow_calls.follow_assets)
    prefer_of_follow = _operation(follow_calls.prefer_of_follow)
    unfollow_assets = _operation(follow_calls.unfollow_assets)
    team_follows = _operation(follow_calls.team_follows)
    follow_for_team = _operation(follow_calls.follow_for_team)
    unfollow_for_team = _operation(follow_calls.unfollow_for_team)
    recommendations = _operation(follow_calls.recommendations)
    dismissed_recommendations = _operation(follow_calls.dismissed_recommendations)
    dismiss_recommendation = _operation(follow_calls.dismiss_recommendation)
    save_search = _operation(follow_calls.save_search)
    saved_searches = _operation(follow_calls.saved_searches)
    saved_search = _operation(follow_calls.saved_search)
    follow_search = _operation(follow_calls.follow_search)
    delete_search = _operation(follow_calls.delete_search)
    activity = _listing(activity_calls.activity)
    entity_activity = _listing(activity_calls.entity_activity)
    activity_days = _listing(activity_calls.activity_days)
    entity_activity_days = _listing(activity_calls.entity_activity_days)
    open_feed = _operation(activity_calls.open_feed)
    feeds = _operation(activity_calls.feeds)
    revoke_feed = _operation(activity_calls.revoke_feed)
    get_follower_activity = _listing(activity_calls.get_follower_activity)
    notifications = _listing(calls.notifications)
    mark_read = _operation(calls.mark_read)
    mark_notifications = _operation(inbox_calls.mark_notifications)
    notified_assets = _operation(inbox_calls.notified_assets)
    notification_causes = _operation(inbox_calls.notification_causes)
    cause_audience = _operation(inbox_calls.cause_audience)
    mark_matching_notifications = _operation(inbox_calls.mark_matching_notifications)
    restore_notifications = _operation(inbox_calls.restore_notifications)
    mark_seen = _operation(inbox_calls.mark_seen)
    notification_counts = _operation(inbox_calls.notification_counts)
    note_opened = _operation(inbox_calls.note_opened)

    lineage = _operation(calls.lineage)
    add_lineage = _operation(calls.add_lineage)
    delete_lineage = _operation(calls.delete_lineage)
    send_lineage_events = _operation(calls.send_lineage_events)
    impact = _operation(calls.impact)
    event_impact = _operation(calls.event_impact)
    explain = _operation(calls.explain)

    mutes = _operation(inbox_calls.mutes)
    mute = _operation(inbox_calls.mute)
    unmute = _operation(inbox_calls.unmute)
    next_digests = _operation(inbox_calls.next_digests)
    health_summary = _operation(inbox_calls.health_summary)
    preferences = _operation(preference_calls.preferences)
    tagged_preferences = _operation(preference_calls.tagged_preferences)
    effective_preferences = _operation(preference_calls.effective_preferences)
    change_kinds = _operation(preference_calls.change_kinds)
    team_preferences = _operation(preference_calls.team_preferences)
    set_team_preferences = _operation(preference_calls.set_team_preferences)
    default_preferences = _operation(preference_calls.default_preferences)
    set_default_preferences = _operation(preference_calls.set_default_preferences)
    prefer = _operation(preference_calls.prefer)
    own_addresses = _operation(preference_calls.own_addresses)
    set_own_address = _operation(preference_calls.set_own_address)
    remove_own_address = _operation(preference_calls.remove_own_address)
    send_address_code = _operation(preference_calls.send_address_code)
    verify_own_address = _operation(preference_calls.verify_own_address)
    substitute = _operation(substitute_calls.substitute)
    name_substitute = _operation(substitute_calls.name_substitute)
    withdraw_substitute = _operation(substitute_calls.withdraw_substitute)
    stand_in_for = _operation(substitute_calls.stand_in_for)
    decline_to_stand_in = _operation(substitute_calls.decline_to_stand_in)

    create_subscription = _operation(calls.create_subscription)
    apply_subscription = _operation(calls.apply_subscription)
    get_subscription = _operation(calls.get_subscription)
    list_subscriptions = _listing(calls.list_subscriptions)
    patch_subscription = _operation(calls.patch_subscription)
    delete_subscription = _operation(calls.delete_subscription)
    subscription_status = _operation(calls.subscription_status)
    subscription_history = _listing(calls.subscription_history)
    list_incidents = _listing(incident_calls.list_incidents)
    get_incident = _operation(incident_calls.get_incident)
    acknowledge_incident = _operation(incident_calls.acknowledge_incident)
    assign_incident = _operation(incident_calls.assign_incident)
    resolve_incident = _operation(incident_calls.resolve_incident)
    comment_on_incident = _operation(incident_calls.comment_on_incident)
    merge_incident = _operation(incident_calls.merge_incident)
    split_incident = _operation(incident_calls.split_incident)
    dismiss_incident_cause = _operation(incident_calls.dismiss_incident_cause)
    restore_incident_cause = _operation(incident_calls.restore_incident_cause)
    check_changes = _operation(change_calls.check_changes)
    announce_change = _operation(change_calls.announce_change)
    list_change_requests = _listing(change_calls.list_change_requests)
    get_change_request = _operation(change_calls.get_change_request)
    change_consumers = _listing(change_calls.change_consumers)
    change_timeline = _listing(change_calls.change_timeline)
    answer_change = _operation(change_calls.answer_change)
    comment_on_change = _operation(change_calls.comment_on_change)
    remind_of_change = _operation(change_calls.remind_of_change)
    move_change = _operation(change_calls.move_change)
    withdraw_change = _operation(change_calls.withdraw_change)
    converse = _operation(conversation_calls.converse)
    list_conversations = _listing(conversation_calls.list_conversations)
    get_conversation = _operation(conversation_calls.get_conversation)
    list_replies = _listing(conversation_calls.list_replies)
    reply_to_conversation = _operation(conversation_calls.reply_to_conversation)
    react_to_conversation = _operation(conversation_calls.react_to_conversation)
    take_back_reaction = _operation(conversation_calls.take_back_reaction)
    resolve_conversation = _operation(conversation_calls.resolve_conversation)
    create_task = _operation(task_calls.create_task)
    list_tasks = _listing(task_calls.list_tasks)
    get_task = _operation(task_calls.get_task)
    resolve_task = _operation(task_calls.resolve_task)
    comment_on_task = _operation(task_calls.comment_on_task)
    alert_editors = _operation(alert_calls.alert_editors)
    watching_alerts = _operation(alert_calls.watching_alerts)
    take_over_alert = _operation(alert_calls.take_over_alert)
    resume_destination = _operation(alert_calls.resume_destination)
    claim_events = _operation(alert_calls.claim_events)
    acknowledge_events = _operation(alert_calls.acknowledge_events)
    release_events = _operation(alert_calls.release_events)
    extend_events = _operation(alert_calls.extend_events)
    health = _operation(calls.health)
    retention = _operation(retention_calls.retention)
    set_retention = _operation(retention_calls.set_retention)
    preview_retention = _operation(retention_calls.preview_retention)
    legal_holds = _operation(retention_calls.legal_holds)
    set_legal_hold = _operation(retention_calls.set_legal_hold)
    lift_legal_hold = _operation(retention_calls.lift_legal_hold)
    event_lag = _operation(calls.event_lag)
    consumers = _operation(event_calls.consumers)
    consumer = _operation(event_calls.consumer)
    register_consumer = _operation(event_calls.register_consumer)
    commit_position = _operation(event_calls.commit_position)
    remove_consumer = _operation(event_calls.remove_consumer)
    start_backtest = _operation(calls.start_backtest)
    get_backtest = _operation(calls.get_backtest)
    cancel_backtest = _operation(calls.cancel_backtest)
    start_lake_query = _operation(lake_calls.start_lake_query)
    get_lake_query = _operation(lake_calls.get_lake_query)
    cancel_lake_query = _operation(lake_calls.cancel_lake_query)
    erase_user = _operation(retention_calls.erase_user)
    get_erasure = _operation(retention_calls.get_erasure)
    dead_letters = _listing(calls.dead_letters)
    delivery = _operation(calls.delivery)
    render_template = _operation(calls.render_template)
    forget_dead_letters = _operation(calls.forget_dead_letters)
    start_replay = _operation(calls.start_replay)
    get_replay = _operation(calls.get_replay)
    cancel_replay = _operation(calls.cancel_replay)
    noise = _operation(calls.noise)
    subscription_noise = _operation(calls.subscription_noise)

    events = _listing(calls.events)
    read_log = _operation(calls.read_log)
    read_log_as_rdf = _operation(rdf_calls.read_log_as_rdf)
    read_rdf = _listing(rdf_calls.read_rdf)
    events_ingest = _operation(event_calls.events_ingest)
    event_audience = _operation(event_calls.event_audience)
    event_origin = _operation(event_calls.event_origin)
    add_test_result = _operation(calls.add_test_result)
    add_pipeline_status = _operation(calls.add_pipeline_status)
    logged_in_user = _operation(calls.logged_in_user)
    server_version = _operation(calls.server_version)


class Client(_Operations):
    """A connection to a Tocsin server.

    Parameters
    ----------
    server : its address; without it ``TOCSIN_SERVER``, or this machine, on ``TOCSIN_PORT`` or 8585
    token : a person's or bot's token; without it ``TOCSIN_TOKEN``
    why : the reason of all its writes, in one line; a bot says its run (``dbt run 4c1f``)

    Raises
    ------
    TocsinError : from every method, its subclass by what the server answered; Unavailable when it does not answer
    """

    def __init__(self, server: str | None = None, token: str | None = None, *, why: str | None = None) -> None:
        self._address = address_of(server, token, why)
        self._http = httpx.Client(timeout=TIMEOUT_S)

    def login(self, email: str, password: str) -> str:
        """Log in, use the token from now on, and return it."""
        token = self.send(calls.login(email, password))
        self._address = replace(self._address, token=token)
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
            call = pages.call_after(page)

    def consume(
        self,
        handle: Handle,
        source: EventSource | None = None,
        *,
        batch_size: int = 100,
        group_by: str | None = None,
        retries: int | None = 3,
        on_retry: OnRetry | None = None,
    ) -> None:
        """Consume events in batches: ``handle(batch)`` is called with each, and then the source's position is stored.

        What ``handle`` raises lets the batch be offered again, ``retries`` times (None: for ever) after 1, 2, 4 … 60
        seconds; then it is raised, nothing is stored, and the next call begins with the same events. So every event is
        handled at least once: recognize a repeated one by its ``idempotency_key``. Ctrl-C ends it like an error.

        Parameters
        ----------
        source : ``ApiSource`` (the default: the log from now on), ``QueueSource`` or ``KafkaSource``
        batch_size : how many events are read at once at most
        group_by : ``entityType``: a batch holds events about entities of one type
        on_retry : is told what failed, and in how many seconds it is tried again; without it, that is logged
        """
        options = ConsumerOptions(batch_size, group_by, retries, on_retry)
        run_steps(consume(source or ApiSource(), options, self._address.server), self, handle)

    def close(self) -> None:
        """Close the connection; neither the client nor those of ``because`` can be used afterwards."""
        if self._owns_connection:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(_Operations):
    """A connection to a Tocsin server for asyncio; parameters and errors as for ``Client``."""

    def __init__(self, server: str | None = None, token: str | None = None, *, why: str | None = None) -> None:
        self._address = address_of(server, token, why)
        self._http = httpx.AsyncClient(timeout=TIMEOUT_S)

    async def login(self, email: str, password: str) -> str:
        """Log in, use the token from now on, and return it."""
        token = await self.send(calls.login(email, password))
        self._address = replace(self._address, token=token)
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
            call = pages.call_after(page)

    async def consume(
        self,
        handle: Handle,
        source: EventSource | None = None,
        *,
        batch_size: int = 100,
        group_by: str | None = None,
        retries: int | None = 3,
        on_retry: OnRetry | None = None,
    ) -> None:
        """Consume events in batches, as ``Client.consume``; ``handle`` may be a coroutine function."""
        options = ConsumerOptions(batch_size, group_by, retries, on_retry)
        await run_steps_async(consume(source or ApiSource(), options, self._address.server), self, handle)

    async def close(self) -> None:
        """Close the connection; neither the client nor those of ``because`` can be used afterwards."""
        if self._owns_connection:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()
