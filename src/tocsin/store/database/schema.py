"""Schema migration of the store, one Alembic revision at a time.

The revisions are part of the package. All tables are imported here, so that ``METADATA`` is whole.
Next: ``store/migrations/versions``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import OperationalError

from tocsin.errors import Conflict, Unavailable
from tocsin.model.preferences import RECOMMENDED
from tocsin.store.database import alert_tables as alert_tables
from tocsin.store.database import change_tables as change_tables
from tocsin.store.database import entity_tables as entity_tables
from tocsin.store.database import feed_tables as feed_tables
from tocsin.store.database import follow_tables as follow_tables
from tocsin.store.database import log_tables as log_tables
from tocsin.store.database import observation_tables as observation_tables
from tocsin.store.database import people_tables as people_tables
from tocsin.store.database import retention_tables as retention_tables
from tocsin.store.database import search_tables as search_tables
from tocsin.store.database import source_tables as source_tables
from tocsin.store.database.engine import is_sqlite, writing
from tocsin.store.database.faults import fault_of
from tocsin.store.database.tables import METADATA as METADATA

if TYPE_CHECKING:
    from alembic.config import Config

HEAD = "head"
_VERSIONS = Path(__file__).parents[1] / "migrations" / "versions"
_TABLE = "alembic_version"
_LOCK = text("SELECT pg_advisory_xact_lock(hashtext('tocsin schema'))")


def migrate(engine: Engine, revision: str = HEAD) -> None:
    """Bring the store to ``revision``, the newest by default, in one transaction.

    Two processes that start at once do it one after the other; the second finds nothing left to do. A store that is
    made here, from nothing, begins with the recommended preferences; a store of an earlier release keeps its own.

    Raises
    ------
    Unavailable : the store does not answer; it is the first that every process asks of it
    Conflict : the store has a schema of another version of Tocsin
    """
    address = engine.url.render_as_string(hide_password=True)
    try:
        with writing(engine) as connection:
            if not is_sqlite(connection):  # SQLite's write lock is taken already
                connection.execute(_LOCK)
            current_revision = _current_revision(connection)
            if revision == HEAD and current_revision == newest_revision():
                return
            _check_version(current_revision, address)
            upgrade(connection, revision)
            if current_revision is None and revision == HEAD:
                _begin_with_recommended(connection)
    except OperationalError as error:
        fault = fault_of(error)
        way_out = f" {fault.sentence}" if fault is not None else ""
        raise Unavailable(f"The store at {address} cannot be used: {error.orig}.{way_out}") from error


def _begin_with_recommended(connection: Connection) -> None:
    row = {"user_id": people_tables.EVERYBODY, "document": json.dumps(RECOMMENDED.to_wire()), "updated_at_ms": 0}
    connection.execute(people_tables.notification_preference.insert().values(row))


def newest_revision() -> str:
    """Return the newest revision of this release, told from the names of its files: Alembic would read them all."""
    return max(path.stem for path in _VERSIONS.glob("v[0-9]*_*.py")).removeprefix("v")


def _current_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table(_TABLE):
        return None
    revision = connection.execute(text(f"SELECT version_num FROM {_TABLE}")).scalar_one_or_none()  # noqa: S608  ours
    return None if revision is None else str(revision)


def _check_version(revision: str | None, address: str) -> None:
    if revision is not None and not is_known(revision):
        raise Conflict(
            f"The store at {address} has a schema that this version of Tocsin does not know ({revision}): a later "
            "version made it, or a development version before 0.1.0. Run the version that made it, or use another "
            "store: set data_dir or database_url."
        )


def upgrade(connection: Connection, revision: str = HEAD) -> None:
    """Bring the store to ``revision`` in the connection's transaction."""
    from alembic import command  # a store that is as it should be needs none of Alembic

    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def is_known(revision: str) -> bool:
    """Return whether this release has such a revision."""
    from alembic.script import ScriptDirectory  # as above

    return revision in {one.revision for one in ScriptDirectory.from_config(_config()).walk_revisions()}


def _config() -> Config:
    from alembic.config import Config  # as above

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parents[1] / "migrations").replace("%", "%%"))
    return config
