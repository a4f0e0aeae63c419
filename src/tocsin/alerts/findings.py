"""Audit findings, recorded as change events on the alert they concern.

A finding is recorded once, however often it is found. The alert keeps its version, because nobody changed it.
Next: ``jobs/audit.py``, ``jobs/match_stream.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from tocsin.catalogue.writes import Writes
from tocsin.clock import Clock
from tocsin.errors import Conflict, NotFound
from tocsin.flow.capture.json_patch import PatchOperation
from tocsin.flow.capture.ports import Catalogue
from tocsin.flow.capture.write import Record
from tocsin.model.audit_finding import AuditFinding
from tocsin.model.change import FINDING, ChangeDescription, EventType, FieldChange
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key, Written

_ALERT = "eventsubscription"


class FindingLog:
    """Writes findings down; ``is_known`` says whether the log has an event of that id already."""

    def __init__(self, catalogue: Catalogue, clock: Clock, is_known: Callable[[str], bool]) -> None:
        self._catalogue, self._clock, self._is_known = catalogue, clock, is_known

    def add(self, finding: AuditFinding) -> bool:
        """Put an event on the alert, in a transaction of its own; returns whether it is new.

        Raises
        ------
        NotFound : there is no such alert any more
        """
        if self._is_known(finding.id):
            return False

        def work(record: Record) -> Written:
            alert = record.transaction.find(_ALERT, Key.by_id(finding.subscription_id))
            if alert is None:
                raise NotFound("the alert no longer exists")
            change = FieldChange(name=FINDING, new_value=finding.to_wire())
            description = ChangeDescription(fields_added=(change,))
            return record.note(alert, description, event_type=EventType.AUDIT_FINDING)

        Writes(self._catalogue, self._clock, event_id=lambda: finding.id).within(work, actor=SYSTEM)
        return True

    def set_aside(self, finding: AuditFinding) -> None:
        """Put an event on the alert and disable it, so that it delays nobody until somebody has changed it."""
        with suppress(NotFound, Conflict):  # gone already, or written down by another pipeline
            self.add(finding)
            off: PatchOperation = {"op": "add", "path": "/enabled", "value": False}
            writes = Writes(self._catalogue, self._clock)
            writes.patch(_ALERT, Key.by_id(finding.subscription_id), [off], actor=SYSTEM)
