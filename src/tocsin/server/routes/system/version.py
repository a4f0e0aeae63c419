"""Routes that answer before a log-in: the API version, and the ways to log in.

Next: ``server/routes/people/users.py``.
"""

from __future__ import annotations

from fastapi import Response

from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.json_schema import FLAG, either
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import PartsHere, answer
from tocsin.settings import AccessSettings

router = DeclaredRoutes(tags=["system"])

_LOG_IN: Shape[AccessSettings] = {
    "provider": (either("basic", "custom-oidc"), lambda settings: _provider(settings)),
    "enableSelfSignup": (FLAG, lambda _settings: False),
}
"""The ways to log in: `basic` by password alone, `custom-oidc` by OpenID Connect as well."""
_SCHEMA = schema_of(_LOG_IN)


@router.get("/system/version", openapi_extra=answers("OpenMetadataServerVersion", never="503"))
def version(parts: PartsHere) -> Response:
    """Return the version of OpenMetadata's API; its client compares major and minor."""
    return answer({"version": parts.settings.api_version, "revision": "tocsin", "timestamp": 0})


@router.get("/system/config/auth", openapi_extra=answers("AuthenticationConfiguration", _SCHEMA, never="503"))
def ways_to_log_in(parts: PartsHere) -> Response:
    """Return how people log in: by password, or by OpenID Connect as well (`custom-oidc`)."""
    return answer(json_of(_LOG_IN, parts.settings))


def _provider(settings: AccessSettings) -> str:
    return "custom-oidc" if settings.oidc_issuer and settings.oidc_client_id else "basic"
