"""Writes of one OpenLineage event, in one transaction: assets, edges, and the state of its run.

Edges are only added to: what one job writes to a column and another does not is no contradiction, and a repeated event
changes nothing. Next: ``server/routes/lineage/openlineage.py``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from tocsin.catalogue.lineage.edge_details import without_stamps
from tocsin.catalogue.lineage.edges import put_edge
from tocsin.catalogue.observations.profiles import put_profile
from tocsin.catalogue.observations.runs import add_run
from tocsin.errors import InvalidInput
from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.references import reference_to
from tocsin.flow.capture.upsert import create, put
from tocsin.flow.capture.write import Record
from tocsin.model import fqn
from tocsin.model.access import Operation
from tocsin.model.columns import column_fqns
from tocsin.model.entity import Document
from tocsin.model.lineage import Edge, LineageSource
from tocsin.model.stored import Key, Stored
from tocsin.sources.openlineage.datasets import BROUGHT, DatasetAssets, UnresolvedPart
from tocsin.sources.openlineage.events import EventDataset, EventJob, Identifier, LineageEvent
from tocsin.sources.openlineage.mapping import LineageMapping
from tocsin.sources.openlineage.runs import RUNS, RunPlace, has_failed, place_of, status_of, with_event

MOST_EDGES = 1_000
"""Edges that one event may bring: pairs of what its job reads and writes."""

MOST_STATEMENT_CHARACTERS = 1_000_000
"""Characters of a statement, times the edges of its event: a longer one is left out."""

MOST_TASKS = 500
"""Tasks of a pipeline that events create."""

_NEW_SERVICE = "OpenLineage"
_SECRET = re.compile(r"password|credential|secret|identified by|access_key|token", re.IGNORECASE)
"""Words of statements that may hold a secret: such a statement is not kept."""


@dataclass
class AppliedEvent:
    """What an event did.

    Attributes
    ----------
    edge_count : new edges
    is_lineage : whether events of its type bring lineage
    resolved : names of its datasets and jobs that something here stands for
    unresolved_parts : those that nothing here stands for
    """

    edge_count: int = 0
    is_lineage: bool = True
    resolved: set[Identifier] = field(default_factory=set)
    unresolved_parts: list[UnresolvedPart] = field(default_factory=list)


def apply_event(record: Record, event: LineageEvent, mapping: LineageMapping) -> AppliedEvent:
    """Write what an event says; what it names that is unknown here is left out, and returned.

    Raises
    ------
    Forbidden : the actor may not edit the lineage of what the job writes, or the status of its pipeline
    InvalidInput : it brings too many edges, or a new table that is malformed
    """
    pair_count = len(event.sources) * len(event.targets)
    if pair_count > MOST_EDGES:
        raise InvalidInput(f"an event may bring {MOST_EDGES:,} edges, not {pair_count:,}", field="outputs")
    outcome = AppliedEvent(is_lineage=event.event_type is None or event.event_type.value in mapping.event_types)
    assets, place = DatasetAssets(record, mapping, event.at_ms), place_of(event)
    pipeline = _pipeline_of(record, mapping, event, place, outcome)
    if outcome.is_lineage and not _has_failed(record, pipeline, place):
        _write_lineage(record, assets, event, pipeline, outcome)
    if pipeline is not None and place is not None:
        _keep_run(record, pipeline, place, event)
    outcome.resolved |= assets.resolved_names()
    return outcome


def _has_failed(record: Record, pipeline: Stored | None, place: RunPlace | None) -> bool:
    """Return whether the run has failed, so that a later event of its end brings no lineage."""
    if pipeline is None or place is None:
        return False
    return has_failed(record.transaction.attachments.get(pipeline.id, RUNS) or {}, place)


def _write_lineage(
    record: Record, assets: DatasetAssets, event: LineageEvent, pipeline: Stored | None, outcome: AppliedEvent
) -> None:
    """Write assets and edges, in the order of their ids, so that two events never wait for each other."""
    sources = list(_known_assets(assets, event.sources, outcome))
    targets = sorted(_known_assets(assets, event.targets, outcome), key=lambda pair: pair[1].id)
    targets = [(dataset, assets.with_facets(dataset, asset)) for dataset, asset in targets]
    outcome.edge_count = _put_edges(record, assets, (sources, targets), pipeline, event.job)
    sizes = {asset.id: (asset, dataset) for dataset, asset in (*sources, *targets)}
    for asset, dataset in sizes.values():
        _keep_row_count(record, asset, dataset, event)


def _known_assets(
    assets: DatasetAssets, datasets: Iterable[EventDataset], outcome: AppliedEvent
) -> Iterable[tuple[EventDataset, Stored]]:
    for dataset in datasets:
        try:
            yield dataset, assets.asset_of(dataset)
        except UnresolvedPart as unresolved_part:
            outcome.unresolved_parts.append(unresolved_part)


def _put_edges(
    record: Record,
    assets: DatasetAssets,
    ends: tuple[Sequence[tuple[EventDataset, Stored]], Sequence[tuple[EventDataset, Stored]]],
    pipeline: Stored | None,
    job: EventJob | None,
) -> int:
    """Add the edges from all sources to all targets; return how many are new."""
    sources, targets = {asset.id: asset for _, asset in ends[0]}, ends[1]
    statement = _statement_of(job, len(sources) * len(targets))
    columns_of = {
        source_id: column_fqns(source.entity_type, source.fqn, source.document) for source_id, source in sources.items()
    }
    new_count = 0
    for dataset, target in targets:
        columns = _columns_from(assets, dataset, target)
        for source_id in sorted(sources.keys() - {target.id}):
            source = sources[source_id]
            old = record.transaction.edge(source.id, target.id)
            details = _edge_details(old, pipeline, statement)
            old_columns, new_columns = details.get("columnsLineage") or [], columns.get(source.id, [])
            lineage = _merged_columns(old_columns, new_columns, columns_of[source_id])
            if lineage:
                details["columnsLineage"] = lineage
            edge = {"fromEntity": reference_to(source), "toEntity": reference_to(target), "lineageDetails": details}
            new_count += put_edge(record, edge).created
    return new_count


def _statement_of(job: EventJob | None, edge_count: int) -> str | None:
    """Return the statement of a job that its edges keep; None if it is too long for them, or may hold a secret."""
    statement = job.query if job else None
    if not statement or len(statement) * edge_count > MOST_STATEMENT_CHARACTERS or _SECRET.search(statement):
        return None
    return statement


def _edge_details(old: Edge | None, pipeline: Stored | None, statement: str | None) -> Document:
    """Return the details of an edge: what there is stays; the newest statement of its own pipeline takes its place."""
    new_details: Document = {"source": LineageSource.OPEN_LINEAGE.value}
    details = without_stamps(old.details) if old else new_details
    if pipeline is not None and not details.get("pipeline"):
        details["pipeline"] = {"type": "pipeline", "id": pipeline.id}
    is_own = pipeline is not None and details["pipeline"].get("id") == pipeline.id
    if statement and (not details.get("sqlQuery") or (is_own and details["source"] == LineageSource.OPEN_LINEAGE)):
        details["sqlQuery"] = statement
    return details


def _merged_columns(old: Sequence[Document], new: Sequence[Document], known_columns: Collection[str]) -> list[Document]:
    """Return the column lineage of both; an old entry that gains a column loses those that the source has no more."""
    merged, places = list(old), {entry.get("toColumn"): place for place, entry in reversed(list(enumerate(old)))}
    for column in new:
        place = places.get(column["toColumn"])
        if place is None:
            merged.append(column)
            continue
        before = merged[place].get("fromColumns") or []
        added = [one for one in column["fromColumns"] if one not in before]
        if added:
            merged[place] = merged[place] | {"fromColumns": [one for one in before if one in known_columns] + added}
    return merged


def _columns_from(assets: DatasetAssets, dataset: EventDataset, target: Stored) -> dict[str, list[Document]]:
    """Return, by the id of a source, what the columns of a target are made from, as far as both have the columns."""
    facet = dataset.description.column_lineage
    lineage: dict[str, dict[str, Document]] = {}
    for name, origin in (facet.fields or {}).items() if facet else ():
        to_column = assets.column_of(target, name)
        for input_field in origin.input_fields if to_column else ():
            source = assets.asset_called(input_field.identifier)
            from_column = assets.column_of(source, input_field.field) if source else None
            if source is None or from_column is None or to_column is None:
                continue
            of_source = lineage.setdefault(source.id, {})
            column = of_source.setdefault(to_column, {"fromColumns": [], "toColumn": to_column})
            if from_column not in column["fromColumns"]:
                column["fromColumns"].append(from_column)
            if origin.transformation_description:
                column["function"] = origin.transformation_description
    return {source_id: list(columns.values()) for source_id, columns in lineage.items()}


def _pipeline_of(
    record: Record, mapping: LineageMapping, event: LineageEvent, place: RunPlace | None, outcome: AppliedEvent
) -> Stored | None:
    """Return the pipeline of an event's job, created if that is allowed; None if it has none here."""
    identifier = place.pipeline if place else event.job.identifier if event.job else None
    if identifier is None:
        return None
    try:
        pipeline = _with_task(record, _find_pipeline(record, mapping, identifier, event), place, event)
    except UnresolvedPart as unresolved_part:
        outcome.unresolved_parts.append(unresolved_part)
        return None
    outcome.resolved.add(identifier)
    return pipeline


def _find_pipeline(record: Record, mapping: LineageMapping, identifier: Identifier, event: LineageEvent) -> Stored:
    """Return the pipeline of a job: by its name in the service of its namespace, else by both in the service of all."""
    is_mapped = identifier.namespace in mapping.targets
    service_fqn = mapping.targets[identifier.namespace] if is_mapped else fqn.quote(mapping.pipeline_service)
    name = identifier.name if is_mapped else f"{identifier.namespace}-{identifier.name}"
    pipeline_fqn = fqn.child(service_fqn, name)
    pipeline = record.transaction.find("pipeline", Key.by_name(pipeline_fqn))
    if pipeline is None:
        return _create_pipeline(record, mapping, identifier, (service_fqn, name), event)
    if pipeline.is_deleted:
        raise UnresolvedPart(identifier, f"pipeline {pipeline_fqn} is deleted")
    if not record.permit.may(Operation.VIEW_BASIC, "pipeline", pipeline.document):
        raise UnresolvedPart(identifier, f"pipeline {pipeline_fqn} is not for the sender to view")
    return pipeline


def _create_pipeline(
    record: Record, mapping: LineageMapping, identifier: Identifier, place: tuple[str, str], event: LineageEvent
) -> Stored:
    """Create the pipeline of a job, and the service of all jobs whose namespace is not mapped.

    Raises
    ------
    UnresolvedPart : that is not allowed, or its namespace is mapped to no service of pipelines
    """
    service_fqn, name = place
    is_mapped = identifier.namespace in mapping.targets
    has_service = record.transaction.find("pipelineService", Key.by_name(service_fqn), Hold.SHARED) is not None
    if not mapping.creates or (is_mapped and not has_service):
        raise UnresolvedPart(identifier, f"there is no pipeline {fqn.child(service_fqn, name)}")
    new_types = ("pipeline",) if has_service else ("pipelineService", "pipeline")
    if not all(record.permit.may(Operation.CREATE, entity_type, {}) for entity_type in new_types):
        raise UnresolvedPart(identifier, f"the sender may not create pipeline {fqn.child(service_fqn, name)}")
    if not has_service:
        create(record, "pipelineService", {"name": mapping.pipeline_service, "serviceType": _NEW_SERVICE})
    request: Document = {"name": name, "displayName": identifier.name, "service": service_fqn}
    facets = event.job.facets if event.job and event.job.identifier == identifier else None
    if facets and facets.documentation and facets.documentation.description:
        request["description"] = facets.documentation.description
    pipeline_id = create(record, "pipeline", request).document["id"]
    record.transaction.attachments.put(pipeline_id, BROUGHT, {"at": event.at_ms})
    return _held_pipeline(record, pipeline_id)


def _with_task(record: Record, pipeline: Stored, place: RunPlace | None, event: LineageEvent) -> Stored:
    """Return the pipeline with the job of the event among its tasks, if OpenLineage created it and the actor may."""
    if place is None or place.task is None:
        return pipeline
    tasks = pipeline.document.get("tasks") or []
    if any(task["name"] == place.task for task in tasks) or len(tasks) >= MOST_TASKS:
        return pipeline
    is_brought = record.transaction.attachments.get(pipeline.id, BROUGHT) is not None
    if not is_brought or not record.permit.may(Operation.EDIT_ALL, "pipeline", pipeline.document):
        return pipeline
    task: Document = {"name": place.task}
    if statement := _statement_of(event.job, 1):
        task["taskSQL"] = statement
    names = {"name": pipeline.document["name"], "service": fqn.parent(pipeline.fqn)}
    put(record, "pipeline", names | {"tasks": [*tasks, task]})
    return _held_pipeline(record, pipeline.id)


def _keep_run(record: Record, pipeline: Stored, place: RunPlace, event: LineageEvent) -> None:
    """Keep the state of a run, and report it if the event changes it."""
    record.permit.check("pipeline", (Operation.EDIT_STATUS,), pipeline.document)
    runs = record.transaction.attachments.get(pipeline.id, RUNS) or {}
    runs_after = with_event(runs, place, event, now_ms=record.at_ms)
    run = runs_after.get(place.run_id)
    if run is None or run == runs.get(place.run_id):
        return
    record.transaction.attachments.put(pipeline.id, RUNS, runs_after)
    status = status_of(place.run_id, run)
    task_names = {task["name"] for task in pipeline.document.get("tasks") or ()}
    if known_tasks := [task for task in status.pop("taskStatus", ()) if task["name"] in task_names]:
        status["taskStatus"] = known_tasks
    add_run(record, pipeline, status)


def _keep_row_count(record: Record, asset: Stored, dataset: EventDataset, event: LineageEvent) -> None:
    """Keep how many rows a table has as its profile, where the event says that and the actor may."""
    row_count, size = dataset.whole_size()
    if asset.entity_type != "table" or row_count is None:
        return
    if not record.permit.may(Operation.EDIT_DATA_PROFILE, "table", asset.document):
        return
    profile: Document = {"timestamp": event.at_ms, "rowCount": row_count} | (
        {} if size is None else {"sizeInByte": size}
    )
    put_profile(record, asset, {"tableProfile": profile})


def _held_pipeline(record: Record, pipeline_id: str) -> Stored:
    pipeline = record.transaction.find("pipeline", Key.by_id(pipeline_id), Hold.CHANGE)
    assert pipeline is not None, "it was written in this transaction"  # noqa: S101
    return pipeline
