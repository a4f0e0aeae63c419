"""Fixture of the parity tests: the Spark engine compiles here, as it does in production."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(compiling_spark: SparkSession) -> SparkSession:
    """A session that compiles its queries."""
    return compiling_spark
