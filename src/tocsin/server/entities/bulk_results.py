"""Bulk results: the response of every route that processes many entities, with one outcome per entity.

Source: schemas/type/bulkOperationResult.json.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from tocsin.errors import TocsinError
from tocsin.model.entity import Document
from tocsin.server.http.errors import status_of


def outcome_of(request: object, error: TocsinError | None = None, message: str | None = None) -> Document:
    """Return the result of one request: success, or the error, for which ``message`` may be another text."""
    if error is not None:
        return {"request": request, "message": message or error.message, "status": int(status_of(error))}
    outcome: Document = {"request": request, "status": int(HTTPStatus.OK)}
    return outcome if message is None else outcome | {"message": message}


def bulk_result(outcomes: Sequence[Document], *, is_dry: bool | None = None) -> Document:
    """Return all outcomes, those that went well and those that failed apart; ``is_dry`` None where nothing can be."""
    successes = [one for one in outcomes if one["status"] == HTTPStatus.OK]
    failures = [one for one in outcomes if one["status"] != HTTPStatus.OK]
    result: Document = {} if is_dry is None else {"dryRun": is_dry}
    return result | {
        "status": "success" if not failures else "partialSuccess" if successes else "failure",
        "numberOfRowsProcessed": len(outcomes),
        "numberOfRowsPassed": len(successes),
        "numberOfRowsFailed": len(failures),
        "successRequest": successes,
        "failedRequest": failures,
    }
