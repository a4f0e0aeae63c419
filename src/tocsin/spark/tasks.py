"""Python work on the partitions of a frame, in Arrow batches.

``DataFrame.mapInArrow`` asks for pandas, though neither it nor the executors use any; here the same plan is made
without. Next: ``jobs/resolving.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
from pyspark.sql.types import StructType
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What a task does with the Arrow batches of its partition; it is pickled."""


def in_tasks(frame: DataFrame, work: Work, columns: StructType) -> DataFrame:
    """Return what ``work`` makes of the partitions of ``frame``, with these ``columns``; one row per row it yields.

    No shuffle: each partition is given to one task, whole and in order.
    """
    function = UserDefinedFunction(work, returnType=columns, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    called = function(*(frame[name] for name in frame.columns))
    return ClassicDataFrame(frame._jdf.mapInArrow(called._jc, False, None), frame.sparkSession)
