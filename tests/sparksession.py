"""Spark session of the tests: one Java machine for the whole run, small and local.

Most tests run each query once, so that compiling it costs more than running it: the session interprets. What
compiled queries answer is asked of ``compiling_spark``; production compiles everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.forkedpython import forking_python
from tests.quickspark import QUICK_JAVA

from tocsin.spark.session import open_session

SHORT_LIVED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": QUICK_JAVA,
    "spark.buffer.pageSize": "256k",
    "spark.sql.shuffle.partitions": "2",
}
"""What a process gains from that runs few queries often: nothing is compiled for later, no joined table of ten rows
takes the 16 MB that Spark would give it, and ten rows are shuffled, or kept as state, in two parts."""
CANARY = "canary-in-spark-conf"
"""A setting of every session of the tests; tests look for it where other accounts can read."""
_IN_VAIN = {"spark.sql.variable.substitute": "true", "spark.authenticate": "false"}
"""What no configuration changes (``tests/spark/test_session.py``, ``tests/spark/test_other_accounts.py``)."""
_CONF = {**SHORT_LIVED, "spark.log.level": "ERROR", "spark.tocsin.secret": CANARY, **_IN_VAIN}
_COMPILING = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}


@contextmanager
def running_spark(folder: Path) -> Iterator[SparkSession]:
    """Start Spark, which stops when the block ends; ``folder`` is its own."""
    with forking_python(folder) as python:
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("PYSPARK_PYTHON", python)
            session = open_session(master="local[2]", conf=_CONF)
        yield session
        session.stop()


def compiling_session(session: SparkSession) -> SparkSession:
    """Return another session of the same Spark, which compiles its queries."""
    new_session = session.newSession()
    for key, value in _COMPILING.items():
        new_session.conf.set(key, value)
    return new_session
