"""Wiring of runs over dbt projects: everything they use, from the settings. Next: ``sources/dbt/run.py``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Engine

from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.errors import Conflict, InvalidInput
from tocsin.model.entity import Document
from tocsin.rehearsal import RehearsalAudience
from tocsin.settings import Settings
from tocsin.sources.dbt.artifacts import Artifacts, read_artifacts
from tocsin.sources.dbt.requests import ProjectPlaces
from tocsin.sources.dbt.run import Progress, ProjectRun
from tocsin.sources.dbt.writing import ProjectWriter
from tocsin.sources.process.bots import bot_of
from tocsin.sources.process.dbt_files import project_files
from tocsin.sources.process.stored_records import StoredRecords
from tocsin.sources.report import RunReport
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.eventlog.relay_lead import RelayLead
from tocsin.store.upkeep.stored_settings import with_stored_secrets

SOURCE = "dbt"
BOT: Document = {
    "name": "dbt-bot",
    "displayName": "dbt",
    "description": "Writes what Tocsin reads from dbt projects.",
    "email": "dbt-bot@tocsin.example.org",
    "isBot": True,
    "roles": ["IngestionBotRole"],
}
_LEASE_S = 60.0
_LONGEST_SOURCE = 80


@dataclass(frozen=True)
class ProjectOptions:
    """How one run is made.

    Attributes
    ----------
    target : the folder that dbt wrote into, or the address of one on the web
    service : name of the database service that holds the project's tables
    is_dry : nothing is kept
    may_delete : deletions are made however many they are
    """

    target: str
    service: str
    is_dry: bool = False
    may_delete: bool = False


def run_project(
    engine: Engine, settings: Settings, options: ProjectOptions, *, progress: Progress | None = None
) -> Document:
    """Make one run over a project, and return its report.

    Raises
    ------
    InvalidInput : the folder holds no files of dbt, or the service has no name
    Unavailable : the files cannot be fetched
    Conflict : another run goes on, or the server was never started on this store
    """
    if not options.service.strip():
        raise InvalidInput("name the database service of the tables", field="--service")
    clock = SystemClock()
    report = RunReport(clock.now_ms(), is_dry=options.is_dry)
    with project_files(options.target, with_stored_secrets(engine, settings)) as folder:
        artifacts = read_artifacts(folder, report.remark, options.target)
    writes = Writes(SqlCatalogue(engine), clock)
    bot = bot_of(engine, writes, BOT, is_dry=options.is_dry)
    records = StoredRecords(engine, source_of(options.service, artifacts))
    writer = ProjectWriter(writes, records, bot, clock, is_dry=options.is_dry)
    audience = RehearsalAudience(engine, clock, max_event_age_ms=settings.max_event_age_ms())
    writer.rehearsed = audience.add
    run = ProjectRun(artifacts, ProjectPlaces(artifacts, options.service), writer, clock, may_delete=options.may_delete)
    if progress is not None:
        run.progress = progress
    with _lead(engine, records.source):
        run.run(report)
    if options.is_dry:
        report.would_tell = audience.as_document()
    return report.as_document(ended_at_ms=clock.now_ms())


def source_of(service: str, artifacts: Artifacts) -> str:
    """Return the name of the records of a project in a service."""
    return f"{SOURCE}:{service}.{artifacts.project}"[:_LONGEST_SOURCE]


@contextmanager
def _lead(engine: Engine, source: str) -> Iterator[None]:
    """Let one run of a project work at a time."""
    lead = RelayLead(engine, f"source-{source}"[:_LONGEST_SOURCE], SystemClock(), lease_s=_LEASE_S)
    if not lead.try_to_take():
        raise Conflict("Another run over this project goes on: wait for its end.")
    try:
        yield
    finally:
        lead.give_up()
