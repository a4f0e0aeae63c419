"""Restore of a backup: it is verified as a whole, replaces the store, and resets what depends on the store.

Events that had no notifications yet get them afterwards; what was sent after the backup may be sent again, with the
same ids. Claimed messages are released, sessions ended. Checkpoints are removed: the pipeline starts after the
progress recorded in the store.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Engine, delete, update

from tocsin.clock import Clock, to_datetime
from tocsin.errors import Conflict, InvalidInput
from tocsin.lake_files.address import copy_segment, lake_files_of
from tocsin.lake_files.folder import FolderFiles
from tocsin.private_files import private_folder
from tocsin.settings import Settings
from tocsin.store.catalogue.people.tokens import LOG_IN_KINDS, TokenKind
from tocsin.store.database.engine import open_engine, reading, writing
from tocsin.store.database.people_tables import issued_token, push_browser
from tocsin.store.database.schema import is_known, migrate
from tocsin.store.database.tables import message, worker_session
from tocsin.store.database.vault import KEY_FILE
from tocsin.store.eventlog.lake import keep_only
from tocsin.store.eventlog.log import EventLog
from tocsin.store.upkeep.backup import postgresql, sqlite
from tocsin.store.upkeep.backup.making import LAKE
from tocsin.store.upkeep.backup.manifest import (
    Manifest,
    ReportProgress,
    copy_privately,
    read_manifest,
    verify,
)
from tocsin.store.upkeep.high_water_marks import is_empty, write_mark
from tocsin.store.upkeep.stored_settings import with_lake_key


@dataclass(frozen=True)
class Restored:
    """Result of a restore: the manifest, and the paths of the previous files."""

    manifest: Manifest
    previous: tuple[Path, ...]


def restore(folder: Path, settings: Settings, *, force: bool, clock: Clock, report: ReportProgress) -> Restored:
    """Put the backup in ``folder`` in the place of the store that ``settings`` name.

    Raises
    ------
    Conflict : there is a store that was used, and no ``force``; or a process works with it
    StoreDamaged : the backup is not what was written
    InvalidInput : it is of the other kind of database, or of a later Tocsin
    """
    manifest = read_manifest(folder)
    engine = open_engine(settings.store_url(), synchronous=settings.sqlite_synchronous)
    stamp = to_datetime(clock.now_ms()).strftime("%Y%m%dT%H%M%S%fZ")
    try:
        _check(engine, manifest, force=force)
        verify(folder, manifest, report)
        previous_store = _put_store(engine, folder, manifest, stamp, report)
        key = _put_key(folder, settings, stamp)
        migrate(engine)
        settings = with_lake_key(engine, settings)
        _put_lake(folder, settings)
        _settle(engine, settings)
    finally:
        engine.dispose()
    return Restored(manifest, tuple(one for one in (previous_store, key) if one is not None))


def _check(engine: Engine, manifest: Manifest, *, force: bool) -> None:
    if manifest.dialect != engine.dialect.name:
        raise InvalidInput(f"The backup is for {manifest.dialect}, but the store is {engine.dialect.name}.")
    if not is_known(manifest.revision):
        raise InvalidInput(f"The backup was created by Tocsin {manifest.tocsin}; restore it with that version.")
    if engine.dialect.name == "sqlite":
        store = Path(str(engine.url.database))
        _check_contents(is_used=sqlite.has_rows(store), force=force)
        sqlite.check_unused(store)
        return
    with reading(engine) as connection:
        _check_contents(is_used=not is_empty(connection), force=force)
        postgresql.check_unused(connection)


def _check_contents(*, is_used: bool, force: bool) -> None:
    if is_used and not force:
        raise Conflict("The store already contains data. To replace it: tocsin restore --force.")


def _put_store(engine: Engine, folder: Path, manifest: Manifest, stamp: str, report: ReportProgress) -> Path | None:
    if engine.dialect.name != "sqlite":
        with engine.begin() as connection:
            postgresql.copy_in(connection, folder / postgresql.FOLDER, manifest, report)
        return None
    store = Path(str(engine.url.database))
    copy = store.with_name(f"{store.name}.restoring")
    copy_privately(folder / sqlite.FILE, copy)
    return sqlite.put_in_place(copy, store, stamp)


def _put_key(folder: Path, settings: Settings, stamp: str) -> Path | None:
    """Put the backup's key in the data folder; return where another one that was there is kept."""
    key, target = folder / KEY_FILE, settings.data_dir.absolute() / KEY_FILE
    if not key.is_file() or (target.is_file() and target.read_bytes() == key.read_bytes()):
        return None
    previous = target.with_name(f"{KEY_FILE}.before-{stamp}") if target.is_file() else None
    if previous is not None:
        target.rename(previous)
    copy_privately(key, target)
    return previous


def _put_lake(folder: Path, settings: Settings) -> None:
    """Put the backup's segments into the lake; one of that id which is there already was written once, and is it."""
    copy, lake = FolderFiles(folder / LAKE), lake_files_of(settings)
    segment_ids = sorted(copy.segment_ids()) if copy.exists() else []
    if segment_ids:
        lake.open_root(is_expected=False)
    for segment_id in segment_ids:
        if not lake.is_complete(segment_id):
            lake.remove_segment(segment_id)
            copy_segment(segment_id, copy, lake)


def _end_sessions(connection: Connection) -> None:
    """End all sessions, and let no browser take push messages: which of them had ended since, nobody knows any more.

    Tokens that people and bots made for programs stay, as those of the backup.
    """
    kinds = [kind.value for kind in (*LOG_IN_KINDS, TokenKind.EMBED, TokenKind.LOG_IN)]
    connection.execute(delete(issued_token).where(issued_token.c.kind.in_(kinds)))
    connection.execute(delete(push_browser))


def _settle(engine: Engine, settings: Settings) -> None:
    """Remove from the store, and from the files next to it, all traces of the time after the backup."""
    with writing(engine) as connection:
        connection.execute(delete(worker_session))  # what they had claimed is free again
        connection.execute(update(message).where(message.c.lease_owner.is_not(None)).values(lease_owner=None))
        _end_sessions(connection)
        keep_only(connection, lake_files_of(settings).is_complete)
    for checkpoint in settings.checkpoint_dir().glob("*/"):
        shutil.rmtree(checkpoint)
    private_folder(settings.data_dir.absolute())
    write_mark(settings, EventLog(engine).end())
