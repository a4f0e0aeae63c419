"""Tests of consumers that are not ours: the program of the documentation, CloudEvents' binding, Spark's source."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import orjson
import pytest
from cloudevents.core.bindings.kafka import KafkaMessage, from_binary_event, from_structured_event
from tests.acceptance.relay.conftest import NEEDS_JAVA, Office, wait_until_relayed
from tests.kafka import Kafka, offsets_of
from tests.waiting import until

from tocsin.flow.eventlog.selection import EventSelection
from tocsin.store.eventlog.log import EventLog

ROOT = Path(__file__).parents[3]
SEED = ROOT.parent / "shared" / "seeds" / "002_0a03c4068f01c188.txt"
HANDLERS = """
def handle_update(event):
    print("updated", event["entityFullyQualifiedName"], flush=True)


def handle_creation(event):
    print("created", event["entityFullyQualifiedName"], flush=True)


def handle_deletion(event):
    print("deleted", event["entityFullyQualifiedName"], flush=True)
"""
CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"

pytestmark = [NEEDS_JAVA, pytest.mark.slow, pytest.mark.xdist_group("kafka"), pytest.mark.timeout(600)]


def documented_program() -> str:
    """Return the consumer of docs/kafka.md."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "kafka.md").read_text(), re.DOTALL)
    (program,) = blocks
    return str(program)


@pytest.mark.skipif(not SEED.is_file(), reason="needs the documents of ../shared/seeds")
def test_the_program_is_that_of_the_document() -> None:
    words = "".join(documented_program().replace('"', "'").split()).replace(",)", ")")
    printed = "".join(SEED.read_text().split())
    assert words.removeprefix("importjson") in printed.replace("importjson", "")


def test_the_program_of_the_documentation_handles_each_event(kafka: Kafka, office: Office, tmp_path: Path) -> None:
    program = documented_program().replace("metadata-change-events", office.topic)
    program = program.replace("localhost:9092", kafka.servers)
    (tmp_path / "consumer.py").write_text(HANDLERS + program)
    output = tmp_path / "output.txt"
    with output.open("wb") as out, office.relaying():
        wait_until_relayed(office)
        consumer = subprocess.Popen([sys.executable, str(tmp_path / "consumer.py")], stdout=out)
        try:
            until(lambda: _handles(office, output), within_s=60)
            office.company.put("team", {"name": "fresh", "teamType": "Group"})
            until(lambda: "created fresh" in output.read_text().splitlines(), within_s=30)
        finally:
            consumer.kill()
            consumer.wait()
    assert output.read_text().splitlines().count("created fresh") == 1


def _handles(office: Office, output: Path) -> bool:
    office.describe(1)
    return "updated pg.store.public.orders" in output.read_text()


@pytest.mark.parametrize("relay_format", ["seed", "cloudEvents"])
def test_records_are_cloud_events(kafka: Kafka, office: Office, relay_format: str) -> None:
    office.describe(2)
    with office.relaying(relay_format=relay_format):
        wait_until_relayed(office)
    events = {
        logged_event.event.id: logged_event.event
        for logged_event in EventLog(office.engine).list_events(EventSelection(), limit=999)
    }
    messages = kafka.read(office.topic)
    assert len(messages) == len(events)
    read = from_binary_event if relay_format == "seed" else from_structured_event
    for message in messages:
        headers = {name: value for name, value in dict(message.headers() or ()).items() if isinstance(value, bytes)}
        cloud_event = read(KafkaMessage(headers, message.key(), message.value() or b""))
        event = events[cloud_event.get_id()]
        assert cloud_event.get_type() == f"org.open-metadata.{event.event_type}"
        assert cloud_event.get_subject() == event.entity_fully_qualified_name
        data = cloud_event.get_data()
        document = data if isinstance(data, dict) else orjson.loads(data)  # type: ignore[arg-type]
        assert document["entityId"] == event.entity_id


@pytest.mark.soak
def test_sparks_source_reads_every_record_with_its_headers(kafka: Kafka, office: Office, tmp_path: Path) -> None:
    office.describe(20)
    with office.relaying():
        wait_until_relayed(office)
    program = f"""
        import json
        from pyspark.sql import SparkSession

        spark = SparkSession.builder.master("local[1]").config("spark.jars.packages", "{CONNECTOR}").getOrCreate()
        options = {{
            "kafka.bootstrap.servers": "{kafka.servers}",
            "subscribe": "{office.topic}",
            "startingOffsets": "earliest",
            "kafka.isolation.level": "read_committed",
            "includeHeaders": "true",
        }}
        records = spark.read.format("kafka").options(**options).load()
        rows = [dict((one.key, one.value.decode()) for one in row.headers) for row in records.collect()]
        print("HEADERS", json.dumps(rows))
    """
    script = tmp_path / "read.py"
    script.write_text(textwrap.dedent(program))
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=400, check=True)
    (line,) = (one for one in ran.stdout.splitlines() if one.startswith("HEADERS "))
    headers = json.loads(line.removeprefix("HEADERS "))
    assert sorted(int(one["tocsin-offset"]) for one in headers) == sorted(offsets_of(kafka.read(office.topic)))
