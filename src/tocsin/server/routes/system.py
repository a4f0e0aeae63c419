"""Which version of the API does this server speak, and is it alive? Next: ``server/routes/users.py``."""

from __future__ import annotations

from fastapi import APIRouter, Response

from tocsin.server.request import PartsHere, answer

API_VERSION = "1.13.0"
"""The version of OpenMetadata's API that the server speaks; its client compares major and minor."""

router = APIRouter(tags=["system"])


@router.get("/system/version")
def version() -> Response:
    """Return the version of the API."""
    return answer({"version": API_VERSION, "revision": "tocsin", "timestamp": 0})


@router.get("/healthcheck")
def healthcheck(parts: PartsHere) -> Response:
    """Say that the server and its store answer."""
    return answer({"status": "ok", "logOffset": parts.log.readable_end()})
