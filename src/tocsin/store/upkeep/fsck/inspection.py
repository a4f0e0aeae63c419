"""Inspection of the whole store, all checks in one snapshot so that a server may keep writing; and the repair.

Next: ``cli/maintenance.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, Engine, func, select, update
from sqlalchemy import Table as SqlTable
from sqlalchemy.exc import DBAPIError

from tocsin.store.catalogue.relations import projections
from tocsin.store.database.documents import entity_row
from tocsin.store.database.engine import is_sqlite, writing
from tocsin.store.database.schema import METADATA
from tocsin.store.database.tables import change_event, entity, entity_version
from tocsin.store.upkeep.fsck import dangling, entities, events, rebuilding, values
from tocsin.store.upkeep.fsck.finding import DAMAGED, Advance, Damage, Finding, Look
from tocsin.store.upkeep.high_water_marks import UseTrace, losses

ReportProgress = Callable[[int, int], None]
"""Called with the number of checked rows and of all rows."""

SHOWN = 20
"""Findings of one kind that are kept; all are counted."""

_LOOKS: tuple[tuple[Look, SqlTable | int], ...] = (
    (events.gather, change_event),
    (events.read_versions, entity_version),
    (events.compare, 4),
    (entities.read_entities, entity),
    (dangling.follow_pointers, len(dangling.POINTERS)),
    (dangling.measure_log, 1),
)
_DEEP: tuple[tuple[Look, SqlTable | int], ...] = (
    (values.check_pages, 1),
    (values.read_values, len(METADATA.tables)),
    (rebuilding.find_differing_versions, change_event),
)


@dataclass
class Inspection:
    """Result of the inspection: counts by kind of damage, the first findings of each, and the number of rows."""

    counts: Counter[Damage] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    repairable: set[str] = field(default_factory=set)
    row_counts: dict[str, int] = field(default_factory=dict)

    def add(self, finding: Finding) -> None:
        """Count a finding, and keep it, fit to be printed, if it is one of the first of its kind."""
        self.counts[finding.damage] += 1
        if self.counts[finding.damage] <= SHOWN:
            self.findings.append(replace(finding, where=_printable(finding.where), problem=_printable(finding.problem)))
        if finding.entity_id is not None:
            self.repairable.add(finding.entity_id)


def inspect(
    engine: Engine,
    report: ReportProgress = lambda _done, _total: None,
    *,
    deep: bool = False,
    traces: Sequence[UseTrace] = (),
) -> Inspection:
    """Look through the whole store; ``deep`` also rebuilds every version from its events.

    ``traces`` is what is known from outside of the store of how far its log had come, read before this.
    """
    inspection = Inspection()
    looks = _LOOKS + (_DEEP if deep else ())
    with _snapshot(engine) as connection:
        inspection.row_counts = {
            table.name: _count(connection, table) for _, table in _LOOKS if isinstance(table, SqlTable)
        }
        total = sum(inspection.row_counts[of.name] if isinstance(of, SqlTable) else of for _, of in looks)
        done_count = 0

        def advance(row_count: int) -> None:
            nonlocal done_count
            done_count += row_count
            report(done_count, total)

        for problem in losses(connection, traces):
            inspection.add(Finding(Damage.LOST_EVENTS, "change_event", problem))
        for look, _ in looks:
            for finding in _findings_of(look, connection, advance):
                inspection.add(finding)
    return inspection


def _findings_of(look: Look, connection: Connection, advance: Advance) -> Iterator[Finding]:
    """Yield what a look finds; damage that ends it is a finding, too, and the next look goes on."""
    try:
        yield from look(connection, advance)
    except DAMAGED as error:
        reason = error.orig if isinstance(error, DBAPIError) else error
        name = look.__name__.replace("_", " ")
        yield Finding(
            Damage.UNREADABLE, name, f"this check stopped at a damaged value ({reason}); use --deep to locate it"
        )


def _printable(text: str) -> str:
    """Return a text in which signs that no encoding has, as a damaged value may hold, are written out."""
    return text.encode("utf-8", "backslashreplace").decode()


def repair(engine: Engine, entity_ids: set[str]) -> int:
    """Make anew, from its document, every row by which these entities are found; return how many were there."""
    repaired = 0
    for entity_id in sorted(entity_ids):
        with writing(engine) as connection:
            repaired += _repair(connection, entity_id)
    return repaired


def _repair(connection: Connection, entity_id: str) -> int:
    query = select(entity).where(entity.c.id == entity_id).with_for_update()
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        projections.erase(connection, [entity_id])
        return 1
    stored = entities.readable_entity(dict(row))
    if stored is None:
        return 0
    expected_row = entity_row(stored, row["document"])
    connection.execute(update(entity).where(entity.c.id == entity_id).values(expected_row))
    projections.write_again(connection, stored)
    return 1


@contextmanager
def _snapshot(engine: Engine) -> Iterator[Connection]:
    """Yield a connection that sees the store as it is now until the end; its temporary tables go with it."""
    with engine.connect() as connection:
        if not is_sqlite(connection):
            connection = connection.execution_options(isolation_level="REPEATABLE READ")
        transaction = connection.begin()
        with _any_text(connection):
            try:
                yield connection
            finally:
                transaction.rollback()


@contextmanager
def _any_text(connection: Connection) -> Iterator[None]:
    """Let SQLite's driver give texts that are no UTF-8 with what is wrong in them, rather than fail."""
    if not is_sqlite(connection):
        yield
        return
    driver: Any = connection.connection.dbapi_connection  # Any: the driver's own connection
    driver.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    try:
        yield
    finally:
        driver.text_factory = str


def _count(connection: Connection, table: SqlTable) -> int:
    return int(connection.execute(select(func.count()).select_from(table)).scalar_one())
