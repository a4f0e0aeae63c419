"""What the pipeline says of executors that cannot do its work."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from py4j.protocol import Py4JError

from tocsin.clock import SystemClock
from tocsin.errors import InvalidSetting
from tocsin.jobs.executor_environment import Environment, environment_of
from tocsin.jobs.executors import (
    CLOCK_LIMIT_MS,
    LIBRARIES,
    ExecutorReach,
    ReachQuestion,
    check_python_here,
    check_store,
    problem_of_environment,
    problem_of_failure,
    problem_of_reach,
    reach_of,
)
from tocsin.lake_files.port import S3Access
from tocsin.settings import Settings

HERE = Environment("driver", "3.11.2", {"tocsin": "1.0", "pyarrow": "26.0.1"})
REACHED = ExecutorReach("a", 1_500, ())
ASKED_MS = (1_000, 2_000)
NOWHERE = "postgresql+psycopg://tocsin:secret@127.0.0.1:1/tocsin"
POSTGRESQL = "postgresql+psycopg://db.example.com/tocsin"


def test_an_executor_that_is_like_the_driver_has_no_problem() -> None:
    assert problem_of_environment(replace(HERE, host="a", python="3.11.9"), HERE) is None
    assert problem_of_reach(REACHED, ASKED_MS) is None


@pytest.mark.parametrize(
    ("environment", "way_out"),
    [
        (replace(HERE, python="3.9.1"), "PYSPARK_PYTHON"),
        (replace(HERE, versions={"tocsin": "1.0", "pyarrow": None}), "PYSPARK_PYTHON"),
        (replace(HERE, versions={"tocsin": "1.0", "pyarrow": "25.0"}), "PYSPARK_PYTHON"),
        (replace(HERE, versions={"tocsin": "0.9", "pyarrow": "26.0.1"}), "TOCSIN_SPARK_PY_FILES"),
    ],
)
def test_a_difference_of_environments_names_the_way_out(environment: Environment, way_out: str) -> None:
    assert way_out in (problem_of_environment(environment, HERE) or "")


@pytest.mark.parametrize("now_ms", [2_001 + CLOCK_LIMIT_MS, 999 - CLOCK_LIMIT_MS])
def test_a_clock_that_is_wrong_by_more_than_a_minute_is_a_problem(now_ms: int) -> None:
    assert "clocks" in (problem_of_reach(replace(REACHED, now_ms=now_ms), ASKED_MS) or "")


def test_all_that_an_executor_does_not_reach_is_one_message() -> None:
    problems = ("it does not see a. Set A.", "it does not see b. Set B.")
    message = problem_of_reach(replace(REACHED, problems=problems), ASKED_MS)
    assert message == "it does not see a. Set A. Also, it does not see b. Set B."


def test_a_task_says_what_it_does_not_reach_and_no_password(tmp_path: Path) -> None:
    marker = tmp_path / "seen"
    marker.touch()
    markers = {"spark_checkpoint_dir": str(marker), "lake_dir": str(tmp_path / "elsewhere/unseen")}
    reach = reach_of(ReachQuestion(NOWHERE, markers, None))
    store, lake = reach.problems
    assert "TOCSIN_DATABASE_URL" in store
    assert "TOCSIN_LAKE_DIR" in lake
    assert "secret" not in store
    assert abs(reach.now_ms - SystemClock().now_ms()) < CLOCK_LIMIT_MS
    assert [path.name for path in tmp_path.iterdir()] == ["seen"]


def test_a_bucket_that_only_executors_do_not_reach_is_named(sqlite_url: str) -> None:
    access = S3Access(endpoint="http://127.0.0.1:1", region="us-east-1", key_id="id", secret_key="hidden")
    (problem,) = reach_of(ReachQuestion(sqlite_url, {}, ("s3://lake/tocsin", access))).problems
    assert "s3://lake/tocsin" in problem
    assert "hidden" not in problem


@pytest.mark.parametrize(
    ("text", "way_out"),
    [
        ("Error from python worker:\n  ModuleNotFoundError: No module named 'tocsin'\nPYTHONPATH", "SPARK_PY_FILES"),
        ("ModuleNotFoundError: No module named 'tocsin.jobs.executor_environment'", "SPARK_PY_FILES"),
        ("ModuleNotFoundError: No module named 'pyarrow'", "PYSPARK_PYTHON"),
        ("pyspark.errors.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has 3.9", "PYSPARK_PYTHON"),
        ('java.io.IOException: Cannot run program "/opt/python": error=2, No such file', "PYSPARK_PYTHON"),
        ("org.apache.spark.SparkException: something else\n\tat org.apache", "something else"),
    ],
)
def test_a_failure_of_the_tasks_names_the_way_out(text: str, way_out: str) -> None:
    assert way_out in problem_of_failure(Py4JError(text))


def test_a_cluster_does_not_take_sqlite() -> None:
    with pytest.raises(InvalidSetting, match="TOCSIN_DATABASE_URL"):
        check_store(Settings(spark_master="spark://host:7077"))
    for settings in (
        Settings(spark_master="local[2]"),
        Settings(spark_master="local-cluster[2,1,1024]"),
        Settings(spark_master="spark://host:7077", database_url=POSTGRESQL),
    ):
        check_store(settings)


def test_the_python_of_tasks_must_work_on_the_drivers_machine_too() -> None:
    check_python_here(sys.executable)
    with pytest.raises(InvalidSetting, match="PYSPARK_PYTHON=/nowhere/python"):
        check_python_here("/nowhere/python")


def test_all_libraries_that_are_compared_are_here() -> None:
    assert None not in environment_of(LIBRARIES).versions.values()
