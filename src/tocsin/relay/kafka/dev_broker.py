"""Development broker: one Kafka process on this machine, over files that are fetched once.

The files come from Maven through Ivy, which is part of PySpark, so whatever mirror Ivy is set to is used.
"""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tocsin.errors import Unavailable

VERSION = "4.4.0"
_ARTEFACT = ("org.apache.kafka", "kafka_2.13", VERSION)
_FETCHED_WITHIN_S = 600
_PROGRESS = re.compile(r"^\.+ \(\d+kB\)\n", re.MULTILINE)
"""What Ivy prints for each file, whether it fails or not."""

_CLUSTER_ID = "dG9jc2luLWRldmVsb3BlciQ"  # 16 bytes in base 64, the same for every folder
_MEMORY = ("-Xmx256m", "-XX:+UseSerialGC")
_SILENT = "-Dlog4j2.level=ERROR"
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
            formatted = subprocess.run(words, capture_output=True, text=True, check=False)
            if formatted.returncode:
                shutil.rmtree(self._logs, ignore_errors=True)
                raise Unavailable(f"Kafka's folder {self._logs} could not be made: {formatted.stderr.strip()[-500:]}")

    def command(self) -> list[str]:
        """Return the command that runs the broker until it is killed."""
        return [*self._java(), *_MEMORY, "kafka.Kafka", str(self._config)]

    @property
    def _config(self) -> Path:
        return self.folder / "broker.properties"

    @property
    def _logs(self) -> Path:
        return self.folder / "logs"

    def _java(self) -> list[str]:
        return [self.java, "-cp", f"{self.files}/*", _SILENT]

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


def fetch(files: Path, *, java: str = "java") -> Path:
    """Return the folder ``files`` with Kafka's jars, fetched unless they are there or another process fetches them.

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
            _fetch(files, java)
    return files


def _fetch(files: Path, java: str) -> None:
    fetching, cache = files.with_name(f"{files.name}.part"), files.with_name(f"{files.name}.part.cache")
    shutil.rmtree(fetching, ignore_errors=True)
    try:
        ran = subprocess.run(
            _fetch_command(fetching, cache, java),
            capture_output=True,
            text=True,
            timeout=_FETCHED_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"Kafka {VERSION} could not be fetched: {error}") from error
    shutil.rmtree(cache, ignore_errors=True)
    if ran.returncode or not any(fetching.glob("kafka_*.jar")):
        why = _PROGRESS.sub("", ran.stderr + ran.stdout).strip()
        raise Unavailable(f"Kafka {VERSION} could not be fetched: {why[-500:]}")
    fetching.replace(files)


def _fetch_command(fetching: Path, cache: Path, java: str) -> list[str]:
    spark = find_spec("pyspark")
    if spark is None or spark.origin is None:
        raise ModuleNotFoundError("pyspark", name="pyspark")
    jars = Path(spark.origin).parent / "jars" / "*"
    words = [java, "-cp", str(jars), "org.apache.ivy.Main", "-m2compatible", "-error"]
    words += ["-dependency", *_ARTEFACT, "-confs", "default"]
    return [*words, "-retrieve", f"{fetching}/[artifact]-[revision].[ext]", "-cache", str(cache)]
