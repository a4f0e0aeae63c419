"""The files of a lake in a folder."""

from __future__ import annotations

import io
import stat
from pathlib import Path
from typing import BinaryIO

import pytest

from tocsin.lake_files.address import copy_segment, files_at
from tocsin.lake_files.folder import FolderFiles


def test_a_segment_is_copied_with_all_its_files_for_their_owner_alone(tmp_path: Path) -> None:
    source, target = files_at(str(tmp_path / "lake")), FolderFiles(tmp_path / "copy")
    for path in ("segment=a/date=2026-01-01/part-0.parquet", "segment=a/_SUCCESS", "segment=b/_SUCCESS"):
        source.write(path, io.BytesIO(path.encode()))
    assert copy_segment("a", source, target) == len("segment=a/date=2026-01-01/part-0.parquet")
    assert target.segment_ids() == ["a"]
    assert target.is_complete("a")
    file = tmp_path / "copy" / "segment=a" / "date=2026-01-01" / "part-0.parquet"
    assert file.read_text() == "segment=a/date=2026-01-01/part-0.parquet"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


class FullFolder(FolderFiles):
    """A folder that has room for one more file."""

    def write(self, path: str, content: BinaryIO) -> None:
        if self.segment_ids():
            raise OSError("No space left on device")
        super().write(path, content)


def test_a_segment_that_is_copied_halfway_does_not_look_complete(tmp_path: Path) -> None:
    source, target = FolderFiles(tmp_path / "lake"), FullFolder(tmp_path / "copy")
    for path in ("segment=a/_SUCCESS", "segment=a/date=2026-01-01/part-0.parquet"):
        source.write(path, io.BytesIO(path.encode()))
    target.root.mkdir()
    with pytest.raises(OSError, match="No space left"):
        copy_segment("a", source, target)
    assert target.segment_ids() == ["a"]
    assert not target.is_complete("a")


def test_a_segment_that_was_not_written_to_its_end_is_there_but_not_complete(tmp_path: Path) -> None:
    files = files_at(str(tmp_path))
    files.write("segment=a/date=2026-01-01/part-0.parquet", io.BytesIO(b"half"))
    assert files.segment_ids() == ["a"]
    assert not files.is_complete("a")


def test_a_removed_segment_has_no_files_and_may_be_removed_again(tmp_path: Path) -> None:
    files = files_at(str(tmp_path))
    files.write("segment=a/_SUCCESS", io.BytesIO(b""))
    files.remove_segment("a")
    files.remove_segment("a")
    assert FolderFiles(tmp_path).exists()
    assert files.segment_ids() == []
    assert files.files_of("a") == []


def test_a_lake_that_was_never_written_is_not_there(tmp_path: Path) -> None:
    assert not FolderFiles(tmp_path / "none").exists()
