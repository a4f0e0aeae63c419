"""Test of the end of Spark's Java process without memory: it leaves nothing behind, and supervision notices."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.spark

_PROGRAM = """
import subprocess, sys, threading
from pathlib import Path
from py4j.protocol import Py4JError
from tests.sparksession import SHORT_LIVED
from tocsin.clock import SystemClock
from tocsin.errors import Unavailable
from tocsin.jobs.supervision import QueryEnvironment, Supervised, keep_running
from tocsin.spark.session import open_session

conf = {**SHORT_LIVED, "spark.driver.extraJavaOptions": SHORT_LIVED["spark.driver.extraJavaOptions"]}
session = open_session(master="local[1]", driver_memory="512m", conf=conf)
gateway = session.sparkContext._gateway
java = gateway.proc.pid

class NoReports:
    def begin(self, name, fault, *, since_ms): pass
    def end(self, name): pass

def running():
    gateway.new_array(gateway.jvm.long, 400_000_000)

query = Supervised("match_stream", Path("nowhere"), running)
try:
    environment = QueryEnvironment(session, NoReports(), Path("."), SystemClock())
    keep_running(query, environment, threading.Event(), lambda: None)
except Unavailable as error:
    print(error.message)
try:
    gateway.proc.wait(10)
    print("ended with", gateway.proc.returncode)
except subprocess.TimeoutExpired:
    print("still there")
    gateway.proc.kill()
"""


def test_java_ends_when_it_has_no_memory_and_the_pipeline_says_so() -> None:
    process = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=250, check=False)
    assert "ended with 3" in process.stdout, process.stderr[-2_000:]
    assert "Spark has stopped" in process.stdout
