"""Mutes: suppression of notifications of an alert or asset, on one channel or all, until a given time.

Next: ``flow/resolve/candidates.py`` applies them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from tocsin.clock import LATEST_MS
from tocsin.model.subscription import Channel

FOR_GOOD_MS = 2**63 - 1
"""The end of a mute that does not end by itself."""


class MuteKind(StrEnum):
    """What is muted."""

    ALERT = "alert"
    ASSET = "asset"


@dataclass(frozen=True)
class Mute:
    """``who`` is not notified of ``about_id`` from ``since_offset`` of the log on, until a time.

    Attributes
    ----------
    who : a user's id, or the lower-case address of a recipient who is no user
    about_id : id of the alert or the asset; of a thread, where a mute of its asset is meant
    channel : the one channel that is muted; empty for all
    since_ms : when it was made, epoch milliseconds
    until_ms : events from then on, by their own time, are notified again
    unsubscribed : it was made by the link in a mail
    since_offset : the first event that it applies to
    """

    who: str
    kind: MuteKind
    about_id: str
    channel: str = ""
    since_ms: int = 0
    until_ms: int = FOR_GOOD_MS
    unsubscribed: bool = False
    since_offset: int = 0

    def silences(self, about_ids: tuple[str, ...], channel: str, at: tuple[int, int]) -> bool:
        """Return whether it keeps quiet what happened to one of these, over this channel: at an offset and a moment."""
        is_meant = self.about_id in about_ids and self.channel in ("", channel)
        offset, at_ms = at
        return is_meant and self.since_offset <= offset and at_ms < self.until_ms

    def in_words(self, moment: Callable[[int], str]) -> str:
        """Return what it says: ``muted this alert until …``; ``moment`` words a time, epoch milliseconds."""
        if self.unsubscribed:
            return "unsubscribed from this alert by a link in a mail"
        subject = "this alert" if self.kind is MuteKind.ALERT else "the asset"
        channel = f" over {self.channel}" if self.channel else ""
        end = "permanently" if self.until_ms >= FOR_GOOD_MS else f"until {moment(self.until_ms)}"
        return f"muted {subject}{channel} {end}"


class MuteRequest(BaseModel):
    """What to mute; ``type`` is the asset's, ``until`` epoch milliseconds (left out: for good)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: MuteKind
    id: UUID
    type: str | None = Field(default=None, max_length=40)
    until: int | None = Field(default=None, ge=0, le=LATEST_MS)
    channel: Literal[Channel.ACTIVITY_FEED, Channel.EMAIL, Channel.SLACK] | None = None
