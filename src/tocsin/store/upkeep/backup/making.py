"""Creation of a backup: the store in one snapshot while others write, then the lake, the key and the manifest.

The store comes first and is authoritative: the segments copied after it are those it lists, and they are kept for an
hour after they are merged. Checkpoints are not part of a backup. They change while they are copied, and the store knows
better: each query's progress is in the same snapshot as its results, and streaks are recomputed from the reports in the
log (``jobs/streak_stream.py``).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine, NullPool, create_engine

from tocsin.clock import Clock
from tocsin.errors import Conflict
from tocsin.lake_files.address import copy_segment, lake_files_of
from tocsin.lake_files.folder import FolderFiles
from tocsin.private_files import private_folder
from tocsin.settings import Settings
from tocsin.store.database.vault import KEY_FILE
from tocsin.store.eventlog.lake import kept_ids
from tocsin.store.eventlog.log import last_position
from tocsin.store.upkeep.backup import postgresql, sqlite
from tocsin.store.upkeep.backup.manifest import (
    KeyKept,
    Manifest,
    ReportProgress,
    checksum,
    copy_privately,
    files_in,
)
from tocsin.store.upkeep.stored_settings import with_lake_key

LAKE = "lake"
"""The folder of a backup with a folder for each segment of the lake."""


@dataclass(frozen=True)
class BackupContents:
    """Parts of a backup besides the store."""

    with_key: bool = True
    with_lake: bool = True


def back_up(
    engine: Engine, settings: Settings, folder: Path, *, contents: BackupContents, clock: Clock, report: ReportProgress
) -> Manifest:
    """Make a backup in ``folder``, which must be empty or not there; others may write meanwhile.

    Raises
    ------
    Conflict : there is something in ``folder``
    StoreDamaged : the store or its lake is damaged; there is no backup then
    """
    if folder.exists() and any(folder.iterdir()):
        raise Conflict(f"{folder} is not empty; a backup needs its own folder.")
    with _undone_on_error(folder):
        of_store, lake_settings = _copy_store(engine, folder, report), with_lake_key(engine, settings)
        manifest = replace(
            of_store,
            segments=_copy_lake(of_store.segments, lake_settings, folder, report) if contents.with_lake else (),
            made_at_ms=clock.now_ms(),
            key=_copy_key(settings, folder, is_wanted=contents.with_key),
        )
        files = {file.relative_to(folder).as_posix(): checksum(file) for file in files_in(folder)}
        manifest = replace(manifest, files=files)
        manifest.write(folder)
    return manifest


def _copy_store(engine: Engine, folder: Path, report: ReportProgress) -> Manifest:
    """Copy the store; return the manifest of it alone, with all segments of its lake."""
    if engine.dialect.name != "sqlite":
        with engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection, connection.begin():
            tables = folder / postgresql.FOLDER
            private_folder(tables)
            return _contents_of(connection, postgresql.copy_out(connection, tables, report))
    file = folder / sqlite.FILE
    sqlite.copy_out(Path(str(engine.url.database)), file, report)
    # Not open_engine, which would create a write-ahead log.
    copy = create_engine(f"sqlite:///{file}", poolclass=NullPool)
    with copy.connect() as connection:
        return _contents_of(connection, {})


def _contents_of(connection: Connection, tables: dict[str, list[str]]) -> Manifest:
    """Return what the connection's snapshot holds."""
    return Manifest(
        tocsin=version("tocsin"),
        made_at_ms=0,
        dialect=connection.dialect.name,
        revision=str(MigrationContext.configure(connection).get_current_revision()),
        log=last_position(connection),
        key=KeyKept.NONE,
        segments=kept_ids(connection),
        tables=tables,
        sequences=postgresql.sequences(connection) if tables else {},
    )


def _copy_lake(segments: tuple[str, ...], settings: Settings, folder: Path, report: ReportProgress) -> tuple[str, ...]:
    """Copy the segments of the lake; return which. A missing one can be made again from the log, and is skipped."""
    lake, copy = lake_files_of(settings), FolderFiles(folder / LAKE)
    existing = tuple(filter(lake.is_complete, segments))
    copied_bytes, total = 0, sum(file.size for one in existing for file in lake.files_of(one))
    for segment_id in existing:
        copied_bytes += copy_segment(segment_id, lake, copy)
        report(copied_bytes, total)
    return existing


def _copy_key(settings: Settings, folder: Path, *, is_wanted: bool) -> KeyKept:
    if settings.secrets_key is not None:
        return KeyKept.SETTING
    key = settings.data_dir.absolute() / KEY_FILE
    if not key.is_file():
        return KeyKept.NONE
    if not is_wanted:
        return KeyKept.LEFT_OUT
    copy_privately(key, folder / KEY_FILE)
    return KeyKept.INCLUDED


@contextmanager
def _undone_on_error(folder: Path) -> Iterator[None]:
    """Make a folder for its owner alone, and leave nothing half done in it."""
    private_folder(folder)
    folder.chmod(0o700)
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
