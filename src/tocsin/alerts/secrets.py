"""Versions of alerts in which nothing but secrets differ: what readers see stays the same.

Next: ``server/routes/alerts/subscriptions.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from tocsin.flow.capture.write import Record
from tocsin.model.change import CHANGED_SECRETS, ChangeDescription, FieldChange
from tocsin.model.stored import Key, Written, missing

_ALERT = "eventsubscription"


def record_changed_secrets(record: Record, alert_id: str, destination_ids: Sequence[str]) -> Written:
    """Make a version of an alert that names the destinations whose secrets changed, and nothing of the secrets.

    Raises
    ------
    NotFound : there is no such alert.
    """
    alert = record.transaction.find(_ALERT, Key.by_id(alert_id))
    if alert is None:
        raise missing(_ALERT, Key.by_id(alert_id))
    change = FieldChange(name=CHANGED_SECRETS, new_value=list(destination_ids))
    return record.revise(alert, ChangeDescription(fields_updated=(change,)))
