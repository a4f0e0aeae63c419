"""Checks of change events and alerts, and of the client's newer API, ``metadata.sdk``."""

from __future__ import annotations

import os
import time

from checks.checking import CheckSetup, check, id_of, text
from checks.every_type import new
from metadata.generated.schema.entity.data.table import ColumnName, Table
from metadata.generated.schema.events.eventSubscription import EventSubscription, SubscriptionType
from metadata.generated.schema.type.changeEvent import ChangeEvent
from metadata.generated.schema.type.changeEventType import EventType
from metadata.sdk import Tables, Users, configure
from metadata.sdk.api.lineage import Lineage


def _events(setup: CheckSetup, entity_id: str) -> list[ChangeEvent]:
    listed = setup.metadata.client.get("/events", {"entityId": entity_id, "limit": 1000})["data"]
    return [ChangeEvent.model_validate(one) for one in listed]


@check("client patch_description delete restore", "the life of a table as the client's strict events")
def _life(setup: CheckSetup) -> None:
    table = setup.table()
    setup.metadata.patch_description(Table, table, "Said.")
    setup.metadata.delete(Table, table.id)
    setup.metadata.restore(Table, table.id)
    events = _events(setup, id_of(table))
    assert [one.eventType for one in events] == [
        EventType.entityCreated,
        EventType.entityUpdated,
        EventType.entitySoftDeleted,
        EventType.entityRestored,
    ]
    assert [one.userName for one in events] == ["connector"] * 4
    assert events[1].changeDescription.fieldsAdded[0].name.root == "description"
    assert (events[1].previousVersion.root, events[1].currentVersion.root) == (0.1, 0.2)


@check("client", "events by kind and type: what OpenMetadata's own parameters select")
def _select_events(setup: CheckSetup) -> None:
    before, table = int(time.time() * 1000) - 1, setup.table()
    parameters = {"entityCreated": "table", "timestamp": before, "limit": 1000}
    events = [ChangeEvent.model_validate(one) for one in setup.metadata.client.get("/events", parameters)["data"]]
    assert {one.entityType for one in events} == {"table"}
    assert {one.eventType for one in events} == {EventType.entityCreated}
    assert table.id.root in {one.entityId.root for one in events}


@check("client list_all_entities", "every event so far can be read by the strict client")
def _all_events(setup: CheckSetup) -> None:
    listed = setup.metadata.client.get("/events", {"limit": 10_000})["data"]
    types = {ChangeEvent.model_validate(one).eventType for one in listed}
    assert {EventType.entityCreated, EventType.entityUpdated, EventType.entityDeleted} <= types
    assert list(setup.metadata.list_all_entities(EventSubscription))


@check("get_by_name", "an alert with its destinations, their status included")
def _alert(setup: CheckSetup) -> None:
    alert = setup.metadata.get_by_name(EventSubscription, text(new(setup, "EventSubscription", "alert").name))
    (destination,) = alert.destinations
    assert destination.type is SubscriptionType.Email
    assert alert.filteringRules is not None and alert.filteringRules.resources == ["table"]


@check("client", "the newer API: a table is read, tagged, described, followed, and its versions listed")
def _sdk(setup: CheckSetup) -> None:
    configure(server_url=os.environ["TOCSIN_SERVER"] + "/api", jwt_token=os.environ["TOCSIN_TOKEN"])
    table, user = setup.table(), setup.entities["User olga"].id.root
    fqn = text(table.fullyQualifiedName)
    assert Tables.retrieve_by_name(fqn, fields=["tags"]).id == table.id
    assert [tag.tagFQN.root for tag in Tables.add_tag(table.id.root, "Care.Fragile").tags] == ["Care.Fragile"]
    Tables.update_column_description(table.id.root, ColumnName("id"), "Its number.")
    assert [one.name for one in Tables.add_followers(table.id.root, [user]).followers.root] == ["olga"]
    assert not Tables.remove_followers(table.id.root, [user]).followers.root
    assert len(Tables.get_versions(table.id.root)) == 3
    assert Tables.get_specific_version(table.id.root, "0.1").version.root == 0.1
    assert setup.metadata.client is not None


@check("client", "the newer API: an entity is changed, listed, deleted and restored")
def _sdk_entity(setup: CheckSetup) -> None:
    table = setup.table()
    table_to_change = Tables.retrieve(table.id.root)
    table_to_change.displayName = "Shown"
    assert Tables.update(table_to_change).displayName == "Shown"
    assert Tables.list(limit=2, filters={"databaseSchema": "pg.shop.public"}).after
    Tables.delete(table.id.root)
    assert Tables.restore(table.id.root).deleted is False
    assert Users.retrieve_by_name("olga").displayName == "Olga"
    assert setup.metadata.client is not None


@check("client", "the newer API: an edge is added, read and removed")
def _sdk_lineage(setup: CheckSetup) -> None:
    from_id, to_id = id_of(setup.table()), id_of(setup.table())
    Lineage.add_lineage(from_entity_id=from_id, from_entity_type="table", to_entity_id=to_id, to_entity_type="table")
    assert Lineage.get_entity_lineage("table", to_id).upstreamEdges
    Lineage.delete_lineage(from_entity=from_id, from_entity_type="table", to_entity=to_id, to_entity_type="table")
    assert not Lineage.get_entity_lineage("table", to_id).upstreamEdges
    assert setup.metadata.client is not None
