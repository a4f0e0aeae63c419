"""Fixtures of the CLI acceptance tests: ``tocsin`` as processes, one folder and set of ports per test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.prestarted import Prestarted, start
from tests.sparksession import SHORT_LIVED

from tocsin.cli.ports import any_free_port

SOURCES = Path(__file__).resolve().parents[3] / "src"
WITHIN_S = 60


@dataclass(frozen=True)
class Shell:
    """A folder and an environment to run commands in."""

    folder: Path
    environment: dict[str, str]
    prestarted: Prestarted

    def beside(self, **variables: str) -> Shell:
        """Return a shell of the same folder with more variables."""
        return replace(self, environment={**self.environment, **variables})

    @property
    def port(self) -> int:
        return int(self.environment["TOCSIN_PORT"])

    def with_token(self, token: str) -> Shell:
        return self.beside(TOCSIN_TOKEN=token)

    def run(self, *arguments: str, input_text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command to its end, in a process that need not import anything any more."""
        return self.prestarted.run(arguments, self.folder, self.environment, text=input_text, within_s=WITHIN_S)

    def json(self, *arguments: str, input_text: str = "") -> Any:
        ended = self.run(*arguments, "--json", input_text=input_text)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command(*arguments),
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tocsin", *arguments]


@pytest.fixture(scope="session")
def prestarted_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prestarted]:
    """What runs the short commands of all tests."""
    started = start(tmp_path_factory.mktemp("streams"))
    with started.process:
        yield started


@pytest.fixture
def shell(tmp_path: Path, prestarted_process: Prestarted) -> Shell:
    return shell_in(tmp_path, prestarted_process)


def shell_in(folder: Path, prestarted_process: Prestarted) -> Shell:
    """Return a shell of its own port and store, both of which nobody else uses."""
    port = any_free_port()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TOCSIN_")}
    return Shell(
        folder,
        {
            **environment,
            "PYTHONPATH": str(SOURCES),
            "PYTHONUNBUFFERED": "1",
            "TOCSIN_PORT": str(port),
            "TOCSIN_SERVER": f"http://127.0.0.1:{port}",
            "TOCSIN_DATA_DIR": str(folder / "data"),
            "TOCSIN_SPARK_CONF": json.dumps(SHORT_LIVED),
        },
        prestarted_process,
    )
