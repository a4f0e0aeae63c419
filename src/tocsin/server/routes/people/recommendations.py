"""Routes of recommendations: what a person may like to follow, and what is not to be recommended to them again.

Next: ``server/entities/recommendations.py``.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from tocsin.errors import NotFound
from tocsin.server.entities.recommendations import (
    RECOMMENDED,
    dismissals_of,
    recommendation_json,
    recommendations_for,
    visible_asset,
)
from tocsin.server.http.answer_shapes import schema_of
from tocsin.server.http.json_schema import FLAG, ID, TIME, array, exact_object
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, PathId, QueryParameters, answer
from tocsin.server.routes.notifications.inbox import Owner

_LIST = exact_object({"data": array(schema_of(RECOMMENDED))}, {"computedAt": TIME})
_DISMISSAL = exact_object({"id": ID, "dismissed": FLAG})


class RecommendationQuery(QueryParameters):
    """How many assets are listed, and whether those that the person has dismissed."""

    limit: int = Field(default=10, ge=1, le=30)
    dismissed: bool = Field(default=False, description="List what was dismissed instead.")


router = DeclaredRoutes(prefix="/users/{user_id}/recommendations", tags=["followers"])


@router.get("", openapi_extra=answers("Recommendations", _LIST))
def list_recommendations(owner: Owner, caller: Asked, query: Annotated[RecommendationQuery, Query()]) -> Response:
    """Return assets that a person may like to follow, the best first, each with its reasons, as of `computedAt`."""
    if query.dismissed:
        recommendations, completed_ms = dismissals_of(owner, caller), None
    else:
        recommendations, completed_ms = recommendations_for(owner, caller)
    data = [recommendation_json(one) for one in recommendations[: query.limit]]
    return answer({"data": data} | ({"computedAt": completed_ms} if completed_ms is not None else {}))


@router.put("/{asset_id}/dismissal", openapi_extra=answers("Dismissal", _DISMISSAL))
def dismiss_recommendation(owner: Owner, asset_id: PathId, caller: Asked) -> Response:
    """Recommend an asset to the person no more. Again, it changes nothing."""
    asset = visible_asset(owner, str(asset_id), caller)
    if asset is None:
        raise NotFound(f"asset {asset_id} not found")
    now_ms = caller.parts.clock.now_ms()
    caller.parts.alert_stores.recommendations.dismiss(owner, asset["id"], now_ms=now_ms)
    return answer({"id": asset["id"], "dismissed": True})


@router.delete("/{asset_id}/dismissal", openapi_extra=answers("Dismissal", _DISMISSAL, never="409"))
def undo_dismissal(owner: Owner, asset_id: PathId, caller: Asked) -> Response:
    """Take a dismissal back: the asset may be recommended again, at once if the last run found it before."""
    if not caller.parts.alert_stores.recommendations.undo(owner, str(asset_id)):
        raise NotFound(f"asset {asset_id} is not dismissed")
    return answer({"id": str(asset_id), "dismissed": False})
