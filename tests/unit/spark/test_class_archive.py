"""Archive of Java's classes: where it is kept, when it is not, and what is left of one that is not written."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

from tocsin.spark.class_archive import ClassArchive, archive_in, has_memory

pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="needs a Java")

_FAKE = """#!/bin/sh
for option in "$@"; do case "$option" in -XX:SharedArchiveFile=*) archive="${option#*=}" ;; esac; done
cp "$(dirname "$archive")/classes.list" "$archive"
exit %d
"""


@pytest.fixture(autouse=True)
def _without_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.delenv("JAVA_HOME", raising=False)


@pytest.fixture
def archive(tmp_path: Path) -> ClassArchive:
    """Return the archive of a folder, with the list that a start of Java has left."""
    archive = archive_in(tmp_path)
    assert archive is not None
    (archive.folder / f"{os.getpid()}.list").write_text("java/lang/Object\njava/la")
    return archive


def fake_java(folder: Path, code: int = 0) -> Path:
    """Return a program that archives the list it is given, and ends with ``code``."""
    program = folder / "fake-java"
    program.write_text(_FAKE % code)
    program.chmod(0o700)
    return program


def files_of(archive: ClassArchive) -> set[str]:
    """Return the names in an archive's folder."""
    return {path.name for path in archive.folder.iterdir()}


def test_a_first_start_lists_classes_and_the_next_maps_their_archive(archive: ClassArchive, tmp_path: Path) -> None:
    assert archive.options() == [f"-XX:DumpLoadedClassList={archive.folder / f'{os.getpid()}.list'}"]
    assert archive.write(fake_java(tmp_path), "a.jar", threading.Event())
    assert archive.path.read_text() == "java/lang/Object\n"
    assert f"-XX:SharedArchiveFile={archive.path}" in archive.options()
    assert "-XX:+VerifySharedSpaces" in archive.options()
    assert files_of(archive) == {"home", "classes.jsa"}
    assert archive_in(tmp_path) == archive


def test_what_is_not_written_leaves_nothing(archive: ClassArchive, tmp_path: Path) -> None:
    assert not archive.write(fake_java(tmp_path, code=1), "a.jar", threading.Event())
    assert not archive.write(tmp_path / "no-java", "a.jar", threading.Event())
    assert files_of(archive) == {"home"}


def test_a_pipeline_that_stops_waits_for_no_archive(archive: ClassArchive, tmp_path: Path) -> None:
    program = tmp_path / "slow-java"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o700)
    stopping = threading.Event()
    stopping.set()
    assert not archive.write(program, "a.jar", stopping)
    assert files_of(archive) == {"home"}


def test_archives_of_other_installations_go(archive: ClassArchive, tmp_path: Path) -> None:
    earlier = archive.folder.parent / "0123456789abcdef"
    earlier.mkdir()
    (earlier / "classes.jsa").touch()
    (archive.folder / "1.list").touch()
    assert archive.write(fake_java(tmp_path), "a.jar", threading.Event())
    assert not earlier.exists()
    assert files_of(archive) == {"home", "classes.jsa"}


def test_another_java_or_another_spark_has_an_archive_of_its_own(
    tmp_path: Path, archive: ClassArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = tmp_path / "jdk/bin/java"
    java.parent.mkdir(parents=True)
    java.touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    jdk_archive = archive_in(tmp_path)
    (tmp_path / "jdk/release").write_text("JAVA_VERSION=21")
    updated = archive_in(tmp_path)
    assert jdk_archive is not None
    assert updated is not None
    assert len({archive.folder, jdk_archive.folder, updated.folder}) == 3


def test_a_data_folder_that_was_moved_begins_another_archive(archive: ClassArchive, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(archive.folder.parent, moved / archive.folder.parent.name, symlinks=True)
    moved_archive = archive_in(moved)
    assert moved_archive is not None
    assert moved_archive.folder.name != archive.folder.name


def test_no_archive_is_kept_where_it_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    assert archive_in(tmp_path / "file") is None
    assert archive_in(tmp_path / "a:b") is None
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert archive_in(tmp_path) is None


def test_an_archive_is_used_where_memory_maps_it(archive: ClassArchive, tmp_path: Path) -> None:
    maps = tmp_path / "maps"
    assert archive.is_mapped_in(maps)
    maps.write_text("7f00-7f01 r--p 00000000 00:00 1 /other.jsa\n")
    assert not archive.is_mapped_in(maps)
    maps.write_text(f"7f00-7f01 r--p 00000000 00:00 1 {archive.path}\n")
    assert archive.is_mapped_in(maps)


def test_an_archive_that_java_does_not_start_from_can_be_discarded(archive: ClassArchive) -> None:
    assert not archive.discard()
    archive.path.touch()
    assert archive.discard()
    assert not archive.path.exists()


@pytest.mark.parametrize(
    ("text", "is_enough"), [("MemAvailable: 4194304 kB\n", True), ("MemAvailable: 1000 kB\n", False), ("", True)]
)
def test_a_machine_without_free_memory_writes_none(tmp_path: Path, text: str, *, is_enough: bool) -> None:
    (tmp_path / "meminfo").write_text(text)
    assert has_memory(tmp_path / "meminfo") is is_enough
    assert has_memory(tmp_path / "none")
