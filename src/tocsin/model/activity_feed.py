"""Activity feeds: what they are about, and requests for an address of one. Next: ``store/eventlog/activity.py``."""

from __future__ import annotations

from enum import StrEnum
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field


class FeedScope(StrEnum):
    """What a person's feed is about."""

    FOLLOWING = "following"
    OWNED = "owned"
    ALL = "all"


class FeedRequest(BaseModel):
    """Which feed to open: ``of`` oneself (its scope), or of the entity with this ``type`` and ``id``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    scope: FeedScope | None = Field(default=None, alias="of")
    type: str | None = Field(default=None, max_length=40)
    id: UUID | None = None
