"""Editors of an alert: who created or changed it since somebody last took it over.

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
    told_extent: ViewExtent | None = None
