"""Kafka for the tests: one broker on loopback, its jars fetched once for the checkout."""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Thread

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.waiting import until

from tocsin.cli.ports import any_free_port
from tocsin.delivery.wording.broker_headers import OFFSET_HEADER
from tocsin.errors import Unavailable
from tocsin.relay.kafka.dev_broker import VERSION, DevBroker, fetch

ROOT = Path(__file__).parents[1]
FILES = ROOT / ".pytest_cache" / f"kafka-{VERSION}"
READY_WITHIN_S = 120
QUICK_BROKER = {
    "group.min.session.timeout.ms": "500",  # consumers may ask to be missed soon after they are killed
    "broker.heartbeat.interval.ms": "200",
    "broker.session.timeout.ms": "2000",  # so long does one that was killed wait until it may come back
    "log.cleaner.dedupe.buffer.size": "16777216",  # of 128 MB by default, in a heap of 256 MB
}
"""Settings of a broker that lets tests wait less, and needs less memory."""

PASSWORD = "correct-horse"
"""Of the user ``relay`` of a guarded port."""

_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_QUICK_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote")
"""What Java gains from that lives for seconds: one compiler, and no verification of Kafka's own classes."""

_RECONNECTS_WITHIN_MS = 500


@dataclass
class Kafka:
    """A broker that can be killed and started again at the same port."""

    broker: DevBroker
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def servers(self) -> str:
        """Return the address for clients."""
        return f"127.0.0.1:{self.broker.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        java, *words = self.broker.command()
        with (self.broker.folder / "output.txt").open("ab") as log:
            self.process = subprocess.Popen([java, *_QUICK_JAVA, *words], stdout=log, stderr=log)
        until(self._answers, within_s=READY_WITHIN_S)

    def kill(self) -> None:
        """Kill it, as if the machine had lost power."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    @cached_property
    def admin(self) -> AdminClient:
        """A client for topics; it ends with what is asked of it."""
        reconnects = {"reconnect.backoff.max.ms": _RECONNECTS_WITHIN_MS}
        return AdminClient({"bootstrap.servers": self.servers, "log_level": 0, **reconnects})

    def read(self, topic: str, isolation: str = "read_committed") -> list[Message]:
        """Return all records of a topic, partition by partition, in their order."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": "tests",
                "enable.auto.commit": False,
                "isolation.level": isolation,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 20,  # so long waits each partition for more
            }
        )
        with closing(consumer):
            partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
            consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
            return list(_until_the_ends(consumer, len(partitions)))

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.broker.folder / "output.txt").read_text()[-2000:]
        try:
            return bool(self.admin.list_topics(timeout=2).brokers)
        except KafkaException:
            return False


def _until_the_ends(consumer: Consumer, partition_count: int) -> Iterator[Message]:
    ends = 0
    while ends < partition_count:
        for message in consumer.consume(1_000, timeout=0.1):  # it waits for all of them, or so long
            error = message.error()
            if error is None:
                yield message
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ends += 1


def fetch_beside() -> None:
    """Fetch the broker's files while other tests run; the first that needs them waits for what is not there yet."""

    def fetch_or_leave() -> None:
        with suppress(Unavailable):  # said by the test that needs them
            fetch(FILES)

    if not FILES.is_dir():
        Thread(target=fetch_or_leave, daemon=True).start()


def guard_settings(port: int, certificate: Path) -> dict[str, str]:
    """Return the settings of a broker that at one more port, over TLS, lets in ``relay``, who has no rights yet.

    At its other port everybody may do everything.
    """
    listeners = f"PLAINTEXT://127.0.0.1:{{port}},SASL_SSL://127.0.0.1:{port}"
    return {
        "listeners": f"{listeners},CONTROLLER://127.0.0.1:{{control_port}}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT",
        "advertised.listeners": listeners,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificate),
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{_LOGIN} required user_relay="{PASSWORD}";',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }


@contextmanager
def running_kafka(folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[Kafka]:
    """Yield a broker that runs until the block ends; skip the test where its files cannot be fetched.

    ``settings`` of the broker may name its own ports, as ``{port}`` and ``{control_port}``.
    """
    try:
        fetch(FILES)
    except Unavailable as error:
        if "CI" in os.environ:
            raise
        pytest.skip(error.message)
    kafka = Kafka(DevBroker(FILES, folder, any_free_port(), any_free_port()))
    ports = {"port": kafka.broker.port, "control_port": kafka.broker.control_port}
    own_settings = {name: value.format(**ports) for name, value in (settings or {}).items()}
    kafka.broker.prepare(QUICK_BROKER | own_settings)
    kafka.start()
    try:
        yield kafka
    finally:
        kafka.kill()


def offsets_of(messages: list[Message]) -> list[int]:
    """Return the offset in the log of each record."""
    return [int(dict(message.headers() or [])[OFFSET_HEADER] or b"") for message in messages]


def assert_in_order(messages: list[Message]) -> None:
    """Fail unless the records of each key are in the order of the log."""
    offsets_by_key: dict[bytes | None, list[int]] = defaultdict(list)
    for message, offset in zip(messages, offsets_of(messages), strict=True):
        offsets_by_key[message.key()].append(offset)
    assert all(offsets == sorted(offsets) for offsets in offsets_by_key.values())
