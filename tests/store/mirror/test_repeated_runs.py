"""Tests of the mirror that keeps running: it leads alone, and takes what an administrator set meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine, text
from tests.mirrored import Mirrored
from tests.openmetadata import TOKEN, FakeOpenMetadata
from tests.serving import KEY
from tests.waiting import until

from tocsin.errors import Conflict
from tocsin.settings import Settings
from tocsin.sources.openmetadata.mirror import RunOptions
from tocsin.sources.process.build import read_status, repeat_runs, run_once
from tocsin.store.upkeep.stored_settings import store_secret
from tocsin.threads import run_beside

_SESSION = """
    SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND objid::bigint = hashtext('source-openmetadata')::bigint & 4294967295
"""


def settings_of(mirror: Mirrored, folder: Path) -> Settings:
    return Settings(
        database_url=mirror.engine.url.render_as_string(hide_password=False),
        data_dir=folder,
        secrets_key=SecretStr(KEY),
        openmetadata_url=mirror.fake.address,
        openmetadata_mapped=("snow",),
        openmetadata_interval_s=1,
        egress_allow=("127.0.0.0/8",),
    )


@contextmanager
def repeating(settings: Settings) -> Iterator[None]:
    """Repeat runs in a thread until the block ends."""
    with run_beside(partial(repeat_runs, settings, RunOptions()), "repeated runs"):
        yield


def test_a_new_token_counts_from_the_next_run_on(mirror: Mirrored, tmp_path: Path) -> None:
    """Fault scenario 72."""
    settings = settings_of(mirror, tmp_path)
    store_secret(mirror.engine, "openmetadata_token", "expired")
    with repeating(settings):
        until(lambda: "check the token" in str(read_status(mirror.engine)["lastRun"]))
        assert read_status(mirror.engine)["loaded"] is False
        store_secret(mirror.engine, "openmetadata_token", TOKEN)
        until(lambda: bool(read_status(mirror.engine)["loaded"]))


@pytest.mark.postgres
def test_a_mirror_whose_session_ended_leads_again(
    postgres_engine: Engine, fake: FakeOpenMetadata, tmp_path: Path
) -> None:
    """Fault scenario 73."""
    mirror = Mirrored(postgres_engine, fake)
    settings = settings_of(mirror, tmp_path)
    store_secret(mirror.engine, "openmetadata_token", TOKEN)

    def session() -> int | None:
        with mirror.engine.connect() as connection:
            return connection.execute(text(_SESSION)).scalar()

    with repeating(settings):
        until(lambda: bool(read_status(mirror.engine)["loaded"]))
        first = session()
        with mirror.engine.begin() as connection:
            connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": first})
        until(lambda: session() not in (None, first))
        with pytest.raises(Conflict, match="Another run"):
            run_once(settings, RunOptions())
