"""Grouped Python functions on Spark without pandas, called the way PySpark calls them.

PySpark's ``transformWithState`` and ``applyInArrow`` require pandas even for functions that take rows or Arrow and
never use it. These equivalents omit that check; PySpark's version is pinned exactly.
Next: ``spark/streaks.py``.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.functions import vectorized_udf  # type: ignore[attr-defined]  # its stubs leave it out
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.streaming.stateful_processor_util import TransformWithStateInPandasUdfUtils
from pyspark.sql.types import StructType
from pyspark.util import PythonEvalType

_NO_TIMERS = "None"
_APPEND = "Append"


def with_state(frame: DataFrame, key: str, keeper: StatefulProcessor, columns: StructType) -> DataFrame:
    """Return what ``keeper`` gives for the rows of each group of a stream, in ``columns``; it keeps state between.

    Source: ``GroupedData.transformWithState`` of PySpark 4.3.
    """
    run = TransformWithStateInPandasUdfUtils(keeper, _NO_TIMERS).transformWithStateUDF
    wrapped = vectorized_udf(run, columns, PythonEvalType.SQL_TRANSFORM_WITH_STATE_PYTHON_ROW_UDF)
    session = frame.sparkSession
    made = frame.groupBy(key)._jgd.transformWithStateInPySpark(
        wrapped(*(frame[name] for name in frame.columns))._jc,
        session._jsparkSession.parseDataType(columns.json()),
        _APPEND,
        _NO_TIMERS,
        None,
        "",
    )
    return DataFrame(made, session)


def in_arrow(frame: DataFrame, key: str, function: Callable[[pa.Table], pa.Table], columns: StructType) -> DataFrame:
    """Return what ``function`` makes of each group of a frame that is no stream, in ``columns``.

    Source: ``GroupedData.applyInArrow`` of PySpark 4.3.
    """
    wrapped = vectorized_udf(function, columns, PythonEvalType.SQL_GROUPED_MAP_ARROW_UDF)
    made = frame.groupBy(key)._jgd.flatMapGroupsInArrow(wrapped(*(frame[name] for name in frame.columns))._jc)
    return DataFrame(made, frame.sparkSession)
