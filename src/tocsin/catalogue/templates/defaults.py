"""Default texts of the system templates, which an administrator may change and reset.

As long as one is unchanged, messages have the text that Tocsin writes without templates.
Next: ``delivery/templates/choice.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import orjson

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.template import SYSTEM

TEXTS = ("templateSubject", "templateBody")
RESET = (*TEXTS, "description", "displayName")
"""The keys that a reset brings back."""


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
