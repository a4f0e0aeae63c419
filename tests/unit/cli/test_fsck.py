"""Tests of the output and exit code of ``tocsin fsck``."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest
from tests.commandline import Run


def _break(store: Path, statement: str) -> None:
    with sqlite3.connect(store) as connection:
        connection.execute(statement)
    connection.close()


def test_a_sound_store_is_said_to_be_sound(run: Run, store: Path) -> None:
    ended = run("fsck", "--deep")
    assert ended.code == 0
    assert ended.out.splitlines()[-1] == "No damage found."
    report = json.loads(run("fsck", "--json").out)
    assert (report["damages"], report["findings"], report["rows"]["entity"]) == ({}, [], 1)


def test_damage_is_named_and_ends_with_seven(run: Run, store: Path) -> None:
    _break(store, "DELETE FROM change_event")
    ended = run("fsck", "--json")
    assert ended.code == 7
    report = json.loads(ended.out)
    assert report["damages"] == {
        "events lost that were already read": 1,
        "version without event": 1,
    }
    assert set(report["findings"][0]) == {"damage", "where", "what", "mend"}
    assert "version without event: 1" in run("fsck").out


def test_rows_that_documents_say_are_mended(run: Run, store: Path) -> None:
    _break(store, "DELETE FROM person")
    ended = run("fsck", "--repair")
    assert ended.code == 0
    assert "Rebuilt the rows of 1 entities.\nNo damage found." in ended.out


@pytest.mark.parametrize("command", [("fsck",), ("lake", "status"), ("admin", "reset-password", "ada")])
def test_where_there_is_no_store_none_is_made_and_none_is_sound(
    run: Run, tmp_path: Path, command: tuple[str, ...]
) -> None:
    ended = run(*command)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith(f"tocsin: There is no store at {tmp_path / 'tocsin-data' / 'tocsin.db'}. ")
    assert not (tmp_path / "tocsin-data").exists()


def test_a_store_that_was_truncated_to_nothing_is_damaged_and_not_made_anew(run: Run, store: Path) -> None:
    os.truncate(store, 0)
    for command in (("fsck",), ("fsck", "--json"), ("admin", "create-user", "bob", "--email", "bob@example.org")):
        ended = run(*command)
        assert (ended.code, ended.out) == (7, "")
        assert f"{store} is empty, but was used up to offset 1 (event " in ended.err
        assert "tocsin restore" in ended.err
        assert store.stat().st_size == 0


def test_a_store_that_was_deleted_is_damaged_and_not_made_anew(run: Run, store: Path) -> None:
    store.unlink()
    for command in (("fsck",), ("admin", "migrate")):
        ended = run(*command)
        assert (ended.code, ended.out) == (7, "")
        assert str(store.with_name("log.mark")) in ended.err
    assert not store.exists()


@pytest.mark.parametrize(
    "remaining_file", ["secrets.key", "checkpoints/match_stream/offsets/3", "lake/segment=x/part-0"]
)
def test_whatever_is_left_of_a_store_says_that_there_was_one(run: Run, store: Path, remaining_file: str) -> None:
    for file in store.parent.iterdir():
        file.unlink()
    file = store.parent / remaining_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('v1\n{}\n{"offset":9,"event":"e9"}')
    assert run("admin", "migrate").code == 7
    file.unlink()
    if remaining_file.startswith("lake"):
        file.parent.rmdir()
    assert run("admin", "migrate").code == 0


def test_a_store_that_ends_before_what_was_seen_is_damaged_until_that_is_accepted(run: Run, store: Path) -> None:
    earlier = store.read_bytes()
    assert run("admin", "create-user", "bob", "--email", "bob@example.org").code == 0
    store.write_bytes(earlier)
    ended = run("fsck")
    assert ended.code == 7
    assert "events lost that were already read: 1" in ended.out
    assert run("admin", "create-user", "eve", "--email", "eve@example.org").code == 0  # another event, at bob's offset
    assert "events lost that were already read: 1" in run("fsck").out
    assert run("fsck", "--accept-loss").code == 0
    assert run("fsck").code == 0


def test_a_checkpoint_that_read_another_log_is_damage(run: Run, store: Path) -> None:
    offsets = store.parent / "checkpoints" / "match_stream" / "offsets"
    offsets.mkdir(parents=True)
    mark = json.loads(store.with_name("log.mark").read_text())
    for number, read in enumerate((mark, {"offset": 1, "event": "another"}, {"offset": 2})):
        (offsets / str(number)).write_text(f"v1\n{{}}\n{json.dumps(read)}")
        assert run("fsck").code == (7 if number else 0), read


def test_what_is_no_database_any_more_is_damaged_in_a_sentence(run: Run, store: Path) -> None:
    store.write_bytes(b"no database at all, " * 500)
    ended = run("fsck")
    assert (ended.code, ended.out) == (7, "")
    assert "cannot be read (file is not a database)" in ended.err
