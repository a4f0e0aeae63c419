"""Python work on the partitions of a frame, in Arrow batches, and the values that a job hands to its tasks.

``DataFrame.mapInArrow`` asks for pandas, though neither it nor the executors use any; here the same plan is made
without. Next: ``jobs/resolving.py``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
from pyspark.sql.types import StructType
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What a task does with the Arrow batches of its partition; it is pickled."""

_VALUES = "tocsin.job_values"
"""The local property of Spark's that has them, as JSON."""


def in_tasks(frame: DataFrame, work: Work, columns: StructType) -> DataFrame:
    """Return what ``work`` makes of the partitions of ``frame``, with these ``columns``; one row per row it yields.

    No shuffle: each partition is given to one task, whole and in order.
    """
    function = UserDefinedFunction(work, returnType=columns, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    called = function(*(frame[name] for name in frame.columns))
    return ClassicDataFrame(frame._jdf.mapInArrow(called._jc, False, None), frame.sparkSession)


@contextmanager
def handing_out(session: SparkSession, values: Mapping[str, Any]) -> Iterator[None]:  # Any: JSON values
    """Let the tasks of this thread's jobs ask for ``values``, so that one plan serves jobs that differ in them."""
    session.sparkContext.setLocalProperty(_VALUES, json.dumps(values))
    try:
        yield
    finally:
        session.sparkContext.setLocalProperty(_VALUES, None)  # type: ignore[arg-type]  # None removes it


def job_values() -> dict[str, Any]:  # Any: JSON values
    """Return, in a task, the values of its job.

    Raises
    ------
    AssertionError : its job has none
    """
    context = TaskContext.get()
    text = None if context is None else context.getLocalProperty(_VALUES)
    if text is None:
        raise AssertionError("the job hands out no values")
    return dict(json.loads(text))
