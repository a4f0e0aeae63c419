"""Opening of the store by processes that run beside the server: the first one makes it.

Next: ``store/database/schema.py``, ``store/database/vault.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from sqlalchemy import Engine

from tocsin.settings import Settings, StoreSettings
from tocsin.store.database.engine import open_engine
from tocsin.store.database.folder import make_private
from tocsin.store.database.schema import migrate
from tocsin.store.database.vault import use_vault
from tocsin.store.upkeep.high_water_marks import check_and_warn


def make_store(settings: Settings) -> None:
    """Bring the store to the newest schema: whichever process starts first makes it."""
    if settings.database_url is None and (changed := make_private(settings.data_dir)):
        structlog.get_logger().warning("data_folder_made_private", change=changed)
    with open_store(settings) as engine:
        check_and_warn(engine, settings)
        migrate(engine)


@contextmanager
def open_store(settings: StoreSettings, *, most_connections: int = 20) -> Iterator[Engine]:
    """Yield an engine over the store, with its vault; close it afterwards."""
    engine = open_engine(
        settings.store_url(), synchronous=settings.sqlite_synchronous, most_connections=most_connections
    )
    use_vault(engine, settings)
    try:
        yield engine
    finally:
        engine.dispose()
