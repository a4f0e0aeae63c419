"""Request builders for incidents.

``Client`` and ``AsyncClient`` offer them like those of ``client/calls.py``.
"""

from __future__ import annotations

from urllib.parse import quote

from tocsin.client.call import ApiCall, Filter, Pages, pages_of, read_document
from tocsin.model.entity import Document

_ROOT = "incidents"


def list_incidents(**filters: Filter) -> Pages[Document]:
    """Iterate over incidents, newest first; filters are the API's, e.g. ``status``, ``alert``."""
    return pages_of(_ROOT, filters, read_document)


def get_incident(name: str) -> ApiCall[Document]:
    """Return an incident, by its number (``INC-7``) or id, with its timeline."""
    return ApiCall("GET", _path(name), read_document)


def acknowledge_incident(name: str, *, comment: str | None = None) -> ApiCall[Document]:
    """Acknowledge an incident."""
    return _incident(name, "acknowledge", comment)


def assign_incident(name: str, assignee: Document, *, comment: str | None = None) -> ApiCall[Document]:
    """Assign an incident to a user or team: a reference with ``type`` and ``id`` or ``name``."""
    return _incident(name, "assign", comment, assignee=assignee)


def resolve_incident(name: str, *, comment: str | None = None, reason: str | None = None) -> ApiCall[Document]:
    """Resolve an incident by hand; ``reason`` is one of OpenMetadata's, e.g. ``FalsePositive``."""
    return _incident(name, "resolve", comment, **({"reason": reason} if reason else {}))


def comment_on_incident(name: str, comment: str) -> ApiCall[Document]:
    """Say something about an incident, without acknowledging it."""
    return _incident(name, "comment", comment)


def merge_incident(name: str, into: str, *, comment: str | None = None) -> ApiCall[Document]:
    """Make an incident part of another one; ``split_incident`` undoes it."""
    return _incident(name, "merge", comment, into=into)


def split_incident(name: str, *, comment: str | None = None) -> ApiCall[Document]:
    """Let an incident that is part of another one stand for itself again."""
    return _incident(name, "split", comment)


def dismiss_incident_cause(name: str, cause: str, *, comment: str | None = None) -> ApiCall[Document]:
    """Say that a probable cause did not cause an incident; ``restore_incident_cause`` undoes it."""
    return _incident(name, "dismiss-cause", comment, cause=cause)


def restore_incident_cause(name: str, cause: str, *, comment: str | None = None) -> ApiCall[Document]:
    """Undo the dismissal of a probable cause: it is named again."""
    return _incident(name, "restore-cause", comment, cause=cause)


def _incident(name: str, action: str, comment: str | None, **fields: Document | str) -> ApiCall[Document]:
    body = {**fields, **({"comment": comment} if comment else {})}
    return ApiCall("PUT", f"{_path(name)}/{action}", read_document, body=body)


def _path(name: str) -> str:
    return f"{_ROOT}/{quote(name, safe='')}"
