"""Votes on an asset: up, down or withdrawn, without a version.

Source: schemas/type/votes.json and OpenMetadata's ``EntityRepository.updateVote``. Next:
``server/entities/serialize.py``.
"""

from __future__ import annotations

from tocsin.errors import InvalidInput
from tocsin.flow.capture.write import Record
from tocsin.model.change import describe
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import with_article
from tocsin.model.stored import Stored, Written

KIND = "votes"
"""As what votes are attached to an entity: the ids of who voted, by the side they took."""

TAKEN_BACK = "unVoted"
_SIDES = {"votedUp": "upVoters", "votedDown": "downVoters", TAKEN_BACK: None}


def vote(record: Record, entity: Stored, user_id: str, side_name: object) -> Written:
    """Take a vote (``votedUp``, ``votedDown`` or ``unVoted``); nothing if it was given before.

    Raises
    ------
    InvalidInput : there is no such vote, or nobody votes on this type.
    """
    if KIND not in ENTITY_TYPES[entity.entity_type].keys:
        raise InvalidInput(f"{with_article(entity.entity_type)} cannot be voted on")
    if not isinstance(side_name, str) or side_name not in _SIDES:
        raise InvalidInput(f"updatedVoteType must be one of {', '.join(_SIDES)}", field="updatedVoteType")
    old = record.transaction.attachments.get(entity.id, KIND) or {}
    new = {side: [one for one in old.get(side, ()) if one != user_id] for side in filter(None, _SIDES.values())}
    if side := _SIDES[side_name]:
        new[side].append(user_id)
    if _sorted_voters(old) == _sorted_voters(new):
        return Written(entity.document, None)
    record.transaction.attachments.put(entity.id, KIND, new)
    return record.note(entity, describe(KIND, old=vote_counts(old), new=vote_counts(new)))


def vote_counts(votes: Document) -> Document:
    """Return how many voted for and against."""
    return {"upVotes": len(votes.get("upVoters", ())), "downVotes": len(votes.get("downVoters", ()))}


def _sorted_voters(votes: Document) -> dict[str, list[str]]:
    return {side: sorted(ids) for side, ids in votes.items() if ids}
