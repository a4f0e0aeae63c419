"""How do results leave Spark? One action per micro-batch, one transaction in the store.

The driver writes, never an executor: rows are few against events, and SQLite has one writer. A micro-batch may
come twice, so rows are written by deterministic id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pyspark.sql import DataFrame


class NotificationStore(Protocol):
    """Takes notifications; those it has already stay as they are."""

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Store all of ``rows`` (columns of ``spark/schedule.notifications``) or none."""


def write_notifications(frame: DataFrame, store: NotificationStore) -> int:
    """Run ``frame`` and store its rows; return how many they are."""
    rows = frame.toArrow().to_pylist()
    store.add(rows)
    return len(rows)
