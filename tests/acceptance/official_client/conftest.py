"""Fixtures that run OpenMetadata's own clients in their environments, against a real server, one flow at a time."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import httpx
import pytest
from sqlalchemy import Engine
from tests.serving import Json, Served, running_server, server_settings
from tests.startedstore import StartedStore

ROOT = Path(__file__).resolve().parents[3]
FLOWS = Path(__file__).with_name("flows")
ENVIRONMENTS = tuple(
    [Path(os.environ["TOCSIN_TEST_OFFICIAL_CLIENT"])]
    if "TOCSIN_TEST_OFFICIAL_CLIENT" in os.environ
    else [ROOT / ".official-client", ROOT / ".official-client-2.0"]
)
"""Folders of the clients' environments, oldest first; the flows run with the newest unless a test says otherwise."""

MISSING = "OpenMetadata's own client is not in {}; `make official-client` gets it (530 MB)"

Flow = Callable[..., Json]


@pytest.fixture
def sqlite_url(started_store_url: str) -> str:
    """Address of this test's own store, first start done."""
    return started_store_url


@pytest.fixture(scope="session")
def environment(request: pytest.FixtureRequest) -> Path:
    """The folder of the client under test; skips when the client is not there."""
    folder: Path = getattr(request, "param", ENVIRONMENTS[-1])
    if not python_of(folder).exists():
        pytest.skip(MISSING.format(folder.name))
    return folder


@pytest.fixture(scope="session")
def api_version(environment: Path) -> str:
    """The version that the official client is of, and so its server must be."""
    return version_of_client(environment)


@pytest.fixture
def served(sqlite_engine: Engine, started_store: StartedStore, api_version: str) -> Iterator[Served]:
    """A running server of the official client's version."""
    settings = server_settings(api_version=api_version)
    with running_server(sqlite_engine, settings, password=started_store.password, token=started_store.token) as server:
        yield server


@pytest.fixture(scope="session")
def runner_of() -> Iterator[Callable[[Path], subprocess.Popen[str]]]:
    """Return the process that runs the flows of an environment; each starts once and lasts as long as the run.

    It has imported the client, which takes longer than most flows.
    """
    with ExitStack() as stack:

        @cache
        def start(environment: Path) -> subprocess.Popen[str]:
            command = [str(python_of(environment)), "-W", "ignore", "run.py"]
            variables = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
            process = stack.enter_context(
                subprocess.Popen(
                    command, cwd=FLOWS, env=variables, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
                )
            )
            stack.callback(process.kill)  # to take its modules apart would take it a second
            return process

        yield start


@pytest.fixture
def flow(served: Served, environment: Path, runner_of: Callable[[Path], subprocess.Popen[str]], tmp_path: Path) -> Flow:
    """Run one flow, as a bot that administers or as one that only brings metadata, and return what it returns."""

    def run(name: str, *, is_admin: bool = True) -> Json:
        variables = {"TOCSIN_SERVER": served.url, "TOCSIN_TOKEN": bot_token(served, is_admin=is_admin)}
        return result_of(runner_of(environment), name, variables, tmp_path / "printed")

    return run


def python_of(environment: Path) -> Path:
    """Return the interpreter of an environment."""
    return environment / "bin/python"


@cache
def version_of_client(environment: Path) -> str:
    """Return the version of OpenMetadata that the client of an environment is of."""
    command = [
        str(python_of(environment)),
        "-c",
        "import importlib.metadata as m; print(m.version('openmetadata-ingestion'))",
    ]
    installed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return ".".join([*installed.split(".")[:2], "0"])


def bot_token(served: Served, *, is_admin: bool) -> str:
    """Return a lasting token of the bot of the flows."""
    request = {"name": "connector", "email": "connector@example.org", "isBot": True, "isAdmin": is_admin}
    with served.administrator() as administrator:
        bot = administrator.put("/users", json=request).json()
        token: str = administrator.put(f"/users/generateToken/{bot['id']}").json()["JWTToken"]
    return token


def result_of(runner: subprocess.Popen[str], name: str, environment: dict[str, str], printed: Path) -> Json:
    """Run a flow; fail with what it printed, or return what it returned."""
    assert runner.stdin and runner.stdout
    runner.stdin.write(json.dumps({"flow": name, "environment": environment, "print": str(printed)}) + "\n")
    runner.stdin.flush()
    ended, text = runner.stdout.readline().strip(), printed.read_text() if printed.exists() else ""
    assert ended == "0", f"{ended or runner.poll()}\n{text[-9000:]}"
    line = next(line for line in text.splitlines() if line.startswith("RETURNED "))
    return json.loads(line.removeprefix("RETURNED "))


def events_of(served: Served, bot: str = "connector") -> list[Json]:
    """Return every change event that the bot's writes made, oldest first."""
    with served.administrator() as administrator:
        answer: httpx.Response = administrator.get("/events", params={"userName": bot, "limit": 10_000})
    return list(answer.json()["data"])
