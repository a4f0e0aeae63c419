"""What does somebody not want to hear of? One mute: an alert or an asset, over one channel or all, until a time.

Next: ``flow/resolve/candidates.py`` honours it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

FOR_GOOD_MS = 2**63 - 1
"""The end of a mute that does not end by itself."""


class MuteKind(StrEnum):
    """What is muted."""

    ALERT = "alert"
    ASSET = "asset"


@dataclass(frozen=True)
class Mute:
    """Nothing of ``about_id`` is told to ``who`` of what happens from ``since_ms`` up to ``until_ms``.

    Attributes
    ----------
    who : a user's id, or the lower-case address of somebody who is no user
    about_id : id of the alert or the asset; of a thread, where a mute of its asset is meant
    channel : the one channel that is muted; empty for all
    unsubscribed : it was made by the link in a mail
    """

    who: str
    kind: MuteKind
    about_id: str
    channel: str = ""
    since_ms: int = 0
    until_ms: int = FOR_GOOD_MS
    unsubscribed: bool = False

    def silences(self, about_ids: tuple[str, ...], channel: str, at_ms: int) -> bool:
        """Say whether it keeps quiet what happened at ``at_ms`` to one of these, over this channel."""
        is_meant = self.about_id in about_ids and self.channel in ("", channel)
        return is_meant and self.since_ms <= at_ms < self.until_ms
