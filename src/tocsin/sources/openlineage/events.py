"""OpenLineage events as producers send them: of a run, of a job, or of one dataset.

Keys and facets without a use here are left aside, since the specification gains new ones. A facet of its own form is
refused with its place. Source: OpenLineage's specification 2-0-2. Next: ``sources/openlineage/writing.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, NamedTuple, Self
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

LONGEST_NAME = 2_000
LONGEST_TEXT = 100_000
MOST_DATASETS = 300
MOST_SYMLINKS = 5
"""Names of one dataset that are looked up, besides its own."""

MOST_COLUMNS = 5_000


_WRITTEN_WHOLE = frozenset({"CREATE", "OVERWRITE"})
"""Changes of an output after which it holds what the run wrote, and nothing else."""


class RunEventType(StrEnum):
    """What an event says of its run."""

    START = "START"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    ABORT = "ABORT"
    FAIL = "FAIL"
    OTHER = "OTHER"


class Identifier(NamedTuple):
    """What OpenLineage calls a job or a dataset: a name within a namespace."""

    namespace: str
    name: str


_Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
_Text = Annotated[str, Field(max_length=LONGEST_TEXT)]


class _EventPart(BaseModel):
    """Base of all parts of an event: other keys than its own are left aside."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)


class NamedPart(_EventPart):
    """A job or a dataset by its name."""

    namespace: _Name
    name: _Name

    @property
    def identifier(self) -> Identifier:
        """Return its name within its namespace."""
        return Identifier(self.namespace, self.name)


class SchemaField(_EventPart):
    """A field of a dataset; ``fields`` are those of a struct."""

    name: _Name
    type: _Text | None = None
    description: _Text | None = None
    fields: Annotated[tuple[SchemaField, ...] | None, Field(max_length=MOST_COLUMNS)] = None


class SchemaFacet(_EventPart):
    """The fields of a dataset."""

    fields: Annotated[tuple[SchemaField, ...] | None, Field(max_length=MOST_COLUMNS)] = None


class InputField(NamedPart):
    """A field of an input, from which a field of an output is made."""

    field: _Name


class ColumnOrigin(_EventPart):
    """What one field of an output is made from."""

    input_fields: Annotated[tuple[InputField, ...], Field(max_length=MOST_COLUMNS)] = ()
    transformation_description: _Text | None = None


class ColumnLineageFacet(_EventPart):
    """What the fields of an output are made from, by name."""

    fields: Annotated[dict[_Name, ColumnOrigin] | None, Field(max_length=MOST_COLUMNS)] = None


class SymlinksFacet(_EventPart):
    """Other names of a dataset, such as that of the table whose files it is."""

    identifiers: Annotated[tuple[NamedPart, ...] | None, Field(max_length=MOST_DATASETS)] = None


class DatasetOwner(_EventPart):
    """A person or team that owns a dataset: ``dana.whitlock``, ``user:dana.whitlock``, ``team:ShopEngineering``."""

    name: _Name


class OwnershipFacet(_EventPart):
    """The owners of a dataset."""

    owners: Annotated[tuple[DatasetOwner, ...] | None, Field(max_length=MOST_DATASETS)] = None


class DocumentationFacet(_EventPart):
    """The description of a dataset."""

    description: _Text | None = None


class QualityFacet(_EventPart):
    """What an input had as it was read."""

    row_count: Annotated[int | None, Field(ge=0, lt=2**53)] = None
    bytes: Annotated[int | None, Field(ge=0, lt=2**53)] = None


class StatisticsFacet(_EventPart):
    """What a run wrote to an output."""

    row_count: Annotated[int | None, Field(ge=0, lt=2**53)] = None
    size: Annotated[int | None, Field(ge=0, lt=2**53)] = None


class LifecycleFacet(_EventPart):
    """What a run did to an output as a whole: ``OVERWRITE``, ``CREATE``, and others."""

    lifecycle_state_change: _Text | None = None


class DatasetFacets(_EventPart):
    """What is known of a dataset."""

    fields_facet: Annotated[SchemaFacet | None, Field(alias="schema")] = None
    column_lineage: ColumnLineageFacet | None = None
    symlinks: SymlinksFacet | None = None
    ownership: OwnershipFacet | None = None
    documentation: DocumentationFacet | None = None
    lifecycle_state_change: LifecycleFacet | None = None


class InputFacets(_EventPart):
    """What is known of an input of one run."""

    data_quality_metrics: QualityFacet | None = None


class OutputFacets(_EventPart):
    """What is known of an output of one run."""

    output_statistics: StatisticsFacet | None = None


class EventDataset(NamedPart):
    """A dataset that a run or job reads or writes."""

    facets: DatasetFacets | None = None
    input_facets: InputFacets | None = None
    output_facets: OutputFacets | None = None

    @property
    def description(self) -> DatasetFacets:
        """Return what is known of it; without facets, nothing."""
        return self.facets or DatasetFacets()

    def identifiers(self) -> list[Identifier]:
        """Return its names, symlinks first: they name the table, where the dataset may be its files."""
        symlinks = self.description.symlinks.identifiers if self.description.symlinks else None
        return [*(one.identifier for one in (symlinks or ())[:MOST_SYMLINKS]), self.identifier]

    def whole_size(self) -> tuple[int | None, int | None]:
        """Return how many rows and bytes it has; None if the event says only what a run added to it, or nothing."""
        quality = self.input_facets.data_quality_metrics if self.input_facets else None
        if quality is not None:
            return quality.row_count, quality.bytes
        written = self.output_facets.output_statistics if self.output_facets else None
        change = self.description.lifecycle_state_change
        if written is None or change is None or change.lifecycle_state_change not in _WRITTEN_WHOLE:
            return None, None
        return written.row_count, written.size


class SqlFacet(_EventPart):
    """The statement of a job."""

    query: _Text | None = None


class JobFacets(_EventPart):
    """What is known of a job."""

    sql: SqlFacet | None = None
    documentation: DocumentationFacet | None = None


class EventJob(NamedPart):
    """The job of a run."""

    facets: JobFacets | None = None

    @property
    def query(self) -> str | None:
        """Return its statement; None if it has none."""
        return self.facets.sql.query if self.facets and self.facets.sql else None


class RunName(_EventPart):
    """A run by its id."""

    run_id: UUID


class RootFacet(_EventPart):
    """The job whose run began all others."""

    run: RunName
    job: NamedPart


class ParentFacet(_EventPart):
    """The job whose run began this one; ``root`` is the first of them."""

    run: RunName
    job: NamedPart
    root: RootFacet | None = None


class ErrorFacet(_EventPart):
    """Why a run failed."""

    message: _Text | None = None


class ExceptionFacet(_EventPart):
    """Why a run of Spark failed, in Spark's own facet: the first line of the trace says it."""

    stack_trace: str | None = None


class RunFacets(_EventPart):
    """What is known of a run."""

    parent: ParentFacet | None = None
    error_message: ErrorFacet | None = None
    spark_exception: Annotated[ExceptionFacet | None, Field(alias="spark.exception")] = None


class EventRun(RunName):
    """A run of a job."""

    facets: RunFacets | None = None

    @property
    def parent(self) -> ParentFacet | None:
        """Return the run that began this one; None if it began by itself."""
        return self.facets.parent if self.facets else None

    @property
    def error(self) -> str | None:
        """Return why it failed, as far as it says so."""
        if self.facets is None:
            return None
        if self.facets.error_message is not None:
            return self.facets.error_message.message
        trace = self.facets.spark_exception.stack_trace if self.facets.spark_exception else None
        return trace.partition("\n")[0] if trace else None


_Datasets = Annotated[tuple[EventDataset, ...] | None, Field(max_length=MOST_DATASETS)]


class LineageEvent(_EventPart):
    """One event: of a run (``run`` and ``job``), of a job alone, or of one dataset alone."""

    event_time: AwareDatetime
    producer: _Text | None = None
    event_type: RunEventType | None = None
    run: EventRun | None = None
    job: EventJob | None = None
    inputs: _Datasets = None
    outputs: _Datasets = None
    dataset: EventDataset | None = None

    @model_validator(mode="after")
    def _check_subject(self) -> Self:
        if self.run is not None and self.job is None:
            raise ValueError("an event of a run needs its job")
        if self.job is None and self.dataset is None:
            raise ValueError("an event needs a run with its job, a job, or a dataset")
        return self

    @property
    def at_ms(self) -> int:
        """Return when it happened, in epoch milliseconds."""
        return milliseconds_of(self.event_time)

    @property
    def sources(self) -> Sequence[EventDataset]:
        """Return what the job reads."""
        return self.inputs or ()

    @property
    def targets(self) -> Sequence[EventDataset]:
        """Return what the job writes, or the dataset that the event is about."""
        return self.outputs or ((self.dataset,) if self.dataset else ())


def milliseconds_of(moment: datetime) -> int:
    """Return a moment in epoch milliseconds."""
    return int(moment.timestamp() * 1_000)
