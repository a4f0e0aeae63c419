"""Tests of the data folder's permissions."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tocsin.errors import InvalidSetting
from tocsin.store.database.engine import open_engine, writing
from tocsin.store.database.folder import make_private


def modes(folder: Path) -> dict[str, int]:
    """Return the modes of a folder and of its files, by name."""
    return {one.name: stat.S_IMODE(one.lstat().st_mode) for one in (folder, *folder.iterdir())}


def test_a_new_folder_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "data"
    before = os.umask(0o022)
    try:
        assert make_private(folder) is None
    finally:
        os.umask(before)
    assert modes(folder) == {"data": 0o700}


def test_an_open_folder_and_what_is_in_it_become_private(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    folder.mkdir()
    for name in ("tocsin.db", "tocsin.db-wal", "tocsin.db-writer"):
        (folder / name).write_text("")
        (folder / name).chmod(0o644)
    (folder / "checkpoint").mkdir(mode=0o755)
    elsewhere.write_text("")
    elsewhere.chmod(0o644)
    (folder / "link").symlink_to(elsewhere)
    folder.chmod(0o755)
    assert str(folder) in (make_private(folder) or "")
    modes_by_name = modes(folder)
    assert (modes_by_name.pop("data"), modes_by_name.pop("checkpoint")) == (0o700, 0o700)
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o644, "what a link leads to is somebody else's"
    del modes_by_name["link"]
    assert set(modes_by_name.values()) == {0o600}
    assert make_private(folder) is None, "nothing is left to change"


def test_a_folder_that_everybody_uses_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    with pytest.raises(InvalidSetting, match=r"data_dir.*for Tocsin only"):
        make_private(shared)
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777


def test_a_folder_of_another_account_is_refused_with_the_way_out(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(0o755)
    with pytest.raises(InvalidSetting, match=f"another account.*chmod 700 {folder}"):
        make_private(folder, account=folder.stat().st_uid + 1)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


def test_no_other_account_can_lock_out_writers(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path}/tocsin.db")
    with writing(engine) as connection:
        connection.exec_driver_sql("CREATE TABLE t (a)")
    engine.dispose()
    modes_by_name = modes(tmp_path)
    assert (modes_by_name["tocsin.db-next"], modes_by_name["tocsin.db-writer"]) == (0o600, 0o600)
