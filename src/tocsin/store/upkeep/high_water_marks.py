"""Evidence of the log's position outside the store (mark, checkpoints, lake), to detect lost data.

A database cannot report what it has lost: a truncated one is an empty store, and SQLite silently drops what
follows a damaged page in its write-ahead log. So the data folder has a mark, written every few seconds while a
server runs and whenever a command ends; checkpoints record what the pipeline has read. A mark that is beyond the log is
kept until the loss is accepted (``tocsin fsck --accept-loss``). Losses of the last seconds, before any mark or read,
are not detected.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import structlog
from sqlalchemy import Connection, Engine, inspect, select
from sqlalchemy.exc import DatabaseError, OperationalError, SQLAlchemyError

from tocsin.errors import StoreDamaged
from tocsin.flow.eventlog.position import LogPosition
from tocsin.settings import Settings, StoreSettings
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import change_event, entity
from tocsin.store.database.vault import KEY_FILE
from tocsin.store.eventlog.log import holds, position_at, readable_end
from tocsin.threads import run_beside

MARK_FILE = "log.mark"
"""The file in the data folder that says how far the log had come."""

_MARK_EVERY_S = 5.0
_OFFSETS = "offsets"
_WAY_OUT = "Restore a backup (tocsin restore; docs/backup.md)."
_LOG = structlog.get_logger(__name__)


@dataclass(frozen=True)
class UseTrace:
    """A file or folder that shows that a store was used; ``position`` is how far its log was then, None if unknown."""

    path: Path
    position: LogPosition | None = None


def traces(settings: Settings) -> list[UseTrace]:
    """Return the evidence in the data folder and the lake's about the store that was used with them."""
    use_traces = [*_marks(settings.data_dir.absolute() / MARK_FILE), *_checkpoints(settings.checkpoint_dir())]
    lake, key = Path(settings.lake_root()), settings.data_dir.absolute() / KEY_FILE
    is_folder = not settings.is_lake_in_bucket()  # a server has no access to a bucket
    use_traces += [UseTrace(lake)] if is_folder and any(lake.glob("segment=*")) else []
    return use_traces + ([UseTrace(key)] if key.is_file() else [])


def losses(connection: Connection, use_traces: Sequence[UseTrace]) -> Iterator[str]:
    """Yield, a sentence each, what ``use_traces`` has seen of the log and the log does not hold.

    ``use_traces`` must have been read before the connection's snapshot was taken: they are never ahead of the log then.
    """
    end = position_at(connection, readable_end(connection))
    for trace in use_traces:
        if trace.position is not None and not holds(connection, trace.position):
            far = f"{trace.path} has seen the log up to {trace.position}"
            yield f"{far}; the log ends at {end}, or has another event there"


def check_and_warn(engine: Engine, settings: Settings) -> None:
    """Do as ``check_store``, and warn in the log of what is lost: what reads it begins again where the store is."""
    for loss in check_store(engine, settings):
        _LOG.warning("log_lost_events", what=loss, then="tocsin fsck; docs/backup.md")


def check_store(engine: Engine, settings: Settings) -> list[str]:
    """Look, before a store is migrated, whether it is the one that was used with this data folder.

    Returns what its log has lost, a sentence each.

    Raises
    ------
    StoreDamaged : the store is empty, and was not
    """
    use_traces = traces(settings)
    if not use_traces:
        return []
    if _is_blank(engine):
        raise StoreDamaged(_refusal(engine, use_traces))
    try:
        return _problems(engine, use_traces)
    except OperationalError:  # it is away; the migration says so
        return []
    except DatabaseError as error:
        address = engine.url.render_as_string(hide_password=True)
        raise StoreDamaged(f"The store at {address} cannot be read ({error.orig}). {_WAY_OUT}") from error


def mark(engine: Engine, settings: StoreSettings) -> None:
    """Note how far the log has come, unless it lacks what an earlier mark has seen."""
    path = settings.data_dir.absolute() / MARK_FILE
    earlier = _marks(path)
    with reading(engine) as connection:
        end = position_at(connection, readable_end(connection))
        is_borne_out = all(one.position is None or holds(connection, one.position) for one in earlier)
    if end.offset and is_borne_out and [one.position for one in earlier] != [end]:
        write_mark(settings, end)


def write_mark(settings: StoreSettings, position: LogPosition) -> None:
    """Note that the log has come this far, whatever was noted before."""
    path = settings.data_dir.absolute() / MARK_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary_path = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
    with os.fdopen(os.open(temporary_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(json.dumps(position.to_json()) + "\n")
        file.flush()
        os.fsync(file.fileno())
    temporary_path.replace(path)


def accept_loss(engine: Engine, settings: Settings) -> None:
    """Note that the log ends where it does, whatever a mark has seen beyond."""
    with reading(engine) as connection:
        end = position_at(connection, readable_end(connection))
    write_mark(settings, end)


@contextmanager
def marking(engine: Engine, settings: Settings, every_s: float = _MARK_EVERY_S) -> Iterator[None]:
    """Note every so often, and at the end, how far the log has come, until the block ends."""
    with run_beside(lambda ending: _keep_marking(engine, settings, ending, every_s), "log-mark"):
        yield


def _keep_marking(engine: Engine, settings: Settings, ending: threading.Event, every_s: float) -> None:
    is_last = False
    while not is_last:
        is_last = ending.wait(every_s)
        try:
            mark(engine, settings)
        except (SQLAlchemyError, OSError) as error:  # the store is away, or the disk full: others say so
            _LOG.debug("log_not_marked", reason=type(error).__name__)


def _marks(path: Path) -> list[UseTrace]:
    try:
        text = path.read_text(errors="replace")
    except FileNotFoundError:
        return []
    try:
        return [UseTrace(path, LogPosition.of_json(json.loads(text)))]
    except (ValueError, KeyError, TypeError, AttributeError):
        return [UseTrace(path)]


def _checkpoints(folder: Path) -> Iterator[UseTrace]:
    """Yield how far each query has planned to read; a checkpoint that was set aside is no trace any more."""
    for offsets in sorted(folder.glob(f"*/{_OFFSETS}")):
        position = planned_position(offsets.parent)
        if position is not None and position.offset and "." not in offsets.parent.name:
            yield UseTrace(offsets.parent, position)


def planned_position(checkpoint: Path) -> LogPosition | None:
    """Return how far the query of a checkpoint has planned to read; None where nothing says it.

    Source: Spark's ``OffsetSeqLog``: a file per micro-batch whose last line is the source's offset, in JSON.
    """
    files = [file for file in (checkpoint / _OFFSETS).glob("*") if file.name.isdigit()]
    for file in sorted(files, key=lambda one: int(one.name), reverse=True):
        with suppress(OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
            return LogPosition.of_json(json.loads(file.read_text(errors="replace").splitlines()[-1]))
    return None


def _problems(engine: Engine, use_traces: list[UseTrace]) -> list[str]:
    """Return what the store has lost; raises StoreDamaged where that is everything."""
    with reading(engine) as connection:
        used = [one for one in use_traces if one.position is not None or _is_new(connection)]
        if used and is_empty(connection):
            raise StoreDamaged(_refusal(engine, used))
        return [] if is_empty(connection) else list(losses(connection, use_traces))


def _is_blank(engine: Engine) -> bool:
    """Return whether the store is a file that is missing or holds nothing: to open it would make a new one."""
    if engine.dialect.name != "sqlite" or not engine.url.database:
        return False
    file = Path(engine.url.database)
    return not file.is_file() or not file.stat().st_size


def _is_new(connection: Connection) -> bool:
    return not inspect(connection).has_table(change_event.name)


def is_empty(connection: Connection) -> bool:
    """Return whether the store holds neither an event nor an entity."""
    columns = (change_event.c.log_offset, entity.c.id)
    return _is_new(connection) or not any(connection.execute(select(one).limit(1)).first() for one in columns)


def _refusal(engine: Engine, used: list[UseTrace]) -> str:
    address = engine.url.render_as_string(hide_password=True)
    positions = [one.position for one in used if one.position is not None]
    far = f" up to {max(positions, key=lambda one: one.offset)}" if positions else ""
    paths = ", ".join(str(one.path) for one in used)
    return (
        f"The store at {address} is empty, but was used{far}, as {paths} show. It was deleted, truncated"
        f" or replaced. {_WAY_OUT} To start a new store, move those files and folders away first."
    )
