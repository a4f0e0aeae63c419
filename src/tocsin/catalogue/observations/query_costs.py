"""Costs of queries: one record per query and moment, as the client's usage workflow reports them.

A record is stored in the query's time series. It makes no event: it says nothing about the query itself.
Source: schema ``api/data/createQueryCostRecord.json``. Next: ``server/routes/observations/queries.py``.
"""

from __future__ import annotations

from uuid import uuid5

from tocsin.catalogue.observations.field_checks import checked_document, shape_of
from tocsin.errors import InvalidInput
from tocsin.flow.capture.references import key_of
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.notification import NAMESPACE
from tocsin.model.report import Line, StoredReport
from tocsin.model.stored import Key, Stored, Written

KIND = "queryCostRecord"
_REQUEST = shape_of("createQueryCostRecord")


def check_cost(request: Document) -> tuple[Key, Document]:
    """Return the key of the query that a request names, and the request without its nulls.

    Raises
    ------
    InvalidInput : it is malformed
    """
    checked_request = checked_document(_REQUEST, request)
    for name in ("cost", "count", "totalDuration"):
        if checked_request.get(name, 0) < 0:
            raise InvalidInput("must not be negative", field=name)
    if checked_request["queryReference"].get("type", "query") != "query":
        raise InvalidInput("must refer to a query", field="queryReference.type")
    return key_of(checked_request["queryReference"]), checked_request


def put_cost(record: Record, query: Stored, request: Document) -> Written:
    """Keep the cost of a query at a moment, in place of the one of the same moment."""
    at_ms = request["timestamp"]
    cost = {
        "id": str(uuid5(NAMESPACE, f"{KIND}|{query.id}|{at_ms}")),
        "timestamp": at_ms,
        "jsonSchema": KIND,
        "queryReference": {"id": query.id, "type": query.entity_type, "fullyQualifiedName": query.fqn},
        "cost": request["cost"],
        "count": request["count"],
        "totalDuration": request.get("totalDuration", 0),
    }
    record.transaction.series.put(Line(query.id, KIND), StoredReport(at_ms, cost))
    return Written(cost, None)
