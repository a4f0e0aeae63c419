"""Writes of one OpenLineage event, in one transaction: assets, edges, and the state of its run.

Edges are only added to: what one job writes to a column and another does not is no contradiction, and a repeated event
changes nothing. Next: ``server/routes/lineage/openlineage.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tocsin.catalogue.lineage.edge_details import without_stamps
from tocsin.catalogue.lineage.edges import put_edge
from tocsin.catalogue.observations.profiles import put_profile
from tocsin.catalogue.observations.runs import add_run
from tocsin.errors import InvalidInput, TocsinError
from tocsin.flow.capture.ports import Collision, Hold
from tocsin.flow.capture.references import reference_to
from tocsin.flow.capture.upsert import create, put
from tocsin.flow.capture.write import Record
from tocsin.model import fqn
from tocsin.model.access import Operation
from tocsin.model.columns import column_fqns
from tocsin.model.entity import Document
from tocsin.model.lineage import LineageSource
from tocsin.model.stored import Key, Stored
from tocsin.sources.openlineage.datasets import DatasetAssets, UnresolvedPart
from tocsin.sources.openlineage.events import EventDataset, EventJob, Identifier, LineageEvent
from tocsin.sources.openlineage.mapping import LineageMapping
from tocsin.sources.openlineage.runs import RUNS, RunPlace, place_of, status_of, with_event

MOST_EDGES = 1_000
"""Edges that one event may bring: pairs of what its job reads and writes."""

MOST_TASKS = 500
"""Tasks of a pipeline that events create."""

_NEW_SERVICE = "OpenLineage"


@dataclass
class AppliedEvent:
    """What an event did.

    Attributes
    ----------
    edge_count : new edges
    is_lineage : whether events of its type bring lineage
    unresolved_parts : its datasets and jobs that nothing here stands for
    """

    edge_count: int = 0
    is_lineage: bool = True
    unresolved_parts: list[UnresolvedPart] = field(default_factory=list)


def apply_event(record: Record, event: LineageEvent, mapping: LineageMapping) -> AppliedEvent:
    """Write what an event says; what it names that is unknown here is left out, and returned.

    Raises
    ------
    Forbidden : the actor may not edit the lineage of what the job writes, or the status of its pipeline
    InvalidInput : it brings too many edges
    """
    outcome = AppliedEvent(is_lineage=event.event_type is None or event.event_type.value in mapping.event_types)
    assets = DatasetAssets(record, mapping)
    place = place_of(event)
    pipeline = _pipeline_of(record, mapping, event, place, outcome)
    if outcome.is_lineage:
        sources = list(_known_assets(assets, event.sources, outcome))
        targets = list(_known_assets(assets, event.targets, outcome))
        outcome.edge_count = _put_edges(record, assets, (sources, targets), pipeline, event.job)
        for dataset, asset in (*sources, *targets):
            _keep_row_count(record, asset, dataset, event)
    if pipeline is not None and place is not None:
        _keep_run(record, pipeline, place, event)
    return outcome


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
    sources, targets = ends
    if len(sources) * len(targets) > MOST_EDGES:
        raise InvalidInput(f"an event may bring {MOST_EDGES:,} edges, not {len(sources) * len(targets):,}")
    new_count = 0
    for dataset, target in targets:
        columns = _columns_from(assets, dataset, target)
        for source in {source.id: source for _, source in sources}.values():
            if source.id == target.id:
                continue
            edge = _edge_between(record, source, target, columns.get(source.id, []), (pipeline, job))
            new_count += put_edge(record, edge).created
    return new_count


def _edge_between(
    record: Record,
    source: Stored,
    target: Stored,
    columns: Sequence[Document],
    origin: tuple[Stored | None, EventJob | None],
) -> Document:
    """Return the edge to write: what there is of it stays, and columns, pipeline and statement are added."""
    pipeline, job = origin
    old = record.transaction.edge(source.id, target.id)
    new_details: Document = {"source": LineageSource.OPEN_LINEAGE.value}
    details = without_stamps(old.details) if old else new_details
    if pipeline is not None and not details.get("pipeline"):
        details["pipeline"] = {"type": "pipeline", "id": pipeline.id}
    if job is not None and job.query and not details.get("sqlQuery"):
        details["sqlQuery"] = job.query
    if columns_lineage := _merged_columns(details.get("columnsLineage") or (), columns):
        details["columnsLineage"] = columns_lineage
    return {"fromEntity": reference_to(source), "toEntity": reference_to(target), "lineageDetails": details}


def _merged_columns(old: Sequence[Document], new: Sequence[Document]) -> list[Document]:
    """Return the column lineage of both, by column: what each is made from together."""
    merged = {one["toColumn"]: one for one in old}
    for column in new:
        before = merged.get(column["toColumn"])
        from_columns = [*(before.get("fromColumns") or () if before else ()), *column["fromColumns"]]
        merged[column["toColumn"]] = column | (before or {}) | {"fromColumns": list(dict.fromkeys(from_columns))}
    return list(merged.values())


def _columns_from(assets: DatasetAssets, dataset: EventDataset, target: Stored) -> dict[str, list[Document]]:
    """Return, by the id of a source, what the columns of a target are made from, as far as both have the columns."""
    facet = dataset.description.column_lineage
    lineage: dict[str, dict[str, Document]] = {}
    for name, origin in (facet.fields or {}).items() if facet else ():
        to_column = _column_of(target, name)
        for input_field in origin.input_fields if to_column else ():
            source = assets.known_asset(input_field.identifier)
            from_column = _column_of(source, input_field.field) if source else None
            if source is None or from_column is None or to_column is None:
                continue
            column = lineage.setdefault(source.id, {}).setdefault(to_column, {"fromColumns": [], "toColumn": to_column})
            if from_column not in column["fromColumns"]:
                column["fromColumns"].append(from_column)
            if origin.transformation_description:
                column["function"] = origin.transformation_description
    return {source_id: list(columns.values()) for source_id, columns in lineage.items()}


def _column_of(asset: Stored, name: str) -> str | None:
    """Return the FQN of a column by its name, whatever its case; None if the asset has none of that name."""
    spellings = (fqn.child(asset.fqn, name), f"{asset.fqn}.{name}")
    fqns = column_fqns(asset.entity_type, asset.fqn, asset.document)
    exact = next((spelling for spelling in spellings if spelling in fqns), None)
    lowered = {spelling.lower() for spelling in spellings}
    return exact or min((column for column in fqns if column.lower() in lowered), default=None)


def _pipeline_of(
    record: Record, mapping: LineageMapping, event: LineageEvent, place: RunPlace | None, outcome: AppliedEvent
) -> Stored | None:
    """Return the pipeline of an event's job, created if that is allowed; None if it has none here."""
    identifier = place.pipeline if place else event.job.identifier if event.job else None
    if identifier is None:
        return None
    try:
        return _with_task(record, _find_pipeline(record, mapping, identifier, event), place, event)
    except UnresolvedPart as unresolved_part:
        outcome.unresolved_parts.append(unresolved_part)
        return None


def _find_pipeline(record: Record, mapping: LineageMapping, identifier: Identifier, event: LineageEvent) -> Stored:
    """Return the pipeline of a job: by its name in the service of its namespace, else by both in the service of all."""
    is_mapped = identifier.namespace in mapping.targets
    service = mapping.target_of(identifier.namespace) if is_mapped else mapping.pipeline_service
    name = identifier.name if is_mapped else f"{identifier.namespace}-{identifier.name}"
    pipeline = record.transaction.find("pipeline", Key.by_name(fqn.join((service, name))))
    if pipeline is not None:
        if pipeline.is_deleted:
            raise UnresolvedPart(identifier, f"pipeline {pipeline.fqn} is deleted")
        if not record.permit.may(Operation.VIEW_BASIC, "pipeline", pipeline.document):
            raise UnresolvedPart(identifier, f"the sender may not view pipeline {pipeline.fqn}")
        return pipeline
    if not mapping.creates:
        raise UnresolvedPart(identifier, f"there is no pipeline {fqn.join((service, name))}")
    request: Document = {"name": name, "displayName": identifier.name, "service": service}
    facets = event.job.facets if event.job and event.job.identifier == identifier else None
    if facets and facets.documentation and facets.documentation.description:
        request["description"] = facets.documentation.description
    try:
        if not is_mapped and record.transaction.find("pipelineService", Key.by_name(fqn.quote(service))) is None:
            create(record, "pipelineService", {"name": service, "serviceType": _NEW_SERVICE})
        write_result = create(record, "pipeline", request)
    except Collision:
        raise
    except TocsinError as error:
        raise UnresolvedPart(identifier, error.message) from error
    return _held_pipeline(record, write_result.document["id"])


def _with_task(record: Record, pipeline: Stored, place: RunPlace | None, event: LineageEvent) -> Stored:
    """Return the pipeline with the job of the event among its tasks."""
    if place is None or place.task is None:
        return pipeline
    tasks = pipeline.document.get("tasks") or []
    if any(task["name"] == place.task for task in tasks) or len(tasks) >= MOST_TASKS:
        return pipeline
    task: Document = {"name": place.task}
    if event.job is not None and event.job.query:
        task["taskSQL"] = event.job.query
    names = {"name": pipeline.document["name"], "service": fqn.parent(pipeline.fqn)}
    put(record, "pipeline", names | {"tasks": [*tasks, task]})
    return _held_pipeline(record, pipeline.id)


def _keep_run(record: Record, pipeline: Stored, place: RunPlace, event: LineageEvent) -> None:
    """Keep the state of a run, and report it if the event changes it."""
    record.permit.check("pipeline", (Operation.EDIT_STATUS,), pipeline.document)
    runs = record.transaction.attachments.get(pipeline.id, RUNS) or {}
    runs_after = with_event(runs, place, event)
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
