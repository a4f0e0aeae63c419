"""Archives of classes that Java itself writes and reads: also damaged ones, and those of another class path."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from tocsin.spark.class_archive import ClassArchive, archive_in

pytestmark = pytest.mark.spark

JAVA = Path(shutil.which("java") or "java")
CLASS_PATH = "."


@pytest.fixture(scope="module")
def written_archive(tmp_path_factory: pytest.TempPathFactory) -> ClassArchive:
    """Return an archive of the classes that a start of Java loads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SPARK_HOME", raising=False)
        archive = archive_in(tmp_path_factory.mktemp("data"))
    assert archive is not None
    assert start_java(archive).returncode == 0
    assert (archive.folder / f"{os.getpid()}.list").stat().st_size
    assert archive.write(JAVA, CLASS_PATH, threading.Event())
    return archive


@pytest.fixture
def archive(written_archive: ClassArchive, tmp_path: Path) -> ClassArchive:
    """Return a copy of it, to be damaged."""
    copied = ClassArchive(tmp_path)
    shutil.copyfile(written_archive.path, copied.path)
    return copied


def start_java(archive: ClassArchive, class_path: str = CLASS_PATH) -> subprocess.CompletedProcess[str]:
    """Return how a Java ended that started with an archive's options."""
    options = (*archive.options(), "-Xlog:class+load:file=/dev/stderr", "-cp", class_path)
    return subprocess.run(
        [JAVA, *options, "-version"], capture_output=True, text=True, timeout=60, check=False, env={"LANG": "C"}
    )


def test_java_starts_from_its_archive(archive: ClassArchive) -> None:
    assert "shared objects file" in start_java(archive).stderr


@pytest.mark.parametrize("damage", ["empty", "cut", "no archive", "flipped"])
def test_java_starts_without_an_archive_that_is_damaged(archive: ClassArchive, damage: str) -> None:
    content = bytearray(archive.path.read_bytes())
    middle = len(content) // 2
    match damage:
        case "empty":
            content.clear()
        case "cut":
            del content[middle:]
        case "no archive":
            content[:64] = bytes(64)
        case _:
            content[middle : middle + 4096] = bytes(byte ^ 0xFF for byte in content[middle : middle + 4096])
    archive.path.write_bytes(content)
    process = start_java(archive)
    assert process.returncode == 0, process.stdout + process.stderr[-2000:]
    assert process.stdout == ""


def test_java_starts_without_an_archive_of_another_class_path(archive: ClassArchive) -> None:
    assert start_java(archive, class_path="/other.jar").returncode == 0
