"""A real PostgreSQL for the tests: one cluster per run, from the machine's own binaries, one database per test."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tocsin.cli.ports import any_free_port

MISSING = "PostgreSQL is not installed; on Debian: apt-get install postgresql"


@dataclass(frozen=True)
class Cluster:
    """A running PostgreSQL on a loopback port."""

    port: int

    def url(self, database: str) -> str:
        """Return the SQLAlchemy address of a database."""
        return f"postgresql+psycopg://tocsin@127.0.0.1:{self.port}/{database}"

    def run(self, statement: str) -> None:
        """Run one statement outside any transaction."""
        with psycopg.connect(self._address(), autocommit=True) as connection:
            connection.execute(statement.encode())

    def _address(self) -> str:
        return f"postgresql://tocsin@127.0.0.1:{self.port}/postgres"


def binaries() -> Path | None:
    """Return the folder with ``initdb`` and ``postgres``, the newest if there are several."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


@contextmanager
def running_cluster(programs: Path, *, durable: bool = False) -> Iterator[Cluster]:
    """Start a cluster in a temporary folder on a free port; stop it and remove the folder at the end.

    Unless it is ``durable``, it does without the syncs that only a power cut would miss.
    """
    folder = Path(tempfile.mkdtemp(prefix="tocsin-pg-"))
    prefix = _as_postgres(folder)
    run = [*prefix, str(programs / "initdb"), "-D", str(folder / "db"), "-U", "tocsin", "-A", "trust", "-E", "UTF8"]
    _call([*run, "--locale=C.UTF-8", "--no-sync"])
    port = any_free_port()
    quick = "" if durable else " -c fsync=off -c synchronous_commit=off -c full_page_writes=off"
    options = f"-p {port} -c listen_addresses=127.0.0.1 -k {folder} -c max_connections=200{quick}"
    control = [*prefix, str(programs / "pg_ctl"), "-D", str(folder / "db"), "-w"]
    _call([*control, "-o", options, "-l", str(folder / "log"), "start"])
    try:
        yield Cluster(port)
    finally:
        _call([*control, "-m", "immediate", "stop"])
        shutil.rmtree(folder, ignore_errors=True)


def _as_postgres(folder: Path) -> list[str]:
    """Return the words that run a program as ``postgres``, which refuses to run as root, and give it the folder."""
    if os.geteuid() != 0:
        return []
    person = pwd.getpwnam("postgres")
    os.chown(folder, person.pw_uid, person.pw_gid)
    return ["setpriv", f"--reuid={person.pw_uid}", f"--regid={person.pw_gid}", "--clear-groups", "--"]


def _call(words: list[str]) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, cwd="/tmp")
