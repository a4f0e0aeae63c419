"""Runbooks: what to do when an alert fires or a test fails, as the address of a page or as a short text.

Next: ``delivery/wording/guidance.py``.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document

RUNBOOK = "runbook"
"""The key of an alert, test case or test definition that holds one."""

LONGEST_RUNBOOK = 1_000
"""Characters that a runbook may have at most."""

RUNBOOK_SHAPE = {"text": {"minLength": 1, "maxLength": LONGEST_RUNBOOK}}
"""The shape (``model/shapes.py``) of the key."""

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_SCHEMES = ("http", "https")


def link_of(runbook: str) -> str | None:
    """Return the address of the page that a runbook is; None for a text, and for what no message may lead to."""
    text = runbook.strip()
    if not _ADDRESS.fullmatch(text):
        return None
    try:
        parts = urlsplit(text)
        is_safe = parts.scheme.lower() in _SCHEMES and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:  # brackets that are no IPv6 address
        return None
    return text if is_safe and not re.search(r"[<>\"\\]", text) else None


def check_runbook(value: object) -> None:
    """Refuse a runbook that is neither a web address nor a text of 1 to ``LONGEST_RUNBOOK`` characters.

    Raises
    ------
    InvalidInput : it is none, or leads elsewhere than to a page of the web
    """
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_RUNBOOK:
        raise InvalidInput(f"must be an address or a text of 1 to {LONGEST_RUNBOOK:,} characters", field=RUNBOOK)
    if _CONTROL.search(value):
        raise InvalidInput("must not contain control characters", field=RUNBOOK)
    if _ADDRESS.fullmatch(value.strip()) and link_of(value) is None:
        raise InvalidInput("must begin with http:// or https://, without user name or password", field=RUNBOOK)


def check_new_runbook(document: Document, old: Document) -> None:
    """Refuse a document whose runbook is none, unless its earlier state has the same; raises as ``check_runbook``."""
    if RUNBOOK in document and document[RUNBOOK] != old.get(RUNBOOK):
        check_runbook(document[RUNBOOK])
