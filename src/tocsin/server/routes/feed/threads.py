"""Routes of threads and their posts: conversations, tasks and announcements about an asset.

A thread is visible to everybody who may view its asset. Next: ``server/routes/feed/tasks.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated
from uuid import UUID

from fastapi import Query, Response
from pydantic import Field

from tocsin.access.person_visibility import Visibility
from tocsin.errors import InvalidInput, NotFound
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_link import EntityLink, parse_link
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.mentions import texts_of
from tocsin.model.stored import Key
from tocsin.model.thread import NOBODY_ID, SHOWN_POSTS, TaskStatus, ThreadType
from tocsin.server.access.permissions import ids_to_filter_by, require, scopes_of
from tocsin.server.alerts.hourly_counts import count_post
from tocsin.server.entities.response import with_address
from tocsin.server.http.body_values import patch_of
from tocsin.server.http.paths import API
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, JsonBody, PathId, QueryParameters, answer, list_answer
from tocsin.store.catalogue.feed.filters import FeedQuery, FilterType, ThreadCursor
from tocsin.store.catalogue.feed.threads import Sees, ThreadPage, ThreadWindow, cursor_of, place_of

Link = Annotated[str, Query(alias="entityLink", max_length=4_000)]

_ALL_POSTS = 1_000_000
_LONGEST_CURSOR = 100

router = DeclaredRoutes(prefix="/feed", tags=["feed"])


class PageCursors(QueryParameters):
    """The cursors of a page."""

    before: str | None = Field(default=None, max_length=_LONGEST_CURSOR)
    after: str | None = Field(default=None, max_length=_LONGEST_CURSOR)

    def places(self) -> tuple[ThreadCursor | None, ThreadCursor | None]:
        """Return the places of ``after`` and ``before``, of which at most one is there.

        Raises
        ------
        InvalidInput : one is no cursor, or there are both
        """
        if self.before and self.after:
            raise InvalidInput("give either after or before", field="before")
        after = place_of(self.after, "after") if self.after else None
        return after, place_of(self.before, "before") if self.before else None

    def window(self, limit: int) -> ThreadWindow:
        """Return the window of at most ``limit`` threads. Raises as ``places``."""
        return ThreadWindow(limit, *self.places())


class Filters(QueryParameters):
    """What may be asked of the threads."""

    limit_posts: int = Field(default=SHOWN_POSTS, ge=0, le=1_000_000)
    limit: int = Field(default=10, ge=1, le=1_000_000)
    before: str | None = Field(default=None, max_length=_LONGEST_CURSOR)
    after: str | None = Field(default=None, max_length=_LONGEST_CURSOR)
    entity_link: str | None = Field(default=None, max_length=4_000)
    user_id: UUID | None = Field(default=None, description="Id of the person whom `filterType` is about.")
    filter_type: FilterType | None = Field(default=None, description="How the threads concern the person.")
    resolved: bool = Field(default=False, description="Whether resolved threads are returned, instead of open ones.")
    type: ThreadType | None = Field(default=None, description="Only threads of this type.")
    task_status: TaskStatus | None = Field(default=None, description="Only tasks of this status.")
    active_announcement: bool | None = Field(default=None, description="Whether announcements are active now.")


@router.get("", openapi_extra=answers("ThreadPage"))
def list_threads(caller: Asked, filters: Annotated[Filters, Query()]) -> Response:
    """Return a page of threads with their latest posts, last changed first."""
    if filters.before and filters.after:
        raise InvalidInput("give either after or before", field="before")
    query = _query(filters, caller)
    page = caller.parts.discussion.feed.page(query, sees(caller), limit=filters.limit, posts=filters.limit_posts)
    return answer({"data": all_on_wire(page.threads, caller), "paging": cursors_of_page(page)})


@router.post("", status_code=201, openapi_extra=answers("Thread", reads="CreateThreadRequest"))
def create_thread(body: DocumentBody, caller: Asked) -> Response:
    """Start a thread about an asset or a part of it: ``about``, ``message``, ``type`` and the fields of the type."""
    link = parse_link(body.get("about"), "about")
    document_of(link, caller)
    count_post(texts_of(body), caller)
    written = caller.parts.discussion.feed_writes.create(body, actor=caller.actor)
    return answer(on_wire(written.document, caller), 201)


@router.get("/count", openapi_extra=answers("ThreadCountList"))
def count_threads(entity_link: Link, caller: Asked) -> Response:
    """Return the number of threads by type for an asset and its parts, or for a user."""
    link = parse_link(entity_link, "entityLink")
    asset = document_of(link, caller)
    if link.entity_type == "user":
        return answer(caller.parts.discussion.feed.counts_of(asset["id"], str(link), scopes_of(caller)))
    now_ms = caller.parts.clock.now_ms()
    reference = {"id": asset["id"], "type": link.entity_type, "fullyQualifiedName": asset["fullyQualifiedName"]}
    return answer(caller.parts.discussion.feed.counts(reference, link.steps, now_ms=now_ms))


@router.get("/{thread_id}", openapi_extra=answers("Thread"))
def read_thread(thread_id: PathId, caller: Asked) -> Response:
    """Return a thread with all posts."""
    return answer(on_wire(visible(str(thread_id), caller, posts=_ALL_POSTS), caller))


@router.patch("/{thread_id}", openapi_extra=answers("Thread", reads="JsonPatch"))
def patch_thread(thread_id: PathId, body: JsonBody, caller: Asked) -> Response:
    """Apply a JSON Patch to a thread: message, reactions, assignees, announcement, resolved."""
    return patch_answer(str(thread_id), body, caller)


@router.delete("/{thread_id}", openapi_extra=answers("Thread"))
def delete_thread(thread_id: PathId, caller: Asked) -> Response:
    """Hard-delete a thread with its posts; for its author and administrators."""
    visible(str(thread_id), caller)
    written = caller.parts.discussion.feed_writes.delete(str(thread_id), actor=caller.actor)
    return answer(on_wire(written.document, caller))


@router.get("/{thread_id}/posts", openapi_extra=answers("PostPage"))
def list_posts(thread_id: PathId, caller: Asked) -> Response:
    """Return the posts of a thread, oldest first."""
    visible(str(thread_id), caller)
    posts = caller.parts.discussion.feed.posts(str(thread_id))
    return list_answer(caller.visibility.visible_documents(posts))


@router.post("/{thread_id}/posts", status_code=201, openapi_extra=answers("Thread", reads="CreatePost"))
def add_post(thread_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Add a post (``message``) to a thread; returns the thread."""
    visible(str(thread_id), caller)
    count_post([body.get("message")], caller)
    written = caller.parts.discussion.feed_writes.reply(str(thread_id), body, actor=caller.actor)
    return answer(on_wire(written.document, caller), 201)


@router.patch("/{thread_id}/posts/{post_id}", openapi_extra=answers("Post", reads="JsonPatch"))
def patch_post(thread_id: PathId, post_id: PathId, body: JsonBody, caller: Asked) -> Response:
    """Apply a JSON Patch to a post: message (for its author) or one's own reactions."""
    visible(str(thread_id), caller)
    operations = patch_of(body)
    count_post(texts_in(operations), caller)
    written = caller.parts.discussion.feed_writes.patch_post(
        str(thread_id), str(post_id), operations, actor=caller.actor
    )
    return _post_answer(written.document, caller)


@router.delete("/{thread_id}/posts/{post_id}", openapi_extra=answers("Post"))
def delete_post(thread_id: PathId, post_id: PathId, caller: Asked) -> Response:
    """Delete a post; for its author and administrators."""
    visible(str(thread_id), caller)
    written = caller.parts.discussion.feed_writes.delete_post(str(thread_id), str(post_id), actor=caller.actor)
    return _post_answer(written.document, caller)


def _post_answer(post: Document, caller: Caller) -> Response:
    """Return a post without the people in it who are hidden from the caller."""
    return answer(caller.visibility.visible_documents([post])[0])


def cursors_of_page(page: ThreadPage) -> Document:
    """Return the number and the cursors of a page for a response."""
    cursors = {"after": cursor_of(page.after), "before": cursor_of(page.before)}
    return {"total": page.total} | {key: cursor for key, cursor in cursors.items() if cursor}


def visible(thread_id: str, caller: Caller, *, posts: int = 0) -> Document:
    """Return a thread, if the caller may see the asset it is about."""
    thread = caller.parts.discussion.feed.get(thread_id, posts=posts)
    asset = thread["entityRef"]
    if not sees(caller)(asset["type"], asset["id"]):
        raise NotFound(f"thread {thread_id} not found")
    return thread


def visible_by_number(number: int, caller: Caller, *, posts: int = 0) -> Document:
    """Return the thread of a task, if the caller may see the asset it is about; no error says which thread it is."""
    try:
        return visible(caller.parts.discussion.feed.id_of_task(number), caller, posts=posts)
    except NotFound as error:
        raise NotFound(f"task {number} not found") from error


class _SeenByCaller:
    """Which assets a caller may see; what it found out, ``Visibility`` remembers."""

    def __init__(self, visibility: Visibility) -> None:
        self._visibility = visibility

    def look_up(self, assets: Iterable[tuple[str, str]]) -> None:
        """Find out about these, by type and id, at once."""
        self._visibility.sees([{"type": entity_type, "id": entity_id} for entity_type, entity_id in assets])

    def __call__(self, entity_type: str, entity_id: str) -> bool:
        """Return whether the caller may see the asset of this type and id."""
        return entity_id in self._visibility.sees([{"type": entity_type, "id": entity_id}])


def sees(caller: Caller) -> Sees:
    """Return which assets the caller may see."""
    return _SeenByCaller(caller.visibility)


def patch_answer(thread_id: str, body: object, caller: Caller) -> Response:
    """Return the answer to a JSON Patch of a thread."""
    visible(thread_id, caller)
    operations = patch_of(body)
    count_post(texts_in(operations), caller)
    written = caller.parts.discussion.feed_writes.patch(thread_id, operations, actor=caller.actor)
    return answer(on_wire(written.document, caller))


def on_wire(thread: Document, caller: Caller) -> Document:
    """Return a thread for a response: with its own URL and that of the asset, without hidden people."""
    return all_on_wire([thread], caller)[0]


def all_on_wire(threads: Sequence[Document], caller: Caller) -> list[Document]:
    """Return threads for a response, as ``on_wire`` does; what they refer to is looked up at once."""
    address = f"{caller.root}{API}/feed/"
    return [
        thread | {"href": f"{address}{thread['id']}", "entityRef": with_address(thread["entityRef"], caller.root)}
        for thread in caller.visibility.visible_documents(threads)
    ]


def _query(filters: Filters, caller: Caller) -> FeedQuery:
    query = FeedQuery(
        resolved=filters.resolved,
        filter_type=filters.filter_type,
        user_id=person_to_filter_by(filters.user_id, caller),
        kind=filters.type,
        task_status=filters.task_status,
        active=filters.active_announcement,
        active_at_ms=caller.parts.clock.now_ms(),
        after=place_of(filters.after, "after") if filters.after else None,
        before=place_of(filters.before, "before") if filters.before else None,
        scopes=scopes_of(caller),
    )
    if filters.entity_link is None:
        return query
    link = parse_link(filters.entity_link, "entityLink")
    asset_id = str(document_of(link, caller)["id"])
    if link.entity_type == "user":  # what concerns a person, not what is said about them
        return replace(query, user_id=asset_id, filter_type=FilterType.OWNER)
    return replace(query, about_id=asset_id, steps=link.steps, user_id=None)


def person_to_filter_by(user_id: UUID | None, caller: Caller) -> str | None:
    """Return the id of a person by whom threads are filtered: that of nobody for who is hidden; None for no filter."""
    if user_id is None:
        return None
    return next(iter(ids_to_filter_by([{"type": "user", "id": str(user_id)}], caller)), NOBODY_ID)


def document_of(link: EntityLink, caller: Caller) -> Document:
    """Return the document of the entity that a link names, if the caller may see it."""
    if link.entity_type not in ENTITY_TYPES:
        raise NotFound(f"{link.entity_type} {link.fqn} not found")
    document = caller.parts.catalogue.get(link.entity_type, Key.by_name(link.fqn), "all")
    require(caller, Operation.VIEW_BASIC, ENTITY_TYPES[link.entity_type], document)
    return document


def texts_in(operations: Sequence[Document]) -> list[object]:
    """Return the texts that a JSON Patch writes."""
    return [str(one["value"]) for one in operations if "value" in one]
