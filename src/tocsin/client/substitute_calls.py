"""Request builders for substitutes: whom a user names for their absences, and who agrees.

``Client`` and ``AsyncClient`` offer them like those of ``client/calls.py``.
"""

from __future__ import annotations

from urllib.parse import quote

from tocsin.client.call import ApiCall, read_document
from tocsin.model.entity import Document


def substitute(user_id: str) -> ApiCall[Document]:
    """Return whom a user has named (``substitute``), and whom they stand in for (``standsInFor``)."""
    return ApiCall("GET", f"users/{quote(user_id, safe='')}/substitute", read_document)


def name_substitute(user_id: str, substitute_id: str) -> ApiCall[Document]:
    """Ask a person to take the incidents that are assigned to a user while they are away."""
    body = {"substitute": {"id": substitute_id, "type": "user"}}
    return ApiCall("PUT", f"users/{quote(user_id, safe='')}/substitute", read_document, body=body)


def withdraw_substitute(user_id: str) -> ApiCall[Document]:
    """End it for a user, whether their substitute has agreed or not."""
    return ApiCall("DELETE", f"users/{quote(user_id, safe='')}/substitute", read_document)


def stand_in_for(user_id: str, person_id: str) -> ApiCall[Document]:
    """Agree that a user stands in for a person who has named them."""
    return ApiCall("PUT", _place(user_id, person_id), read_document)


def decline_to_stand_in(user_id: str, person_id: str) -> ApiCall[Document]:
    """Decline that a user stands in for a person, or end it later."""
    return ApiCall("DELETE", _place(user_id, person_id), read_document)


def _place(user_id: str, person_id: str) -> str:
    return f"users/{quote(user_id, safe='')}/standsInFor/{quote(person_id, safe='')}"
