"""Development broker: one Kafka process on this machine, over files that are fetched once.

The files come from Maven through Ivy, which is part of PySpark, so whatever mirror Ivy is set to is used.
"""

from __future__ import annotations

import fcntl
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tocsin.errors import Unavailable

VERSION = "4.4.0"
_ARTEFACT = ("org.apache.kafka", "kafka_2.13", VERSION)
FETCHED_MB = 43
"""Megabytes of its files, of 10^6 bytes each."""

_FETCHED_WITHIN_S = 600
_LOOK_EVERY_S = 0.2
_PROGRESS = re.compile(r"^\.+ \(\d+kB\)\n", re.MULTILINE)
"""What Ivy prints for each file, whether it fails or not."""

_CLUSTER_ID = "dG9jc2luLWRldmVsb3BlciQ"  # 16 bytes in base 64, the same for every folder
_MEMORY = ("-Xmx256m", "-XX:+UseSerialGC")
_ERRORS_ALONE = "-Dlog4j2.level=ERROR"
_LOGGING = ("slf4j-api-*.jar", "log4j-slf4j2-impl-*.jar")
"""Spark's jars by which Kafka's errors get to its Log4j: it comes with a facade alone, which says nothing but that."""

_OF_ONE_BROKER = (
    "default.replication.factor",
    "offsets.topic.num.partitions",
    "offsets.topic.replication.factor",
    "transaction.state.log.num.partitions",
    "transaction.state.log.replication.factor",
    "transaction.state.log.min.isr",
    "share.coordinator.state.topic.replication.factor",
    "share.coordinator.state.topic.min.isr",
)


@dataclass(frozen=True)
class DevBroker:
    """A broker in a folder: ``files`` holds Kafka's jars, ``port`` takes clients, ``control_port`` itself."""

    files: Path
    folder: Path
    port: int
    control_port: int
    java: str = "java"

    def prepare(self, settings: Mapping[str, str] | None = None) -> None:
        """Write the settings, ``settings`` among them, and make the folder of the logs unless it is there.

        Raises
        ------
        Unavailable : the folder cannot be made
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        all_settings = self._settings() | dict(settings or {})
        self._config.write_text("".join(f"{name}={value}\n" for name, value in all_settings.items()))
        if not (self._logs / "meta.properties").exists():
            words = (*self._java(), "kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(self._config))
            process = subprocess.run(words, capture_output=True, text=True, check=False)
            if process.returncode:
                shutil.rmtree(self._logs, ignore_errors=True)
                raise Unavailable(f"Kafka's folder {self._logs} could not be made: {process.stderr.strip()[-500:]}")

    def command(self) -> list[str]:
        """Return the command that runs the broker until it is killed."""
        return [*self._java(), *_MEMORY, "kafka.Kafka", str(self._config)]

    def run(self, report_ready: Callable[[], None]) -> None:
        """Run the broker until this process gets SIGTERM or SIGINT; call ``report_ready`` once it takes connections.

        Raises
        ------
        Unavailable : it ends by itself
        """
        with subprocess.Popen(self.command()) as java, _ended_by_signals(java) as is_ending:
            while java.poll() is None and not self._takes_connections():
                time.sleep(_LOOK_EVERY_S)
            if java.poll() is None:
                report_ready()
            code = java.wait()
        if not is_ending.is_set():
            raise Unavailable(f"Kafka ended with code {code}; see its output above.")

    def _takes_connections(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
            return True
        return False

    @property
    def _config(self) -> Path:
        return self.folder / "broker.properties"

    @property
    def _logs(self) -> Path:
        return self.folder / "logs"

    def _java(self) -> list[str]:
        logging = [str(jar) for name in _LOGGING for jar in sorted(_jars_of_spark().glob(name))]
        return [self.java, "-cp", ":".join([*logging, f"{self.files}/*"]), _ERRORS_ALONE]

    def _settings(self) -> dict[str, str]:
        client, control = f"127.0.0.1:{self.port}", f"127.0.0.1:{self.control_port}"
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"PLAINTEXT://{client},CONTROLLER://{control}",
            "advertised.listeners": f"PLAINTEXT://{client}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"1@{control}",
            "log.dirs": str(self._logs),
            "auto.create.topics.enable": "false",
            "num.partitions": "3",
            "group.initial.rebalance.delay.ms": "0",
            **dict.fromkeys(_OF_ONE_BROKER, "1"),
        }


@contextmanager
def _ended_by_signals(program: subprocess.Popen[bytes]) -> Iterator[threading.Event]:
    """Until the block ends, end ``program`` where this process is told to end; yield what says that it was told."""
    is_ending = threading.Event()

    def end(*_: object) -> None:
        is_ending.set()
        program.terminate()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield is_ending
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def fetch(files: Path, *, java: str = "java", report: Callable[[int], None] = lambda _bytes: None) -> Path:
    """Return the folder ``files`` with Kafka's jars, fetched unless they are there or another process fetches them.

    ``report`` is called with the number of bytes that are there, from time to time.

    Raises
    ------
    Unavailable : they cannot be fetched
    """
    if files.is_dir():
        return files
    files.parent.mkdir(parents=True, exist_ok=True)
    with files.with_name(f"{files.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not files.is_dir():
            _fetch(files, java, report)
    return files


def _fetch(files: Path, java: str, report: Callable[[int], None]) -> None:
    partial_folder, cache = files.with_name(f"{files.name}.part"), files.with_name(f"{files.name}.part.cache")
    shutil.rmtree(partial_folder, ignore_errors=True)
    try:
        code, output = _output_of(_fetch_command(partial_folder, cache, java), lambda: report(_jar_bytes_in(cache)))
    except OSError as error:
        raise Unavailable(f"Kafka {VERSION} could not be fetched: {error}") from error
    shutil.rmtree(cache, ignore_errors=True)
    if code or not any(partial_folder.glob("kafka_*.jar")):
        why = _PROGRESS.sub("", output).strip()
        raise Unavailable(f"Kafka {VERSION} could not be fetched: {why[-500:]}")
    partial_folder.replace(files)


def _output_of(command: list[str], look: Callable[[], None]) -> tuple[int, str]:
    """Run ``command``, and ``look`` every now and then; return its exit code and what it printed.

    Raises
    ------
    Unavailable : it takes too long, and is killed
    """
    deadline_s = time.monotonic() + _FETCHED_WITHIN_S
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as program:
        while time.monotonic() < deadline_s:
            with suppress(subprocess.TimeoutExpired):
                output, _ = program.communicate(timeout=_LOOK_EVERY_S)
                return program.returncode, output
            look()
        program.kill()
    raise Unavailable(f"Kafka {VERSION} could not be fetched within {_FETCHED_WITHIN_S} s.")


def _jar_bytes_in(cache: Path) -> int:
    """Return how many bytes of jars are in Ivy's cache; one that is being fetched has a name of its own."""
    sizes = 0
    for file in cache.rglob("*.jar*"):
        with suppress(FileNotFoundError):
            sizes += file.stat().st_size
    return sizes


def _fetch_command(partial_folder: Path, cache: Path, java: str) -> list[str]:
    words = [java, "-cp", str(_jars_of_spark() / "*"), "org.apache.ivy.Main", "-m2compatible", "-error"]
    words += ["-dependency", *_ARTEFACT, "-confs", "default"]
    return [*words, "-retrieve", f"{partial_folder}/[artifact]-[revision].[ext]", "-cache", str(cache)]


def _jars_of_spark() -> Path:
    """Return the folder of PySpark's jars; ModuleNotFoundError if it is not installed."""
    spark = find_spec("pyspark")
    if spark is None or spark.origin is None:
        raise ModuleNotFoundError("pyspark", name="pyspark")
    return Path(spark.origin).parent / "jars"
