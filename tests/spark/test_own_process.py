"""Tests of a Spark in a process of its own: where its Python processes import from, and its end without memory.

Then it leaves nothing behind, and supervision notices.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pyspark
import pytest

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("own process")]  # one worker starts what all of them look at

_PROGRAM = """
import subprocess, sys, threading
from pathlib import Path
from py4j.protocol import Py4JError
from tests.sparksession import SHORT_LIVED
from tocsin.clock import SystemClock
from tocsin.errors import Unavailable
from tocsin.jobs.supervision import QueryEnvironment, Supervised, keep_running
from tocsin.spark.session import open_session

session = open_session(master="local[1]", driver_memory="512m", conf=SHORT_LIVED)
gateway = session.sparkContext._gateway
print("imported from", *session.sparkContext.parallelize([0]).map(lambda _: __import__("pyspark").__file__).collect())

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


@pytest.fixture(scope="module")
def ended() -> subprocess.CompletedProcess[str]:
    """Return how a process ended whose Spark answered once, and then ran out of memory."""
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_HOME"}
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM], env=environment, capture_output=True, text=True, timeout=250, check=False
    )


def test_python_processes_of_spark_import_what_is_compiled(ended: subprocess.CompletedProcess[str]) -> None:
    assert f"imported from {pyspark.__file__}\n" in ended.stdout, ended.stderr[-2_000:]


def test_java_ends_when_it_has_no_memory_and_the_pipeline_says_so(ended: subprocess.CompletedProcess[str]) -> None:
    assert "ended with 3" in ended.stdout, ended.stderr[-2_000:]
    assert "Spark has stopped" in ended.stdout
