"""Spark session for tests: one for the whole run, small and local."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tocsin.spark.session import open_session

_CONF = {"spark.sql.shuffle.partitions": "2", "spark.log.level": "ERROR"}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The run's one session."""
    session = open_session(master="local[2]", conf=_CONF)
    yield session
    session.stop()
