"""Writes of alerts besides those that all entities have: editors, changed secrets, a skipped backlog.

Editors are accountable for what an alert covers and sends: it covers only what all its editors may view
(``flow/resolve/withholding.py``), and what leaves through an endpoint or credentials of its own reaches only what they
may view at that moment. Next: ``store/catalogue/alerts/editors.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from tocsin.flow.capture.write import Record
from tocsin.model.change import CHANGED_SECRETS, EDITORS, ChangeDescription, FieldChange
from tocsin.model.entity import Document
from tocsin.model.stored import Key, Stored, Written, not_found

_ALERT = "eventsubscription"


def add_editor(record: Record, alert_id: str) -> Written:
    """Record the actor as an editor of an alert; this makes no version and no event.

    Raises
    ------
    NotFound : there is no such alert.
    """
    alert = _find_alert(record, alert_id)
    record.transaction.alert_editors.add(alert_id, record.actor.id, record.at_ms)
    return Written(alert.document, None)


def take_over(record: Record, alert_id: str) -> Written:
    """Make the actor the only editor of an alert; an event says so, and the alert keeps its version.

    An alert to its owner only whose owner was deleted for good becomes the actor's.

    Raises
    ------
    NotFound : there is no such alert.
    """
    alert, editors = _find_alert(record, alert_id), record.transaction.alert_editors
    before = editors.of(alert_id)
    editors.replace(alert_id, record.actor.id, record.at_ms)
    alert = _with_owner(record, alert)
    if before == [record.actor.id]:
        return Written(alert.document, None)
    change = FieldChange(name=EDITORS, old_value=_references(before), new_value=_references([record.actor.id]))
    return record.note(alert, ChangeDescription(fields_updated=(change,)))


def record_changed_secrets(record: Record, alert_id: str, destination_ids: Sequence[str]) -> Written:
    """Make a version of an alert that names the destinations whose secrets changed, and nothing of the secrets.

    Raises
    ------
    NotFound : there is no such alert.
    """
    alert = _find_alert(record, alert_id)
    change = FieldChange(name=CHANGED_SECRETS, new_value=list(destination_ids))
    return record.revise(alert, ChangeDescription(fields_updated=(change,)))


def skip_backlog(record: Record, alert_id: str) -> Written:
    """Switch an alert off and on in one transaction; one that is off stays as it is.

    Raises
    ------
    NotFound : there is no such alert.
    """
    written = _switch(record, alert_id, is_on=False)
    return _switch(record, alert_id, is_on=True) if written.event is not None else written


def _switch(record: Record, alert_id: str, *, is_on: bool) -> Written:
    alert = _find_alert(record, alert_id)
    return record.change(alert, {**alert.document, "enabled": is_on})


def _with_owner(record: Record, alert: Stored) -> Stored:
    """Return an alert to its owner only that nobody owns as the actor's, another as it is."""
    if not alert.document.get("toMeOnly") or alert.document.get("owners") or record.actor.is_bot:
        return alert
    owner = record.transaction.reference("user", Key.by_id(record.actor.id))
    if owner is None:
        return alert
    record.change(alert, {**alert.document, "owners": [owner]})
    return _find_alert(record, alert.id)


def _references(user_ids: list[str]) -> list[Document]:
    return [{"id": one, "type": "user"} for one in user_ids]


def _find_alert(record: Record, alert_id: str) -> Stored:
    alert = record.transaction.find(_ALERT, Key.by_id(alert_id))
    if alert is None:
        raise not_found(_ALERT, Key.by_id(alert_id))
    return alert
