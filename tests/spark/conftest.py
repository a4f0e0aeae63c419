"""Fixtures of the Spark tests, which need Java: the run's one Spark session."""

from tests.sparksession import spark

__all__ = ["spark"]
