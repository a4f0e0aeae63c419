"""Routes of log-in, the logged-in user, and passwords.

Next: ``server/routes/notifications/inbox.py``.
"""

from __future__ import annotations

from fastapi import Request, Response

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.people import Person
from tocsin.model.stored import Key, not_found
from tocsin.server.entities.response import parse_fields
from tocsin.server.entities.serialize import views_of
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.login.tokens import hash_password
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, DocumentBody, Fields, PartsHere, TokenId, answer

SHORTEST_PASSWORD = 8
"""Characters that a password has at least."""

open_router = DeclaredRoutes(tags=["users"])
"""What works without a token."""

router = DeclaredRoutes(tags=["users"])


@open_router.post("/users/login", openapi_extra=answers("LogIn", reads="LoginRequest", refuses="401 429", never="409"))
async def login(request: Request, body: DocumentBody, parts: PartsHere) -> Response:
    """Return a token for an e-mail address and password (base64, or plain)."""
    login, password = text_in(body, "email"), text_in(body, "password")
    address = client_address(request)
    token = await parts.login.passwords.run(
        lambda: parts.login.sessions.begin(parts.login.logins.authenticate(login, password, address)), address
    )
    return answer({"accessToken": token.text, "tokenType": "Bearer", "expiryDuration": token.expires_at_ms})


@router.get("/users/loggedInUser", openapi_extra=answers("User", never="403"))
def logged_in_user(caller: Asked, *, fields: Fields = None) -> Response:
    """Return the user of the token."""
    row = ENTITY_TYPES["user"]
    document = caller.parts.catalogue.get(row.name, Key.by_id(caller.actor.id))
    (view,) = views_of(row, [document], caller, fields=parse_fields(row, fields))
    return answer(view)


@router.put("/users/changePassword", openapi_extra=answers("Said", reads="ChangePasswordRequest", never="409"))
async def change_password(request: Request, body: DocumentBody, caller: Asked, token_id: TokenId) -> Response:
    """Change one's own password (``oldPassword``, ``newPassword``); administrators: that of ``username``.

    Every token that the person had stops working, but the one that this request was sent with.
    """
    sender, parts = caller.actor, caller.parts
    name = body.get("username", sender.name)
    new, address = check_password(text_in(body, "newPassword")), client_address(request)

    def change() -> None:
        if name == sender.name:
            person = parts.login.logins.authenticate(sender.name, text_in(body, "oldPassword"), address)
        else:
            person = _other_person(name, sender.is_admin, parts)
        parts.people.set_password(person.id, hash_password(new), keep_token=token_id)

    await parts.login.passwords.run(change, address)
    return answer({"message": "Password changed."})


def check_password(password: str) -> str:
    """Return the password if it may be used."""
    if not SHORTEST_PASSWORD <= len(password) <= 256:
        raise InvalidInput(f"must have {SHORTEST_PASSWORD} to 256 characters", field="password")
    return password


def _other_person(name: object, by_administrator: bool, parts: PartsHere) -> Person:
    person = parts.people.by_name(name) if isinstance(name, str) and by_administrator else None
    if person is None or person.deleted:
        raise not_found("user", Key.by_name(str(name)))
    return person


def client_address(request: Request) -> str:
    """Return the address that a request comes from."""
    return request.client.host if request.client else ""


def text_in(body: Document, key: str) -> str:
    """Return a text of the body that must be there."""
    value = body.get(key)
    if not isinstance(value, str) or not value:
        raise InvalidInput("is missing: send a string", field=key)
    return value
