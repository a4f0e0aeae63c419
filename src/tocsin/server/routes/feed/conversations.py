"""Routes of conversations as OpenMetadata 2 has them; each is a thread of ``/feed`` of the same id.

Next: ``store/catalogue/feed/conversations.py``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from fastapi import Path, Query, Response
from pydantic import Field

from tocsin.catalogue.feed.conversation_requests import (
    OF_CONVERSATION,
    OF_REPLY,
    parse_conversation,
    parse_edits,
    parse_reaction,
)
from tocsin.catalogue.feed.people import OwnReaction
from tocsin.errors import InvalidInput, NotFound
from tocsin.model.entity import Document
from tocsin.model.entity_link import parse_link
from tocsin.model.thread import NOBODY_ID, ThreadType
from tocsin.server.access.permissions import scopes_of
from tocsin.server.alerts.hourly_counts import count_post
from tocsin.server.entities.response import with_address
from tocsin.server.http.body_values import patch_of
from tocsin.server.http.paths import API
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, JsonBody, PathId, answer
from tocsin.server.routes.feed.threads import (
    PageCursors,
    cursors_of_page,
    document_of,
    person_to_filter_by,
    sees,
    texts_in,
)
from tocsin.store.catalogue.feed.conversations import ReplyWindow
from tocsin.store.catalogue.feed.filters import FeedQuery, FilterType

ReactionName = Annotated[str, Path(max_length=40, description="thumbsUp, heart, …")]

router = DeclaredRoutes(prefix="/conversations", tags=["feed"])


class PersonFilter(StrEnum):
    """How conversations concern a person."""

    OWNER = "OWNER"
    FOLLOWS = "FOLLOWS"
    MENTIONS = "MENTIONS"
    OWNER_OR_FOLLOWS = "OWNER_OR_FOLLOWS"


class ReplyQuery(PageCursors):
    """A page of replies."""

    limit: int = Field(default=20, ge=1, le=100)


class ConversationQuery(PageCursors):
    """Filters of conversations."""

    entity_link: str | None = Field(default=None, max_length=4_000, description="Only about this asset or part of it.")
    include_fields: bool = Field(default=False, description="With entityLink: also about what is below it.")
    user_id: UUID | None = Field(default=None, description="Id of the person whom `filterType` is about.")
    filter_type: PersonFilter | None = Field(default=None, description="How they concern the person.")
    resolved: bool = Field(default=False, description="Whether resolved ones are returned, instead of open ones.")
    limit: int = Field(default=10, ge=1, le=100)


@router.get("", openapi_extra=answers("ConversationEntityPage"))
def list_conversations(caller: Asked, query: Annotated[ConversationQuery, Query()]) -> Response:
    """Return a page of conversations with their latest replies, last changed first."""
    page = caller.parts.discussion.conversations.page(_filter(query, caller), sees(caller), limit=query.limit)
    return answer({"data": _on_wire(page.threads, caller), "paging": cursors_of_page(page)})


@router.post("", status_code=201, openapi_extra=answers("ConversationEntity", reads="CreateConversationRequest"))
def create_conversation(body: DocumentBody, caller: Asked) -> Response:
    """Start a conversation about an asset or a part of it: ``about`` and ``message``."""
    document_of(parse_link(body.get("about"), "about"), caller)
    request = parse_conversation(body)
    count_post([request["message"]], caller)
    written = caller.parts.discussion.feed_writes.create(request, actor=caller.actor)
    return _conversation_answer(written.document["id"], caller, 201)


@router.get("/{conversation_id}", openapi_extra=answers("ConversationEntity"))
def read_conversation(conversation_id: PathId, caller: Asked) -> Response:
    """Return a conversation with its latest replies."""
    return _conversation_answer(str(conversation_id), caller)


@router.patch("/{conversation_id}", openapi_extra=answers("ConversationEntity", reads="JsonPatch"))
def patch_conversation(conversation_id: PathId, body: JsonBody, caller: Asked) -> Response:
    """Apply a JSON Patch to a conversation: ``message`` (for its author), ``resolved``."""
    thread_id = _visible(str(conversation_id), caller)["id"]
    operations = parse_edits(patch_of(body), OF_CONVERSATION)
    count_post(texts_in(operations), caller)
    caller.parts.discussion.feed_writes.patch(thread_id, operations, actor=caller.actor)
    return _conversation_answer(thread_id, caller)


@router.delete("/{conversation_id}", openapi_extra=answers("ConversationEntity"))
def delete_conversation(conversation_id: PathId, caller: Asked) -> Response:
    """Delete a conversation with its replies for good; for its author and administrators."""
    conversation = _visible(str(conversation_id), caller)
    caller.parts.discussion.feed_writes.delete(conversation["id"], actor=caller.actor)
    return answer(_on_wire([conversation], caller)[0])


@router.put("/{conversation_id}/reaction/{reaction}", openapi_extra=answers("ConversationEntity"))
def add_reaction(conversation_id: PathId, reaction: ReactionName, caller: Asked) -> Response:
    """Add one's own reaction to a conversation."""
    return _reaction_answer(str(conversation_id), OwnReaction(reaction, is_there=True), caller)


@router.delete("/{conversation_id}/reaction/{reaction}", openapi_extra=answers("ConversationEntity"))
def remove_reaction(conversation_id: PathId, reaction: ReactionName, caller: Asked) -> Response:
    """Take back one's own reaction to a conversation."""
    return _reaction_answer(str(conversation_id), OwnReaction(reaction, is_there=False), caller)


@router.get("/{conversation_id}/replies", openapi_extra=answers("ConversationReplyPage"))
def list_replies(conversation_id: PathId, caller: Asked, query: Annotated[ReplyQuery, Query()]) -> Response:
    """Return a page of the replies to a conversation, oldest first."""
    conversation = _visible(str(conversation_id), caller)
    page = caller.parts.discussion.conversations.replies(conversation, ReplyWindow(query.limit, *query.places()))
    return answer({"data": _replies_on_wire(page.threads, caller), "paging": cursors_of_page(page)})


@router.post(
    "/{conversation_id}/replies", status_code=201, openapi_extra=answers("ConversationReply", reads="CreatePost")
)
def add_reply(conversation_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Reply to a conversation: ``message``; returns the reply."""
    thread_id = _visible(str(conversation_id), caller)["id"]
    count_post([body.get("message")], caller)
    written = caller.parts.discussion.feed_writes.add_reply(thread_id, body, actor=caller.actor)
    return _reply_answer(thread_id, written.document["id"], caller, 201)


@router.patch("/{conversation_id}/replies/{reply_id}", openapi_extra=answers("ConversationReply", reads="JsonPatch"))
def patch_reply(conversation_id: PathId, reply_id: PathId, body: JsonBody, caller: Asked) -> Response:
    """Apply a JSON Patch to a reply: ``message``, for its author."""
    thread_id = _visible(str(conversation_id), caller)["id"]
    operations = parse_edits(patch_of(body), OF_REPLY)
    count_post(texts_in(operations), caller)
    caller.parts.discussion.feed_writes.patch_post(thread_id, str(reply_id), operations, actor=caller.actor)
    return _reply_answer(thread_id, str(reply_id), caller)


@router.delete("/{conversation_id}/replies/{reply_id}", openapi_extra=answers("ConversationReply"))
def delete_reply(conversation_id: PathId, reply_id: PathId, caller: Asked) -> Response:
    """Delete a reply for good; for its author and administrators."""
    thread_id = _visible(str(conversation_id), caller)["id"]
    reply = caller.parts.discussion.conversations.reply(thread_id, str(reply_id))
    caller.parts.discussion.feed_writes.delete_post(thread_id, str(reply_id), actor=caller.actor)
    return answer(_replies_on_wire([reply], caller)[0])


@router.put("/{conversation_id}/replies/{reply_id}/reaction/{reaction}", openapi_extra=answers("ConversationReply"))
def add_reply_reaction(conversation_id: PathId, reply_id: PathId, reaction: ReactionName, caller: Asked) -> Response:
    """Add one's own reaction to a reply."""
    return _reaction_answer(str(conversation_id), OwnReaction(reaction, True, str(reply_id)), caller)


@router.delete("/{conversation_id}/replies/{reply_id}/reaction/{reaction}", openapi_extra=answers("ConversationReply"))
def remove_reply_reaction(conversation_id: PathId, reply_id: PathId, reaction: ReactionName, caller: Asked) -> Response:
    """Take back one's own reaction to a reply."""
    return _reaction_answer(str(conversation_id), OwnReaction(reaction, False, str(reply_id)), caller)


def _reaction_answer(conversation_id: str, reaction: OwnReaction, caller: Caller) -> Response:
    """Add or take back a reaction; return the answer that shows what it is to."""
    _visible(conversation_id, caller)
    parse_reaction(reaction.kind)
    count_post([], caller)
    caller.parts.discussion.feed_writes.react(conversation_id, reaction, actor=caller.actor)
    if reaction.post_id is None:
        return _conversation_answer(conversation_id, caller)
    return _reply_answer(conversation_id, reaction.post_id, caller)


def _conversation_answer(conversation_id: str, caller: Caller, status: int = 200) -> Response:
    return answer(_on_wire([_visible(conversation_id, caller)], caller)[0], status)


def _reply_answer(conversation_id: str, reply_id: str, caller: Caller, status: int = 200) -> Response:
    reply = caller.parts.discussion.conversations.reply(conversation_id, reply_id)
    return answer(_replies_on_wire([reply], caller)[0], status)


def _visible(conversation_id: str, caller: Caller) -> Document:
    """Return a conversation, if the caller may see what it is about."""
    conversation = caller.parts.discussion.conversations.get(conversation_id)
    asset = conversation["entityRef"]
    if not sees(caller)(asset["type"], asset["id"]):
        raise NotFound(f"conversation {conversation_id} not found")
    return conversation


def _on_wire(conversations: list[Document], caller: Caller) -> list[Document]:
    """Return conversations for a response: with their URLs and those of the assets, without hidden people."""
    return [
        conversation
        | {"href": f"{caller.root}{API}/conversations/{conversation['id']}"}
        | {"entityRef": with_address(conversation["entityRef"], caller.root)}
        | {"replies": [_with_author(reply) for reply in conversation["replies"]]}
        for conversation in caller.visibility.visible_documents(conversations)
    ]


def _replies_on_wire(replies: list[Document], caller: Caller) -> list[Document]:
    return [_with_author(one) for one in caller.visibility.visible_documents(replies)]


def _with_author(reply: Document) -> Document:
    """Return a reply with an author, which every reply has: of one who may not be seen, nothing but that."""
    return {"author": {"id": NOBODY_ID, "type": "user"}, **reply}


def _filter(query: ConversationQuery, caller: Caller) -> FeedQuery:
    if query.user_id is not None and query.filter_type is None:
        raise InvalidInput("is required with userId", field="filterType")
    link = None if query.entity_link is None else parse_link(query.entity_link, "entityLink")
    after, before = query.places()
    return FeedQuery(
        resolved=query.resolved,
        about_id=None if link is None else str(document_of(link, caller)["id"]),
        steps=() if link is None else link.steps,
        is_exact=not query.include_fields,
        user_id=person_to_filter_by(query.user_id, caller),
        filter_type=None if query.filter_type is None else FilterType(query.filter_type),
        kind=ThreadType.CONVERSATION,
        after=after,
        before=before,
        scopes=scopes_of(caller),
    )
