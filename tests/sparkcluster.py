"""Standalone Spark cluster on loopback, started by the commands of ``docs/cluster.md``.

Their folders, addresses and sizes are replaced by those of a test; everything else is as printed there.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home
from sqlalchemy import Engine
from tests.quickspark import QUICK_JAVA
from tests.sparksession import SHORT_LIVED
from tests.waiting import until

from tocsin.cli.ports import any_free_port
from tocsin.flow.eventlog.readers import MATCH_STREAM, STREAK_STREAM
from tocsin.store.eventlog.log import EventLog

ROOT = Path(__file__).resolve().parents[1]
GUIDE = ROOT / "docs/cluster.md"
EXECUTORS_NAME = "executors"
"""What PostgreSQL calls the connections of executors."""
_STARTS_WITHIN_S, _ENDS_WITHIN_S = 120, 60
_QUICK_JAVA = QUICK_JAVA.partition(" ")[2]
"""Without the quiet log of the driver: the cluster's processes log as the guide's do."""
_BLOCK = re.compile(r"^```(?:sh|properties)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MASTER_RUNS, _WORKER_RUNS = "Starting Spark master at", "Successfully registered with master"
_EXPLAINED = re.compile(
    r"$|\S+Z \[info|WARNING: Using incubator modules: jdk\.incubator\.vector$"
    r"|Starting Streaming TransformWithStateInPandas Python worker\.$"
    r"|.*(SPARK_JOB_CANCELLED|Aborting job)|\s+at org\."
)
"""What a driver prints, as the guide says."""
_OF_PYTHON = re.compile(r"Traceback|.*(No module named|PySpark daemon failed)")
"""What executors, which log as Spark does by default, must not print."""


@dataclass(frozen=True)
class StandaloneCluster:
    """A running cluster: its secret, the folder of its files, and its processes, the master first."""

    secret: str
    folder: Path
    processes: tuple[subprocess.Popen[bytes], ...]
    pipeline_command: str

    @contextmanager
    def pipeline(self, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run the pipeline, with further environment variables; it is asked to end at the end."""
        with _running(self.pipeline_command, self.folder / "driver.log", variables) as process:
            yield process

    def driver_lines(self) -> list[str]:
        """Return what the pipeline has printed."""
        return (self.folder / "driver.log").read_text().splitlines()

    def unexplained_lines(self) -> list[str]:
        """Return what the driver has printed and the guide does not tell of, and Python's errors on executors."""
        of_executors = [
            line for file in self.folder.glob("worker-*/app-*/*/std*") for line in file.read_text().splitlines()
        ]
        unexplained = [line for line in self.driver_lines() if not _EXPLAINED.match(line)]
        return unexplained + [line for line in of_executors if _OF_PYTHON.match(line)]


@contextmanager
def guided_cluster(folder: Path, database_url: str) -> Iterator[StandaloneCluster]:
    """Start a master and two workers of one core by the guide; end them, and their executors, at the end."""
    secret, port = secrets.token_hex(32), any_free_port()
    install, properties, master, worker, pipeline = (
        _localize(block, folder, secret, port, database_url) for block in _BLOCK.findall(GUIDE.read_text())
    )
    assert "pip install" in install, "make_environment stands for it"
    make_environment(folder / "opt", make_wheel(folder))
    file = folder / "spark.properties"
    file.touch(0o600)
    file.write_text(properties)
    with ExitStack() as stack:
        processes = [stack.enter_context(_ready(master, folder / "master.log", _MASTER_RUNS))]
        for number in (1, 2):
            command = worker.replace("/worker", f"/worker-{number}")
            processes.append(stack.enter_context(_ready(command, folder / f"worker-{number}.log", _WORKER_RUNS)))
        yield StandaloneCluster(secret, folder, tuple(processes), pipeline)


def is_through(engine: Engine) -> bool:
    """Return whether the queries that notify have read the whole log."""
    log = EventLog(engine)
    return all(log.progress(name) == log.readable_end() for name in (MATCH_STREAM, STREAK_STREAM))


def make_wheel(folder: Path) -> Path:
    """Build Tocsin's wheel into a folder."""
    words = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("tocsin-*.whl")
    return wheel


def make_environment(folder: Path, wheel: Path | None) -> None:
    """Make an environment with the libraries of the tests' own, and Tocsin from a ``wheel``.

    Links stand for an installation, which takes minutes; they do not lead to the Tocsin of the tests.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    if wheel is not None:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(packages)
    spark_class = Path(_find_spark_home()) / "bin/spark-class"
    _write_program(folder / "bin/spark-class", f'#!/bin/sh\nexec {spark_class} "$@"\n')
    _write_program(folder / "bin/tocsin", f"#!{folder}/bin/python\nfrom tocsin.cli.main import main\nmain()\n")


def _write_program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def _localize(block: str, folder: Path, secret: str, port: int, database_url: str) -> str:
    """Return a block of the guide with what it is on this machine."""
    quick = {**SHORT_LIVED, "spark.executor.extraJavaOptions": _QUICK_JAVA}
    conf = {**quick, "spark.executor.memory": "512m", "spark.executorEnv.PGAPPNAME": EXECUTORS_NAME}
    replacements = {
        "postgresql+psycopg://tocsin:password@db.example.com/tocsin": f"'{database_url}'",
        "spark.example.com --port 7077": f"127.0.0.1 --port {port}",
        "spark.example.com:7077": f"127.0.0.1:{port}",
        "driver.example.com": "127.0.0.1",
        "/var/lib/tocsin/spark": f"{folder}/worker",
        "/etc/tocsin": str(folder),
        "/opt/tocsin": f"{folder}/opt",
        "/shared/tocsin": f"{folder}/shared",
        "<openssl rand -hex 32>": secret,
        "<the secret>": secret,
        "--webui-port 8080": "--webui-port 0",
        "--webui-port 8081": "--webui-port 0",
        "--cores 2 --memory 4g": "--cores 1 --memory 1g",
        '"spark.executor.memory": "2g", "spark.cores.max": "4"': json.dumps(conf)[1:-1],
    }
    for before, after in replacements.items():
        block = block.replace(before, after)
    assert "example.com" not in block
    return block


@contextmanager
def _ready(command: str, log: Path, says: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process of the cluster; give it once its log says that it runs."""
    with _running(command, log, {"SPARK_DAEMON_JAVA_OPTS": _QUICK_JAVA}) as process:
        until(lambda: says in log.read_text(), within_s=_STARTS_WITHIN_S)
        yield process


@contextmanager
def _running(command: str, log: Path, variables: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run the last line of a script in place of the shell; it is asked to end at the end."""
    *settings, program = command.strip().replace("\\\n", " ").rsplit("\n", 1)
    inherited_variables = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYSPARK_PYTHON")
    }
    environment = {
        **inherited_variables,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "TOCSIN_DATA_DIR": str(log.parent / "data"),
        **variables,
    }
    script = "\n".join([*settings, f"exec {program}"])
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["bash", "-c", script], stdout=output, stderr=output, cwd=log.parent, env=environment
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(_ENDS_WITHIN_S)
