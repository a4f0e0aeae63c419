"""Tests of what no setting of Spark's can change in the pipeline's sessions, and of Java's options."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.clientserver import JavaClient
from py4j.protocol import REFLECTION_COMMAND_NAME
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

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


def test_pyspark_asks_java_for_no_name_again_when_it_makes_columns(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java would look for each in all of Spark's archives, for every column of every micro-batch."""
    commands: list[str] = []
    send = JavaClient.send_command

    def record(client: JavaClient, command: str, *arguments: Any) -> Any:
        commands.append(command)
        return send(client, command, *arguments)

    monkeypatch.setattr(JavaClient, "send_command", record)
    for _ in range(2):
        commands.clear()
        spark.range(1).select(F.when(F.col("id") > 0, F.lit("a")).otherwise(F.expr("'b'")))
    assert commands and not [command for command in commands if command.startswith(REFLECTION_COMMAND_NAME)]
