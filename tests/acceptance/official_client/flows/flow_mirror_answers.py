"""Flow of answers of an OpenMetadata: its lists, change events and lineage, as the client's own models write them.

The models forbid unknown keys, so what they write is an answer of their version. Needs no server.
"""

from __future__ import annotations

import json
from typing import Any

from metadata.generated.schema.entity.classification.classification import Classification
from metadata.generated.schema.entity.classification.tag import Tag
from metadata.generated.schema.entity.data.database import Database
from metadata.generated.schema.entity.data.databaseSchema import DatabaseSchema
from metadata.generated.schema.entity.data.glossary import Glossary
from metadata.generated.schema.entity.data.glossaryTerm import GlossaryTerm
from metadata.generated.schema.entity.data.pipeline import Pipeline
from metadata.generated.schema.entity.data.table import Table
from metadata.generated.schema.entity.domains.domain import Domain
from metadata.generated.schema.entity.services.databaseService import DatabaseService
from metadata.generated.schema.entity.services.pipelineService import PipelineService
from metadata.generated.schema.entity.teams.user import User
from metadata.generated.schema.type.changeEvent import ChangeEvent
from metadata.generated.schema.type.entityLineage import EntityLineage

LOADED_MS, CHANGED_MS = 1_700_000_000_000, 1_700_000_100_000
_COUNTER = iter(range(1, 1000))


def run(metadata: Any) -> object:
    """Return the lists by collection, the events, and the lineage by the entity to which it leads."""
    del metadata
    user = _entity(User, "ana", email="ana@example.org", isAdmin=True)
    care = _entity(Classification, "Care", description="How to handle it.", provider="user", mutuallyExclusive=False)
    tag = _entity(Tag, "Fragile", "Care.Fragile", description="With care.", classification=_ref("classification", care))
    glossary = _entity(Glossary, "Words", description="What we call things.")
    term = _entity(
        GlossaryTerm, "Customer", "Words.Customer", description="Who buys.", glossary=_ref("glossary", glossary)
    )
    domain = _entity(Domain, "Sales", description="All that sells.", domainType="Aggregate")
    service = _entity(DatabaseService, "pg", serviceType="Postgres", connection=_CONNECTION)
    database = _entity(Database, "shop", "pg.shop", service=_ref("databaseService", service), serviceType="Postgres")
    above = {"service": _ref("databaseService", service), "database": _ref("database", database)}
    schema = _entity(DatabaseSchema, "public", "pg.shop.public", serviceType="Postgres", **above)
    above |= {"databaseSchema": _ref("databaseSchema", schema), "serviceType": "Postgres"}
    labels = [_label("Care.Fragile", "Classification"), _label("Words.Customer", "Glossary")]
    governance = {"owners": [_ref("user", user)], "domains": [_ref("domain", domain) | {"inherited": True}]}
    fields = {"description": "What was ordered.", "tableType": "Regular", "columns": _COLUMNS, "tags": labels}
    fields |= _SEEN | {"followers": [_ref("user", user)]}
    orders = _entity(Table, "orders", "pg.shop.public.orders", **above, **governance, **fields)
    old = _entity(Table, "old", "pg.shop.public.old", **above, columns=_COLUMNS[:1])
    lists = {
        "users": [user],
        "classifications": [care],
        "tags": [tag],
        "glossaries": [glossary],
        "glossaryTerms": [term],
        "domains": [domain],
        "services/databaseServices": [service],
        "databases": [database],
        "databaseSchemas": [schema],
        "tables": [orders, old],
    }
    changed_orders = orders | {
        "description": "All orders.",
        "version": 0.2,
        "updatedAt": CHANGED_MS,
        "updatedBy": "ana",
    }
    change = {"previousVersion": 0.1, "fieldsAdded": [], "fieldsDeleted": []}
    change["fieldsUpdated"] = [{"name": "description", "oldValue": "What was ordered.", "newValue": "All orders."}]
    events = [
        _event("entityUpdated", "table", changed_orders, changeDescription=change, incrementalChangeDescription=change),
        _event("entitySoftDeleted", "table", old | {"deleted": True, "updatedAt": CHANGED_MS + 1, "version": 0.2}),
    ]
    runner = _entity(PipelineService, "air", serviceType="Airflow")
    nightly = _entity(
        Pipeline, "nightly", "air.nightly", service=_ref("pipelineService", runner), serviceType="Airflow"
    )
    lists |= {"services/pipelineServices": [runner], "pipelines": [nightly]}
    return {"lists": lists, "events": events, "lineage": {orders["id"]: _lineage(old, orders, nightly)}}


def _lineage(start: dict[str, Any], end: dict[str, Any], pipeline: dict[str, Any]) -> dict[str, Any]:
    names = [document["fullyQualifiedName"] for document in (start, end)]
    details = {
        "sqlQuery": "INSERT INTO orders SELECT id FROM old",
        "columnsLineage": [{"fromColumns": [f"{names[0]}.id"], "toColumn": f"{names[1]}.id", "function": "max(id)"}],
        "pipeline": _ref("pipeline", pipeline),
        "description": "Copied at night.",
        "source": "PipelineLineage",
        "createdAt": LOADED_MS,
        "createdBy": "admin",
        "updatedAt": LOADED_MS,
        "updatedBy": "admin",
    }
    edge = {"fromEntity": start["id"], "toEntity": end["id"], "lineageDetails": details}
    graph = {"entity": _ref("table", end), "nodes": [_ref("table", start)]}
    return _serialise(EntityLineage, graph | {"upstreamEdges": [edge], "downstreamEdges": []})


_CONNECTION = {"config": {"type": "Postgres", "username": "reader", "hostPort": "db:5432", "database": "shop"}}
_COLUMNS = [
    {
        "name": "id",
        "dataType": "BIGINT",
        "dataTypeDisplay": "bigint",
        "constraint": "PRIMARY_KEY",
        "ordinalPosition": 1,
    },
    {"name": "email", "dataType": "VARCHAR", "dataLength": 320, "description": "Where to write.", "tags": []},
]
_SEEN = {
    "usageSummary": {"dailyStats": {"count": 3, "percentileRank": 50.0}, "date": "2026-07-01"},
    "votes": {"upVotes": 1, "downVotes": 0, "upVoters": [], "downVoters": []},
    "sourceHash": "c0ffee",
    "lifeCycle": {"created": {"timestamp": LOADED_MS}},
}


def _id() -> str:
    return f"10000000-0000-4000-8000-{next(_COUNTER):012d}"


def _entity(model: Any, name: str, fqn: str = "", **fields: Any) -> dict[str, Any]:
    document = {"id": _id(), "name": name, "fullyQualifiedName": fqn or name, "version": 0.1, "deleted": False}
    stamps = {"updatedAt": LOADED_MS, "updatedBy": "admin", "href": f"http://upstream/api/v1/x/{name}"}
    return _serialise(model, document | stamps | fields)


def _event(event_type: str, entity_type: str, document: dict[str, Any], **fields: Any) -> dict[str, Any]:
    facts = {"id": _id(), "eventType": event_type, "entityType": entity_type, "entityId": document["id"]}
    place = {"entityFullyQualifiedName": document["fullyQualifiedName"], "userName": document["updatedBy"]}
    stamps = {"timestamp": document["updatedAt"], "currentVersion": document["version"], "previousVersion": 0.1}
    entity = json.dumps(document)  # a text, as upstream's ``ChangeEventHandler`` writes it
    return _serialise(ChangeEvent, facts | place | stamps | {"entity": entity} | fields)


def _serialise(model: Any, document: dict[str, Any]) -> dict[str, Any]:
    document = {key: value for key, value in document.items() if key in model.model_fields}
    text = model.model_validate(document).model_dump_json(exclude_unset=True, exclude_none=True, by_alias=True)
    return dict(json.loads(text))


def _ref(entity_type: str, document: dict[str, Any]) -> dict[str, Any]:
    keys = ("id", "name", "fullyQualifiedName")
    return {"type": entity_type, "deleted": False, "href": "http://upstream/x"} | {key: document[key] for key in keys}


def _label(fqn: str, source: str) -> dict[str, Any]:
    return {"tagFQN": fqn, "source": source, "labelType": "Manual", "state": "Confirmed", "name": fqn.split(".")[-1]}
