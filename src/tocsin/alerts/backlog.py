"""Skips the backlog of an alert by disabling and enabling it: it starts again at the current offset.

Next: ``store/catalogue/alerts/subscriptions.py``, where an alert's first offset follows from that.
"""

from __future__ import annotations

from tocsin.flow.capture.write import Record
from tocsin.model.stored import Key, Written, missing

_ALERT = "eventsubscription"


def skip_backlog(record: Record, alert_id: str) -> Written:
    """Switch an alert off and on in one transaction; one that is off stays as it is.

    Raises
    ------
    NotFound : there is no such alert.
    """
    written = _switch(record, alert_id, is_on=False)
    return _switch(record, alert_id, is_on=True) if written.event is not None else written


def _switch(record: Record, alert_id: str, *, is_on: bool) -> Written:
    alert = record.transaction.find(_ALERT, Key.by_id(alert_id))
    if alert is None:
        raise missing(_ALERT, Key.by_id(alert_id))
    return record.change(alert, {**alert.document, "enabled": is_on})
