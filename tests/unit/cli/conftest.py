"""Fixtures of the CLI unit tests: running a command in-process, with its output and exit code."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.commandline import Run, runner
from tests.unit.small_server import SmallServer


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], small_server: SmallServer, tmp_path: Path
) -> Run:
    """Run ``tocsin`` with arguments, in an empty folder, with the small server as its server."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOCSIN_SERVER", small_server.url)
    return runner(monkeypatch, capsys)


@pytest.fixture
def store(run: Run, sqlite_template: Path, tmp_path: Path) -> Path:
    """The file of a store with one person in it, in the folder that commands use by default."""
    path = tmp_path / "tocsin-data" / "tocsin.db"
    path.parent.mkdir()
    path.write_bytes(sqlite_template.read_bytes())
    assert run("admin", "create-user", "ada", "--email", "ada@example.org").code == 0
    return path
