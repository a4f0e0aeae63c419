"""Routes of announcements as OpenMetadata 2 has them; each is a thread of ``/feed`` of the same id.

Next: ``store/catalogue/feed/announcements.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from tocsin.catalogue.feed.announcement_requests import operations_of, parse_announcement
from tocsin.errors import NotFound
from tocsin.flow.capture import json_patch
from tocsin.model.announced_thread import AnnouncementStatus
from tocsin.model.entity import Document
from tocsin.model.entity_link import parse_link
from tocsin.model.stored import Key
from tocsin.server.access.permissions import ids_to_filter_by, scopes_of
from tocsin.server.alerts.hourly_counts import count_post
from tocsin.server.http.body_values import patch_of
from tocsin.server.http.paths import API
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import (
    Asked,
    Caller,
    DocumentBody,
    HardDelete,
    JsonBody,
    PathId,
    PathText,
    answer,
)
from tocsin.server.routes.feed.threads import PageCursors, cursors_of_page, document_of, sees
from tocsin.store.catalogue.feed.announcements import AnnouncementFilter

router = DeclaredRoutes(prefix="/announcements", tags=["feed"])


class AnnouncementQuery(PageCursors):
    """Filters of announcements, as OpenMetadata's client sends them; ``fields`` and ``include`` change nothing."""

    entity_link: str | None = Field(default=None, max_length=4_000, description="Only about this asset or part of it.")
    status: AnnouncementStatus | None = Field(default=None, description="Active, Scheduled or Expired, now.")
    active: bool | None = Field(default=None, description="Whether they are active now.")
    domain: str | None = Field(default=None, max_length=10_000, description="Full name of a domain of the asset.")
    fields: str | None = Field(default=None, max_length=2_000, description="Changes nothing: all is there.")
    include: str | None = Field(default=None, max_length=20, description="Changes nothing.")
    limit: int = Field(default=10, ge=1, le=1_000)


@router.get("", openapi_extra=answers("AnnouncementEntityPage"))
def list_announcements(caller: Asked, query: Annotated[AnnouncementQuery, Query()]) -> Response:
    """Return a page of announcements, last changed first."""
    announcements = caller.parts.discussion.announcements
    page = announcements.page(_filter(query, caller), sees(caller), query.window(query.limit))
    return answer({"data": _all_on_wire(page.threads, caller), "paging": cursors_of_page(page)})


@router.post("", status_code=201, openapi_extra=answers("AnnouncementEntity", reads="CreateAnnouncementRequest"))
def create_announcement(body: DocumentBody, caller: Asked) -> Response:
    """Announce something for an asset; its followers hear of it when it begins."""
    return answer(_create(body, caller), 201)


@router.put("", openapi_extra=answers("AnnouncementEntity", reads="CreateAnnouncementRequest", also=("201",)))
def put_announcement(body: DocumentBody, caller: Asked) -> Response:
    """Change the announcement of this name, or make it."""
    document_of(parse_link(body.get("entityLink"), "entityLink"), caller)
    request = parse_announcement(body)
    if request.name is not None:
        try:
            announcement = _visible_by_name(request.name, caller)
        except NotFound:
            announcement = None
        if announcement is not None:
            changes = {key: value for key, value in body.items() if value is not None and key != "owners"}
            return answer(_change(announcement, announcement | changes, caller))
    return answer(_create(body, caller), 201)


@router.get("/name/{fqn}", openapi_extra=answers("AnnouncementEntity"))
def read_announcement_by_name(
    fqn: PathText, caller: Asked, fields: str | None = None, include: str | None = None
) -> Response:
    """Return an announcement by its name; ``fields`` and ``include`` change nothing."""
    return answer(_on_wire(_visible_by_name(fqn, caller), caller))


@router.get("/{announcement_id}", openapi_extra=answers("AnnouncementEntity"))
def read_announcement(
    announcement_id: PathId, caller: Asked, fields: str | None = None, include: str | None = None
) -> Response:
    """Return an announcement; ``fields`` and ``include`` change nothing."""
    return answer(_on_wire(_visible(str(announcement_id), caller), caller))


@router.patch("/{announcement_id}", openapi_extra=answers("AnnouncementEntity", reads="JsonPatch"))
def patch_announcement(announcement_id: PathId, body: JsonBody, caller: Asked) -> Response:
    """Apply a JSON Patch to an announcement: display name, description, start, end."""
    announcement = _visible(str(announcement_id), caller)
    operations = patch_of(body)
    return answer(_change(announcement, json_patch.apply_to_copy(announcement, operations), caller))


@router.delete("/{announcement_id}", openapi_extra=answers("AnnouncementEntity"))
def delete_announcement(announcement_id: PathId, caller: Asked, hard_delete: HardDelete = False) -> Response:
    """Delete an announcement, always for good; for its author and administrators."""
    announcement = _visible(str(announcement_id), caller)
    caller.parts.discussion.feed_writes.delete(announcement["id"], actor=caller.actor)
    return answer(_on_wire(announcement | {"deleted": True}, caller))


def _create(body: Document, caller: Caller) -> Document:
    document_of(parse_link(body.get("entityLink"), "entityLink"), caller)
    request = parse_announcement(body)
    count_post([request.document["message"], request.document["announcement"].get("description")], caller)
    written = caller.parts.discussion.feed_writes.create_announcement(request, actor=caller.actor)
    return _on_wire(_visible(written.document["id"], caller), caller)


def _change(before: Document, after: Document, caller: Caller) -> Document:
    """Make of an announcement what it is to be, if the caller may; return it."""
    operations = operations_of(before, after)
    if operations:
        count_post([str(one["value"]) for one in operations], caller)
        caller.parts.discussion.feed_writes.patch(before["id"], operations, actor=caller.actor)
    return _on_wire(_visible(before["id"], caller), caller)


def _visible(announcement_id: str, caller: Caller) -> Document:
    """Return an announcement as it is now, if the caller may see what it is about."""
    announcements, now_ms = caller.parts.discussion.announcements, caller.parts.clock.now_ms()
    announcement = announcements.get(announcement_id, now_ms)
    if not sees(caller)(*announcements.about(announcement_id)):
        raise NotFound(f"announcement {announcement_id} not found")
    return announcement


def _visible_by_name(name: str, caller: Caller) -> Document:
    announcement = caller.parts.discussion.announcements.get_by_name(name, caller.parts.clock.now_ms())
    if not sees(caller)(*caller.parts.discussion.announcements.about(announcement["id"])):
        raise NotFound(f"announcement {name} not found")
    return announcement


def _on_wire(announcement: Document, caller: Caller) -> Document:
    return _all_on_wire([announcement], caller)[0]


def _all_on_wire(announcements: Sequence[Document], caller: Caller) -> list[Document]:
    address = f"{caller.root}{API}/announcements/"
    return [one | {"href": f"{address}{one['id']}"} for one in caller.visibility.visible_documents(announcements)]


def _filter(query: AnnouncementQuery, caller: Caller) -> AnnouncementFilter:
    about_id: str | None = None
    steps: tuple[str, ...] = ()
    domain_id: str | None = None
    if query.entity_link is not None:
        link = parse_link(query.entity_link, "entityLink")
        about_id, steps = str(document_of(link, caller)["id"]), link.steps
    if query.domain is not None:
        domain = caller.parts.catalogue.reference("domain", Key.by_name(query.domain))
        domain_id = next(iter(ids_to_filter_by([domain] if domain else [], caller)), "")
    return AnnouncementFilter(
        now_ms=caller.parts.clock.now_ms(),
        status=query.status,
        is_active=query.active,
        about_id=about_id,
        steps=steps,
        domain_id=domain_id,
        scopes=scopes_of(caller),
    )
