"""Pulsar for the tests: one standalone broker on loopback, its jars fetched once for the checkout by Maven."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pulsar
import pytest
from tests.waiting import until

from tocsin.cli.java import java_program
from tocsin.cli.ports import any_free_port
from tocsin.delivery.wording.broker_headers import OFFSET_HEADER

ROOT = Path(__file__).parents[1]
FILES = ROOT / ".pytest_cache" / "pulsar-4.2.4"
FETCHED_WITHIN_S = 400
READY_WITHIN_S = 180
SILENT_MS = 2_000
"""Milliseconds without a message after which a topic is taken as read."""

_OPENED = (
    "java.base/java.lang",
    "java.base/java.nio",
    "java.base/java.util.zip",
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.platform",
    "java.base/sun.nio.ch",
    "java.management/sun.management",
)


@dataclass
class Pulsar:
    """A broker that can be killed and started again at the same port; ``token`` is that of who may do everything."""

    folder: Path
    settings: dict[str, str] = field(default_factory=dict)
    token: str | None = None
    port: int = field(default_factory=any_free_port)
    admin_port: int = field(default_factory=any_free_port)
    bookkeeper_port: int = field(default_factory=any_free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Return the address for clients."""
        return f"pulsar://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = {
            "brokerServicePort": self.port,
            "webServicePort": self.admin_port,
            "bindAddress": "127.0.0.1",
            "advertisedAddress": "127.0.0.1",
            "clusterName": "standalone",
            "brokerDeduplicationEnabled": "true",
            "managedLedgerDefaultEnsembleSize": 1,
            "managedLedgerDefaultWriteQuorum": 1,
            "managedLedgerDefaultAckQuorum": 1,
            "loadBalancerEnabled": "false",
            **self.settings,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / "standalone.conf"
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        with (self.folder / "output.txt").open("ab") as log:
            self.process = subprocess.Popen(self._command(file), cwd=self.folder, stdout=log, stderr=log)
        until(self._answers, within_s=READY_WITHIN_S)

    def kill(self) -> None:
        """Kill it, as if the machine had lost power."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def ask(self, method: str, path: str, body: object = None) -> httpx.Response:
        """Ask the broker's administration."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        with httpx.Client(trust_env=False, headers=headers) as http:
            return http.request(method, f"http://127.0.0.1:{self.admin_port}/admin/v2/{path}", json=body, timeout=30)

    @contextmanager
    def client(self) -> Iterator[pulsar.Client]:
        """Yield a client."""
        authentication = pulsar.AuthenticationToken(self.token) if self.token else None
        silent = pulsar.FileLogger(pulsar.LoggerLevel.Error, os.devnull)
        client = pulsar.Client(self.url, authentication=authentication, logger=silent)
        try:
            yield client
        finally:
            client.shutdown()

    def subscribe(self, topic: str, namespace: str = "public/default") -> None:
        """Make a subscription that keeps all messages of a topic from now on."""
        with self.client() as client:
            client.subscribe(f"persistent://{namespace}/{topic}", "tests")

    def read(self, topic: str, namespace: str = "public/default") -> list[pulsar.Message]:
        """Return all messages of a topic, partition by partition, in their order."""
        messages = []
        with self.client() as client:
            for partition in client.get_topic_partitions(f"persistent://{namespace}/{topic}"):
                with closing(client.create_reader(partition, pulsar.MessageId.earliest)) as reader:
                    while reader.has_message_available():
                        messages.append(reader.read_next(SILENT_MS))
        return messages

    def _command(self, file: Path) -> list[str]:
        opened = [f"--add-opens={module}=ALL-UNNAMED" for module in _OPENED]
        memory = ["-Xmx512m", "-XX:MaxDirectMemorySize=512m", "-XX:+UseSerialGC"]
        folders = ["--bookkeeper-dir", "bookkeeper", "--metadata-dir", "metadata", "--zookeeper-dir", "zookeeper"]
        ports = ["--bookkeeper-port", str(self.bookkeeper_port), "--advertised-address", "127.0.0.1"]
        starter = ["org.apache.pulsar.PulsarStandaloneStarter", "--no-functions-worker", "--no-stream-storage"]
        java = [java_program() or "java", *memory, *opened, "-cp", f"{FILES}/*"]
        return [*java, *starter, "--config", str(file), *folders, *ports]

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "output.txt").read_text()[-2000:]
        try:
            return "public/default" in self.ask("GET", "namespaces/public").text
        except httpx.TransportError:
            return False


def fetch() -> None:
    """Fetch the broker's jars unless they are there; skip the test where Maven is missing or gets nothing."""
    if FILES.is_dir():
        return
    maven = shutil.which("mvn")
    if maven is None:
        pytest.skip("Pulsar's broker is fetched by Maven, and there is no mvn")
    FILES.parent.mkdir(parents=True, exist_ok=True)
    with FILES.with_name(f"{FILES.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another worker of the tests may fetch them
        if not FILES.is_dir():
            _fetch(maven)


def _fetch(maven: str) -> None:
    fetching = FILES.with_name(f"{FILES.name}.part")
    shutil.rmtree(fetching, ignore_errors=True)
    words = [maven, "-q", "-B", "-f", str(ROOT / "tests" / "pulsarbroker.xml"), "dependency:copy-dependencies"]
    words += ["-DincludeScope=runtime", f"-DoutputDirectory={fetching}"]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=FETCHED_WITHIN_S, check=False)
    if ran.returncode:
        pytest.skip(f"Maven cannot fetch Pulsar's broker: {ran.stdout[-500:]}")
    fetching.replace(FILES)


@contextmanager
def running_pulsar(folder: Path, settings: dict[str, str] | None = None, token: str | None = None) -> Iterator[Pulsar]:
    """Yield a broker that runs until the block ends; skip the test where its files cannot be fetched."""
    fetch()
    broker = Pulsar(folder, settings or {}, token)
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()


def offsets_of(messages: list[pulsar.Message]) -> list[int]:
    """Return the offset in the log of each message."""
    return [int(message.properties()[OFFSET_HEADER]) for message in messages]


def assert_in_order(messages: list[pulsar.Message]) -> None:
    """Fail unless the messages of each key are in the order of the log."""
    offsets_by_key: dict[str, list[int]] = defaultdict(list)
    for message, offset in zip(messages, offsets_of(messages), strict=True):
        offsets_by_key[message.partition_key()].append(offset)
    assert all(offsets == sorted(offsets) for offsets in offsets_by_key.values())
