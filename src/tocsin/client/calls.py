"""Request builders, one function per operation of the API; none of them sends anything.

``Client`` and ``AsyncClient`` offer every one of them under the same name. Next: ``client/operations.py``.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from urllib.parse import quote

from tocsin.client.answers import Applied, Change, Entity, LogSlice, Notice, versions_in
from tocsin.client.call import JSON_PATCH, ApiCall, Filter, Pages, pages_of, query_of, read_document, without_none
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.entity_types import BY_COLLECTION, ENTITY_TYPES
from tocsin.model.phrases import suggestion_for

_SUBSCRIPTION = "eventsubscription"
_BACKTESTS = "events/subscriptions/backtest"
_DELIVERIES = "events/deliveries"
_FORMAT = "tocsin"  # the form that also says who
_BY_LIST = {collection.rsplit("/", 1)[-1]: row.name for collection, row in BY_COLLECTION.items()}


def list_entities(entity_type: str, **filters: Filter) -> Pages[Entity]:
    """Iterate over all entities of a type, page by page.

    Filters are the API's, in snake_case: ``database``, ``tags`` (all of them)…; ``limit`` is the size of one page.
    """
    return pages_of(_collection(entity_type), filters, lambda row: Entity(entity_type, row))


def list_tables(**filters: Filter) -> Pages[Entity]:
    """Iterate over all tables; filters as in ``list_entities``."""
    return list_entities("table", **filters)


def get_by_name(
    entity_type: str, fqn: str, *, fields: Sequence[str] = (), include: str | None = None
) -> ApiCall[Entity]:
    """Return the entity with that fully qualified name."""
    return _read(entity_type, f"name/{_quote(fqn)}", {"fields": tuple(fields) or None, "include": include})


def get_by_id(
    entity_type: str, entity_id: str, *, fields: Sequence[str] = (), include: str | None = None
) -> ApiCall[Entity]:
    """Return the entity with that UUID."""
    return _read(entity_type, _quote(entity_id), {"fields": tuple(fields) or None, "include": include})


def create(entity_type: str, document: Document) -> ApiCall[Entity]:
    """Create an entity; raises Conflict when one of that name exists."""
    return ApiCall("POST", _collection(entity_type), _entity(entity_type), body=document)


def create_or_update(entity_type: str, document: Document) -> ApiCall[Entity]:
    """Create an entity, or update the one of that name; absent keys stay unchanged."""
    return ApiCall("PUT", _collection(entity_type), _entity(entity_type), body=document)


def patch(
    entity_type: str, entity_id: str, operations: Sequence[Document], *, if_match: str | None = None
) -> ApiCall[Entity]:
    """Apply JSON Patch operations (RFC 6902); ``if_match`` is the ETag the entity must still have."""
    headers = {"Content-Type": JSON_PATCH} | ({"If-Match": if_match} if if_match else {})
    return ApiCall("PATCH", _path(entity_type, entity_id), _entity(entity_type), body=list(operations), headers=headers)


def delete(entity_type: str, entity_id: str, *, recursive: bool = False, hard: bool = False) -> ApiCall[None]:
    """Delete an entity, softly unless ``hard``; what it contains only when ``recursive``."""
    query = query_of({"recursive": recursive, "hard_delete": hard})
    return ApiCall("DELETE", _path(entity_type, entity_id), _read_nothing, query)


def restore(entity_type: str, entity_id: str) -> ApiCall[Entity]:
    """Bring a softly deleted entity back."""
    return ApiCall("PUT", f"{_collection(entity_type)}/restore", _entity(entity_type), body={"id": entity_id})


def versions(entity_type: str, entity_id: str) -> ApiCall[tuple[Entity, ...]]:
    """Return every version of an entity, newest first; of one that was deleted for good, too."""
    path = _path(entity_type, entity_id, "versions")
    return ApiCall("GET", path, lambda answer: versions_in(entity_type, answer), {"words": "true"})


def diff(entity_type: str, entity_id: str, from_: str | None = None, to: str | None = None) -> ApiCall[Document]:
    """Return what changed from version ``from_`` to ``to`` (``"0.3"``); without them, what the last change was."""
    query = query_of({"from": from_, "to": to})
    return ApiCall("GET", _path(entity_type, entity_id, "diff"), read_document, query)


def as_of(entity_type: str, entity_id: str, moment: datetime) -> ApiCall[Entity]:
    """Return an entity as of a point in time, even if it is deleted now; without a time zone it is local time."""
    return _read(entity_type, _quote(entity_id), {"as_of": int(moment.timestamp() * 1000), "include": "all"})


def rollback(
    entity_type: str, entity_id: str, version: str, *, dry_run: bool = False, if_match: str | None = None
) -> ApiCall[Document]:
    """Bring an entity back to a version, as a new one; with ``dry_run`` only return the changes.

    The answer holds ``changeDescription``, ``entity`` and ``leftOut``: what does not come back, and why.
    """
    path = _path(entity_type, entity_id, "rollback")
    headers = {"If-Match": if_match} if if_match else {}
    return ApiCall("POST", path, read_document, body={"version": version, "dryRun": dry_run}, headers=headers)


def add_follower(entity_type: str, entity_id: str, follower_id: str, *, column: str | None = None) -> ApiCall[bool]:
    """Make the user with UUID ``follower_id`` follow the asset, or a column; return whether they did not before."""
    path = _path(entity_type, entity_id, "followers", follower_id)
    return ApiCall("PUT", path, _is_change, query_of({"column": column}))


def remove_follower(entity_type: str, entity_id: str, follower_id: str, *, column: str | None = None) -> ApiCall[bool]:
    """Make the user with UUID ``follower_id`` follow the asset, or a column, no longer; return whether they did."""
    path = _path(entity_type, entity_id, "followers", follower_id)
    return ApiCall("DELETE", path, _is_change, query_of({"column": column}))


def followers(entity_type: str, entity_id: str) -> ApiCall[tuple[Entity, ...]]:
    """Return the users who follow the asset."""
    path = _path(entity_type, entity_id, "followers")
    return ApiCall("GET", path, lambda answer: tuple(Entity("user", row) for row in answer["data"]))


def follows(user_id: str) -> ApiCall[tuple[Entity, ...]]:
    """Return the assets that the user with UUID ``user_id`` follows."""
    return ApiCall("GET", f"users/{_quote(user_id)}/follows", _parse_follows)


def notifications(user_id: str, **filters: Filter) -> Pages[Notice]:
    """Iterate over a user's inbox, unread first; ``tab`` is ``unread``, ``saved``, ``snoozed`` or ``done``.

    With ``entry``, the id of a notice, iterate over the notifications that it stands for. ``fields`` asks for what
    mails say of failures: ``severity,runbooks,failingRows,failure,incident``. ``docs/inbox.md`` lists further filters.
    """
    return pages_of(f"users/{_quote(user_id)}/notifications", filters, _notice)


def mark_read(user_id: str, notification_id: str) -> ApiCall[None]:
    """Mark a notification of a user as read, with all that its entry stands for."""
    return ApiCall("PUT", f"users/{_quote(user_id)}/notifications/{_quote(notification_id)}/read", _read_nothing)


def lineage(entity_type: str, fqn: str, *, upstream_depth: int = 1, downstream_depth: int = 1) -> ApiCall[Document]:
    """Return the lineage graph around an asset: ``entity``, ``nodes``, ``upstreamEdges`` and ``downstreamEdges``."""
    query = query_of({"upstream_depth": upstream_depth, "downstream_depth": downstream_depth})
    return ApiCall("GET", f"lineage/{_type_of(entity_type)}/name/{_quote(fqn)}", read_document, query)


def add_lineage(edge: Document) -> ApiCall[Document]:
    """Add an edge (``fromEntity``, ``toEntity``, ``lineageDetails``) or replace its details."""
    return ApiCall("PUT", "lineage", read_document, body={"edge": edge})


def delete_lineage(from_type: str, from_fqn: str, to_type: str, to_fqn: str) -> ApiCall[None]:
    """Remove the edge between two assets."""
    from_, to = (f"{_type_of(kind)}/name/{_quote(fqn)}" for kind, fqn in ((from_type, from_fqn), (to_type, to_fqn)))
    return ApiCall("DELETE", f"lineage/{from_}/{to}", _read_nothing)


def send_lineage_events(events: Sequence[Document]) -> ApiCall[Document]:
    """Put and remove the edges in the ``lineage`` fields of external change events."""
    return ApiCall("POST", "lineage/events", read_document, body=list(events))


def impact(entity_type: str, fqn: str, *, depth: int = 5, columns: Sequence[str] = ()) -> ApiCall[Document]:
    """Return whom a change of an asset, or of some of its columns, would concern: by type, with levels and owners."""
    query = query_of({"depth": depth, "columns": tuple(columns) or None})
    return ApiCall("GET", f"lineage/{_type_of(entity_type)}/name/{_quote(fqn)}/impact", read_document, query)


def event_impact(event_id: str, *, depth: int = 5) -> ApiCall[Document]:
    """Return whom the change of one event concerns."""
    return ApiCall("GET", f"events/{_quote(event_id)}/impact", read_document, query_of({"depth": depth}))


def explain(
    event_id: str, *, subscription: str | None = None, user: str | None = None, limit: int | None = None
) -> ApiCall[Document]:
    """Return why an event was notified or not: by one alert or all, to one user or everybody, each by id or name.

    Of all alerts, the ``limit`` (20, at most 100) that matched first are explained.
    """
    query = query_of({"subscription": subscription, "user": user, "limit": limit})
    return ApiCall("GET", f"events/{_quote(event_id)}/explain", read_document, query)


def create_subscription(document: Document) -> ApiCall[Entity]:
    """Create an event subscription (an alert)."""
    return create(_SUBSCRIPTION, document)


def apply_subscription(document: Document, *, dry_run: bool = False) -> ApiCall[Applied]:
    """Create an alert or update the one of that name to this state, and return remarks about it.

    With ``dry_run`` only return the alert as it would be, and which of its secrets would change.
    """
    read, path = _entity(_SUBSCRIPTION), _collection(_SUBSCRIPTION)
    query = {"dryRun": "true"} if dry_run else {}
    return ApiCall("PUT", path, lambda row: Applied(read(row)), query, body=document, read_headers=_with_remarks)


def get_subscription(name: str, *, fields: Sequence[str] = ()) -> ApiCall[Entity]:
    """Return the event subscription with that name, and the optional fields asked for."""
    return get_by_name(_SUBSCRIPTION, name, fields=fields)


def list_subscriptions(**filters: Filter) -> Pages[Entity]:
    """Iterate over event subscriptions; filters are the API's, e.g. ``alert_type``."""
    return list_entities(_SUBSCRIPTION, **filters)


def patch_subscription(subscription_id: str, operations: Sequence[Document]) -> ApiCall[Entity]:
    """Apply JSON Patch operations to an event subscription."""
    return patch(_SUBSCRIPTION, subscription_id, operations)


def delete_subscription(subscription_id: str) -> ApiCall[None]:
    """Delete an event subscription for good."""
    return delete(_SUBSCRIPTION, subscription_id, hard=True)


def subscription_status(subscription_id: str) -> ApiCall[Document]:
    """Return how each destination of an event subscription fares."""
    return ApiCall("GET", _path(_SUBSCRIPTION, subscription_id, "status"), read_document)


def subscription_history(subscription_id: str, **filters: Filter) -> Pages[Document]:
    """Iterate over an alert's edits and the events that it matched, newest first.

    Filters are the API's: ``kind`` (``firing``, ``edit`` or ``report``), ``since`` and ``until`` (``7d``, a date).
    """
    return pages_of(_path(_SUBSCRIPTION, subscription_id, "history"), filters, read_document)


def start_backtest(
    alert: Document, *, since: str | int | None = None, until: str | int | None = None
) -> ApiCall[Document]:
    """Start a backtest of an alert on past events, and return its state at once.

    ``alert`` is one as it would be created, or the ``id`` of a stored one with the keys to change.
    ``since`` and ``until`` are epoch milliseconds, ISO dates, or how long ago (``90d``).
    """
    window = without_none({"since": since, "until": until})
    return ApiCall("POST", _BACKTESTS, read_document, {"wait": "0"}, body={**alert, **window})


def get_backtest(backtest_id: str, *, wait: int = 0) -> ApiCall[Document]:
    """Return the state of a backtest of yours, and its ``result`` once its ``state`` is ``done``.

    Waits so many seconds (at most 30) for it to end; returns at once when it does.
    """
    return ApiCall("GET", f"{_BACKTESTS}/{_quote(backtest_id)}", read_document, query_of({"wait": wait or None}))


def cancel_backtest(backtest_id: str) -> ApiCall[Document]:
    """Cancel a backtest of yours."""
    return ApiCall("DELETE", f"{_BACKTESTS}/{_quote(backtest_id)}", read_document)


def dead_letters(**filters: Filter) -> Pages[Document]:
    """Iterate over dead letters, newest first: messages that were given up, of alerts that you may edit.

    Filters: ``alert`` and ``destination`` (id or name), ``reason``, ``since``, ``until``.
    """
    return pages_of(_DELIVERIES, filters, read_document)


def delivery(message_id: str) -> ApiCall[Document]:
    """Return a message with all attempts, and the request that a replay would send."""
    return ApiCall("GET", f"{_DELIVERIES}/{_quote(message_id)}", read_document)


def forget_dead_letters(message_ids: Sequence[str], reason: str) -> ApiCall[Document]:
    """Let dead letters be none any more; the reason stands in their histories, and they can still be replayed."""
    body = {"messages": list(message_ids), "reason": reason}
    return ApiCall("POST", f"{_DELIVERIES}/forget", read_document, body=body)


def start_replay(**selection: str | bool) -> ApiCall[Document]:
    """Send dead letters again; return the replay, whose ``progress`` ``get_replay`` tells.

    ``message`` (id) is a single one, with ``delivered=True`` also one that was delivered; else the filters of
    ``dead_letters``.
    """
    return ApiCall("POST", f"{_DELIVERIES}/replays", read_document, body=dict(selection))


def get_replay(replay_id: str) -> ApiCall[Document]:
    """Return the state and progress of a replay of yours."""
    return ApiCall("GET", f"{_DELIVERIES}/replays/{_quote(replay_id)}", read_document)


def cancel_replay(replay_id: str) -> ApiCall[Document]:
    """Cancel a replay of yours: waiting messages stay as they were."""
    return ApiCall("DELETE", f"{_DELIVERIES}/replays/{_quote(replay_id)}", read_document)


def render_template(request: Document) -> ApiCall[Document]:
    """Return what a notification template makes of an event.

    ``request`` holds ``templateSubject``, ``templateBody``, ``eventId`` or ``resource``, and perhaps ``channel``.
    """
    return ApiCall("POST", f"{_collection('notificationTemplate')}/render", read_document, body=request)


def noise(*, since: str = "30d", limit: int = 10) -> ApiCall[Document]:
    """Return the noisiest alerts of a window: ``30d``, ``12h``, or epoch milliseconds."""
    return ApiCall(
        "GET", f"{_collection(_SUBSCRIPTION)}/noise", read_document, query_of({"since": since, "limit": limit})
    )


def subscription_noise(subscription_id: str, *, since: str = "30d") -> ApiCall[Document]:
    """Return one alert's noise, with conditions that would have spared some of it."""
    return ApiCall("GET", _path(_SUBSCRIPTION, subscription_id, "noise"), read_document, query_of({"since": since}))


def events(**filters: Filter) -> Pages[Change]:
    """Iterate over change events, oldest first; filters are the API's, e.g. ``entity_type``, ``event_type``."""
    return pages_of("events", {"format": _FORMAT, **filters}, Change)


def read_log(offset: int | str, *, limit: int = 100, **filters: Filter) -> ApiCall[LogSlice]:
    """Return the events after a log offset; the offset ``latest`` only asks where the log ends.

    Filters are the API's, as in ``events``.
    """
    query = query_of({"offset": offset, "limit": limit, "format": _FORMAT, **filters})
    return ApiCall("GET", "events", _log_slice, query)


def add_test_result(test_case_fqn: str, result: Document) -> ApiCall[Document]:
    """Record a run of a test case: ``timestamp`` (epoch ms), ``testCaseStatus`` and what else is known."""
    return ApiCall("POST", f"dataQuality/testCases/testCaseResults/{_quote(test_case_fqn)}", read_document, body=result)


def add_pipeline_status(pipeline_fqn: str, status: Document) -> ApiCall[Entity]:
    """Record a run of a pipeline: ``timestamp`` (epoch ms), ``executionStatus`` and what else is known."""
    return ApiCall("PUT", f"pipelines/{_quote(pipeline_fqn)}/status", _entity("pipeline"), body=status)


def login(email: str, password: str) -> ApiCall[str]:
    """Return a token for the person with that address."""
    # Upstream's form: the password travels base64-encoded inside the body.
    encoded = base64.b64encode(password.encode()).decode()
    body = {"email": email, "password": encoded}
    return ApiCall("POST", "users/login", lambda answer: str(answer["accessToken"]), body=body)


def logged_in_user() -> ApiCall[Entity]:
    """Return the user the token belongs to."""
    return ApiCall("GET", "users/loggedInUser", _entity("user"))


def health() -> ApiCall[Document]:
    """Return ``status`` (``ok``, ``degraded``, ``eventsLost``), ``problems``, and how far the pipeline is."""
    return ApiCall("GET", "healthcheck", read_document)


def event_lag() -> ApiCall[Document]:
    """Return how much each reader of the log has not read: ``readers``; ``missing`` says of which nobody knows."""
    return ApiCall("GET", "events/lag", read_document)


def server_version() -> ApiCall[str]:
    """Return the version of OpenMetadata's API that the server speaks."""
    return ApiCall("GET", "system/version", lambda answer: str(answer["version"]))


def _type_of(entity_type: str) -> str:
    """Return an existing type, as it is written in a path."""
    _collection(entity_type)
    return entity_type


def _collection(entity_type: str) -> str:
    row = ENTITY_TYPES.get(entity_type)
    if row is None:
        raise InvalidInput(f"unknown entity type {entity_type!r}; {suggestion_for(entity_type, ENTITY_TYPES)}")
    return row.collection


def _quote(part: str) -> str:
    return quote(part, safe="")


def _path(entity_type: str, *parts: str) -> str:
    """Return the path of a collection, or of what the parts lead to in it."""
    return "/".join((_collection(entity_type), *map(_quote, parts)))


def _read(entity_type: str, key: str, filters: dict[str, Filter]) -> ApiCall[Entity]:
    return ApiCall("GET", f"{_collection(entity_type)}/{key}", _entity(entity_type), query_of(filters))


def _entity(entity_type: str) -> Callable[[Document], Entity]:
    return lambda answer: Entity(entity_type, answer)


def _with_remarks(applied: Applied, headers: Mapping[str, str]) -> Applied:
    remarks, changed = (headers.get(name, "[]") for name in ("x-tocsin-remarks", "x-tocsin-changed-secrets"))
    return replace(applied, remarks=tuple(json.loads(remarks)), changed_secrets=tuple(json.loads(changed)))


def _parse_follows(answer: dict[str, list[Document]]) -> tuple[Entity, ...]:
    return tuple(Entity(row.get("type") or _BY_LIST.get(key, key), row) for key, rows in answer.items() for row in rows)


def _notice(row: Document) -> Notice:
    title = str(row["title"])
    return Notice(
        id=str(row["id"]),
        title=title,
        changes=tuple(row["changes"]),
        reasons=tuple(reason["sentence"] for reason in row["reasons"]),
        change=Change(row, title),  # the row has an event's keys
        is_read=bool(row["read"]),
        notification_count=int(row.get("notificationCount", 1)),
        group=str(row.get("group", "")),
        severity=row.get("severity"),
        runbooks=tuple(one["runbook"] for one in row.get("runbooks", ())),
        advice=str(row.get("advice", "")),
        failing_rows=row.get("failingRows"),
        failure=row.get("failure"),
        incident=row.get("incident"),
        state=row.get("state"),
    )


def _log_slice(answer: Document) -> LogSlice:
    return LogSlice(tuple(Change(row) for row in answer["data"]), end=int(answer["paging"]["offset"]))


def _is_change(event: Document) -> bool:
    return bool(event["eventType"] != "entityNoChange")


def _read_nothing(_answer: object) -> None:
    return None
