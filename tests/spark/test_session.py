"""Tests of what no setting of Spark's can change in the pipeline's sessions, and of Java's options."""

from __future__ import annotations

import os
import subprocess
import sys

import pyspark
import pytest
from pyspark.sql import SparkSession
from tests.quickspark import QUICK_JAVA

from tocsin.spark.session import interpreting_session, with_fast_checkpoints

pytestmark = pytest.mark.spark

PRINTS_WHERE_WORKERS_IMPORT_FROM = """
import sys
from tocsin.spark.session import open_session
session = open_session(master="local[1]", conf={"spark.driver.extraJavaOptions": sys.argv[1]})
print(*session.sparkContext.parallelize([0]).map(lambda _: __import__("pyspark").__file__).collect())
"""


def test_no_session_replaces_what_texts_refer_to_whatever_is_asked_for(spark: SparkSession) -> None:
    for session in (spark, spark.newSession(), interpreting_session(spark), with_fast_checkpoints(spark)):
        assert session.conf.get("spark.sql.variable.substitute") == "false"
        assert session.sql("SELECT '${system:user.name}' AS name").head() == ("${system:user.name}",)


def test_java_gives_memory_back_when_a_minute_was_quiet(spark: SparkSession) -> None:
    java = spark._jvm  # the driver's JVM
    bean = java.java.lang.Class.forName("com.sun.management.HotSpotDiagnosticMXBean")  # type: ignore[union-attr]
    diagnostics = java.java.lang.management.ManagementFactory.getPlatformMXBean(bean)  # type: ignore[union-attr]
    assert diagnostics.getVMOption("G1PeriodicGCInterval").getValue() == "60000"


def test_python_processes_of_spark_import_what_is_compiled() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_HOME"}
    ran = subprocess.run(
        [sys.executable, "-c", PRINTS_WHERE_WORKERS_IMPORT_FROM, QUICK_JAVA],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ran.stdout.split() == [pyspark.__file__], ran.stderr
