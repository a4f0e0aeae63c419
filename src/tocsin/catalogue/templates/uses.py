"""Uses of notification templates: alerts are given those of users, and a template that alerts use stays.

Next: ``delivery/templates/choice.py``.
"""

from __future__ import annotations

from tocsin.errors import Conflict, InvalidInput
from tocsin.flow.capture.ports import Transaction
from tocsin.flow.capture.write import Record
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.phrases import count_text
from tocsin.model.stored import Key, Stored
from tocsin.model.template import NOTIFICATION_TEMPLATE, SYSTEM

_MOST_NAMED = 10


def check_assigned(transaction: Transaction, alert: Document, old: Document) -> None:
    """Refuse to give an alert a system template.

    Raises
    ------
    InvalidInput : it is one; the message says what to do
    """
    reference, before = alert.get(NOTIFICATION_TEMPLATE), old.get(NOTIFICATION_TEMPLATE)
    if not isinstance(reference, dict) or (isinstance(before, dict) and before.get("id") == reference.get("id")):
        return
    template = transaction.find(NOTIFICATION_TEMPLATE, Key.by_id(str(reference.get("id"))))
    if template is not None and template.document.get("provider") == SYSTEM:
        raise InvalidInput(
            f"{template.document['name']} is a system template; only a user's can be assigned: copy its texts into one",
            field=NOTIFICATION_TEMPLATE,
        )


def check_unused(record: Record, template: Stored) -> None:
    """Refuse to delete a template that alerts use.

    Raises
    ------
    Conflict : some do; the message names those that the actor may see
    """
    alerts = [one for one in record.transaction.referring([template.id], []) if _uses(one, template.id)]
    if not alerts:
        return
    view = Operation.VIEW_BASIC
    names = sorted(one.document["name"] for one in alerts if record.permit.may(view, one.entity_type, one.document))
    shown_names = names[:_MOST_NAMED]
    hidden_part = [f"{len(alerts) - len(shown_names)} more"] if len(alerts) > len(shown_names) else []
    use = "uses" if len(alerts) == 1 else "use"
    raise Conflict(
        f"{count_text(len(alerts), 'alert')} {use} this template ({', '.join([*shown_names, *hidden_part])}):"
        " give them another one first."
    )


def _uses(alert: Stored, template_id: str) -> bool:
    reference = alert.document.get(NOTIFICATION_TEMPLATE)
    return (
        alert.entity_type == "eventsubscription" and isinstance(reference, dict) and reference.get("id") == template_id
    )
