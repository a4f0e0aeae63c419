"""Route of an inbox by asset: "6 changes of orders", each asset where the first of its entries is.

Next: ``server/access/inbox.py``.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from fastapi import Query, Response

from tocsin.delivery.wording.assets import asset_of
from tocsin.model.entity import Document
from tocsin.server.access.inbox import AssetEntries
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.json_schema import COUNT, ID, TEXT, array, exact_object, ref
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import PartsHere, RequestActor, answer
from tocsin.server.routes.notifications.inbox import (
    AskedKind,
    Owner,
    inbox_cursor,
    parse_cursor,
    shown_entries,
    view_of,
)

router = DeclaredRoutes(prefix="/users/{user_id}/notifications", tags=["inbox"])


class _ShownAsset(NamedTuple):
    """The entries of an asset, and the latest of them as a list shows it."""

    entries: AssetEntries
    latest: Document


_ASSET: Shape[_ShownAsset] = {
    "assetId": (ID, lambda asset: asset.entries.asset_id),
    "name": (TEXT, lambda asset: asset_of(asset.entries.latest_of_itself.event).name),
    "count": (COUNT, lambda asset: len(asset.entries.entries)),
    "unread": (COUNT, lambda asset: sum(not one.state.is_read for one in asset.entries.entries)),
    "latest": (ref("Notification"), lambda asset: asset.latest),
}
_PAGE = exact_object({"data": array(schema_of(_ASSET)), "paging": ref("Paging")})


@router.get("/assets", openapi_extra=answers("AssetsOfInbox", _PAGE))
def list_assets(
    owner: Owner,
    sender: RequestActor,
    parts: PartsHere,
    page_of: AskedKind,
    *,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    after: Annotated[str | None, Query(max_length=100)] = None,
) -> Response:
    """Return the assets of the first 1,000 entries of a tab, each with how many it has, and the latest of them.

    Filters are those of the list; with ``asset`` it has the entries of one. A test counts for its table, a conversation
    for what it is about.
    """
    parts.inbox.wake(parts.clock.now_ms(), [owner])
    view, place = view_of(owner, sender, parts), parse_cursor(after) if after else None
    assets = view.by_asset(page_of)
    following = [one for one in assets if place is None or one.is_after(page_of, place)]
    page = following[:limit]
    latest_entries = shown_entries([one.latest for one in page], view, sender, parts)
    paging: Document = {"total": len(assets)}
    if len(following) > limit:
        paging["after"] = inbox_cursor(page_of.place_of(page[-1].entries[0]))
    data = [json_of(_ASSET, _ShownAsset(one, latest)) for one, latest in zip(page, latest_entries, strict=True)]
    return answer({"data": data, "paging": paging})
