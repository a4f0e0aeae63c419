"""Failures of destinations, recorded as change events on the alert they concern.

The alert keeps its version, because nobody changed it. Its owners read them in their inbox, and by mail unless they
switch the alert ``BrokenAlerts`` off. Next: ``delivery/worker/failure_reports.py``.
"""

from __future__ import annotations

from collections.abc import Callable

from tocsin.catalogue.writes import Writes
from tocsin.clock import Clock
from tocsin.errors import NotFound
from tocsin.flow.capture.ports import Catalogue
from tocsin.flow.capture.write import Record
from tocsin.model.change import DESTINATION, ChangeDescription, EventType, FieldChange
from tocsin.model.destination_failure import DestinationFailure
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key, Written

_ALERT = "eventsubscription"


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
