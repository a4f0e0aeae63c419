"""Roles of a person towards a change: what they own or follow, or what lies above it; preferences may differ by role.

Next: ``model/preferences.py``.
"""

from __future__ import annotations

from enum import StrEnum


class AssetRole(StrEnum):
    """How a person is related to what has changed, by one of the reasons for which they are told.

    ``owned``, ``followed``: it itself, also through a team or through what contains it. ``aboveOwned``,
    ``aboveFollowed``: lineage leads from it to what they own or follow.
    """

    OWNED = "owned"
    ABOVE_OWNED = "aboveOwned"
    FOLLOWED = "followed"
    ABOVE_FOLLOWED = "aboveFollowed"


ROLE_WORDS: dict[str, str] = {
    AssetRole.OWNED: "of owned assets",
    AssetRole.ABOVE_OWNED: "above owned assets",
    AssetRole.FOLLOWED: "of followed assets",
    AssetRole.ABOVE_FOLLOWED: "above followed assets",
}
"""What follows a kind of change in a sentence: ``failed tests of owned assets``."""
