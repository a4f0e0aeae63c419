"""Request builders for activity feeds: what happened around a person, a team, an asset or a domain.

``Client`` and ``AsyncClient`` offer them like those of ``client/calls.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from urllib.parse import quote

from tocsin.client.answers import Change
from tocsin.client.call import ApiCall, Filter, Pages, pages_of, read_entries, without_none
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES


def activity(
    user_id: str, *, scope: str = "all", since: datetime | str | None = None, event_types: Iterable[str] = ()
) -> Pages[Change]:
    """Iterate over what happened to what a user follows and owns, and what else they were told, newest first.

    ``scope`` narrows to what is ``following`` or ``owned``, ``event_types`` to these; none means all. ``since`` is a
    text, such as ``24h`` or a date, or a time, which is local without a time zone.
    """
    return _feed(f"users/{quote(user_id, safe='')}", since, event_types, {"of": scope})


def entity_activity(
    entity_type: str, entity_id: str, *, since: datetime | str | None = None, event_types: Iterable[str] = ()
) -> Pages[Change]:
    """Iterate over what happened to an entity and what lies below it, in a domain, or to what a team owns."""
    collection = ENTITY_TYPES[entity_type].collection
    return _feed(f"{collection}/{quote(entity_id, safe='')}", since, event_types, {})


def activity_days(
    user_id: str, *, scope: str = "all", since: datetime | str | None = None, limit: int = 50
) -> Pages[Document]:
    """Iterate over what ``activity`` does by day in one's own zone: ``day``, ``count``, ``groups`` by asset.

    ``limit`` is how many entries are asked for at once; a day that is on two pages comes twice.
    """
    filters: dict[str, Filter] = {"of": scope, "group_by": "day", "limit": limit, "since": _start(since)}
    return pages_of(f"users/{quote(user_id, safe='')}/activity", filters, dict)


def entity_activity_days(
    entity_type: str, entity_id: str, *, since: datetime | str | None = None, limit: int = 50
) -> Pages[Document]:
    """Iterate over what ``entity_activity`` does by day, as ``activity_days`` does."""
    collection = ENTITY_TYPES[entity_type].collection
    filters: dict[str, Filter] = {"group_by": "day", "limit": limit, "since": _start(since)}
    return pages_of(f"{collection}/{quote(entity_id, safe='')}/activity", filters, dict)


def get_follower_activity(user_id: str, since: datetime, *, event_types: Iterable[str] = ()) -> Pages[Change]:
    """Iterate over the changes of the assets a user follows, newest first, as ``activity`` does."""
    return activity(user_id, scope="following", since=since, event_types=event_types)


def open_feed(
    user_id: str, *, scope: str | None = None, entity_type: str | None = None, entity_id: str | None = None
) -> ApiCall[Document]:
    """Make an address, ``url``, of the Atom feed of one's own activity, or of that of an entity; it is shown once."""
    body = {"of": scope, "type": entity_type, "id": entity_id}
    return ApiCall("POST", _feeds(user_id), dict, body=without_none(body))


def feeds(user_id: str) -> ApiCall[tuple[Document, ...]]:
    """Return the feeds that have an address, without the addresses."""
    return ApiCall("GET", _feeds(user_id), read_entries)


def revoke_feed(user_id: str, feed_id: str) -> ApiCall[Document]:
    """Revoke the address of a feed."""
    return ApiCall("DELETE", f"{_feeds(user_id)}/{quote(feed_id, safe='')}", dict)


def _feeds(user_id: str) -> str:
    return f"users/{quote(user_id, safe='')}/feeds"


def _start(since: datetime | str | None) -> int | str | None:
    return int(since.timestamp() * 1000) if isinstance(since, datetime) else since


def _feed(
    path: str, since: datetime | str | None, event_types: Iterable[str], filters: dict[str, Filter]
) -> Pages[Change]:
    filters = {**filters, "since": _start(since), "event_type": tuple(event_types) or None}
    return pages_of(f"{path}/activity", filters, lambda row: Change(row["event"], row.get("title") or ""))
