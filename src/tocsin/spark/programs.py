"""Programs: residual conditions compiled to rows of steps with jumps, which Spark interprets.

A step asks one test and names the step to go on with if it passes, and if it does not: the short-circuit code that
compilers make of a boolean expression (Aho et al., "Compilers", section 6.6). So one expression, the walk, evaluates
every condition, however it is nested: plan and compiled code depend on the signatures only.
Next: ``spark/index_rows.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # the name everybody knows it by

from tocsin.logic import ALWAYS, And, Formula, Not, Or, leaves
from tocsin.spark.signatures import TEST_FIELDS, ConditionTest

STEP = pa.struct(
    [
        *TEST_FIELDS,
        pa.field("at", pa.int32(), nullable=False),
        pa.field("passed", pa.int32(), nullable=False),
        pa.field("failed", pa.int32(), nullable=False),
    ]
)
"""One step: a test, the step's own position, and the positions to go on at; these are larger, or an end."""

_ACCEPT, _REJECT = -1, -2

Step = dict[str, Any]  # Any: fields of ``STEP``


def program_of(formula: Formula[ConditionTest]) -> list[Step]:
    """Return the steps that decide ``formula``, one per leaf, in order; none if it is ``logic.ALWAYS``."""
    steps: list[Step] = []
    if formula is not ALWAYS:
        _append(steps, formula, passed=_ACCEPT, failed=_REJECT)
    return steps


def accepts(program: Column, passes: Callable[[Column], Column]) -> Column:
    """Return whether ``program``, an array of ``STEP`` that is not empty, ends well; ``passes`` asks a step's test."""

    def walk(at: Column, step: Column) -> Column:
        following = F.when(passes(step), step["passed"]).otherwise(step["failed"])
        return F.when(step["at"] == at, following).otherwise(at)

    return F.aggregate(program, F.lit(0), walk) == _ACCEPT


def _append(steps: list[Step], formula: Formula[ConditionTest], *, passed: int, failed: int) -> None:
    """Append the steps of ``formula``, which go on at ``passed`` or ``failed``."""
    match formula:
        case Not(operand=operand):
            _append(steps, operand, passed=failed, failed=passed)
        case And(operands=operands):
            for operand, next_start in zip(operands, _starts_after(len(steps), operands, passed), strict=True):
                _append(steps, operand, passed=next_start, failed=failed)
        case Or(operands=operands):
            for operand, next_start in zip(operands, _starts_after(len(steps), operands, failed), strict=True):
                _append(steps, operand, passed=passed, failed=next_start)
        case ConditionTest():
            steps.append(_step(formula, len(steps), passed, failed))
        case _:
            raise AssertionError(f"constants have been simplified away: {formula!r}")


def _starts_after(start: int, operands: Sequence[Formula[ConditionTest]], last: int) -> list[int]:
    """Return, for each of the operands, where the next one starts; ``last`` after the last."""
    following = []
    for operand in operands[:-1]:
        start += sum(1 for _ in leaves(operand))
        following.append(start)
    return [*following, last]


def _step(test: ConditionTest, at: int, passed: int, failed: int) -> Step:
    constants = {"texts": list(test.texts), "numbers": list(test.numbers), "paths": list(test.paths)}
    texts_of_all = [list(texts) for texts in test.texts_of_all]
    return {"shape": test.shape, **constants, "every": texts_of_all, "at": at, "passed": passed, "failed": failed}
