"""OpenMetadata's client as another writer beside a replay: its six workflows, over and over, in processes of their own.

The flows are those of the acceptance tests (``tests/acceptance/official_client/flows``), in the environment that
``make official-client`` makes. Next: ``truth/ways.py``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Thread

from truth.processes import Failed
from truth.script import OTHER, Script
from truth.steps import ADMIN, Make, MuteAlert, Step, needs_pipeline

ROOT = Path(__file__).resolve().parents[1]
FLOWS = ROOT / "tests" / "acceptance" / "official_client" / "flows"
PYTHON = Path(os.environ.get("TOCSIN_TEST_OFFICIAL_CLIENT", ROOT / ".official-client-2.0")) / "bin" / "python"
SERVICE = "till"
"""The database service that the flows write to."""

_SETTLED_S = 1.0
_LAST_LINES = 30


def with_clients(script: Script) -> Script:
    """Return a script with the bot of the workflows, and a schema with owners for what they will make."""
    owners = [{"type": "user", "name": script.cast.second}, {"type": "user", "name": script.history.users[0]}]
    connection = {"config": {"type": "SQLite", "database": "default"}}
    places = (
        Make(ADMIN, ("databaseService", SERVICE), {"serviceType": "SQLite", "connection": connection}),
        Make(ADMIN, ("database", f"{SERVICE}.default"), {}),
        Make(ADMIN, ("databaseSchema", f"{SERVICE}.default.main"), {"owners": owners}),
    )
    return replace(script, people=(*script.people, OTHER), setup=(*script.setup, *places))


@dataclass
class Clients:
    """The workflows, from a start until a stop: each pass runs all six; ``passes`` counts those that came to their end.

    ``log_end`` returns the offset of the newest event.
    """

    url: str
    token: str
    folder: Path
    log_end: Callable[[], int]
    passes: int = 0
    _is_over: Event = field(default_factory=Event)
    _failure: list[str] = field(default_factory=list)

    def start(self) -> None:
        """Start the first pass, and wait for what it writes first; another pass follows each.

        Raises
        ------
        Failed : the client is not there, or fails at once.
        """
        if not PYTHON.exists():
            raise Failed("OpenMetadata's own client is not here; `make official-client` gets it")
        environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
        self._process = subprocess.Popen(
            [str(PYTHON), "-W", "ignore", "run.py"],
            cwd=FLOWS,
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._thread = Thread(target=self._run, daemon=True)
        end = self.log_end()
        self._thread.start()
        while self.log_end() == end:
            self._check()
            time.sleep(0.05)

    def finish(self) -> None:
        """Wait for the end of the present pass.

        Raises
        ------
        Failed : a workflow failed.
        """
        self._is_over.set()
        self._thread.join()
        self._check()

    def _check(self) -> None:
        if self._failure:
            raise Failed(self._failure[0])

    def kill(self) -> None:
        """End what runs, if anything does."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._thread.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Pause the workflows until the block ends; begins when what they had asked for is in the log."""
        os.killpg(self._process.pid, signal.SIGSTOP)
        try:
            end, since_s = self.log_end(), time.monotonic()
            while time.monotonic() - since_s < _SETTLED_S:
                time.sleep(0.05)
                if (now := self.log_end()) != end:
                    end, since_s = now, time.monotonic()
            yield
        finally:
            os.killpg(self._process.pid, signal.SIGCONT)

    def _run(self) -> None:
        while not self._is_over.is_set() and not self._failure:
            self._pass()

    def _pass(self) -> None:
        assert self._process.stdin and self._process.stdout  # noqa: S101  both are pipes
        printed = self.folder / "clients.log"
        environment = {"TOCSIN_SERVER": self.url, "TOCSIN_TOKEN": self.token}
        command = {"flow": "workflows", "environment": environment, "print": str(printed)}
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        if self._process.stdout.readline().strip() == "0":
            self.passes += 1
        else:
            last = printed.read_text(errors="replace").splitlines()[-_LAST_LINES:] if printed.exists() else []
            self._failure.append("\n".join(["a workflow of OpenMetadata's client failed", *last]))


@contextmanager
def beside(clients: Clients | None) -> Iterator[None]:
    """Run the workflows, if there are any to run, until the block ends and their pass with it."""
    if clients is None:
        yield
        return
    clients.start()
    try:
        yield
        clients.finish()
    finally:
        clients.kill()


@contextmanager
def quiet_for(step: Step, clients: Clients | None) -> Iterator[None]:
    """Let a step be made while nobody else writes, if no event stands for it or it counts once the pipeline sees it."""
    if clients is None or not (needs_pipeline(step) or isinstance(step, MuteAlert)):
        yield
        return
    with clients.quiet():
        yield
