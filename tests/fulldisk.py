"""A disk of a few megabytes below tables of PostgreSQL, which a test fills and clears."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Engine
from tests.postgres import MISSING, Cluster, binaries, owner_of, running_cluster

_SIZE = "size=12m"
_CHUNKS = (1_000_000, 7_000)
"""Bytes of a row of the ballast: large ones first, then such as leave no page for anybody else."""


@dataclass(frozen=True)
class SmallDisk:
    """The disk, as a tablespace of a cluster."""

    cluster: Cluster
    tablespace: str

    @property
    def url(self) -> str:
        """Return the address of an empty database, which is not on this disk."""
        return self.cluster.url("store")

    def take(self, engine: Engine, *tables: str) -> None:
        """Move tables of a store to this disk."""
        with engine.begin() as connection:
            for table in tables:
                connection.exec_driver_sql(f"ALTER TABLE {table} SET TABLESPACE {self.tablespace}")

    def fill(self) -> None:
        """Fill it to its last page."""
        with self.cluster.connect() as connection:
            connection.execute(f"CREATE TABLE ballast (filling bytea) TABLESPACE {self.tablespace}".encode())
            connection.execute(b"ALTER TABLE ballast ALTER filling SET STORAGE EXTERNAL")
            for size in _CHUNKS:
                with pytest.raises(psycopg.errors.DiskFull):
                    while True:
                        connection.execute(f"INSERT INTO ballast VALUES (decode(repeat('5a', {size}), 'hex'))".encode())

    def clear(self) -> None:
        """Make room again."""
        with self.cluster.connect() as connection:
            connection.execute(b"DROP TABLE ballast")
            connection.execute(b"CHECKPOINT")  # until then, what was dropped keeps its files


@pytest.fixture
def postgres_disk() -> Iterator[SmallDisk]:
    """A disk below a PostgreSQL of the test's own; the test is skipped where nobody may mount one."""
    programs = binaries()
    if programs is None:
        pytest.skip(MISSING)
    with running_cluster(programs) as cluster, _small_mount(cluster.folder / "small") as folder:
        disk = SmallDisk(cluster, "small")
        cluster.run(f"CREATE TABLESPACE {disk.tablespace} LOCATION '{folder}'")
        cluster.run("CREATE DATABASE store")
        yield disk


@contextmanager
def _small_mount(folder: Path) -> Iterator[Path]:
    user_id, group_id = owner_of(folder.parent)
    folder.mkdir()
    options = f"{_SIZE},uid={user_id},gid={group_id},mode=700"
    mount = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
