"""PostgreSQL for one replay: a cluster in a folder, from the machine's own binaries, on loopback.

Next: ``truth/__main__.py``.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from truth.processes import Failed

_ACCOUNT = "postgres"
_PLACES = "/usr/lib/postgresql/*/bin/initdb"


@contextmanager
def running_cluster(folder: Path) -> Iterator[str]:
    """Run the cluster of a folder, made there if it is empty; yield the SQLAlchemy address of its one database.

    Raises
    ------
    Failed : PostgreSQL is not installed.
    """
    binaries = _binaries()
    folder.mkdir(exist_ok=True)
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        shutil.chown(folder, _ACCOUNT)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
    control = [str(binaries / "pg_ctl"), "-D", str(folder / "db"), "-w"]
    file = folder / "password"  # who connects may run programs as this account
    if not (folder / "db").exists():
        file.touch(0o600)
        file.write_text(secrets.token_hex(16))
        if os.geteuid() == 0:
            shutil.chown(file, _ACCOUNT)
        command = [str(binaries / "initdb"), "-D", str(folder / "db"), "-A", "scram-sha-256", f"--pwfile={file}"]
        _call([*command, "-U", "tocsin", "-E", "UTF8"])
    _call([*control, "-o", options, "-l", str(folder / "log"), "start"])
    try:
        yield f"postgresql+psycopg://tocsin:{file.read_text()}@127.0.0.1:{port}/postgres"
    finally:
        _call([*control, "-m", "fast", "stop"])


def _binaries() -> Path:
    initdb = shutil.which("initdb") or next(map(str, sorted(Path("/").glob(_PLACES.lstrip("/")), reverse=True)), None)
    if initdb is None:
        raise Failed("PostgreSQL is not installed; on Debian: apt-get install postgresql")
    return Path(initdb).parent


def _call(words: list[str]) -> None:
    account = pwd.getpwnam(_ACCOUNT).pw_uid if os.geteuid() == 0 else None
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, user=account, cwd="/")
