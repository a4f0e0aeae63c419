"""How do commands that work beside the store open it? At the newest schema, closed at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tocsin.cli.extras import needing
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
