"""The development broker's files: processes that need them at once fetch them once, and a failure says why."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tocsin.errors import Unavailable
from tocsin.relay.kafka.dev_broker import fetch

FETCHES = """#!/bin/sh
echo fetched >> "$(dirname "$0")/calls"
while [ "$1" != -retrieve ]; do shift; done
folder=$(dirname "$2")
mkdir -p "$folder"
sleep 0.2
touch "$folder/kafka_2.13.jar" || exit 1
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
