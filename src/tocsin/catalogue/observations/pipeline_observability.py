"""Observability of the pipelines that write a table: schedule, last run, average run time; one entry per pipeline.

It is an attachment of the table: no version, no event. An entry names its pipeline by id; answers show it as far as
it is there and may be seen. Source: schema ``type/pipelineObservability.json``. Next:
``server/routes/observations/table_details.py``.
"""

from __future__ import annotations

from collections.abc import Mapping

from tocsin.catalogue.observations.field_checks import checked_document, list_check_of, shape_of, text, without_nulls
from tocsin.catalogue.observations.table_details import attach
from tocsin.errors import InvalidInput
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.stored import Stored, Written

OBSERVABILITY = "pipelineObservability"
_PIPELINE = "pipeline"
_ENTRY = shape_of("pipelineObservability", {"scheduleInterval": text})


def put_entries(record: Record, table: Stored, request: object) -> Written:
    """Set the entries of some pipelines of a table; those of other pipelines stay.

    Raises
    ------
    InvalidInput : one is malformed
    NotFound : one of the pipelines is not there
    """
    list_check_of(_ENTRY)(request, OBSERVABILITY)
    entries = request if isinstance(request, list) else []
    return _put(record, table, {_id_of(record, one[_PIPELINE]): one for one in entries})


def put_entry(record: Record, table: Stored, pipeline: str, request: Document) -> Written:
    """Set the entry of one pipeline, by its FQN.

    Raises
    ------
    InvalidInput : it is malformed, or of another pipeline
    NotFound : there is no such pipeline
    """
    entry = checked_document(_ENTRY, request)
    pipeline_id = _id_of(record, {"fullyQualifiedName": pipeline})
    if _id_of(record, entry[_PIPELINE]) != pipeline_id:
        raise InvalidInput(f"must be {pipeline}, as the path says", field=_PIPELINE)
    return _put(record, table, {pipeline_id: entry})


def entries_of(stored_entries: Document, pipelines: Mapping[str, Document]) -> list[Document]:
    """Return the entries of a table whose pipelines are among these, by the pipelines' FQNs."""
    visible_entries = [{_PIPELINE: pipelines[one], **stored_entries[one]} for one in stored_entries if one in pipelines]
    return sorted(visible_entries, key=lambda entry: str(entry[_PIPELINE]["fullyQualifiedName"]))


def _id_of(record: Record, reference: Document) -> str:
    if reference.get("type") not in (None, _PIPELINE):
        raise InvalidInput(f"must be a pipeline, not a {reference['type']}", field=_PIPELINE)
    return str(record.resolver().one(_PIPELINE, reference)["id"])


def _put(record: Record, table: Stored, entries: Mapping[str, Document]) -> Written:
    old_entries = record.transaction.attachments.get(table.id, OBSERVABILITY) or {}
    new = {pipeline_id: without_nulls(entry | {_PIPELINE: None}) for pipeline_id, entry in entries.items()}
    return attach(record, table, OBSERVABILITY, old_entries | new)
