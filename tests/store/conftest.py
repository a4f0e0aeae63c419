"""Fixture of stores that tests migrate themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine
from tests.postgres import Cluster

from tocsin.store.database.engine import open_engine


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def unmigrated_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """An empty store without a table, to be migrated to the revision that a test begins with."""
    url = f"sqlite:///{tmp_path / 'unmigrated.db'}"
    cluster: Cluster | None = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    if cluster is not None:
        cluster.run("CREATE DATABASE unmigrated")
        url = cluster.url("unmigrated")
    engine = open_engine(url)
    yield engine
    engine.dispose()
    if cluster is not None:
        cluster.run("DROP DATABASE unmigrated")
