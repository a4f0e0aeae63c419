"""Tests of ``tocsin admin secret``: secret settings in the store, encrypted, and never shown."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from tests.commandline import Run

PASSWORD = "correct-horse"


def test_a_secret_is_stored_and_removed_without_being_shown(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\nnext line"))
    ended = run("admin", "secret", "kafka_password")
    assert (ended.code, PASSWORD in ended.out + ended.err) == (0, False)
    stored = b"".join(path.read_bytes() for path in (tmp_path / "tocsin-data").glob("tocsin.db*"))
    assert PASSWORD.encode() not in stored
    assert '"removed": true' in run("admin", "secret", "kafka_password", "--remove", "--json").out
    assert '"removed": false' in run("admin", "secret", "kafka_password", "--remove", "--json").out


@pytest.mark.parametrize(
    ("setting", "entered", "says"),
    [
        ("smtp_host", "a", "kafka_password"),
        ("kafka_password", "", "empty"),
        ("kafka_password", "\udcff\udcfe", "not UTF-8"),
    ],
)
def test_what_cannot_be_stored_is_refused(
    run: Run, monkeypatch: pytest.MonkeyPatch, setting: str, entered: str, says: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(entered))
    ended = run("admin", "secret", setting)
    assert ended.code != 0
    assert says in ended.err
    assert "Traceback" not in ended.err
