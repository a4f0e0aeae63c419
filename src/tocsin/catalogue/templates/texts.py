"""Rules of notification templates: they must parse, and a request cannot set their provider.

Next: ``delivery/templates/parse.py``.
"""

from __future__ import annotations

from tocsin.catalogue.templates.defaults import is_modified
from tocsin.delivery.templates.message_text import check_template
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM as TOCSIN
from tocsin.model.people import Actor
from tocsin.model.template import SYSTEM, USER, Template


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
