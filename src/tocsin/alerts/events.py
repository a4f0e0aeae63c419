"""Change events that Tocsin puts on alerts itself: findings of its audit, failing destinations, lost rights, lags.

The alert keeps its version, because nobody changed it. Its owners read these events in their inbox, and failures and
losses of rights by mail unless they switch the alert ``BrokenAlerts`` off. Lags are on the alert that tells of them
(``delivery/worker/lag_reports.py``).
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
from tocsin.flow.eventlog.lag import ReaderLag, lag_report
from tocsin.model.alert_editor import AlertEditor, ViewExtent
from tocsin.model.audit_finding import AuditFinding
from tocsin.model.change import DESTINATION, EDITOR_VIEW, FINDING, LAG, ChangeDescription, EventType, FieldChange
from tocsin.model.destination_failure import DestinationFailure
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key, Written

EVENT_LAG = "EventLag"
"""Name of the alert that tells of lags, and that they are recorded on."""

MESSAGES_OF_ASSETS, MESSAGES_OF_CONVERSATIONS = "MessagesOfAssets", "MessagesOfConversations"
"""Names of the default alerts that send by mail, and to own addresses, what others show in the app."""

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
        """Put an event on the alert and disable it, so that it delays nobody until a person has changed it."""
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


class LagLog:
    """Writes down which readers of the log lag too much, and which do no more."""

    def __init__(self, catalogue: Catalogue, clock: Clock) -> None:
        self._writes = Writes(catalogue, clock)

    def begin(self, lag: ReaderLag, limit: int) -> bool:
        """Put an event on the alert unless one says so already; returns whether it is new."""

        def work(record: Record) -> bool:
            if not record.transaction.lags.begin(lag.reader, record.at_ms):
                return False
            report = lag_report(lag, limit=limit, now_ms=record.at_ms, since_ms=record.at_ms)
            _note_lag(record, FieldChange(name=LAG, new_value=report), EventType.LAG_EXCEEDED)
            return True

        return self._writes.within(work, actor=SYSTEM)

    def end(self, lag: ReaderLag, limit: int) -> bool:
        """Put an event on the alert if one says that the reader lags; returns whether it is new."""

        def work(record: Record) -> bool:
            since_ms = record.transaction.lags.end(lag.reader)
            if since_ms is None:
                return False
            report = lag_report(lag, limit=limit, now_ms=record.at_ms, since_ms=since_ms)
            _note_lag(record, FieldChange(name=LAG, new_value=report), EventType.LAG_RECOVERED)
            return True

        return self._writes.within(work, actor=SYSTEM)


def _note_lag(record: Record, change: FieldChange, event_type: EventType) -> None:
    alert = record.transaction.find(_ALERT, Key.by_name(EVENT_LAG))
    if alert is None:
        raise NotFound(f"there is no alert {EVENT_LAG}: it is made at the start of a server")
    record.note(alert, ChangeDescription(fields_updated=(change,)), event_type=event_type)


def _extent_value(editor: AlertEditor, extent: ViewExtent) -> Document:
    name = {"name": editor.name} if editor.name else {}
    return {"id": editor.user_id, "type": "user", **name, "mayView": extent.value}
