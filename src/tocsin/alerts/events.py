"""Change events that Tocsin puts on alerts itself: findings of its audit, failing destinations, lost rights of editors.

The alert keeps its version, because nobody changed it. Its owners read these events in their inbox, and failures and
losses of rights by mail unless they switch the alert ``BrokenAlerts`` off.
Next: ``jobs/audit.py``, ``jobs/editors.py``, ``delivery/worker/failure_reports.py``.
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
from tocsin.model.alert_editor import AlertEditor, ViewExtent
from tocsin.model.audit_finding import AuditFinding
from tocsin.model.change import DESTINATION, EDITOR_VIEW, FINDING, ChangeDescription, EventType, FieldChange
from tocsin.model.destination_failure import DestinationFailure
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key, Written

_ALERT = "eventsubscription"


class FindingLog:
    """Writes findings down, each once; ``is_known`` says whether the log has an event of that id already."""

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


class FailureLog:
    """Writes failures down; ``is_known`` says whether the log has an event of that id already."""

    def __init__(self, catalogue: Catalogue, clock: Clock, is_known: Callable[[str], bool]) -> None:
        self._catalogue, self._clock, self._is_known = catalogue, clock, is_known

    def add(self, failure: DestinationFailure) -> bool:
        """Put an event on the alert, in a transaction of its own; returns whether it is new.

        Raises
        ------
        NotFound : there is no such alert or destination any more
        """
        if self._is_known(failure.id):
            return False

        def work(record: Record) -> Written:
            alert = record.transaction.find(_ALERT, Key.by_id(failure.subscription_id))
            destinations = alert.document.get("destinations", ()) if alert else ()
            destination = next((one for one in destinations if one["id"] == failure.destination_id), None)
            if alert is None or destination is None:
                raise NotFound("the alert or its destination no longer exists")
            change = FieldChange(name=DESTINATION, new_value=failure.to_wire(destination))
            kind = EventType.DESTINATION_STOPPED if failure.is_stopped else EventType.DESTINATION_FAILING
            return record.note(alert, ChangeDescription(fields_updated=(change,)), event_type=kind)

        Writes(self._catalogue, self._clock, event_id=lambda: failure.id).within(work, actor=SYSTEM)
        return True


class NarrowingLog:
    """Writes down what editors may no longer view."""

    def __init__(self, catalogue: Catalogue, clock: Clock) -> None:
        self._writes = Writes(catalogue, clock)

    def add(self, editor: AlertEditor, extent: ViewExtent) -> None:
        """Put an event on the alert, in a transaction of its own.

        Raises
        ------
        NotFound : there is no such alert any more
        """

        def work(record: Record) -> Written:
            alert = record.transaction.find(_ALERT, Key.by_id(editor.subscription_id))
            if alert is None:
                raise NotFound("the alert no longer exists")
            before = editor.told_extent or ViewExtent.EVERYTHING
            change = FieldChange(
                name=EDITOR_VIEW, old_value=_extent_value(editor, before), new_value=_extent_value(editor, extent)
            )
            return record.note(alert, ChangeDescription(fields_updated=(change,)), event_type=EventType.ALERT_NARROWED)

        self._writes.within(work, actor=SYSTEM)


def _extent_value(editor: AlertEditor, extent: ViewExtent) -> Document:
    name = {"name": editor.name} if editor.name else {}
    return {"id": editor.user_id, "type": "user", **name, "mayView": extent.value}
