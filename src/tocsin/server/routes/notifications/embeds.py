"""Routes of embeds: a token for the host's back end, and what the bell and the follow button of its pages need.

All but the first take nothing but such a token, and concern nobody but its person; no other route takes it.
Source: RFC 8693 for the exchange in spirit: a party that is trusted gets a token that may do less, for less long.
Next: ``server/login/embeds.py``; the elements: ``web/src/embed/tocsin.ts``.
"""

from __future__ import annotations

from urllib.parse import quote

from fastapi import Response

from tocsin.errors import Forbidden, InvalidInput, NotFound
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.inbox import Tab
from tocsin.model.people import Person
from tocsin.model.stored import Key
from tocsin.server.access.permissions import require, visible_document
from tocsin.server.entities.followed_assets import stop_following, uncounted_follows
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.login.embeds import check_on, issue_embed_token
from tocsin.server.openapi.embed_schemas import EMBED_FOLLOW, EMBED_INBOX, EMBED_TOKEN
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, Embedded, PathText, TokenId, TypeName, answer
from tocsin.server.routes.notifications.inbox import shown_entries, view_of
from tocsin.server.routes.people.followers import follow_or_keep
from tocsin.server.routes.people.tokens import token_of_request
from tocsin.store.catalogue.people.identities import People
from tocsin.store.outbox.inbox import PageOf

MOST_ENTRIES = 6

router = DeclaredRoutes(prefix="/embed", tags=["embeds"])
"""For the host's back end."""

embedded_router = DeclaredRoutes(prefix="/embed", tags=["embeds"])
"""For the host's pages, by a token of an embed."""


@router.post(
    "/tokens", status_code=201, openapi_extra=answers("EmbedToken", EMBED_TOKEN, reads="EmbedTokenRequest", never="409")
)
def create_token(body: DocumentBody, caller: Asked, token_id: TokenId) -> Response:
    """Create a token for what a page shows of one person: their inbox and follows, for ten minutes.

    Only for bots that may `Impersonate` the person, and where `embed_origins` lists a site. It ends with the bot's
    token, and when the person is deactivated or gets a new password.
    """
    check_on(caller.parts.settings)
    require(caller, Operation.IMPERSONATE, ENTITY_TYPES["user"])
    if not caller.actor.is_bot:
        raise Forbidden("Only a bot may ask for tokens of embeds: the back end of the site that shows them.")
    person = _person_called(body, caller.parts.people)
    require(caller, Operation.IMPERSONATE, ENTITY_TYPES["user"], _stored_user(person, caller))
    parent = token_of_request(token_id, caller)
    token = issue_embed_token(caller.parts.login.tokens, person, caller.actor.name, parent)
    document = {"token": token.text, "expiresAt": token.expires_at_ms, "userId": person.id}
    return answer(document, 201, {"Cache-Control": "no-store"})


def _stored_user(person: Person, caller: Caller) -> Document:
    """Return the user as stored, on whom rules may depend."""
    return caller.parts.catalogue.get("user", Key.by_id(person.id), "non-deleted")


def _person_called(body: Document, people: People) -> Person:
    """Return the person that a request names.

    Raises
    ------
    InvalidInput : it names nobody in a text, or a bot
    NotFound : there is nobody of that id, name or address
    """
    name = body.get("user")
    if not isinstance(name, str) or not 0 < len(name) <= 256 or body.keys() != {"user"}:
        raise InvalidInput("must be the id, name or e-mail address of a person, and nothing else", field="user")
    person = people.by_id(name) or people.by_name(name) or people.by_email(name)
    if person is None or person.deleted:
        raise NotFound(f"user {name} not found")
    if person.is_bot:
        raise InvalidInput(f"{person.name} is a bot; embeds show what people are told.", field="user")
    return person


@embedded_router.get("/inbox", openapi_extra=answers("EmbedInbox", EMBED_INBOX, never="404"))
def read_bell(caller: Embedded) -> Response:
    """Return how many entries of the person's inbox are unread, and the first of them, with addresses to open them."""
    owner, parts = caller.actor.id, caller.parts
    parts.inbox.wake(parts.clock.now_ms(), [owner])
    view = view_of(owner, caller.actor, parts)
    page = view.page(PageOf(Tab.ALL), None, MOST_ENTRIES)
    entries = [_entry(one, caller.root) for one in shown_entries(page.entries, view, caller.actor, parts)]
    return answer({"unread": view.counts().unread_count, "entries": entries, "url": f"{caller.root}/inbox"})


def _entry(entry: Document, root: str) -> Document:
    kept_keys = ("id", "title", "entityFullyQualifiedName", "timestamp", "read")
    reason = next((one["sentence"] for one in entry["reasons"]), "")
    return {key: entry[key] for key in kept_keys} | {"reason": reason, "url": f"{root}/inbox/{entry['id']}"}


@embedded_router.put("/inbox/seen", openapi_extra=answers("Marked", never="404 409"))
def mark_bell_seen(caller: Embedded) -> Response:
    """Mark all unread notifications of the person as seen in a list: they stay unread."""
    return answer({"marked": caller.parts.inbox.mark_seen(caller.actor.id, caller.parts.clock.now_ms())})


@embedded_router.get("/follows/{entity_type}/{fqn}", openapi_extra=answers("EmbedFollow", EMBED_FOLLOW))
def read_follow(entity_type: TypeName, fqn: PathText, caller: Embedded) -> Response:
    """Return whether the person follows an asset, by its type and fully qualified name."""
    kind, asset = _asset(entity_type, fqn, caller)
    return _follow_answer(kind, asset, caller)


@embedded_router.put("/follows/{entity_type}/{fqn}", openapi_extra=answers("EmbedFollow", EMBED_FOLLOW))
def embedded_follow(entity_type: TypeName, fqn: PathText, caller: Embedded) -> Response:
    """Let the person follow an asset."""
    kind, asset = _asset(entity_type, fqn, caller)
    follow_or_keep((kind.name, asset["id"]), caller.actor.id, caller)
    return _follow_answer(kind, asset, caller)


@embedded_router.delete("/follows/{entity_type}/{fqn}", openapi_extra=answers("EmbedFollow", EMBED_FOLLOW))
def embedded_unfollow(entity_type: TypeName, fqn: PathText, caller: Embedded) -> Response:
    """Let the person follow an asset no longer."""
    kind, asset = _asset(entity_type, fqn, caller)
    stop_following(caller.parts, (kind.name, asset["id"]), caller.actor.id, actor=caller.actor)
    return _follow_answer(kind, asset, caller)


def _asset(entity_type: str, fqn: str, caller: Caller) -> tuple[EntityType, Document]:
    """Return an asset that the person may view.

    Raises
    ------
    InvalidInput : nothing of that type can be followed
    """
    kind = ENTITY_TYPES.get(entity_type)
    if kind is None or not kind.is_followable:
        raise InvalidInput(f"{entity_type!r} is no type of asset that can be followed", field="entity_type")
    return kind, visible_document(kind, Key.by_name(fqn), caller)


def _follow_answer(kind: EntityType, asset: Document, caller: Caller) -> Response:
    follows = uncounted_follows(caller.actor.id, caller)
    is_followed = any(one.reference["id"] == asset["id"] and one.column is None for one in follows)
    url = f"{caller.root}/{kind.name}/{quote(asset['fullyQualifiedName'], safe='')}"
    name = asset.get("displayName") or asset["name"]
    return answer({"id": asset["id"], "type": kind.name, "name": name, "follows": is_followed, "url": url})
