"""Losses of rights of an alert's editors, recorded as change events on the alert, which covers less from then on.

The alert keeps its version, because nobody changed it. Its owners are mailed and administrators see it in the app,
unless the alert ``BrokenAlerts`` is switched off. Next: ``jobs/editors.py``.
"""

from __future__ import annotations

from tocsin.catalogue.writes import Writes
from tocsin.clock import Clock
from tocsin.errors import NotFound
from tocsin.flow.capture.ports import Catalogue
from tocsin.flow.capture.write import Record
from tocsin.model.alert_editor import AlertEditor, ViewExtent
from tocsin.model.change import EDITOR_VIEW, ChangeDescription, EventType, FieldChange
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key, Written

_ALERT = "eventsubscription"


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
