"""Address of the sample's webhook: the development receiver of this start, on its current port.

``cli/up.py`` sets it before the processes start. Next: ``flow/capture/operations.py``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tocsin.catalogue.writes import Writes
from tocsin.clock import Clock
from tocsin.errors import NotFound
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.sample.alerts import HOOK_ALERT
from tocsin.store.catalogue.alerts.subscriptions import ENTITY_TYPE, Subscriptions
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue

if TYPE_CHECKING:  # only named here; opening stores is the store's business
    from sqlalchemy import Engine

_HOME = re.compile(r"http://127\.0\.0\.1:\d+/hook")


def hook_url(port: int) -> str:
    """Return the webhook URL of a development receiver on ``port`` of this machine."""
    return f"http://127.0.0.1:{port}/hook"


def lead_hook_to(engine: Engine, port: int, *, clock: Clock) -> None:
    """Point the sample's alert to the development receiver on ``port``, unless it calls something else."""
    catalogue, name = SqlCatalogue(engine), Key.by_name(HOOK_ALERT)
    try:
        document = catalogue.get(ENTITY_TYPE, name)
    except NotFound:  # somebody has deleted it
        return
    operations = [
        {"op": "replace", "path": f"/destinations/{number}/config/endpoint", "value": hook_url(port)}
        for number, destination in enumerate(document.get("destinations") or ())
        if _HOME.fullmatch(endpoint := destination.get("config", {}).get("endpoint") or "")
        and endpoint != hook_url(port)
    ]
    if operations:
        moved = Writes(catalogue, clock).patch(ENTITY_TYPE, name, operations, actor=SYSTEM).document
        _take_secrets_along(Subscriptions(engine), moved)


def _take_secrets_along(subscriptions: Subscriptions, alert: Document) -> None:
    """Let the secrets of the moved destinations belong to their new address: it is the same development receiver."""
    endpoints = {destination_id["id"]: destination_id["config"]["endpoint"] for destination_id in alert["destinations"]}
    secrets_by_destination = subscriptions.secrets_of(alert["id"])
    subscriptions.keep_secrets(
        alert["id"],
        {
            destination_id: secrets
            | ({"endpoint": endpoints[destination_id]} if _HOME.fullmatch(endpoints.get(destination_id, "")) else {})
            for destination_id, secrets in secrets_by_destination.items()
        },
    )
