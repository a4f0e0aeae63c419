"""Choices of a person for one follow: which kinds it tells of, over which channels, and how often.

They count for what arrives through this follow, above all other choices (``model/ways.py``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import chain
from typing import NamedTuple

from pydantic import Field

from tocsin.model.change_kinds import EventKind, Frequency
from tocsin.model.entity import Document, WireModel
from tocsin.model.preferences import PREFERRED_CHANNELS, FrequencyChoice, Layer
from tocsin.model.roles import AssetRole
from tocsin.model.subscription import Channel
from tocsin.model.timed_frequency import TimedFrequencyText, parse_timed_frequency

MOST_CHOSEN = 1_000
"""Follows for which a person may have choices."""


class FollowChoices(WireModel):
    """How often a follow tells, by kind of change and channel.

    ``kinds`` are as those of preferences; ``channels`` count for all kinds that ``kinds`` does not have for a channel.
    Where neither says anything, the person's preferences do.
    """

    kinds: Mapping[str, Mapping[Channel, TimedFrequencyText]] = Field(default_factory=dict)
    channels: Mapping[Channel, TimedFrequencyText] = Field(default_factory=dict)

    @classmethod
    def only(cls, kinds: Collection[str], channels: Collection[Channel], frequency: str) -> FollowChoices:
        """Return the choices of these kinds over these channels so often, and of nothing else; empty: of all.

        Those of ``never`` leave everything else as it is.
        """
        heard_channels = channels or PREFERRED_CHANNELS
        if frequency == Frequency.NEVER:
            silence = dict.fromkeys(heard_channels, frequency)
            return cls(kinds=dict.fromkeys(kinds, silence)) if kinds else cls(channels=silence)
        often = {one: frequency if one in heard_channels else Frequency.NEVER.value for one in PREFERRED_CHANNELS}
        if not kinds:
            return cls(channels=often)
        never = dict.fromkeys(PREFERRED_CHANNELS, Frequency.NEVER.value)
        return cls(kinds=dict.fromkeys(kinds, often), channels=never)

    def to_stored(self) -> Document:
        """Return it as it is stored: only what is set."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is chosen."""
        return not self.channels and not any(self.kinds.values())

    @property
    def heard_channels(self) -> frozenset[Channel]:
        """Return the channels over which something is chosen to come."""
        cells = chain(self.channels.items(), *(by_channel.items() for by_channel in self.kinds.values()))
        heard = (one for one, text in cells if parse_timed_frequency(text).frequency is not Frequency.NEVER)
        return frozenset(heard)

    def has(self, frequency: Frequency) -> bool:
        """Return whether changes of any kind are notified so often, over any channel."""
        texts = chain(self.channels.values(), *(channels.values() for channels in self.kinds.values()))
        return any(parse_timed_frequency(text).frequency is frequency for text in texts)


class FollowLayer(NamedTuple):
    """The choices for one follow, by its ``followed_mark``."""

    followed_mark: str
    choices: FollowChoices

    def choice_of(
        self, kind: EventKind, channel: Channel, layer: Layer, role: AssetRole | None = None
    ) -> FrequencyChoice | None:
        """Return what is chosen here for a kind of an event over a channel; None if nothing is."""
        del role
        by_kind = self.choices.kinds.get(kind.kind, {}).get(channel)
        text = by_kind or (None if kind.crosses else self.choices.channels.get(channel))
        if text is None:
            return None
        timed = parse_timed_frequency(text)
        name = kind.kind if by_kind else ""
        return FrequencyChoice(timed.frequency, name, layer, moment=timed.moment, follow_id=self.followed_mark)
