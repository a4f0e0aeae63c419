"""Route of the API version. Next: ``server/routes/people/users.py``."""

from __future__ import annotations

from fastapi import Response

from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import PartsHere, answer

router = DeclaredRoutes(tags=["system"])


@router.get("/system/version", openapi_extra=answers("OpenMetadataServerVersion", never="503"))
def version(parts: PartsHere) -> Response:
    """Return the version of OpenMetadata's API; its client compares major and minor."""
    return answer({"version": parts.settings.api_version, "revision": "tocsin", "timestamp": 0})
