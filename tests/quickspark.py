"""What makes Spark start quickly in tests: a home without zipped Python, options of Java, an archive of its classes.

Spark puts the zip of its Python library before the installed one; a zip holds no compiled modules, so that each Python
process that Spark starts would compile 60 of them again. Java loads 20,000 classes at each start; from an archive it
maps them. Both are in ``.pytest_cache``. In the second run of a checkout the first test that needs Spark makes the
archive, for this Java and Spark: that takes 40 s of processor time, each start from it 4 s less, and a run of all tests
starts Java seven times.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from tocsin.cli.java import java_program

ROOT = Path(__file__).resolve().parents[1]
_FOLDER = ROOT / ".pytest_cache" / "spark"
_HOME, _ARCHIVE, _MADE_FOR = _FOLDER / "home", _FOLDER / "classes.jsa", _FOLDER / "made_for.json"
_LAST_RUN = _FOLDER / "last_run"
_WITHIN_S = 240

_ALWAYS = (
    f"-Dlog4j2.configurationFile={files('tocsin.spark') / 'log4j2.properties'}"
    " -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=256m -Xmn256m -XX:ReservedCodeCacheSize=256m"
    " -XX:MinHeapFreeRatio=40 -XX:MaxHeapFreeRatio=70"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote -Xlog:disable"
)
QUICK_JAVA = f"{_ALWAYS} -XX:SharedArchiveFile={_ARCHIVE}"
"""What Java gains from that lives for seconds: one compiler, one collector, room for Spark's classes at once and for
what is compiled of them (of one compiler's 48 MB, two dozen tests fill most, and then Java interprets), no
verification of Spark's own classes, and the archive of them; Java does without one that is missing or does not fit."""


def use_home() -> None:
    """Let Spark start from a home that holds its programs and jars alone; one that the environment names is kept."""
    spark = find_spec("pyspark")
    if spark is None or spark.origin is None or "SPARK_HOME" in os.environ:
        return
    _HOME.mkdir(parents=True, exist_ok=True)
    for name in ("bin", "jars"):
        original = Path(spark.origin).with_name(name)
        if not (_HOME / name).exists():
            link = _HOME / f"{name}-{os.getpid()}"
            link.symlink_to(original)
            link.rename(_HOME / name)  # at once: another process may do the same
    os.environ["SPARK_HOME"] = str(_HOME)


@cache
def make_archive() -> None:
    """Make the archive unless this Java and this Spark have one, another process makes it, or this run is the first."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with (_FOLDER / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        dependencies = _what_it_depends_on()
        if dependencies is None or (_ARCHIVE.exists() and _MADE_FOR.exists() and _MADE_FOR.read_text() == dependencies):
            return
        if not _has_earlier_run():
            return
        making = _FOLDER / "making.jsa"
        making.unlink(missing_ok=True)
        try:
            _run_once(f"{_ALWAYS} -XX:ArchiveClassesAtExit={making}")
        except subprocess.TimeoutExpired:  # a busy machine: without an archive, Spark starts slowly, and works
            return
        making.rename(_ARCHIVE)
        _MADE_FOR.write_text(dependencies)


def _has_earlier_run() -> bool:
    """Return whether Spark was started here in an earlier run of tests; note that it is in this one."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    last_run = _LAST_RUN.read_text() if _LAST_RUN.exists() else run
    _LAST_RUN.write_text(run)
    return last_run != run


def _what_it_depends_on() -> str | None:
    java = java_program()
    if java is None or find_spec("pyspark") is None:
        return None
    java_version = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    return json.dumps([java_version, version("pyspark"), os.environ.get("SPARK_HOME")])


def _run_once(java_options: str) -> None:
    """Run the pipeline's main query in a process of its own, with these options of Java, until Java has ended."""
    places = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    command = [sys.executable, "-m", __name__, java_options]
    environment = {**os.environ, "PYTHONPATH": places}
    subprocess.run(command, cwd=ROOT, env=environment, timeout=_WITHIN_S, check=True, capture_output=True)


def main(java_options: str, folder: Path) -> None:
    """Take one change through the pipeline's main query."""
    from pyspark import SparkContext
    from tests.company import SmallCompany
    from tests.spark.test_match_stream import OWNERS_MAIL, has_caught_up, running
    from tests.sparksession import SHORT_LIVED
    from tests.waiting import until

    from tocsin.spark.session import open_session
    from tocsin.store.database.engine import open_engine
    from tocsin.store.database.schema import migrate

    engine = open_engine(f"sqlite:///{folder / 'tocsin.db'}")
    migrate(engine)
    company = SmallCompany(engine)
    company.alert("change", [OWNERS_MAIL], "fieldChanged == 'description'")
    company.describe("orders", "new")
    session = open_session(master="local[2]", conf={**SHORT_LIVED, "spark.driver.extraJavaOptions": java_options})
    with running(session, engine, folder / "match"):
        until(lambda: has_caught_up(engine), within_s=120)
    session.stop()
    java = SparkContext._gateway.proc  # type: ignore[union-attr]  # it writes the archive when it ends
    java.stdin.close()
    java.wait()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as session_folder:
        main(sys.argv[1], Path(session_folder))
