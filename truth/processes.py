"""Processes of Tocsin as users start them: a server and a pipeline over a fresh store, on a free port.

Next: ``truth/ways.py``.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

_LAST_LINES = 30
_LONGEST_S = 100 * 86_400
"""How long tokens last and messages may wait: longer than a replay, by its own clock."""

_AHEAD = Path(__file__).resolve().parent / "ahead"


class Failed(Exception):
    """A process ended or did not do in time what it should have done."""


@dataclass
class Product:
    """A server and, while it runs, a pipeline, in a folder of their own.

    ``database_url`` is the SQLAlchemy address of an empty database; None: SQLite in the folder. ``environment`` is
    added to that of all processes but the server. ``ahead_ms`` is how far their clock is ahead of the machine's; a file
    of the folder keeps it.
    """

    folder: Path
    database_url: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    port: int = 0
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _client: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=30, trust_env=False))

    def __post_init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        if not self._ahead.exists():
            self._ahead.write_bytes(bytes(8))

    @property
    def _ahead(self) -> Path:
        return self.folder / "ahead"

    @property
    def ahead_ms(self) -> int:
        """Return how far the clock is ahead."""
        return int.from_bytes(self._ahead.read_bytes(), sys.byteorder) // 1_000_000

    def set_ahead(self, ahead_ms: int) -> None:
        """Set the clock ahead of the machine's, at once for all processes."""
        with self._ahead.open("r+b") as file:
            file.write((ahead_ms * 1_000_000).to_bytes(8, sys.byteorder))

    @property
    def url(self) -> str:
        """Address of the server."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def store_url(self) -> str:
        """SQLAlchemy address of the store."""
        return self.database_url or f"sqlite:///file:{self.folder / 'tocsin.db'}?mode=ro&uri=true"

    def start(self, command: str) -> None:
        """Start ``serve`` or ``pipeline``; wait until a server answers."""
        with (self.folder / f"{command}.log").open("ab") as sink:
            self._running[command] = subprocess.Popen(
                _tocsin(command),
                cwd=self.folder,
                env=self._environment({} if command == "serve" else self.environment),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        if command == "serve":
            self.until(self._answers)

    def runs(self, command: str) -> bool:
        """Say whether a process was started and not ended since."""
        return command in self._running

    def kill(self, command: str) -> None:
        """End a process as a power cut would, with all that it started."""
        process = self._running.pop(command)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        """End what runs; nothing is lost that anybody reads."""
        for command in list(self._running):
            self.kill(command)
        self._client.close()

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run another command over the same store and return what it printed."""
        return subprocess.run(
            _tocsin(*words),
            cwd=self.folder,
            env=self._environment(self.environment),
            capture_output=True,
            text=True,
            check=False,
        )

    def administrator(self) -> str:
        """Return a new password of the first administrator."""
        printed = self.run("admin", "reset-password", "admin", "--json")
        if printed.returncode:
            raise Failed(printed.stderr)
        return str(json.loads(printed.stdout)["password"])

    def health(self) -> Any:
        """Return what ``GET /healthcheck`` answers."""
        return self._client.get(f"{self.url}/api/v1/healthcheck").raise_for_status().json()

    def until(self, question: Callable[[], bool], *, within_s: float = 300.0, every_s: float = 0.05) -> None:
        """Wait until something is so.

        Raises
        ------
        Failed : a process has ended, or the time is over.
        """
        deadline = time.monotonic() + within_s
        while not question():
            for command, process in self._running.items():
                if process.poll() is not None:
                    printed = (self.folder / f"{command}.log").read_text(errors="replace").splitlines()
                    raise Failed("\n".join([f"{command} ended with {process.returncode}", *printed[-_LAST_LINES:]]))
            if time.monotonic() > deadline:
                raise Failed(f"not within {within_s:g} s")
            time.sleep(every_s)

    def _answers(self) -> bool:
        try:
            return self._client.get(f"{self.url}/api/v1/system/version", timeout=5).is_success
        except httpx.HTTPError:
            return False

    def _environment(self, added: dict[str, str]) -> dict[str, str]:
        variables = {key: value for key, value in os.environ.items() if not key.startswith("TOCSIN_")} | added
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, [variables.get("PYTHONPATH"), str(_AHEAD)]))
        ours = {
            "TOCSIN_DATA_DIR": str(self.folder),
            "TOCSIN_PORT": str(self.port),
            "TOCSIN_PROCESSES": "2",
            "TOCSIN_EXTERNAL_MAIL_DOMAINS": '["example.org", "history.example.org"]',
            "TOCSIN_EGRESS_ALLOW": '["127.0.0.1/32"]',
            "TOCSIN_AUDIT_EVERY_S": "0",
            "TOCSIN_AUDIT_ALLOWANCE_S": str(_LONGEST_S),
            "TOCSIN_TOKEN_HOURS": str(_LONGEST_S // 3600),
            "TRUTH_AHEAD": str(self._ahead),
            "TOCSIN_LAKE_EVERY_S": "0",
            "TOCSIN_LOGIN_WAITING": "1000",
            **({"TOCSIN_DATABASE_URL": self.database_url} if self.database_url else {}),
        }
        return variables | ours


def _tocsin(*words: str) -> list[str]:
    return [sys.executable, "-m", "tocsin", *words]
