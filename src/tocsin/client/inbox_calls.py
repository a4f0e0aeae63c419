"""Request builders for the states of notifications: marks, and what brings earlier states back; and for mutes.

``Client`` and ``AsyncClient`` offer them like those of ``client/calls.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import quote

from tocsin.client.answers import Entity
from tocsin.client.call import ApiCall, Filter, query_of, read_document
from tocsin.model.entity import Document

_FILTER_KEYS = {"start_ts": "startTs", "end_ts": "endTs"}


def mark_notifications(
    user_id: str, mark: str, ids: Sequence[str], *, until: datetime | str | None = None
) -> ApiCall[Document]:
    """Mark entries of a user's inbox: read, done, saved, snoozed, or back: unread, undone, unsaved, unsnoozed.

    ``until`` is when what is snoozed comes back: a time, or ``changed`` or ``resolved``. The answer counts ``marked``
    entries; its ``undo`` is what ``restore_notifications`` takes.
    """
    body: Document = {"as": mark, "ids": list(ids)}
    return _marks(user_id, {**body, **_until(until)})


def notified_assets(user_id: str, **filters: Filter) -> ApiCall[Document]:
    """Return the assets of a user's notifications (``data``): ``name``, ``count``, ``unread``, and the ``latest`` one.

    Filters are those of ``notifications``; ``after`` from ``paging`` goes on.
    """
    return ApiCall("GET", f"users/{quote(user_id, safe='')}/notifications/assets", read_document, query_of(filters))


def notification_causes(user_id: str, **filters: Filter) -> ApiCall[Document]:
    """Return the causes of a user's notifications (``data``): runs, edits of neighbours, failures, single events.

    Each has an ``id``, a ``title``, ``count``, ``unread``, and the notification that is ``leading``. Filters are those
    of ``notifications``, which with ``cause``, an id, has the entries of one; ``after`` from ``paging`` goes on.
    ``counts`` has the number of ``causes`` and of ``unreadCauses``.
    """
    return ApiCall("GET", f"users/{quote(user_id, safe='')}/notifications/causes", read_document, query_of(filters))


def notification_counts(user_id: str, *, tab: str | None = None) -> ApiCall[Document]:
    """Return how many entries each tab of a user's inbox has, how many need the user, and of each of the ``kinds``.

    Kinds are those of the entries of ``tab``; each number ends at 1,000.
    """
    return ApiCall(
        "GET", f"users/{quote(user_id, safe='')}/notifications/counts", read_document, query_of({"tab": tab})
    )


def cause_audience(
    user_id: str, cause_id: str, *, tab: str | None = None, limit: int | None = None, after: str | None = None
) -> ApiCall[Document]:
    """Return who was told of what a cause of a user's inbox did (``data``): of how many events, and how many they read.

    ``isComplete`` says whether these are all; ``tab`` is where the inbox has the cause.
    """
    path = f"users/{quote(user_id, safe='')}/notifications/causes/{quote(cause_id, safe='')}/audience"
    return ApiCall("GET", path, read_document, query_of({"tab": tab, "limit": limit, "after": after}))


def mark_matching_notifications(
    user_id: str,
    mark: str,
    *,
    until: datetime | str | None = None,
    dry_run: bool = False,
    **criteria: Filter | None,
) -> ApiCall[Document]:
    """Mark at most 1,000 entries that a filter finds, or only count them with ``dry_run``; ``matched`` says how many.

    Filters are those of ``notifications``, with ``tab``. While the answer has an ``after``, pass it on with its
    ``through``, so that what comes meanwhile is left alone.
    """
    values: Document = {_FILTER_KEYS.get(name, name): value for name, value in criteria.items() if value is not None}
    places: Document = {name: values.pop(name) for name in ("tab", "after", "through") if name in values}
    return _marks(user_id, {"as": mark, "filter": values, "dryRun": dry_run, **places, **_until(until)})


def restore_notifications(user_id: str, undo: Document) -> ApiCall[Document]:
    """Bring back the states that notifications had before they were marked."""
    return _marks(user_id, undo)


def mark_seen(user_id: str) -> ApiCall[Document]:
    """Mark a user's unread notifications as seen in a list."""
    return ApiCall("PUT", f"users/{quote(user_id, safe='')}/notifications/seen", read_document)


def note_opened(user_id: str, token: str) -> ApiCall[Document]:
    """Mark as read what a link in a message is about, by the ``opened`` token in its address; ``marked`` says how many.

    With it goes what the same cause did until the message was sent.
    """
    return ApiCall(
        "POST", f"users/{quote(user_id, safe='')}/notifications/opened", read_document, body={"token": token}
    )


def mutes(user_id: str) -> ApiCall[Document]:
    """Return what a user has muted."""
    return ApiCall("GET", f"users/{quote(user_id, safe='')}/mutes", read_document)


def mute(  # each fact of a mute is a parameter
    user_id: str,
    about: Entity | str,
    *,
    until: datetime | None = None,
    channel: str | None = None,
    ends: str | None = None,
    incident: str | None = None,
) -> ApiCall[Document]:
    """Mute an alert, an asset, a person or bot, a kind of change (by its name) or ``"everything"`` for a user.

    Until a time or for good; ``channel`` is one, or None for all. A user is muted as who makes changes. ``ends`` ends
    it before: ``"changed"``, or ``"resolved"`` with an ``incident`` (its name or id; None: that of the asset).
    """
    end = {"ends": ends, "incident": incident}
    body: Document = {"channel": channel} | _subject_of(about) | {key: one for key, one in end.items() if one}
    body |= {"until": int(until.timestamp() * 1000)} if until else {}
    return ApiCall("PUT", f"users/{quote(user_id, safe='')}/mutes", read_document, body=body)


def _subject_of(about: Entity | str) -> Document:
    if isinstance(about, str):
        return {"kind": about} if about == "everything" else {"kind": "kind", "name": about}
    kind = {"eventsubscription": "alert", "user": "actor"}.get(about.entity_type, "asset")
    return {"kind": kind, "id": about.id} | ({"type": about.entity_type} if kind == "asset" else {})


def unmute(user_id: str, about: Entity | str) -> ApiCall[None]:
    """Unmute for a user what ``mute`` takes."""
    subject = about if isinstance(about, str) else about.id
    return ApiCall("DELETE", f"users/{quote(user_id, safe='')}/mutes/{quote(subject, safe='')}", lambda _answer: None)


def _until(until: datetime | str | None) -> Document:
    if until is None:
        return {}
    return {"until": int(until.timestamp() * 1_000) if isinstance(until, datetime) else until}


def next_digests(user_id: str) -> ApiCall[Document]:
    """Return a user's next digests by mail and chat as they would be sent now (``data``); nothing changes."""
    return ApiCall("GET", f"users/{quote(user_id, safe='')}/digest", read_document)


def health_summary(user_id: str) -> ApiCall[Document]:
    """Return a user's health ``summary`` of seven days, the ``message`` that says it, and ``dueAt`` of the next."""
    return ApiCall("GET", f"users/{quote(user_id, safe='')}/healthSummary", read_document)


def _marks(user_id: str, body: Document) -> ApiCall[Document]:
    return ApiCall("POST", f"users/{quote(user_id, safe='')}/notifications/marks", read_document, body=body)
