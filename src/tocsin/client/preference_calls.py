"""Request builders for preferences: those of people, the defaults of teams and of the server, the kinds of change.

``Client`` and ``AsyncClient`` offer them like those of ``client/calls.py``.
"""

from __future__ import annotations

from urllib.parse import quote

from tocsin.client.call import ApiCall
from tocsin.model.entity import Document


def preferences(user_id: str) -> ApiCall[Document]:
    """Return a user's notification preferences."""
    return ApiCall("GET", f"users/{quote(user_id, safe='')}/preferences", _document)


def change_kinds() -> ApiCall[Document]:
    """Return the kinds of change that preferences name (``data``)."""
    return ApiCall("GET", "changeKinds", _document)


def effective_preferences(user_id: str) -> ApiCall[Document]:
    """Return what holds for a user: for each kind of change and channel how often it comes, when, and whose choice."""
    return ApiCall("GET", f"users/{quote(user_id, safe='')}/preferences/effective", _document)


def team_preferences(team_id: str) -> ApiCall[Document]:
    """Return the defaults that a team has for its members: only what is set."""
    return ApiCall("GET", f"teams/{quote(team_id, safe='')}/preferences", _document)


def set_team_preferences(team_id: str, preferred: Document) -> ApiCall[Document]:
    """Replace the defaults that a team has for its members and those of the teams below it."""
    return ApiCall("PUT", f"teams/{quote(team_id, safe='')}/preferences", _document, body=preferred)


def default_preferences() -> ApiCall[Document]:
    """Return the preferences that hold where people have chosen nothing."""
    return ApiCall("GET", "system/preferences", _document)


def set_default_preferences(preferred: Document) -> ApiCall[Document]:
    """Replace the preferences that hold where people have chosen nothing; ``{"preset": "recommended"}`` is one."""
    return ApiCall("PUT", "system/preferences", _document, body=preferred)


def prefer(user_id: str, preferred: Document) -> ApiCall[Document]:
    """Replace a user's notification preferences; omitted keys become the default."""
    return ApiCall("PUT", f"users/{quote(user_id, safe='')}/preferences", _document, body=preferred)


def _document(answer: Document) -> Document:
    return answer
