"""Notification templates: their default texts, their rules, and the alerts that use them.

A template must parse, and a request cannot set its provider. An administrator may change and reset the texts of system
templates; as long as one is unchanged, messages have the text that Tocsin writes without templates. Alerts are given
templates of users, and a template that alerts use stays. Next: ``delivery/templates/choice.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import orjson

from tocsin.delivery.templates.message_text import check_template
from tocsin.errors import Conflict, InvalidInput
from tocsin.flow.capture.ports import Transaction
from tocsin.flow.capture.write import Record
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM as TOCSIN
from tocsin.model.people import Actor
from tocsin.model.phrases import count_text
from tocsin.model.stored import Key, Stored
from tocsin.model.template import NOTIFICATION_TEMPLATE, SYSTEM, USER, Template

TEXTS = ("templateSubject", "templateBody")
RESET = (*TEXTS, "description", "displayName")
"""The keys that a reset brings back."""

_MOST_NAMED = 10


@cache
def defaults() -> Mapping[str, Document]:
    """Return the requests that create the system templates, by name."""
    requests = orjson.loads(files("tocsin.catalogue").joinpath("notification_templates.json").read_bytes())
    return {one["name"]: {**one, "provider": SYSTEM} for one in requests}


def is_modified(template: Document) -> bool:
    """Return whether the texts of a system template differ from its default."""
    default = defaults().get(template["name"])
    return default is not None and any(template.get(key) != default[key] for key in TEXTS)


def reset_of(template: Document) -> list[Document]:
    """Return the JSON Patch that gives a system template its default texts.

    Raises
    ------
    InvalidInput : it is none
    """
    default = defaults().get(template["name"])
    if template.get("provider") != SYSTEM or default is None:
        raise InvalidInput("Cannot reset template: only SYSTEM templates can be reset to default")
    return [{"op": "add", "path": f"/{key}", "value": default[key]} for key in RESET]


def with_checked_texts(fields: Document, old: Document, actor: Actor) -> Document:
    """Return a template whose subject and body can be read, with the provider it had; a new one is the user's.

    A system template says whether its texts are others than the default ones.

    Raises
    ------
    InvalidTemplate : one of them cannot be read; ``field`` says which
    """
    subject, body = (str(fields.get(key) or "") for key in ("templateSubject", "templateBody"))
    template = Template(str(fields.get("name")), subject, body)
    check_template(template)
    is_ours = actor == TOCSIN and fields.get("provider") == SYSTEM
    provider = old.get("provider") or (SYSTEM if is_ours else USER)
    other_fields = {key: value for key, value in fields.items() if key != "isModifiedFromDefault"}
    says = {"isModifiedFromDefault": is_modified(fields)} if provider == SYSTEM else {}
    return {**other_fields, "provider": provider, **says}


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
    alerts = [one for one in record.transaction.entities_referring_to([template.id], []) if _uses(one, template.id)]
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
