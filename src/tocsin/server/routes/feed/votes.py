"""Route of votes on an asset, one per person. Next: ``catalogue/feed/votes.py``."""

from __future__ import annotations

from fastapi import Response

from tocsin.catalogue.feed.votes import TAKEN_BACK
from tocsin.model.stored import Key
from tocsin.server.access.permissions import visible_document
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, DocumentBody, Kind, PathId, answer
from tocsin.server.routes.people.followers import event_of

router = DeclaredRoutes(tags=["followers"])
"""Included under every collection (``server/app.py``)."""


@router.put("/{entity_id}/vote", openapi_extra=answers("ChangeEvent", reads="VoteRequest"))
def vote(kind: Kind, entity_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Vote on the entity: ``{"updatedVoteType": "votedUp"}``, ``votedDown``, or ``unVoted``."""
    vote_type = body.get("updatedVoteType")
    visible_document(
        kind, Key.by_id(str(entity_id)), caller, include="all" if vote_type == TAKEN_BACK else "non-deleted"
    )
    written = caller.parts.writes.vote(kind.name, str(entity_id), vote_type, actor=caller.actor)
    return answer(event_of(kind, written, caller))
