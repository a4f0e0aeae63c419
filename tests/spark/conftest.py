"""Fixtures of the tests that need Java: they share the run's one Spark."""

from tests.sparksession import compiling_spark, spark, started_spark

__all__ = ["compiling_spark", "spark", "started_spark"]
