"""Tests of entities whose names look like ids: they are found by name where nothing has the id."""

from __future__ import annotations

from uuid import uuid4

import httpx
from tests.contract.test_access import create_entity


def test_a_name_that_looks_like_an_id_is_found_by_references(administrator: httpx.Client) -> None:
    service, team, alert = (str(uuid4()) for _ in range(3))
    create_entity(administrator, "/services/databaseServices", name=service, serviceType="Postgres")
    database = create_entity(administrator, "/databases", name="shop", service=service)
    assert database["service"]["name"] == service
    bulk = administrator.put("/databases/bulk", json=[{"name": "store", "service": service}])
    assert bulk.json()["numberOfRowsPassed"] == 1, bulk.text
    above = create_entity(administrator, "/teams", name=team, teamType="Department")
    below = create_entity(administrator, "/teams", name="below", teamType="Group", parents=[above["id"]])
    assert [one["name"] for one in below["parents"]] == [team]
    first = create_entity(
        administrator, "/events/subscriptions", name=alert, alertType="Notification", resources=["table"]
    )
    second = {"name": "second", "alertType": "Notification", "resources": ["table"], "triggers": [alert]}
    after = create_entity(administrator, "/events/subscriptions", **second)
    assert [one["id"] for one in after["triggers"]] == [first["id"]]
