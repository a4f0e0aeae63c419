"""Routes of the server's own settings and of the quotas of people, for administrators.

Settings are read when a process starts, from the environment or ``tocsin.toml``; nothing changes them here.
Next: ``model/shown_settings.py``, ``store/catalogue/access/quotas.py``.
"""

from __future__ import annotations

import os
from pathlib import Path

from fastapi import Response

from tocsin.errors import Forbidden
from tocsin.model.entity import Document
from tocsin.model.shown_settings import names_in_file, settings_to_show
from tocsin.server.http.answer_shapes import json_of
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.administration_schemas import QUOTA_USE, SERVER_SETTING
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, answer, list_answer
from tocsin.settings import Settings
from tocsin.store.catalogue.access.quotas import ALERTS

_HOUR_MS = 3_600_000
_QUOTAS = {
    ALERTS: "alerts_per_person",
    "alert": "alerts_per_hour",
    "trial": "trial_messages_per_hour",
    "post": "posts_per_hour",
}
"""The setting of each quota whose use the store counts."""

router = DeclaredRoutes(prefix="/system/server", tags=["system"])


@router.get("/settings", openapi_extra=answers("ServerSettingPage"))
def read_server_settings(caller: Asked) -> Response:
    """Return each setting of the server with its value, where that was set, and its default; secrets are masked.

    For administrators. `origin` is `default`, `file` (`tocsin.toml`), `environment`, `store` (`tocsin admin secret`)
    or `start`, which the command that started the process sets.
    """
    _check_administrator(caller)
    settings = settings_to_show(
        caller.parts.settings,
        environment=os.environ,
        in_file=names_in_file(Path(str(Settings.model_config["toml_file"]))),
        in_store=caller.parts.read_stored_names(),
    )
    return list_answer([json_of(SERVER_SETTING, setting) for setting in settings])


@router.get("/quotas", openapi_extra=answers("Quotas"))
def read_quotas(caller: Asked) -> Response:
    """Return the limits per person that the store counts, and who has used most of each, now.

    For administrators. Quotas of an hour begin anew at `renewedAt`.
    """
    _check_administrator(caller)
    now_ms = caller.parts.clock.now_ms()
    renewed_ms = (now_ms // _HOUR_MS + 1) * _HOUR_MS
    return answer({"renewedAt": renewed_ms, "quotas": [_quota(kind, caller, now_ms) for kind in _QUOTAS]})


def _quota(kind: str, caller: Caller, now_ms: int) -> Document:
    setting = _QUOTAS[kind]
    return {
        "quota": setting,
        "isHourly": kind != ALERTS,
        "limit": getattr(caller.parts.settings, setting),
        "uses": [json_of(QUOTA_USE, use) for use in caller.parts.quotas.uses(kind, now_ms=now_ms)],
    }


def _check_administrator(caller: Caller) -> None:
    if not caller.actor.is_admin:
        raise Forbidden("Only administrators may see the settings and quotas of the server.")
