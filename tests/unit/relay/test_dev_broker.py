"""The development broker's files: processes that need them at once fetch them once, and a failure says why."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tocsin.cli.ports import any_free_port
from tocsin.errors import Unavailable
from tocsin.relay.kafka.dev_broker import DevBroker, fetch

FETCHES = """#!/bin/sh
echo fetched >> "$(dirname "$0")/calls"
while [ "$1" != -retrieve ]; do shift; done
folder=$(dirname "$2")
mkdir -p "$folder"
sleep 0.2
touch "$folder/kafka_2.13.jar" || exit 1
"""
FETCHES_IN_PARTS = """#!/bin/sh
while [ "$1" != -retrieve ]; do shift; done
folder=$(dirname "$2")
mkdir -p "$folder" "$4/org"
head -c 4000000 /dev/zero > "$4/org/kafka_2.13.jar.part"
while [ ! -e "$(dirname "$0")/seen" ]; do sleep 0.05; done
touch "$folder/kafka_2.13.jar"
"""
FAILS = """#!/bin/sh
echo "........ (72kB)"
echo ".. (0kB)"
echo "unresolved dependency: org.apache.kafka#kafka_2.13"
echo "........ (332kB)"
exit 1
"""


def java_that(does: str, folder: Path) -> str:
    """Return the path of a program that stands in for Java."""
    program = folder / "java"
    program.write_text(does)
    program.chmod(0o700)
    return str(program)


def test_processes_that_fetch_at_once_fetch_once(tmp_path: Path) -> None:
    java = java_that(FETCHES, tmp_path)
    with ThreadPoolExecutor() as threads:
        fetched = list(threads.map(lambda _: fetch(tmp_path / "cache" / "kafka", java=java), range(3)))
    assert {(folder / "kafka_2.13.jar").exists() for folder in fetched} == {True}
    assert (tmp_path / "calls").read_text().splitlines() == ["fetched"]


def test_a_failure_says_why_without_the_progress(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as raised:
        fetch(tmp_path / "kafka", java=java_that(FAILS, tmp_path))
    message = raised.value.message
    assert message == "Kafka 4.4.0 could not be fetched: unresolved dependency: org.apache.kafka#kafka_2.13"


def test_what_failed_is_fetched_the_next_time(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        fetch(tmp_path / "kafka", java=java_that(FAILS, tmp_path))
    assert fetch(tmp_path / "kafka", java=java_that(FETCHES, tmp_path)).is_dir()


def test_it_is_told_how_much_has_been_fetched(tmp_path: Path) -> None:
    def report(byte_count: int) -> None:
        if byte_count == 4_000_000:
            (tmp_path / "seen").touch()

    fetch(tmp_path / "kafka", java=java_that(FETCHES_IN_PARTS, tmp_path), report=report)
    assert (tmp_path / "seen").exists()


def test_a_broker_that_ends_by_itself_is_an_error(tmp_path: Path) -> None:
    broker = DevBroker(tmp_path, tmp_path, any_free_port(), 0, java=java_that("#!/bin/sh\nexit 3\n", tmp_path))
    with pytest.raises(Unavailable, match="Kafka ended with code 3"):
        broker.run(lambda: pytest.fail("it was never ready"))
