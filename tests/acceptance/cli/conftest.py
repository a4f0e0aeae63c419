"""Fixtures of the CLI acceptance tests: ``tocsin`` as separate processes, one folder and set of ports per test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.sparksession import SHORT_LIVED

from tocsin.cli.ports import any_free_port

SOURCES = Path(__file__).resolve().parents[3] / "src"
WITHIN_S = 60


@dataclass(frozen=True)
class Shell:
    """A folder and an environment to run commands in."""

    folder: Path
    environment: dict[str, str]

    @property
    def port(self) -> int:
        return int(self.environment["TOCSIN_PORT"])

    def with_token(self, token: str) -> Shell:
        return Shell(self.folder, {**self.environment, "TOCSIN_TOKEN": token})

    def run(self, *arguments: str, input_text: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*arguments),
            cwd=self.folder,
            env=self.environment,
            input=input_text,
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )

    def json(self, *arguments: str, input_text: str | None = None) -> Any:
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


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return shell_in(tmp_path)


def shell_in(folder: Path) -> Shell:
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
    )
