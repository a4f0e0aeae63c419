"""Who am I, and what do I follow? Log-in, passwords and tokens, and a person's follows.

Next: ``server/routes/inbox.py``.
"""

from __future__ import annotations

from fastapi import APIRouter, Response

from tocsin.errors import InvalidInput, NotFound
from tocsin.flow.capture.ports import Key
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.people import Person
from tocsin.server.auth import hash_password, log_in
from tocsin.server.request import Administrator, Asked, DocumentBody, Fields, PartsHere, PathId, Sender, answer
from tocsin.server.view import parse_fields, shown

SHORTEST_PASSWORD = 8
"""Characters that a password has at least."""

open_router = APIRouter(tags=["users"])
"""What works without a token."""

router = APIRouter(tags=["users"])


@open_router.post("/users/login")
def login(body: DocumentBody, parts: PartsHere) -> Response:
    """Return a token for an address and a password (base64, as OpenMetadata sends it, or plain)."""
    person = log_in(parts.people, _text(body, "email"), _text(body, "password"))
    token = parts.tokens.issue(person)
    expires_at_ms = token.expires_at_ms
    return answer({"accessToken": token.text, "tokenType": "Bearer", "expiryDuration": expires_at_ms})


@router.get("/users/loggedInUser")
def logged_in_user(caller: Asked, *, fields: Fields = None) -> Response:
    """Return who the token belongs to."""
    row = ENTITY_TYPES["user"]
    document = caller.parts.catalogue.get(row.name, Key.by_id(caller.actor.id))
    return answer(shown(row, document, caller.root, fields=parse_fields(row, fields)))


@router.put("/users/changePassword")
def change_password(body: DocumentBody, sender: Sender, parts: PartsHere) -> Response:
    """Change one's own password (``oldPassword``, ``newPassword``), or as administrator that of ``username``."""
    name = body.get("username", sender.name)
    new = check_password(_text(body, "newPassword"))
    if name == sender.name:
        person = log_in(parts.people, sender.name, _text(body, "oldPassword"))
    else:
        person = _other_person(name, sender.is_admin, parts)
    parts.people.set_password(person.id, hash_password(new))
    return answer({"message": "The password is changed."})


@router.put("/users/generateToken/{user_id}")
def generate_token(user_id: PathId, _administrator: Administrator, parts: PartsHere) -> Response:
    """Return a token for a bot; it does not expire, and stops working when the bot is deleted."""
    bot = parts.people.by_id(str(user_id))
    if bot is None or bot.deleted:
        raise NotFound(f"There is no user {user_id}.")
    if not bot.is_bot:
        raise InvalidInput(f"{bot.name} is a person; only bots have tokens that do not expire.")
    return answer(
        {
            "JWTToken": parts.tokens.issue(bot, lasting=True).text,
            "JWTTokenExpiry": "Unlimited",
            "JWTTokenExpiresAt": None,
        }
    )


def check_password(password: str) -> str:
    """Return the password if it may be used."""
    if not SHORTEST_PASSWORD <= len(password) <= 256:
        raise InvalidInput(f"needs {SHORTEST_PASSWORD} to 256 characters", field="password")
    return password


def _other_person(name: object, by_administrator: bool, parts: PartsHere) -> Person:
    person = parts.people.by_name(name) if isinstance(name, str) and by_administrator else None
    if person is None or person.deleted:
        raise NotFound("There is no such user whose password you may change.")
    return person


def _text(body: Document, key: str) -> str:
    value = body.get(key)
    if not isinstance(value, str) or not value:
        raise InvalidInput("is missing: send a text", field=key)
    return value
