"""Mutes: suppression of notifications on one channel or all, until a given time.

Those of an alert or asset are found when recipients are determined (``flow/resolve/candidates.py``); those of a kind
of change, of what a person or bot changes, and of everything when a notification is written. There all of them are
choices of never (``flow/schedule/preferences.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from tocsin.clock import LATEST_MS
from tocsin.model.kind_words import subject_text
from tocsin.model.subscription import Channel

FOR_GOOD_MS = 2**63 - 1
"""The end of a mute that does not end by itself."""


class MuteKind(StrEnum):
    """What is muted."""

    ALERT = "alert"
    ASSET = "asset"
    KIND = "kind"
    ACTOR = "actor"
    EVERYTHING = "everything"

    @property
    def is_broad(self) -> bool:
        """Return whether it is about no alert and no asset."""
        return self not in (MuteKind.ALERT, MuteKind.ASSET)


class MuteEnd(StrEnum):
    """What ends a mute, besides a time: its asset or alert changes, or an incident is resolved."""

    CHANGED = "changed"
    RESOLVED = "resolved"


EVERYTHING_ID = "everything"
_OF_KIND, _OF_ACTOR = "kind:", "act:"
_BY_LINK, _WITHIN = "link", "within"


def kind_key(name: str) -> str:
    """Return as what a muted kind of change is stored."""
    return f"{_OF_KIND}{name}"


def actor_key(user_id: str) -> str:
    """Return as what a muted person or bot is stored: not their id, which stands for them as an asset.

    The id of who made a change need be no UUID: that of Tocsin itself is ``system``.
    """
    return f"{_OF_ACTOR}{user_id.replace('-', '').lower()}"


@dataclass(frozen=True)
class Mute:
    """``who`` is not notified of ``about_id`` from ``since_offset`` of the log on, until a time.

    Attributes
    ----------
    who : a user's id, or the lower-case address of a recipient who is no user
    about_id : id of the alert or the asset; of a thread, where a mute of its asset is meant; or a key of what is broad
    channel : the one channel that is muted; empty for all
    since_ms : when it was made, epoch milliseconds
    until_ms : events from then on, by their own time, are notified again
    unsubscribed : it was made by the link in a mail
    since_offset : the first event that it applies to
    ends_by : what ends it, if it is not its time alone
    ends_of : id of the asset or alert that has to change, or of the incident
    ends_after : the first event that may end it
    until_offset : the event that has ended it, and is notified again; None while there is none
    within : id of what lies in the muted asset, where the mute stands for that; never stored
    """

    who: str
    kind: MuteKind
    about_id: str
    channel: str = ""
    since_ms: int = 0
    until_ms: int = FOR_GOOD_MS
    unsubscribed: bool = False
    since_offset: int = 0
    ends_by: MuteEnd | None = None
    ends_of: str = ""
    ends_after: int = 0
    until_offset: int | None = None
    within: str = ""

    def for_part(self, place_id: str, span: tuple[int, int], end: int) -> Mute:
        """Return it for what is in the muted asset over a ``span`` of offsets, which may last to the ``end``."""
        since, until = span
        ends = [one for one in (self.until_offset, until + 1 if until < end else None) if one is not None]
        since_offset = max(self.since_offset, since)
        return replace(self, within=place_id, since_offset=since_offset, until_offset=min(ends, default=None))

    @property
    def place_id(self) -> str:
        """Return the id of what it keeps quiet: the muted, or what lies in that."""
        return self.within or self.about_id

    def silences(self, about_ids: tuple[str, ...], channel: str, at: tuple[int, int]) -> bool:
        """Return whether it keeps quiet what happened to one of these, over this channel: at an offset and a moment."""
        return self.place_id in about_ids and self.holds(channel, at)

    @property
    def subject(self) -> str:
        """Return what is muted as it is named outside: an id, the name of a kind, or ``everything``."""
        if self.kind is MuteKind.ACTOR:
            return str(UUID(hex=self.about_id.removeprefix(_OF_ACTOR)))
        return self.about_id.removeprefix(_OF_KIND) if self.kind is MuteKind.KIND else self.about_id

    def holds(self, channel: str, at: tuple[int, int]) -> bool:
        """Return whether it holds over this channel for what happened at an offset and a moment."""
        offset, at_ms = at
        is_over = at_ms >= self.until_ms or (self.until_offset is not None and offset >= self.until_offset)
        return self.channel in ("", channel) and self.since_offset <= offset and not is_over

    def to_text(self) -> str:
        """Return a mute as notifications keep it that it has suppressed, without a space."""
        end = _BY_LINK if self.unsubscribed else self.ends_by
        marks = (*([end] if end else []), *([_WITHIN] if self.within else []))
        return "|".join((self.kind, self.about_id, str(self.until_ms), *marks))

    @classmethod
    def from_text(cls, text: str) -> Mute:
        """Return the mute that a notification keeps, as far as it says; nobody's."""
        kind, about_id, until_ms, *marks = text.split("|")
        ends_by = next((MuteEnd(one) for one in marks if one not in (_BY_LINK, _WITHIN)), None)
        within = _WITHIN if _WITHIN in marks else ""
        mute = cls("", MuteKind(kind), about_id, until_ms=int(until_ms), ends_by=ends_by, within=within)
        return replace(mute, unsubscribed=_BY_LINK in marks)

    def in_words(self, moment: Callable[[int], str]) -> str:
        """Return what it says: ``muted this alert until …``; ``moment`` words a time, epoch milliseconds."""
        if self.unsubscribed:
            return f"unsubscribed from {self._subject_text()} by a link in a mail"
        subject = self._subject_text()
        channel = f" over {self.channel}" if self.channel else ""
        return f"muted {subject}{channel} {self.end_in_words(moment)}"

    def end_in_words(self, moment: Callable[[int], str]) -> str:
        """Return when it ends: ``until it changes``, ``permanently``; ``moment`` words a time, epoch milliseconds."""
        is_timed = self.until_ms < FOR_GOOD_MS
        if self.ends_by is None:
            return f"until {moment(self.until_ms)}" if is_timed else "permanently"
        end = "until it changes" if self.ends_by is MuteEnd.CHANGED else "until the incident is resolved"
        return f"{end}, at the latest until {moment(self.until_ms)}" if is_timed else end

    def _subject_text(self) -> str:
        match self.kind:
            case MuteKind.ALERT:
                return "this alert"
            case MuteKind.ASSET:
                return "what contains the asset" if self.within else "the asset"
            case MuteKind.KIND:
                return subject_text(self.subject)
            case MuteKind.ACTOR:
                return "what who made the change changes"
            case MuteKind.EVERYTHING:
                return "everything"


class MuteRequest(BaseModel):
    """What to mute; ``type`` is the asset's, ``until`` epoch milliseconds (left out: for good).

    ``id`` is that of an alert, an asset, or an actor; ``name`` that of a kind of change. ``ends`` ends it before
    ``until``; ``incident`` is the id or number of the one to be resolved: left out, that of the asset.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: MuteKind
    id: UUID | None = None
    name: str | None = Field(default=None, max_length=30)
    type: str | None = Field(default=None, max_length=40)
    until: int | None = Field(default=None, ge=0, le=LATEST_MS)
    channel: Literal[Channel.ACTIVITY_FEED, Channel.EMAIL, Channel.SLACK] | None = None
    ends: MuteEnd | None = None
    incident: str | None = Field(default=None, max_length=40)
