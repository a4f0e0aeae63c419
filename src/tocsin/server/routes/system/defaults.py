"""Route of OpenMetadata's system settings, which its workflows read at their start: always the defaults.

Tocsin's own settings are in its configuration: ``docs/settings.md``.
"""

from __future__ import annotations

from fastapi import APIRouter, Response

from tocsin.errors import NotFound
from tocsin.model.entity import Document
from tocsin.model.phrases import meant
from tocsin.server.http.request import Asked, PathText, answer

_DEFAULTS: dict[str, Document] = {"profilerConfiguration": {"metricConfiguration": []}}
"""Values by name: the profiler computes all its metrics."""

router = APIRouter(prefix="/system/settings", tags=["system"])


@router.get("/{name}")
def read_setting(name: PathText, caller: Asked) -> Response:
    """Return a setting of OpenMetadata that its client asks for: ``profilerConfiguration``."""
    if name not in _DEFAULTS:
        raise NotFound(f"There is no setting {name!r}; {meant(name, sorted(_DEFAULTS))}.")
    return answer({"config_type": name, "config_value": _DEFAULTS[name]})
