"""Alerts of Fernhill, the sample company, one row each, and their custom properties.

In-app notifications come from Tocsin's default alert (``server/build.py``), so none is needed here.
Next: ``sample/load.py``, which creates them last, so that the sample's history notifies nobody.
"""

from __future__ import annotations

from collections.abc import Callable

from tocsin.model.address import MASK
from tocsin.model.entity import Document

WATCHED_TABLE = "postgres_prod.ecommerce.public.orders"
"""The table everything of which goes to the local webhook; the story of the README changes it."""

HOOK_ALERT = "OrdersTable"
"""The alert that calls it."""


PROPERTIES: tuple[Document, ...] = (
    {
        "name": "dataClassification",
        "displayName": "Data classification",
        "description": "Sensitivity of what the alert tells.",
        "propertyType": "enum",
        "customPropertyConfig": {"config": {"multiSelect": False, "values": ["Public", "Internal", "Confidential"]}},
    },
    {
        "name": "costCenter",
        "displayName": "Cost center",
        "description": "Cost center that pays for what the alert sends.",
        "propertyType": "string",
    },
    {
        "name": "retentionPeriod",
        "displayName": "Retention period",
        "description": "How long recipients keep the messages.",
        "propertyType": "duration",
    },
    {
        "name": "applicationOwner",
        "displayName": "Application owner",
        "description": "Team or application that depends on the alert.",
        "propertyType": "string",
    },
)
"""Custom properties of alerts. Source: seeds/001 "Custom Properties"."""

_OF_PERSONAL_DATA: Document = {
    "dataClassification": ["Confidential"],
    "costCenter": "4711 Data protection",
    "retentionPeriod": "P2Y",
    "applicationOwner": "DataGovernance",
}


def alerts(home_url: str | None, new_id: Callable[[], str]) -> list[Document]:
    """Return the create requests of all alerts; ``home_url`` receives webhooks (None: there is no such alert)."""
    return [*_mails_and_bells(new_id), *([_webhook(home_url, new_id)] if home_url else [])]


def _webhook(url: str, new_id: Callable[[], str]) -> Document:
    # The mask replaces a key that is generated when the sample is loaded and stored separately.
    config = {"endpoint": url, "secretKey": MASK}
    return _alert(
        HOOK_ALERT,
        "Sends all changes of the orders table and its tests to a webhook on this machine.",
        resources=("table", "testCase"),
        condition=f"matchAnyEntityFqn({{'{WATCHED_TABLE}'}})",
        destinations=[_destination("External", "Webhook", new_id, config=config)],
    )


def _mails_and_bells(new_id: Callable[[], str]) -> list[Document]:
    return [
        _alert(
            "Tier1SchemaChanges",
            "Mails the owners of a Tier1 table when its columns change.",
            resources=("table",),
            condition="eventType == 'entityUpdated' && fieldChanged == 'columns' && tier == 'Tier.Tier1'",
            destinations=[_destination("Owners", "Email", new_id)],
        ),
        _alert(
            "ShopSchemaChanges",
            "Notifies the owners of downstream assets when columns of a shop table change.",
            resources=("table",),
            condition="service == 'postgres_prod' && fieldChanged == 'columns'",
            destinations=[_destination("Owners", "ActivityFeed", new_id, downstream_depth=3)],
        ),
        _alert(
            "FailedTests",
            "Mails the owners of a test when it fails.",
            kind="Observability",
            resources=("testCase",),
            condition="testStatus == 'Failed'",
            destinations=[_destination("Owners", "Email", new_id)],
        ),
        _alert(
            "FailedPipelines",
            "Mails the data engineers when a pipeline run fails.",
            kind="Observability",
            resources=("pipeline",),
            condition="pipelineStatus == 'Failed' || pipelineStatus == 'PartialSuccess'",
            destinations=[_destination("Teams", "Email", new_id, config={"receivers": ["DataEngineering"]})],
        ),
        _alert(
            "PersonalDataChanges",
            "Mails the data stewards when columns of a table with personal data change.",
            resources=("table",),
            condition="tags.contains('PII.Sensitive') && fieldChanged == 'columns'",
            destinations=[_destination("Teams", "Email", new_id, config={"receivers": ["DataGovernance"]})],
        )
        | {"extension": _OF_PERSONAL_DATA},
        _alert(
            "RemovedAssets",
            "Mails the owners of an asset and of everything downstream when something is removed.",
            resources=("all",),
            condition="eventType == 'entitySoftDeleted' || eventType == 'entityDeleted'",
            destinations=[_destination("Owners", "Email", new_id, downstream_depth=2)],
        ),
    ]


def _alert(
    name: str,
    description: str,
    *,
    resources: tuple[str, ...],
    destinations: list[Document],
    condition: str | None = None,
    kind: str = "Notification",
) -> Document:
    rule = {"name": f"{name}Filter", "effect": "include", "condition": condition}
    return {
        "name": name,
        "description": description,
        "alertType": kind,
        "owners": [{"type": "team", "name": "DataGovernance"}],
        "enabled": True,
        "trigger": {"triggerType": "RealTime"},
        "filteringRules": {"resources": list(resources), "rules": [rule] if condition else []},
        "destinations": destinations,
        "batchSize": 100,
        "retries": 3,
        "pollInterval": 60,
        "provider": "user",
    }


def _destination(
    category: str,
    channel: str,
    new_id: Callable[[], str],
    *,
    config: Document | None = None,
    downstream_depth: int | None = None,
) -> Document:
    destination: Document = {"id": new_id(), "category": category, "type": channel}
    destination["config"] = config or {}
    if downstream_depth is not None:
        destination |= {"notifyDownstream": True, "downstreamDepth": downstream_depth}
    return destination
