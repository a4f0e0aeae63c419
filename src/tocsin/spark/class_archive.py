"""Archive of the classes that Spark's driver loads: Java maps it and starts in half the processor time.

Java lists the classes of a first start, and a process of its own writes the archive from that list, once for each
installation of Java and Spark. At each start Java itself compares the archive with its version, the class path and
checksums, and loads the classes from their jars where anything differs.
*Source:* the ``java`` command, "Class Data Sharing". Next: ``spark/jvm.py``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyspark

_FOLDER = "spark-classes"
_PARTS_OF_HOME = ("bin", "conf", "jars", "sbin")
_LEAST_FREE_BYTES = 2 << 30
"""Memory that must be free for writing an archive, which takes 0.9 GiB."""
_LOWEST_PRIORITY = 19
_LOOK_EVERY_S = 0.2


@dataclass(frozen=True)
class ClassArchive:
    """A folder with a home of Spark, whose path is part of the class path, the archive, and lists of classes."""

    folder: Path

    @property
    def home(self) -> Path:
        """The home of Spark."""
        return self.folder / "home"

    @property
    def path(self) -> Path:
        """The archive."""
        return self.folder / "classes.jsa"

    def options(self) -> list[str]:
        """Return Java's options for a start from the archive; without one, for a list of the classes it loads."""
        if not self.path.is_file():
            return [f"-XX:DumpLoadedClassList={self._list()}"]
        checks = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+VerifySharedSpaces", "-Xlog:cds=off", "-Xlog:class+path=off")
        return [f"-XX:SharedArchiveFile={self.path}", *checks]

    def is_mapped_in(self, maps: Path) -> bool:
        """Return whether a process with these maps of memory uses the archive; also where a system has none."""
        try:
            return str(self.path) in maps.read_text()
        except OSError:
            return True

    def discard(self) -> bool:
        """Remove the archive; return whether there was one."""
        with suppress(OSError):
            self.path.unlink()
            return True
        return False

    def write(self, java: Path, class_path: str, stopping: threading.Event) -> bool:
        """Write the archive of the classes that this process's Java has loaded; return whether it is there now.

        Archives of other installations are removed. Nothing is left when ``stopping`` is set or the disk is full.
        """
        if self.path.is_file():
            return True
        part, classes = self.folder / "classes.part", self.folder / "classes.list"
        try:
            self._remove_others()
            text = self._list().read_text()
            classes.write_text(text[: text.rfind("\n") + 1])  # Java may be writing the last line
            if has_memory(Path("/proc/meminfo")) and _dump(java, class_path, classes, part, stopping):
                part.replace(self.path)
        except OSError:  # without an archive the next start is slower, and tries again
            return False
        finally:
            for leftover in (part, classes, self._list()):
                with suppress(OSError):
                    leftover.unlink()
        return self.path.is_file()

    def _list(self) -> Path:
        return self.folder / f"{os.getpid()}.list"

    def _remove_others(self) -> None:
        for folder in self.folder.parent.iterdir():
            if folder != self.folder:
                shutil.rmtree(folder, ignore_errors=True)
        for leftover in self.folder.glob("*.list"):
            if leftover != self._list():
                leftover.unlink(missing_ok=True)


def archive_in(data_dir: Path) -> ClassArchive | None:
    """Return the archive of this machine's Java and Spark in a data folder; None where it cannot be kept."""
    spark_home = Path(pyspark.__file__).parent
    java = _java()
    # A class path separates folders by colons.
    if java is None or os.pathsep in str(data_dir) or "SPARK_HOME" in os.environ:
        return None
    try:
        archive = ClassArchive(data_dir.absolute() / _FOLDER / _key(java, spark_home, data_dir.absolute()))
        archive.home.mkdir(parents=True, exist_ok=True)
        link_home(spark_home, archive.home)
        if not os.access(archive.folder, os.W_OK):
            return None
    except OSError:
        return None
    return archive


def link_home(installed: Path, home: Path) -> None:
    """Let ``home`` have all parts of the installed Spark but its zipped Python library."""
    for name in _PARTS_OF_HOME:
        if (installed / name).is_dir():
            with suppress(FileExistsError):
                (home / name).symlink_to(installed / name)


def has_memory(meminfo: Path) -> bool:
    """Return whether the machine has room for writing an archive; also where it does not say."""
    with suppress(OSError):
        for line in meminfo.read_text().splitlines():
            name, _, amount = line.partition(":")
            if name == "MemAvailable":
                return int(amount.split()[0]) * 1024 >= _LEAST_FREE_BYTES
    return True


def _java() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    return Path(program).resolve() if program else None


def _key(java: Path, installed: Path, data_dir: Path) -> str:
    """Return what changes with another Java, another Spark, or another place of the data folder, as a name."""
    files = (java, java.parents[1] / "release", installed / "jars")
    times = [f"{path} {path.stat().st_mtime_ns}" for path in files if path.exists()]
    return hashlib.sha256("\n".join([pyspark.__version__, str(data_dir), *times]).encode()).hexdigest()[:16]


def _dump(java: Path, class_path: str, classes: Path, archive: Path, stopping: threading.Event) -> bool:
    """Let a Java of its own, at the lowest priority, write the archive; return whether it has."""
    options = ("-Xshare:dump", "-XX:+IgnoreUnrecognizedVMOptions", "-Xmx256m")
    files = (f"-XX:SharedClassListFile={classes}", f"-XX:SharedArchiveFile={archive}")
    process = subprocess.Popen(
        [str(java), *options, *files, "-cp", class_path],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, process.pid, _LOWEST_PRIORITY)
    while process.poll() is None:
        if stopping.wait(_LOOK_EVERY_S):
            process.kill()
            process.wait()
            return False
    return process.returncode == 0
