"""Routes of tokens: log-out, personal access tokens, and tokens of bots.

A token issued with another token expires and is revoked with it at the latest; one issued with a password, or for a bot
by an administrator who has logged in, is independent.

Source: schemas/auth/jwtAuth.json, personalAccessToken.json. Next: ``store/catalogue/people/tokens.py``.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from fastapi import Query, Request, Response
from starlette.concurrency import run_in_threadpool

from tocsin.errors import Forbidden, InvalidInput, NotFound, Unauthenticated
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.people import Person
from tocsin.server.access.permissions import require
from tocsin.server.build import Parts
from tocsin.server.http.body_values import parse_id
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.login.tokens import LIFETIMES_S, UNLIMITED
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, OptionalBody, PathId, TokenId, answer, list_answer
from tocsin.server.routes.people.users import client_address, text_in
from tocsin.store.catalogue.people.tokens import LOG_IN_KINDS, IssuedToken, TokenKind

JWT = "JWT"

MOST_PERSONAL = 100
"""Personal tokens that a person may have at once."""

router = DeclaredRoutes(prefix="/users", tags=["tokens"])


@router.post("/logout", openapi_extra=answers("Said", never="403 409"))
def log_out(caller: Asked, token_id: TokenId) -> Response:
    """Revoke the token of this request."""
    caller.parts.login.sessions.end(token_id, caller.actor)
    return answer({"message": "Logged out."})


@router.get("/security/token", openapi_extra=answers("PersonalAccessTokenPage", never="403"))
def list_own(caller: Asked) -> Response:
    """Return one's personal tokens with expiry, without their texts."""
    issued = caller.parts.people.tokens.of(caller.actor.id, TokenKind.PERSONAL)
    return list_answer([_personal(one) for one in issued])


@router.put("/security/token", openapi_extra=answers("PersonalAccessToken", reads="CreatePersonalToken", never="409"))
async def make_own(request: Request, body: DocumentBody, caller: Asked, token_id: TokenId) -> Response:
    """Create a personal token (``tokenName``, ``JWTTokenExpiry``); its text is shown once.

    With one's `password` it works for as long as it says. Without, it ends with the token of this request.
    """
    if "password" not in body:
        return await run_in_threadpool(lambda: _make_own(body, caller, token_of_request(token_id, caller)))

    address = client_address(request)

    def confirm_and_make() -> Response:
        caller.parts.login.logins.authenticate(caller.actor.name, text_in(body, "password"), address)
        return _make_own(body, caller, None)

    return await caller.parts.login.passwords.run(confirm_and_make, address)


def _make_own(body: Document, caller: Caller, parent: IssuedToken | None) -> Response:
    if caller.actor.is_bot:
        raise Forbidden("Bots have no personal tokens; an administrator creates their tokens.")
    name = body.get("tokenName")
    if not isinstance(name, str) or not 0 < len(name.strip()) <= 100:
        raise InvalidInput("must be a string of 1 to 100 characters", field="tokenName")
    tokens = caller.parts.people.tokens
    if len(tokens.of(caller.actor.id, TokenKind.PERSONAL)) >= MOST_PERSONAL:
        raise InvalidInput(f"at most {MOST_PERSONAL} personal tokens; revoke some", field="tokenName")
    lifetime_s = _lifetime_s(body)
    if lifetime_s is None:
        raise InvalidInput("a personal token must expire: OneHour, 1, 7, 30, 60 or 90", field="JWTTokenExpiry")
    person = _person(caller.actor.id, caller.parts)
    kind = TokenKind.PERSONAL
    token = caller.parts.login.tokens.issue_named(person, kind, name.strip(), lifetime_s=lifetime_s, parent=parent)
    return answer(_personal(token.issued) | {"jwtToken": token.text})


@router.put(
    "/security/token/revoke",
    openapi_extra=answers("PersonalAccessTokenPage", reads="RevokePersonalToken", never="403 409"),
)
def revoke_own(
    body: DocumentBody, caller: Asked, *, remove_all: Annotated[bool, Query(alias="removeAll")] = False
) -> Response:
    """Revoke personal tokens: ``tokenIds``, or all with ``removeAll``; return the remaining ones."""
    tokens = caller.parts.people.tokens
    if remove_all:
        tokens.revoke_all(caller.actor.id, kind=TokenKind.PERSONAL)
        return list_own(caller)
    ids = body.get("tokenIds")
    if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
        raise InvalidInput("must be a list of ids", field="tokenIds")
    own_ids = {one.id for one in tokens.of(caller.actor.id, TokenKind.PERSONAL)}
    tokens.revoke(own_ids.intersection(ids), caller.actor.id)
    return list_own(caller)


@router.put("/generateToken/{user_id}", openapi_extra=answers("BotToken", reads="BotTokenRequest", never="409"))
def generate_token(user_id: PathId, body: OptionalBody, caller: Asked, token_id: TokenId) -> Response:
    """Create a bot's token, valid for ``JWTTokenExpiry``; revokes the previous one.

    Asked for with a personal token or that of a bot, it ends with that one.
    """
    return answer(issue_for_bot(str(user_id), body, caller, token_id))


def issue_for_bot(user_id: str, body: Document, caller: Caller, token_id: str) -> Document:
    """Return a new token of a bot, as upstream's ``JWTAuthMechanism``; it replaces the previous one.

    Raises
    ------
    Forbidden : the caller may not have the bot's token
    InvalidInput : the user is a person, or the expiry is none of those that there are
    """
    bot = _bot(user_id, caller)
    lifetime_s, request_token = _lifetime_s(body), token_of_request(token_id, caller)
    caller.parts.people.tokens.revoke_all(bot.id)
    parent = None if request_token.kind in LOG_IN_KINDS else request_token
    token = caller.parts.login.tokens.issue_named(bot, TokenKind.BOT, lifetime_s=lifetime_s, parent=parent)
    return _mechanism(token.text, token.issued)


@router.get("/token/{user_id}", openapi_extra=answers("BotToken"))
def read_token(user_id: PathId, caller: Asked, token_id: TokenId) -> Response:
    """Return a bot's token, unless it outlives the personal token of this request."""
    return answer(_own_token(str(user_id), caller, token_id))


def _own_token(user_id: str, caller: Caller, token_id: str) -> Document:
    bot, request_token = _bot(user_id, caller), token_of_request(token_id, caller)
    issued = caller.parts.people.tokens.of(bot.id, TokenKind.BOT)
    if not issued:
        raise NotFound(f"The bot {bot.name} has no token.")
    if request_token.kind not in LOG_IN_KINDS and _end(issued[-1]) > _end(request_token):
        raise Forbidden(f"The token of the bot {bot.name} is valid for longer than yours; log in with a password.")
    return _mechanism(caller.parts.login.tokens.text_of(issued[-1], bot), issued[-1])


@router.get("/auth-mechanism/{user_id}", openapi_extra=answers("BotMechanism"))
def read_mechanism(user_id: PathId, caller: Asked, token_id: TokenId) -> Response:
    """Return how a bot authenticates: with its token, as `GET /users/token/{user_id}` returns it."""
    return answer({"authType": JWT, "config": _own_token(str(user_id), caller, token_id)})


@router.put("/revokeToken", openapi_extra=answers("BotToken", reads="RevokeToken", never="409"))
def revoke_token(body: DocumentBody, caller: Asked) -> Response:
    """Revoke all tokens of a bot (``id``)."""
    bot = _bot(parse_id(body.get("id"), "must be the id of a bot", field="id"), caller)
    caller.parts.people.tokens.revoke_all(bot.id)
    return answer({"JWTToken": "", "JWTTokenExpiry": UNLIMITED})


def token_asked_for(request: Document) -> Document | None:
    """Return what the token is to be that a new bot asks for with its ``authenticationMechanism``; None for none.

    Raises
    ------
    InvalidInput : the expiry is none of those that there are
    """
    mechanism = request.get("authenticationMechanism")
    if not request.get("isBot") or not isinstance(mechanism, dict) or mechanism.get("authType") != JWT:
        return None
    value = mechanism.get("config")
    config: Document = value if isinstance(value, dict) else {}
    _lifetime_s(config)
    return config


def give_first_token(user_id: str, config: Document, caller: Caller, token_id: str) -> None:
    """Create the token that a bot asked for as it was created, unless it has one, or the caller may not have it."""
    if caller.parts.people.tokens.of(user_id, TokenKind.BOT):
        return
    with suppress(Forbidden):  # who creates a bot need not be one who may act as it
        issue_for_bot(user_id, config, caller, token_id)


def _bot(user_id: str, caller: Caller) -> Person:
    """Return the bot with that id, if the caller may have its token, and thereby the bot's permissions."""
    require(caller, Operation.GENERATE_TOKEN, ENTITY_TYPES["user"], {"id": user_id})
    bot = _person(user_id, caller.parts)
    if not bot.is_bot:
        raise InvalidInput(f"{bot.name} is a person; only tokens of bots can be requested.")
    if bot.is_admin and not caller.actor.is_admin:
        raise Forbidden(f"The bot {bot.name} is an administrator: only administrators may get its token.")
    return bot


def token_of_request(token_id: str, caller: Caller) -> IssuedToken:
    """Return the token that a request was sent with.

    Raises
    ------
    Unauthenticated : it was revoked meanwhile
    """
    issued = caller.parts.people.tokens.find(token_id)
    if issued is None:
        raise Unauthenticated("This token was revoked; log in again.")
    return issued


def _end(issued: IssuedToken) -> float:
    return float("inf") if issued.expires_at_ms is None else issued.expires_at_ms


def _person(user_id: str, parts: Parts) -> Person:
    person = parts.people.by_id(user_id)
    if person is None or person.deleted:
        raise NotFound(f"user {user_id} not found")
    return person


def _lifetime_s(body: Document) -> float | None:
    expiry = body.get("JWTTokenExpiry", UNLIMITED)
    if not isinstance(expiry, str) or expiry not in LIFETIMES_S:
        raise InvalidInput(f"must be one of {', '.join(LIFETIMES_S)}", field="JWTTokenExpiry")
    return LIFETIMES_S[expiry]


def _mechanism(text: str, issued: IssuedToken) -> Document:
    """Return upstream's ``JWTAuthMechanism``."""
    expiry = UNLIMITED
    if issued.expires_at_ms is not None:
        lifetime_s = round((issued.expires_at_ms - issued.issued_at_ms) / 1000)
        expiry = next((name for name, one in LIFETIMES_S.items() if one == lifetime_s), UNLIMITED)
    return {"JWTToken": text, "JWTTokenExpiry": expiry, "JWTTokenExpiresAt": issued.expires_at_ms}


def _personal(issued: IssuedToken) -> Document:
    return {
        "token": issued.id,
        "tokenName": issued.name,
        "userId": issued.user_id,
        "tokenType": "PERSONAL_ACCESS_TOKEN",
        "expiryDate": issued.expires_at_ms,
    }
