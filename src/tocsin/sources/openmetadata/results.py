"""Occasions and results of writes of the mirror. Next: ``sources/openmetadata/writing.py``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tocsin.errors import TocsinError, Unavailable
from tocsin.flow.capture.ports import Collision

MAY_PASS = (Unavailable, Collision)
"""Errors that say nothing about the entity: the source or the store cannot be had now. They end the run."""


class Result(StrEnum):
    """What became of one entity."""

    CREATED = "created"
    CHANGED = "changed"
    RESTORED = "restored"
    DELETED = "deleted"
    SAME = "same"
    UNMAPPED = "notMapped"
    KEPT = "keptAsHere"
    WAITS = "waitsForParent"


class NameTaken(TocsinError):
    """Another entity of the source stands here under the same name; ``is_rename`` says that one here is to get it."""

    code = "NAME_TAKEN"

    def __init__(self, source_id: str, entity_type: str, fqn: str, *, is_rename: bool = False) -> None:
        self.source_id, self.is_rename = source_id, is_rename
        super().__init__(
            f"{entity_type} {fqn}: another entity of the source has this name here; rename that one here, then run "
            "with --full"
        )


@dataclass(frozen=True)
class Occasion:
    """Why something is written: an event of the source, or a comparison of lists.

    Attributes
    ----------
    is_history : it happened before the mirror began
    event_id : the id of the source's event
    at_ms : when it happened; 0 for when the entity was updated
    managed : the keys that the document holds; None: all of them, so that one that it lacks is gone
    is_return : the source went back to an older state, such as that of a backup
    """

    is_history: bool = False
    event_id: str | None = None
    at_ms: int = 0
    managed: frozenset[str] | None = None
    author: str | None = None
    is_return: bool = False
