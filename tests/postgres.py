"""PostgreSQL for the tests: one cluster per run, from the machine's own binaries, one database per test."""

from __future__ import annotations

import atexit
import base64
import hashlib
import hmac
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psycopg

from tocsin.cli.ports import any_free_port

MISSING = "PostgreSQL is not installed; on Debian: apt-get install postgresql"


@dataclass(frozen=True)
class Cluster:
    """A running PostgreSQL on a loopback port; ``control`` are the words of its ``pg_ctl``.

    It has a password: whoever connects may run programs as the account of the tests.
    """

    port: int
    password: str
    control: tuple[str, ...]
    options: str
    folder: Path

    def url(self, database: str) -> str:
        """Return the SQLAlchemy address of a database."""
        return f"postgresql+psycopg://tocsin:{self.password}@127.0.0.1:{self.port}/{database}"

    def connect(self) -> psycopg.Connection:
        """Return a connection for statements outside any transaction."""
        return psycopg.connect(f"postgresql://tocsin:{self.password}@127.0.0.1:{self.port}/postgres", autocommit=True)

    def run(self, statement: str) -> None:
        """Run one statement outside any transaction."""
        with self.connect() as connection:
            connection.execute(statement.encode())

    def stop(self, mode: str = "immediate") -> None:
        """Stop it, as if the machine had lost power by default."""
        _call([*self.control, "-m", mode, "stop"])

    def kill(self) -> None:
        """Kill its first process with SIGKILL; those it started end when they notice."""
        os.kill(self._pid(), signal.SIGKILL)

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """Let none of its processes run until the block ends; what connects to it is taken by the kernel."""
        pid = self._pid()
        pids = [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
        for process_id in pids:
            os.kill(process_id, signal.SIGSTOP)
        try:
            yield
        finally:
            for process_id in pids:
                os.kill(process_id, signal.SIGCONT)

    def _pid(self) -> int:
        return int((self.folder / "db" / "postmaster.pid").read_text().split()[0])

    def start(self) -> None:
        """Start it again at the same port; what an earlier one left behind is waited for."""
        for _ in range(40):
            try:
                _call([*self.control, "-o", self.options, "-l", str(self.folder / "log"), "start"])
            except subprocess.CalledProcessError:
                time.sleep(0.25)
            else:
                return
        raise AssertionError((self.folder / "log").read_text()[-2000:])


def binaries() -> Path | None:
    """Return the folder with ``initdb`` and ``postgres``, the newest if there are several."""
    candidates = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if candidates:
        return candidates[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


@contextmanager
def running_cluster(programs: Path, *, durable: bool = False) -> Iterator[Cluster]:
    """Start a cluster in a temporary folder on a free port; stop it and remove the folder at the end.

    Unless it is ``durable``, it does without the syncs that only a power cut would miss. The clusters of a process have
    one password.
    """
    template = _empty_cluster(programs)
    folder = Path(tempfile.mkdtemp(prefix="tocsin-pg-"))
    prefix = _as_postgres(folder)
    subprocess.run(["cp", "-a", str(template / "db"), str(folder)], check=True)
    password = (template / "password").read_text()
    port = any_free_port()
    quick = "" if durable else " -c fsync=off -c synchronous_commit=off -c full_page_writes=off"
    options = f"-p {port} -c listen_addresses=127.0.0.1 -k {folder} -c max_connections=200 -c autovacuum=off{quick}"
    control = [*prefix, str(programs / "pg_ctl"), "-D", str(folder / "db"), "-w"]
    cluster = Cluster(port, password, tuple(control), options, folder)
    cluster.start()
    try:
        yield cluster
    finally:
        with suppress(subprocess.CalledProcessError):  # a test has stopped it
            cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


@cache
def _empty_cluster(programs: Path) -> Path:
    """Return a folder with the files of an empty cluster, made once for the clusters of this process, and its password.

    To make them takes as long as most tests with a cluster of their own.
    """
    folder = Path(tempfile.mkdtemp(prefix="tocsin-pg-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    prefix, password = _as_postgres(folder), secrets.token_hex(16)
    texts = {"password": password, "verifier": _verifier_of(password)}
    for name, text in texts.items():
        (folder / name).touch(0o600)
        (folder / name).write_text(text)
        shutil.chown(folder / name, *owner_of(folder))
    run = [*prefix, str(programs / "initdb"), "-D", str(folder / "db"), "-U", "tocsin", "-A", "scram-sha-256"]
    _call([*run, f"--pwfile={folder / 'verifier'}", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"])
    return folder


def _verifier_of(password: str) -> str:
    """Return what PostgreSQL keeps of a password: hashed once, not 4096 times, which each new connection would repeat.

    Nobody guesses a random password of 128 bits, however quickly a guess is tried.
    """
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 1)
    client_key, server_key = (hmac.digest(salted, name, "sha256") for name in (b"Client Key", b"Server Key"))
    salt_text, stored_text, server_text = (
        base64.b64encode(value).decode() for value in (salt, hashlib.sha256(client_key).digest(), server_key)
    )
    return f"SCRAM-SHA-256$1:{salt_text}${stored_text}:{server_text}"


def owner_of(folder: Path) -> tuple[int, int]:
    """Return the ids of the user and the group that a folder belongs to."""
    status = folder.stat()
    return status.st_uid, status.st_gid


def _as_postgres(folder: Path) -> list[str]:
    """Return the words that run a program as ``postgres``, which refuses to run as root, and give it the folder."""
    if os.geteuid() != 0:
        return []
    person = pwd.getpwnam("postgres")
    os.chown(folder, person.pw_uid, person.pw_gid)
    return ["setpriv", f"--reuid={person.pw_uid}", f"--regid={person.pw_gid}", "--clear-groups", "--"]


def _call(words: list[str]) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, cwd="/tmp")
