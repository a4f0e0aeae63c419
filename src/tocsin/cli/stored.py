"""How do commands that work beside the store open it? At the newest schema, closed at the end.

Who only looks, or mends, asks for a store that is there: an empty one made on the spot would be found sound.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tocsin.cli.extras import needing
from tocsin.errors import NotFound
from tocsin.settings import Settings

if TYPE_CHECKING:  # the store's library is an extra
    from sqlalchemy import Engine


@contextmanager
def opened_store(settings: Settings) -> Iterator[Engine]:
    """Yield an engine for the migrated store that ``settings`` name; makes ``data_dir`` where it is missing."""
    with needing("server"):
        from tocsin.store.engine import open_engine
        from tocsin.store.schema import migrate
        from tocsin.store.vault import use_vault
    if settings.database_url is None:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
    engine = open_engine(settings.store_url(), synchronous=settings.sqlite_synchronous)
    use_vault(engine, settings)
    try:
        migrate(engine)
        yield engine
    finally:
        engine.dispose()


@contextmanager
def existing_store(settings: Settings) -> Iterator[Engine]:
    """Yield an engine as ``opened_store`` does, of a store that was made before; ``NotFound`` where there is none."""
    file = settings.data_dir.absolute() / "tocsin.db"
    if settings.database_url is None and not file.is_file():
        raise NotFound(
            f"There is no store at {file}. Go to the folder where Tocsin was started, or set TOCSIN_DATA_DIR or "
            "TOCSIN_DATABASE_URL."
        )
    with opened_store(settings) as engine:
        yield engine
