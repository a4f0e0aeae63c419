"""Uses of notification templates: alerts are given those of users, and a template that alerts use stays.

Next: ``flow/send/templates/choice.py``.
"""

from __future__ import annotations

from tocsin.errors import Conflict, InvalidInput
from tocsin.flow.capture.ports import Transaction
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.phrases import counted
from tocsin.model.stored import Key, Stored
from tocsin.model.template import NOTIFICATION_TEMPLATE, SYSTEM

_MOST_NAMED = 10


def check_assigned(transaction: Transaction, alert: Document, old: Document) -> None:
    """Refuse to give an alert a system template.

    Raises
    ------
    InvalidInput : it is one; the message says what to do
    """
    named, before = alert.get(NOTIFICATION_TEMPLATE), old.get(NOTIFICATION_TEMPLATE)
    if not isinstance(named, dict) or (isinstance(before, dict) and before.get("id") == named.get("id")):
        return
    found = transaction.find(NOTIFICATION_TEMPLATE, Key.by_id(str(named.get("id"))))
    if found is not None and found.document.get("provider") == SYSTEM:
        raise InvalidInput(
            f"{found.document['name']} is a system template; only a user's can be assigned: copy its texts into one",
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
    names = sorted(one.document["name"] for one in alerts if record.permit.may_view(one.entity_type, one.document))
    shown = names[:_MOST_NAMED]
    others = [f"{len(alerts) - len(shown)} more"] if len(alerts) > len(shown) else []
    use = "uses" if len(alerts) == 1 else "use"
    raise Conflict(
        f"{counted(len(alerts), 'alert')} {use} this template ({', '.join([*shown, *others])}):"
        " give them another one first."
    )


def _uses(alert: Stored, template_id: str) -> bool:
    named = alert.document.get(NOTIFICATION_TEMPLATE)
    return alert.entity_type == "eventsubscription" and isinstance(named, dict) and named.get("id") == template_id
