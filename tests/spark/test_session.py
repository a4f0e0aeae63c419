"""Tests of what no setting of Spark's can change in the pipeline's sessions."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tocsin.spark.session import interpreting, with_fast_checkpoints

pytestmark = pytest.mark.spark


def test_no_session_replaces_what_texts_refer_to_whatever_is_asked_for(spark: SparkSession) -> None:
    for session in (spark, spark.newSession(), interpreting(spark), with_fast_checkpoints(spark)):
        assert session.conf.get("spark.sql.variable.substitute") == "false"
        assert session.sql("SELECT '${system:user.name}' AS name").head() == ("${system:user.name}",)
