"""Store of the commands that open it directly: migrated to the newest schema, closed at the end.

Commands that only read or repair require an existing store: an empty one created by them would look sound.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import typer

from tocsin.cli.extras import needing
from tocsin.errors import NotFound
from tocsin.settings import Settings

if TYPE_CHECKING:  # the store's library is an extra
    from sqlalchemy import Engine


@contextmanager
def opened_store(settings: Settings) -> Iterator[Engine]:
    """Yield an engine for the migrated store that ``settings`` name; makes ``data_dir`` where it is missing.

    Raises
    ------
    StoreDamaged : a store was used with this data folder, and nothing is left of it
    """
    with needing("server"):
        from tocsin.store.database.engine import open_engine
        from tocsin.store.database.folder import make_private
        from tocsin.store.database.schema import migrate
        from tocsin.store.database.vault import use_vault
        from tocsin.store.upkeep import high_water_marks
    if settings.database_url is None and (change := make_private(settings.data_dir)):
        typer.echo(change, err=True)
    engine = open_engine(settings.store_url(), synchronous=settings.sqlite_synchronous)
    use_vault(engine, settings)
    try:
        high_water_marks.check_store(engine, settings)
        migrate(engine)
        yield engine
        with suppress(OSError):  # a folder that cannot be written to is not what was asked about
            high_water_marks.mark(engine, settings)
    finally:
        engine.dispose()


@contextmanager
def existing_store(settings: Settings) -> Iterator[Engine]:
    """Yield an engine as ``opened_store`` does, of a store that was made before; ``NotFound`` where there is none."""
    with needing("server"):
        from tocsin.store.upkeep.high_water_marks import traces
    file = settings.data_dir.absolute() / "tocsin.db"
    if settings.database_url is None and not file.is_file() and not traces(settings):
        raise NotFound(
            f"There is no store at {file}. Change to the folder where Tocsin was started, or set"
            " TOCSIN_DATA_DIR or TOCSIN_DATABASE_URL."
        )
    with opened_store(settings) as engine:
        yield engine
