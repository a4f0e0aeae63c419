"""Request builders for retention, for administrators.

``Client`` and ``AsyncClient`` offer them like those of ``client/calls.py``.
"""

from __future__ import annotations

from urllib.parse import quote

from tocsin.client.call import ApiCall, read_document
from tocsin.model.entity import Document

_ROOT = "system/retention"


def retention() -> ApiCall[Document]:
    """Return the settings of retention, what they take away, the readers of the log and the last run."""
    return ApiCall("GET", _ROOT, read_document)


def set_retention(settings: Document) -> ApiCall[Document]:
    """Replace the settings of retention, in full or by a preset: ``{"preset": "standard"}``."""
    return ApiCall("PUT", _ROOT, read_document, body=settings)


def preview_retention(settings: Document | None = None) -> ApiCall[Document]:
    """Return what a run would remove from the log now, by the settings that are stored or by others."""
    return ApiCall("POST", f"{_ROOT}/preview", read_document, body=settings or {})


def legal_holds() -> ApiCall[Document]:
    """Return every legal hold (``data``), lifted ones included, the newest first."""
    return ApiCall("GET", f"{_ROOT}/holds", read_document)


def set_legal_hold(reason: str, **covered: str | int) -> ApiCall[Document]:
    """Set a legal hold on what is ``covered``: ``entityId``, ``userName``, ``since``, ``until`` (epoch ms)."""
    return ApiCall("POST", f"{_ROOT}/holds", read_document, body={"reason": reason, **covered})


def lift_legal_hold(hold_id: str) -> ApiCall[Document]:
    """Lift a legal hold."""
    return ApiCall("DELETE", f"{_ROOT}/holds/{quote(hold_id, safe='')}", read_document)


def erase_user(user_id: str, *, confirm: str | None = None, dry_run: bool = False) -> ApiCall[Document]:
    """Start the erasure of a user, for administrators, and return its state at once; ``confirm`` is the user's name.

    It cannot be taken back. With ``dry_run`` nothing is changed: the ``result`` says how much there is to rewrite.
    """
    body = {"dryRun": dry_run} if confirm is None else {"dryRun": dry_run, "confirm": confirm}
    return ApiCall("POST", f"users/{quote(user_id, safe='')}/erase", read_document, body=body)


def get_erasure(user_id: str) -> ApiCall[Document]:
    """Return the newest erasure of a user; its ``result`` is the certificate once its ``state`` is ``done``."""
    return ApiCall("GET", f"users/{quote(user_id, safe='')}/erase", read_document)
