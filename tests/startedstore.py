"""Bootstrapped store for tests with a server, created once and copied."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr
from tests.notifying import notify_all
from tests.serving import KEY, running_server

from tocsin.server.bootstrap import ADMINISTRATOR, first_start
from tocsin.settings import Settings
from tocsin.store.database.engine import open_engine


@dataclass(frozen=True)
class StartedStore:
    """A SQLite file to copy, and what lets the administrator in: a password and the token of a log-in."""

    path: Path
    password: str
    token: str


def first_started(path: Path) -> StartedStore:
    """Do the first start of the migrated, empty SQLite file at ``path``, and take its events through the pipeline."""
    engine = open_engine(f"sqlite:///{path}", synchronous="OFF")
    password = first_start(engine, Settings(secrets_key=SecretStr(KEY)))
    assert password is not None
    with running_server(engine, password=password) as served:
        token = served.log_in(ADMINISTRATOR["email"], password)
    notify_all(engine)  # once, not in every test that notifies
    engine.dispose()  # the last to let go of it leaves everything in the one file
    return StartedStore(path, password, token)
