"""Kinds of damage that ``tocsin fsck`` detects, and the repair of each.

Next: ``store/upkeep/fsck/inspection.py``, which runs the checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from tocsin.flow.eventlog.differences import DamagedText


class Damage(StrEnum):
    """A kind of damage."""

    BROKEN_PAGE = "broken page"
    UNREADABLE = "unreadable value"
    VERSION_WITHOUT_EVENT = "version without event"
    EVENT_WITHOUT_VERSION = "event without version"
    VERSION_GAP = "gap between versions"
    EVENT_OUT_OF_ORDER = "event out of order"
    NOT_REBUILT = "version differs from its events"
    WRONG_COLUMN = "column differs from document"
    NOT_NEWEST = "entity is not its newest version"
    WRONG_NAME = "name differs from its parent's"
    ORPHANED = "not deleted, although its parent is"
    WRONG_ROWS = "rows differ from document"
    DANGLING = "dangling reference"
    WRONG_OFFSET = "offset beyond the log"
    LOST_EVENTS = "events lost that were already read"


_FROM_BACKUP = "restore an earlier backup of the store"
MENDS: dict[Damage, str] = {
    Damage.BROKEN_PAGE: _FROM_BACKUP,
    Damage.UNREADABLE: _FROM_BACKUP,
    Damage.VERSION_WITHOUT_EVENT: f"nobody was notified of it: {_FROM_BACKUP}, or PATCH the entity again",
    Damage.EVENT_WITHOUT_VERSION: f"rebuild it from its events (docs/history.md), or {_FROM_BACKUP}",
    Damage.VERSION_GAP: _FROM_BACKUP,
    Damage.EVENT_OUT_OF_ORDER: _FROM_BACKUP,
    Damage.NOT_REBUILT: _FROM_BACKUP,
    Damage.WRONG_COLUMN: "tocsin fsck --repair",
    Damage.NOT_NEWEST: "tocsin rollback to its newest version, or PUT the entity again",
    Damage.WRONG_NAME: "rename it, or PUT it below its parent again",
    Damage.ORPHANED: "restore its parent, or delete it",
    Damage.WRONG_ROWS: "tocsin fsck --repair",
    Damage.DANGLING: "PATCH the entity that refers to it; tocsin fsck --repair removes rows of deleted entities",
    Damage.WRONG_OFFSET: _FROM_BACKUP,
    Damage.LOST_EVENTS: f"{_FROM_BACKUP} (tocsin restore), or accept the loss: tocsin fsck --accept-loss;"
    " a pipeline that has read further restarts from the end of the log",
}
"""What to do about each."""


@dataclass(frozen=True)
class Finding:
    """One damage: of which kind, in which table and row, and what is wrong there.

    ``entity_id`` is whose rows ``--repair`` makes anew; None where it can do nothing.
    """

    damage: Damage
    where: str
    problem: str
    entity_id: str | None = None

    @property
    def mend(self) -> str:
        """What to do about it."""
        return MENDS[self.damage]


DAMAGED = (SQLAlchemyError, DamagedText, ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
"""What whoever reads a damaged value or page may raise."""

Advance = Callable[[int], None]
"""Called with the number of further rows that were checked."""

Look = Callable[[Connection, Advance], Iterator[Finding]]
"""One look through some tables, within one snapshot of the store."""
