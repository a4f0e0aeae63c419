"""Tests here need Java: they share the run's one Spark session."""

from tests.sparksession import spark

__all__ = ["spark"]
