"""Fixtures of the parity tests: the Spark engine compiles here, as it does in production."""

from tests.sparksession import compiling_spark as spark
from tests.sparksession import started_spark

__all__ = ["spark", "started_spark"]
