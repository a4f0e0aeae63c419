"""Reads of conversations as OpenMetadata 2 has them: pages, single ones, and their replies.

Next: ``store/catalogue/feed/threads.py``, whose threads they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Engine, and_, or_, select

from tocsin.errors import NotFound
from tocsin.model.conversation import conversation_document, reply_document
from tocsin.model.entity import Document
from tocsin.model.thread import SHOWN_POSTS, StoredThread, ThreadType
from tocsin.store.catalogue.feed.filters import FeedQuery, ThreadCursor
from tocsin.store.catalogue.feed.rows import THREAD_COLUMNS, SqlThreads, thread_of
from tocsin.store.catalogue.feed.threads import Sees, ThreadPage, page_of
from tocsin.store.database.documents import from_text, references_by_id
from tocsin.store.database.engine import reading
from tocsin.store.database.feed_tables import thread, thread_post

_THREAD, _POST = thread.c, thread_post.c


@dataclass(frozen=True)
class ReplyWindow:
    """Which replies are wanted, oldest first: at most ``limit`` after a place, or before one."""

    limit: int
    after: ThreadCursor | None = None
    before: ThreadCursor | None = None


class ConversationList:
    """Reads conversations."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, thread_id: str) -> Document:
        """Return a conversation with its latest replies. Raises ``NotFound``: there is none."""
        is_such = (_THREAD.id == thread_id, _THREAD.kind == ThreadType.CONVERSATION.value)
        with reading(self._engine) as connection:
            row = connection.execute(select(*THREAD_COLUMNS).where(*is_such)).one_or_none()
            if row is None:
                raise NotFound(f"conversation {thread_id} not found")
            return _conversation_documents(connection, [thread_of(row)])[0]

    def page(self, query: FeedQuery, sees: Sees, *, limit: int) -> ThreadPage:
        """Return the conversations that ``query`` asks for and ``sees`` allows, the last changed first."""
        with reading(self._engine) as connection:
            return page_of(connection, query, sees, limit, lambda threads: _conversation_documents(connection, threads))

    def reply(self, thread_id: str, post_id: str) -> Document:
        """Return a reply. Raises ``NotFound``: there is none."""
        with reading(self._engine) as connection:
            post = SqlThreads(connection).post(thread_id, post_id)
            if post is None:
                raise NotFound(f"reply {post_id} not found")
            return _reply_documents(connection, thread_id, [post])[0]

    def replies(self, conversation: Document, window: ReplyWindow) -> ThreadPage:
        """Return replies to a conversation."""
        backwards = window.before is not None
        query = select(_POST.document).where(_POST.thread_id == conversation["id"], *_lies_in(window))
        order = (_POST.posted_at_ms.desc(), _POST.id.desc()) if backwards else (_POST.posted_at_ms, _POST.id)
        with reading(self._engine) as connection:
            posts = [from_text(text) for text in connection.scalars(query.order_by(*order).limit(window.limit + 1))]
            onward = _place_in(posts[window.limit - 1]) if len(posts) > window.limit else None
            posts = posts[: window.limit]
            back = _place_in(posts[0]) if posts and (window.before or window.after) else None
            if backwards:
                posts.reverse()
            after, before = (back, onward) if backwards else (onward, back)
            documents = _reply_documents(connection, conversation["id"], posts)
        return ThreadPage(documents, conversation["replyCount"], after=after, before=before)


def _lies_in(window: ReplyWindow) -> list[ColumnElement[bool]]:
    moment = _POST.posted_at_ms
    if window.before is not None:
        place = window.before
        return [or_(moment < place.updated_at_ms, and_(moment == place.updated_at_ms, _POST.id < place.thread_id))]
    if window.after is not None:
        place = window.after
        return [or_(moment > place.updated_at_ms, and_(moment == place.updated_at_ms, _POST.id > place.thread_id))]
    return []


def _place_in(post: Document) -> ThreadCursor:
    """Return the place of a post among those of its thread, as a cursor has it."""
    return ThreadCursor(post["postTs"], post["id"])


def _reply_documents(connection: Connection, thread_id: str, posts: Sequence[Document]) -> list[Document]:
    authors = SqlThreads(connection).authors_of({thread_id: posts})
    references = references_by_id(connection, set(authors.values()))
    return _replies(thread_id, posts, authors, references)


def _conversation_documents(connection: Connection, threads: Sequence[StoredThread]) -> list[Document]:
    posts = SqlThreads(connection).latest_posts_of(threads, SHOWN_POSTS)
    authors = SqlThreads(connection).authors_of(posts)
    ids = {one for stored_thread in threads for one in (stored_thread.about_id, stored_thread.created_by_id)}
    ids |= {domain for one in threads for domain in one.document.get("domains") or ()}
    references = references_by_id(connection, ids | set(authors.values()))
    documents = []
    for stored_thread in threads:
        if stored_thread.about_id not in references:
            raise NotFound(f"{stored_thread.about_type} {stored_thread.about_id} not found")
        replies = _replies(stored_thread.id, posts[stored_thread.id], authors, references)
        documents.append(conversation_document(stored_thread, references, replies))
    return documents


def _replies(
    thread_id: str, posts: Sequence[Document], authors: Mapping[str, str], references: Mapping[str, Document]
) -> list[Document]:
    return [reply_document(thread_id, one, references.get(authors.get(one["id"], ""))) for one in posts]
