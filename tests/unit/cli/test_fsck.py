"""Does ``tocsin fsck`` say what it found, to people and to programs, and end accordingly?"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from tests.unit.cli.conftest import Run


@pytest.fixture
def store(run: Run, tmp_path: Path) -> Path:
    """A store with one person in it."""
    assert run("admin", "create-user", "ada", "--email", "ada@example.org").code == 0
    return tmp_path / "tocsin-data" / "tocsin.db"


def _break(store: Path, statement: str) -> None:
    with sqlite3.connect(store) as connection:
        connection.execute(statement)
    connection.close()


def test_a_sound_store_is_said_to_be_sound(run: Run, store: Path) -> None:
    ended = run("fsck", "--deep")
    assert ended.code == 0
    assert ended.out.splitlines()[-1] == "The store is sound."
    said = json.loads(run("fsck", "--json").out)
    assert (said["damages"], said["findings"], said["rows"]["entity"]) == ({}, [], 1)


def test_damage_is_named_and_ends_with_seven(run: Run, store: Path) -> None:
    _break(store, "DELETE FROM change_event")
    ended = run("fsck", "--json")
    assert ended.code == 7
    said = json.loads(ended.out)
    assert said["damages"] == {"version without event": 1, "reference to nothing": 2}
    assert set(said["findings"][0]) == {"damage", "where", "what", "mend"}
    assert "version without event: 1" in run("fsck").out


def test_rows_that_documents_say_are_mended(run: Run, store: Path) -> None:
    _break(store, "DELETE FROM person")
    ended = run("fsck", "--repair")
    assert ended.code == 0
    assert "Made the rows of 1 entities anew.\nThe store is sound." in ended.out


@pytest.mark.parametrize("command", [("fsck",), ("lake", "status"), ("admin", "reset-password", "ada")])
def test_where_there_is_no_store_none_is_made_and_none_is_sound(
    run: Run, tmp_path: Path, command: tuple[str, ...]
) -> None:
    ended = run(*command)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith(f"tocsin: There is no store at {tmp_path / 'tocsin-data' / 'tocsin.db'}. ")
    assert not (tmp_path / "tocsin-data").exists()
