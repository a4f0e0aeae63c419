"""Editors of an alert's secrets and masked addresses, who are accountable for what the alert sends.

Such an edit makes no version. A webhook receives only what all editors of its alert may see.
Next: ``store/alerts/editors.py``.
"""

from __future__ import annotations

from tocsin.flow.capture.write import Record
from tocsin.model.stored import Key, Written, missing

_ALERT = "eventsubscription"


def add_editor(record: Record, alert_id: str) -> Written:
    """Record the actor as an editor of an alert; this makes no version and no event.

    Raises
    ------
    NotFound : there is no such alert.
    """
    alert = record.transaction.find(_ALERT, Key.by_id(alert_id))
    if alert is None:
        raise missing(_ALERT, Key.by_id(alert_id))
    record.transaction.add_alert_editor(alert_id, record.actor.id)
    return Written(alert.document, None)
