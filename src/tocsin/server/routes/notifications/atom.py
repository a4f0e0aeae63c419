"""Routes of Atom feeds: an address with a secret opens one feed, for feed readers, which have no log-in.

Of the secret only a hash is stored, as a token that opens nothing else; it ends with its row, with the person, with a
new password, and with the personal token that it was made with, as all tokens do. Rights are those at each read.
*Source:* RFC 4287. Next: ``server/routes/notifications/activity.py``.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple
from uuid import UUID
from xml.etree import ElementTree

from fastapi import Depends, Path, Request, Response
from starlette.concurrency import run_in_threadpool

from tocsin.clock import to_datetime
from tocsin.delivery.wording.changes import event_text
from tocsin.errors import Forbidden, InvalidInput, NotFound
from tocsin.model.activity_feed import FeedRequest, FeedScope
from tocsin.model.change import LoggedEvent
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.people import Actor
from tocsin.model.phrases import suggestion_for
from tocsin.model.stored import Key
from tocsin.server.access.permissions import visible_document
from tocsin.server.build import Parts
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.errors import parse_as
from tocsin.server.http.json_schema import TEXT, TIME, nullable
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, PartsHere, TokenId, address_of, answer, list_answer
from tocsin.server.routes.notifications.activity import FeedFilters, feed_of_entity, feed_of_person, page_of_feed
from tocsin.server.routes.notifications.inbox import Owner
from tocsin.server.routes.people.tokens import token_of_request
from tocsin.store.catalogue.people.tokens import LOG_IN_KINDS, IssuedToken, TokenKind

MOST_FEEDS = 50
"""Addresses that a person may have."""

_ENTRIES = FeedFilters(limit=50)
_ATOM = "http://www.w3.org/2005/Atom"
_NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TITLES = {
    FeedScope.ALL.value: "what concerns you",
    FeedScope.FOLLOWING.value: "what you follow",
    FeedScope.OWNED.value: "what you own",
}
_GONE = "No feed has this address any more; make a new one in Tocsin."

router = DeclaredRoutes(prefix="/users/{user_id}/feeds", tags=["inbox"])
open_router = DeclaredRoutes(tags=["inbox"])


class FeedAddress(NamedTuple):
    """A feed that has an address, and the address itself where it was made just now."""

    token: IssuedToken
    url: str | None = None


FEED: Shape[FeedAddress] = {
    "id": (TEXT, lambda address: address.token.id),
    "feed": ({**TEXT, "description": "`all`, `following`, `owned`, or `type:id`."}, lambda address: address.token.name),
    "created": (TIME, lambda address: address.token.issued_at_ms),
    "url": (nullable(TEXT), lambda address: address.url),
}


@router.get("", openapi_extra=answers("FeedPage", schema_of(FEED)))
def list_feeds(owner: Owner, caller: Asked) -> Response:
    """Return the feeds of a person that have an address, oldest first; the addresses are not shown again."""
    tokens = caller.parts.people.tokens.of(owner, TokenKind.FEED)
    return list_answer([json_of(FEED, FeedAddress(one)) for one in tokens])


@router.post("", openapi_extra=answers("Feed", schema_of(FEED), reads="FeedRequest", never="409"))
def open_feed(owner: Owner, body: DocumentBody, caller: Asked, token_id: TokenId) -> Response:
    """Make an address of a feed, and return it once, as `url`: who has it reads the feed as this person.

    Made with a personal token, it ends with that one.
    """
    if owner != caller.actor.id or caller.actor.is_bot:
        raise Forbidden("Only people make addresses of feeds, each for themselves.")
    tokens, name = caller.parts.people.tokens, _name_of(parse_as(FeedRequest, body), caller)
    if len(tokens.of(owner, TokenKind.FEED)) >= MOST_FEEDS:
        raise InvalidInput(f"at most {MOST_FEEDS} feeds have addresses; revoke some", field="feed")
    secret, request_token = secrets.token_urlsafe(32), token_of_request(token_id, caller)
    token = IssuedToken(_id_of(secret), owner, TokenKind.FEED, name, caller.parts.clock.now_ms(), None)
    if request_token.kind not in LOG_IN_KINDS:
        token = replace(token, expires_at_ms=request_token.expires_at_ms, parent_id=request_token.id)
    tokens.add(token)
    return answer(json_of(FEED, FeedAddress(token, f"{caller.root}/api/v1/atom/{secret}")), 201)


@router.delete("/{feed_id}", openapi_extra=answers("FeedRevoked", never="409"))
def revoke_feed(owner: Owner, feed_id: Annotated[str, Path(max_length=40)], caller: Asked) -> Response:
    """Revoke the address of a feed: it opens nothing from now on."""
    tokens = caller.parts.people.tokens
    if feed_id not in {one.id for one in tokens.of(owner, TokenKind.FEED)}:
        raise NotFound(f"feed {feed_id} not found; tocsin feeds list shows those that there are")
    tokens.revoke([feed_id], owner)
    return answer({"id": feed_id, "revoked": True})


def _name_of(request: FeedRequest, caller: Caller) -> str:
    """Return the stored name of a feed, of what its reader may view."""
    if request.type is None and request.id is None:
        return (request.scope or FeedScope.ALL).value
    if request.type is None or request.id is None or request.scope is not None:
        raise InvalidInput("give either of, or type and id", field="of")
    kind = ENTITY_TYPES.get(request.type)
    if kind is None:
        raise InvalidInput(f"unknown type {request.type!r}; {suggestion_for(request.type, ENTITY_TYPES)}", field="type")
    visible_document(kind, Key.by_id(str(request.id)), caller, include="all")
    return f"{kind.name}:{request.id}"


def _id_of(secret: str) -> str:
    """Return the id under which the secret of an address is stored: its hash."""
    return str(UUID(bytes=hashlib.sha256(secret.encode()).digest()[:16]))


class OpenedFeed(NamedTuple):
    """A feed whose address was asked for, and the person whose it is as the caller."""

    name: str
    caller: Caller


async def feed_at_address(
    token: Annotated[str, Path(max_length=100)], request: Request, parts: PartsHere
) -> AsyncIterator[OpenedFeed]:
    """Yield the feed that an address opens; it takes one of the person's slots.

    Raises
    ------
    NotFound : the address is none, has expired or was revoked, or its person is gone
    """
    name, actor = await run_in_threadpool(_find, token, parts)
    with await parts.traffic.shares.place_for(actor) as place:
        yield OpenedFeed(name, Caller(actor, parts, parts.settings.public_url or address_of(request), place))


def _find(secret: str, parts: Parts) -> tuple[str, Actor]:
    token_id = _id_of(secret)
    holders = parts.people.tokens.holders([token_id], parts.clock.now_ms())
    token, actor = parts.people.tokens.find(token_id), holders.get(token_id)
    if token is None or token.kind is not TokenKind.FEED or actor is None:
        raise NotFound(_GONE)
    if token.expires_at_ms is not None and token.expires_at_ms <= parts.clock.now_ms():
        raise NotFound(_GONE)
    return token.name, actor


@open_router.get("/atom/{token}", openapi_extra=answers("Atom", media="application/atom+xml", refuses="429"))
def read_feed(feed: Annotated[OpenedFeed, Depends(feed_at_address)]) -> Response:
    """Return the newest events of a feed as Atom, as far as the person whose address it is may view them."""
    caller = feed.caller
    entity_type, _, entity_id = feed.name.partition(":")
    if entity_id:
        visible_document(ENTITY_TYPES[entity_type], Key.by_id(entity_id), caller, include="all")
        events = feed_of_entity(ENTITY_TYPES[entity_type], entity_id, caller)
    else:
        events = feed_of_person(caller.actor.id, FeedScope(feed.name), caller)
    page = page_of_feed(events, _ENTRIES, caller)
    headers = {"Cache-Control": "private, no-store", "Referrer-Policy": "no-referrer"}
    return Response(_atom(feed, page.entries), headers=headers, media_type="application/atom+xml")


def _atom(feed: OpenedFeed, entries: Sequence[LoggedEvent]) -> bytes:
    """Return events as an Atom document."""
    root = ElementTree.Element("feed", xmlns=_ATOM)
    updated_ms = entries[0].event.timestamp if entries else 0
    _add(root, "id", f"urn:tocsin:{feed.caller.actor.id}:{feed.name}")
    _add(root, "title", f"Tocsin: {_TITLES.get(feed.name, feed.name)}")
    _add(root, "updated", to_datetime(updated_ms).isoformat())
    for event in feed.caller.parts.inbox.named_events([entry.event for entry in entries], feed.caller.visibility.sees):
        text = event_text(event, zone=feed.caller.zone, reader_id=feed.caller.actor.id)
        entry = ElementTree.SubElement(root, "entry")
        _add(entry, "id", f"urn:uuid:{event.id}")
        _add(entry, "title", text.headline)
        _add(entry, "updated", to_datetime(event.timestamp).isoformat())
        ElementTree.SubElement(entry, "link", href=f"{feed.caller.root}{text.asset.page}")
        _add(ElementTree.SubElement(entry, "author"), "name", event.user_name or "Tocsin")
        _add(entry, "content", "\n".join(line.sentence for line in text.all_lines))
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def _add(parent: ElementTree.Element, name: str, text: str) -> None:
    """Add an element with a text, without characters that XML cannot hold."""
    ElementTree.SubElement(parent, name).text = _NO_XML.sub("\ufffd", text)
