"""Tests of the output of ``tocsin backup`` and ``tocsin restore``."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.commandline import Run


@pytest.fixture(autouse=True)
def monday(run: Run, store: Path, tmp_path: Path) -> None:
    """A backup of the store in ``monday``."""
    ended = run("backup", "monday", "--json")
    assert (ended.code, ended.err) == (0, "")
    report = json.loads(ended.out)
    assert (report["folder"], report["events"]) == (str(tmp_path / "monday"), 1)


@pytest.mark.parametrize("damage", ["truncated", "deleted", "overwritten"])
def test_a_store_that_was_damaged_comes_back(run: Run, store: Path, damage: str) -> None:
    if damage == "deleted":
        store.unlink()
    else:
        os.truncate(store, 0)
        store.write_bytes(b"no database " * 100 if damage == "overwritten" else b"")
    assert run("fsck").code == 7
    ended = run("restore", "monday", *(["--force"] if damage == "overwritten" else []))
    assert ended.code == 0
    assert run("fsck", "--deep").out.splitlines()[-1] == "No damage found."


def test_a_store_that_was_used_is_not_written_over_by_mistake(run: Run, store: Path) -> None:
    assert run("admin", "create-user", "bob", "--email", "bob@example.org").code == 0
    content = store.read_bytes()
    result = run("restore", "monday")
    assert result.code == 5
    assert "--force" in result.err
    assert store.read_bytes() == content
    result = run("restore", "monday", "--force", "--json")
    assert result.code == 0
    (former_store,) = store.parent.glob("tocsin.db.before-*")
    assert json.loads(result.out)["kept"] == str(former_store)
    with closing(sqlite3.connect(former_store)) as connection:
        assert connection.execute("SELECT name FROM person ORDER BY name").fetchall() == [("ada",), ("bob",)]
    assert run("fsck", "--deep").code == 0
    assert run("admin", "reset-password", "bob").code == 3


def test_a_backup_is_restored_where_there_is_nothing_yet(
    run: Run, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOCSIN_DATA_DIR", str(tmp_path / "elsewhere"))
    assert run("restore", "monday").code == 0
    assert run("fsck", "--deep").code == 0
    assert run("admin", "reset-password", "ada").code == 0


def test_what_is_no_backup_is_said_to_be_none(run: Run, store: Path, tmp_path: Path) -> None:
    for folder in ("nowhere", str(tmp_path), str(store)):
        ended = run("restore", folder, "--force")
        assert (ended.code, ended.out) == (3, "")
        assert "contains no complete backup" in ended.err
    assert run("backup", "monday").code == 5
