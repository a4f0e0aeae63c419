"""Editors of an alert: who created or changed it since a person last took it over.

An alert covers only what all of its editors may view. Next: ``flow/resolve/withholding.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ViewExtent(StrEnum):
    """How much of what an alert covers an editor may view, whatever has happened there."""

    EVERYTHING = "everything"
    PART = "part"
    NOTHING = "nothing"
    DELETED = "deleted"
    """The editor is not there any more."""

    def is_less_than(self, other_extent: ViewExtent) -> bool:
        """Return whether a person who may view this may view less than ``other_extent``."""
        extents = list(ViewExtent)
        return extents.index(self) > extents.index(other_extent)


@dataclass(frozen=True)
class AlertEditor:
    """One editor of one alert.

    Attributes
    ----------
    name : None where the person is gone for good
    since_ms : when they became an editor or, if that is later, were last restored, epoch milliseconds
    told_extent : what the alert's owners were last told of; None where nobody looked yet
    """

    subscription_id: str
    user_id: str
    name: str | None
    is_deleted: bool
    since_ms: int
    is_creator: bool = False
    told_extent: ViewExtent | None = None

    def is_untold(self, extent: ViewExtent) -> bool:
        """Return whether the alert's owners have to be told of ``extent``, which they do not know.

        Of the creator they know what it was when the alert was new.
        """
        known_extent = self.told_extent or (extent if self.is_creator else ViewExtent.EVERYTHING)
        if self.told_extent is None and extent is ViewExtent.DELETED:
            return True
        return extent.is_less_than(known_extent)
