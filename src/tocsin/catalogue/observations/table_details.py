"""Details of a table: data model, profiler configuration, custom metrics, joins.

The data model is part of the table and makes a version; the rest is attached. Of the attachments only custom metrics
make change events. Source: OpenMetadata's ``TableRepository``. Next: ``server/routes/observations/table_details.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from tocsin.catalogue.observations.field_checks import without_nulls
from tocsin.errors import NotFound
from tocsin.flow.capture.diff import is_same
from tocsin.flow.capture.normalize import clean, with_checked_lists, without_server_keys
from tocsin.flow.capture.upsert import change
from tocsin.flow.capture.write import Record
from tocsin.model import shapes
from tocsin.model.access import Operation
from tocsin.model.change import describe
from tocsin.model.columns import missing_column, relative_fqns_by_spelling
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key, Stored, Written, not_found

CONFIG, METRICS = "tableProfilerConfig", "customMetrics"
_INHERITED = ("description", "tags")


def attach(record: Record, entity: Stored, kind: str, attachment: Document | None) -> Written:
    """Attach something to an entity, or nothing (None), in place of what was there; this makes no event."""
    if attachment is None:
        record.transaction.attachments.remove(entity.id, kind)
    else:
        record.transaction.attachments.put(entity.id, kind, attachment)
    return Written(entity.document, None)


def put_model(record: Record, table: Stored, model: Document) -> Written:
    """Attach the data model of a table; its owners, tags and columns fill what the table lacks."""
    given_model = with_checked_lists(clean(ENTITY_TYPES["table"], {"dataModel": model})["dataModel"])
    shapes.check("table", "dataModel", given_model)
    fields = without_server_keys(table.document) | {"dataModel": given_model}
    if given_model.get("owners") and not table.document.get("owners"):
        fields["owners"] = given_model["owners"]
    if given_model.get("tags"):
        fields["tags"] = _join_labels(table.document.get("tags") or [], given_model["tags"])
    columns_of_model = {column["name"]: column for column in given_model.get("columns") or ()}
    columns = table.document.get("columns") or ()
    fields["columns"] = [_fill_from_model(one, columns_of_model.get(one["name"], {})) for one in columns]
    return change(record, record.resolver(), table, clean(ENTITY_TYPES["table"], fields))


def put_config(record: Record, table: Stored, config: Document) -> Written:
    """Attach the profiler configuration of a table; this makes no event."""
    shapes.check("table", CONFIG, config)
    given_config = without_nulls(config)
    check_columns(table, given_config.get("excludeColumns") or ())
    check_columns(table, [one.get("columnName") for one in given_config.get("includeColumns") or ()])
    return attach(record, table, CONFIG, given_config)


def put_config_given(record: Record, request: Document, table_write: Written) -> Written:
    """Attach the profiler configuration that a request gives with a table, if it gives one; return its result.

    Raises
    ------
    Forbidden : it changes, and the actor may not edit the table's data profile
    """
    config = request.get(CONFIG)
    if config is None:
        return table_write
    table = record.transaction.find("table", Key.by_id(table_write.document["id"]))
    if table is None:
        raise not_found("table", Key.by_id(table_write.document["id"]))
    if not table_write.created and config != record.transaction.attachments.get(table.id, CONFIG):
        record.permit.check("table", {Operation.EDIT_DATA_PROFILE}, table.document)
    put_config(record, table, config)
    return table_write


def put_metric(record: Record, table: Stored, metric: Document) -> Written:
    """Attach a custom metric of a table or of one of its columns, in place of the one of that name."""
    given_metric = without_nulls(metric)
    shapes.check("table", METRICS, [given_metric])
    column = given_metric.get("columnName")
    check_columns(table, [column] if column else [])
    metrics = metrics_of(record, table)
    old = next((one for one in metrics if _is(one, column, given_metric["name"])), None)
    stamp = {"id": old["id"] if old else record.ids.entity(), "updatedAt": record.at_ms, "updatedBy": record.actor.name}
    new = given_metric | stamp
    if old is not None and is_same(_without_stamps(old), _without_stamps(new)):
        return Written(table.document, None)
    _keep(record, table, [*(one for one in metrics if one is not old), new])
    return record.note(table, describe(METRICS, old=old, new=new))


def remove_metric(record: Record, table: Stored, name: str, *, column: str | None = None) -> Written:
    """Remove a custom metric.

    Raises
    ------
    NotFound : the table has no custom metric of that name
    """
    metrics = metrics_of(record, table)
    old = next((one for one in metrics if _is(one, column, name)), None)
    if old is None:
        raise NotFound(f"{table.fqn} has no custom metric {name}")
    _keep(record, table, [one for one in metrics if one is not old])
    return record.note(table, describe(METRICS, old=old))


def metrics_of(record: Record, table: Stored) -> list[Document]:
    """Return the custom metrics of a table and its columns."""
    attachment = record.transaction.attachments.get(table.id, METRICS)
    return list(attachment["metrics"]) if attachment else []


def check_columns(table: Stored, names: Sequence[object], *, field: str = "columnName") -> None:
    """Refuse the name of a column that the table has not; nested ones are named with dots between.

    Raises
    ------
    InvalidInput : the table has no such column
    """
    paths = relative_fqns_by_spelling("table", table.fqn, table.document)
    for name in names:
        if name not in paths:
            raise missing_column(table.fqn, name, paths, field=field)


def _keep(record: Record, table: Stored, metrics: list[Document]) -> None:
    record.transaction.attachments.put(table.id, METRICS, {"metrics": metrics})


def _is(metric: Document, column: str | None, name: str) -> bool:
    return metric["name"] == name and metric.get("columnName") == column


def _without_stamps(metric: Document) -> Document:
    return {key: value for key, value in metric.items() if key not in ("updatedAt", "updatedBy")}


def _join_labels(labels: list[Document], other_labels: list[Document]) -> list[Document]:
    return list({label["tagFQN"]: label for label in (*other_labels, *labels)}.values())


def _fill_from_model(column: Document, modelled: Document) -> Document:
    """Return a column with what its model says and it does not: a description, tags."""
    missing = {key: modelled[key] for key in _INHERITED if modelled.get(key) and not column.get(key)}
    return column | missing
