"""Kinds of damage that ``tocsin fsck`` detects, and the repair of each.

Next: ``store/upkeep/fsck/inspection.py``, which runs the checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from tocsin.flow.eventlog.differences import DamagedText

_FROM_BACKUP = "restore an earlier backup of the store"
_REPAIR = "tocsin fsck --repair"


class Damage(StrEnum):
    """A kind of damage; ``mend`` says what to do about it."""

    mend: str

    def __new__(cls, kind: str, mend: str = _FROM_BACKUP) -> Self:
        """Return the kind of that name."""
        damage = str.__new__(cls, kind)
        damage._value_, damage.mend = kind, mend
        return damage

    BROKEN_PAGE = "broken page"
    UNREADABLE = "unreadable value"
    VERSION_WITHOUT_EVENT = (
        "version without event",
        f"nobody was notified of it: {_FROM_BACKUP}, or PATCH the entity again",
    )
    EVENT_WITHOUT_VERSION = "event without version", f"rebuild it from its events (docs/history.md), or {_FROM_BACKUP}"
    VERSION_GAP = "gap between versions"
    EVENT_OUT_OF_ORDER = "event out of order"
    NOT_REBUILT = "version differs from its events"
    WRONG_COLUMN = "column differs from document", _REPAIR
    NOT_NEWEST = "entity is not its newest version", "tocsin rollback to its newest version, or PUT the entity again"
    WRONG_NAME = "name differs from its parent's", "rename it, or PUT it below its parent again"
    ORPHANED = "not deleted, although its parent is", "restore its parent, or delete it"
    WRONG_ROWS = "rows differ from document", _REPAIR
    DANGLING = "dangling reference", f"PATCH the entity that refers to it; {_REPAIR} removes rows of deleted entities"
    WRONG_OFFSET = "offset beyond the log"
    LOST_EVENTS = (
        "events lost that were already read",
        f"{_FROM_BACKUP} (tocsin restore), or accept the loss: tocsin fsck --accept-loss;"
        " a pipeline that has read further restarts from the end of the log",
    )


@dataclass(frozen=True)
class Finding:
    """One damage: of which kind, in which table and row, and what is wrong there.

    ``entity_id`` is whose rows ``--repair`` makes anew; None where it can do nothing.
    """

    damage: Damage
    where: str
    problem: str
    entity_id: str | None = None


DAMAGED = (SQLAlchemyError, DamagedText, ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
"""Errors of reading a damaged value or page."""

Advance = Callable[[int], None]
"""Called with the number of further rows that were checked."""

Look = Callable[[Connection, Advance], Iterator[Finding]]
"""One look through some tables, within one snapshot of the store."""
