"""Request builders for change requests.

``Client`` and ``AsyncClient`` offer them like those of ``client/calls.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from tocsin.client.call import ApiCall, Filter, Pages, pages_of, read_document, without_none
from tocsin.model.entity import Document

_ROOT = "changes"


def announce_change(announcement: Document, *, dry_run: bool = False) -> ApiCall[Document]:
    """Announce a change: ``entity`` (type, id or full name), ``kind``, ``date``, ``why``, and what the kind needs.

    With ``dry_run`` nothing is announced: ``firstConsumers`` are the first of those who would be asked.
    """
    return ApiCall("POST", _ROOT, read_document, {"dryRun": "true"} if dry_run else {}, body=announcement)


def check_changes(
    changes: Sequence[Document], *, conditions: Sequence[str] = (), people: bool = False
) -> ApiCall[Document]:
    """Check proposed changes (at most 200): what each breaks, what reads it, whom they would notify; nothing is kept.

    ``conditions`` are answered for each change; with ``people`` those who would be notified are named.
    """
    body = {"changes": list(changes), "conditions": list(conditions), "people": people}
    return ApiCall("POST", f"{_ROOT}/check", read_document, body=body)


def list_change_requests(**filters: Filter) -> Pages[Document]:
    """Iterate over change requests, newest first; filters are the API's, e.g. ``status``, ``asset``, ``author``."""
    return pages_of(_ROOT, filters, read_document)


def get_change_request(name: str) -> ApiCall[Document]:
    """Return a change request, by its number (``CR-12``) or id."""
    return ApiCall("GET", _path(name), read_document)


def change_consumers(name: str) -> Pages[Document]:
    """Iterate over the consumers of a change request, nearest first, each with who answers and the answer."""
    return pages_of(_path(name, "consumers"), {}, read_document)


def change_timeline(name: str) -> Pages[Document]:
    """Iterate over answers, comments and changes of a change request, in order."""
    return pages_of(_path(name, "timeline"), {}, read_document)


def answer_change(
    name: str,
    verdict: str,
    *,
    consumers: Sequence[str] | None = None,
    until: int | None = None,
    comment: str | None = None,
) -> ApiCall[Document]:
    """Answer ``ready``, ``notAffected``, ``needsTime`` (``until``, epoch ms) or ``objects`` (``comment``).

    ``consumers`` are ids; left out: all that one answers for.
    """
    body = {"answer": verdict, "consumers": consumers, "until": until, "comment": comment}
    return ApiCall("PUT", _path(name, "answer"), read_document, body=without_none(body))


def comment_on_change(name: str, comment: str) -> ApiCall[Document]:
    """Add to the discussion of a change request."""
    return ApiCall("POST", _path(name, "comments"), read_document, body={"comment": comment})


def remind_of_change(name: str, consumer: str) -> ApiCall[Document]:
    """Remind those who answer for an open consumer, by its id, of a change that one announced; once a day."""
    return ApiCall("POST", _path(name, "reminders"), read_document, body={"consumer": consumer})


def move_change(name: str, date: int, *, comment: str | None = None) -> ApiCall[Document]:
    """Move a change to a later date (epoch ms)."""
    return ApiCall("PUT", _path(name, "move"), read_document, body=without_none({"date": date, "comment": comment}))


def withdraw_change(name: str, *, comment: str | None = None) -> ApiCall[Document]:
    """Withdraw a change request."""
    return ApiCall("PUT", _path(name, "withdraw"), read_document, body=without_none({"comment": comment}))


def _path(name: str, *parts: str) -> str:
    return "/".join((_ROOT, quote(name, safe=""), *parts))
