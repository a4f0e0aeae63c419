"""Tests of what no setting of Spark's can change in the pipeline's sessions, and of Java's options."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tocsin.spark.session import interpreting_session, with_fast_checkpoints

pytestmark = pytest.mark.spark


def test_no_session_replaces_what_texts_refer_to_whatever_is_asked_for(spark: SparkSession) -> None:
    for session in (spark, spark.newSession(), interpreting_session(spark), with_fast_checkpoints(spark)):
        assert session.conf.get("spark.sql.variable.substitute") == "false"
        assert session.sql("SELECT '${system:user.name}' AS name").head() == ("${system:user.name}",)


def test_java_gives_memory_back_when_a_minute_was_quiet(spark: SparkSession) -> None:
    java = spark._jvm  # the driver's JVM
    bean = java.java.lang.Class.forName("com.sun.management.HotSpotDiagnosticMXBean")  # type: ignore[union-attr]
    diagnostics = java.java.lang.management.ManagementFactory.getPlatformMXBean(bean)  # type: ignore[union-attr]
    assert diagnostics.getVMOption("G1PeriodicGCInterval").getValue() == "60000"
