"""Lineage edges and followers that a source brought, as Tocsin remembers them.

Next: ``sources/openmetadata/links.py``, ``store/catalogue/relations/source_links.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

OF_PEOPLE = "people"
"""The digest of a link about which a person decided here: they made it, changed it or removed it."""


class LinkKind(StrEnum):
    """What a source links."""

    EDGE = "edge"
    FOLLOW = "follow"


@dataclass(frozen=True)
class SourceLink:
    """A link that a source has, by the ids here: from an asset or a follower to an asset.

    Attributes
    ----------
    digest : digest of what the source said last, or ``OF_PEOPLE``: then the source changes it no more
    """

    kind: LinkKind
    from_id: str
    to_id: str
    digest: str
