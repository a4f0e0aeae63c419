"""Request builders for preferences of people, teams and the server, kinds of change, and own addresses.

``Client`` and ``AsyncClient`` offer them like those of ``client/calls.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from tocsin.client.call import ApiCall, read_document
from tocsin.model.entity import Document


class TaggedPreferences(NamedTuple):
    """A user's notification preferences, and the tag by which ``prefer`` knows whether they are still these.

    An older server gives no tag: it is empty, and ``prefer`` then replaces whatever is there.
    """

    preferred: Document
    etag: str


def preferences(user_id: str) -> ApiCall[Document]:
    """Return a user's notification preferences."""
    return ApiCall("GET", f"users/{quote(user_id, safe='')}/preferences", read_document)


def tagged_preferences(user_id: str) -> ApiCall[TaggedPreferences]:
    """Return a user's notification preferences with their ETag, for ``if_match`` of ``prefer``."""

    def read(answer: Any) -> TaggedPreferences:  # Any: the answer's JSON
        return TaggedPreferences(read_document(answer), "")

    def read_tag(tagged: TaggedPreferences, headers: Mapping[str, str]) -> TaggedPreferences:
        return tagged._replace(etag=headers.get("etag", ""))

    path = f"users/{quote(user_id, safe='')}/preferences"
    return ApiCall("GET", path, read, read_headers=read_tag)


def change_kinds() -> ApiCall[Document]:
    """Return the kinds of change that preferences name (``data``)."""
    return ApiCall("GET", "changeKinds", read_document)


def effective_preferences(user_id: str) -> ApiCall[Document]:
    """Return what holds for a user: for each kind of change and channel how often it comes, when, and whose choice."""
    return ApiCall("GET", f"users/{quote(user_id, safe='')}/preferences/effective", read_document)


def team_preferences(team_id: str) -> ApiCall[Document]:
    """Return the defaults that a team has for its members: only what is set."""
    return ApiCall("GET", f"teams/{quote(team_id, safe='')}/preferences", read_document)


def set_team_preferences(team_id: str, preferred: Document) -> ApiCall[Document]:
    """Replace the defaults that a team has for its members and those of the teams below it."""
    return ApiCall("PUT", f"teams/{quote(team_id, safe='')}/preferences", read_document, body=preferred)


def default_preferences() -> ApiCall[Document]:
    """Return the preferences that hold where people have chosen nothing."""
    return ApiCall("GET", "system/preferences", read_document)


def set_default_preferences(preferred: Document) -> ApiCall[Document]:
    """Replace the preferences that hold where people have chosen nothing; ``{"preset": "recommended"}`` is one."""
    return ApiCall("PUT", "system/preferences", read_document, body=preferred)


def prefer(user_id: str, preferred: Document, *, if_match: str | None = None) -> ApiCall[Document]:
    """Replace a user's notification preferences; omitted keys become the default.

    ``if_match`` is the ETag that they must still have (``tagged_preferences``).
    """
    path = f"users/{quote(user_id, safe='')}/preferences"
    headers = {"If-Match": if_match} if if_match else {}
    return ApiCall("PUT", path, read_document, body=preferred, headers=headers)


def own_addresses(holder_id: str) -> ApiCall[Document]:
    """Return the own addresses of a user or team, masked, and whether they are verified (``data``)."""
    return ApiCall("GET", f"addresses/{quote(holder_id, safe='')}", read_document)


def set_own_address(holder_id: str, channel: str, address: Document) -> ApiCall[Document]:
    """Set the own address of a user or team for a channel (``Slack``); it gets nothing until it is verified."""
    return ApiCall("PUT", _address(holder_id, channel), read_document, body=address)


def remove_own_address(holder_id: str, channel: str) -> ApiCall[Document]:
    """Remove the own address of a user or team for a channel; return those that are left."""
    return ApiCall("DELETE", _address(holder_id, channel), read_document)


def send_address_code(holder_id: str, channel: str) -> ApiCall[Document]:
    """Send a message with a code to an own address; return how that went, and the address."""
    return ApiCall("POST", f"{_address(holder_id, channel)}/code", read_document)


def verify_own_address(holder_id: str, channel: str, code: str) -> ApiCall[Document]:
    """Verify an own address with the code that was sent there."""
    return ApiCall("POST", f"{_address(holder_id, channel)}/verify", read_document, body={"code": code})


def _address(holder_id: str, channel: str) -> str:
    return f"addresses/{quote(holder_id, safe='')}/{quote(channel, safe='')}"
