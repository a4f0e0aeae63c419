"""Benchmark of waiting messages: the time and memory of a claim with a million messages that wait, and with few.

A claim walks the destinations and takes a fair share; it must cost the same however much waits. The floor is the same
with a hundredth of the messages. Next: ``bench/deliveries.py``.
"""

from __future__ import annotations

import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

from sqlalchemy import Engine, insert

from bench.measured import Measurement, Report, p95, scale_count
from bench.running import open_store, settings_in
from tocsin.delivery.worker.leases import fair_shares
from tocsin.model.message import MessageStatus
from tocsin.model.subscription import Channel
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import message
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.sessions import Sessions

MESSAGE_COUNT, DESTINATION_COUNT, CLAIM_COUNT, CLAIMED = 1_000_000, 500, 200, 64
_FEWER = 100
_NOW_MS = 1_800_000_000_000
_ROWS_PER_STATEMENT = 10_000
_SESSION = "bench"
_BYTES_PER_KIB = 1024


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure claims with many and with few waiting messages."""
    many = scale_count(MESSAGE_COUNT, scale, least=1_000)
    few = max(many // _FEWER, CLAIMED)
    with (
        tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder,
        open_store(settings_in(Path(folder))) as (engine, _password),
    ):
        fill_messages(engine, few, report)
        few_ms, few_kib = p95(claim_times_ms(engine, CLAIM_COUNT)), _claim_kib(Messages(engine))
        fill_messages(engine, many - few, report)
        many_ms, many_kib = p95(claim_times_ms(engine, CLAIM_COUNT)), _claim_kib(Messages(engine))
    suffix = f"of {many:,} waiting messages"
    return [
        Measurement("waiting", f"claim of {CLAIMED} {suffix}, p95", many_ms, "ms", few_ms, CLAIM_COUNT),
        Measurement("waiting", f"memory of a claim {suffix}", many_kib, "KiB", few_kib, CLAIM_COUNT),
    ]


def fill_messages(engine: Engine, count: int, report: Report = lambda _done, _total: None) -> None:
    """Add due messages, in turns to each destination."""
    message_rows = _rows(count)
    for start in range(0, count, _ROWS_PER_STATEMENT):
        part = [row for row, _ in zip(message_rows, range(min(_ROWS_PER_STATEMENT, count - start)), strict=False)]
        with writing(engine) as connection:
            connection.execute(insert(message), part)
        report(start + len(part), count)


def _rows(count: int) -> Iterator[dict[str, object]]:
    for number in range(count + 1):
        destination = f"{number % DESTINATION_COUNT:036d}"
        yield {
            "id": str(uuid4()),
            "channel": Channel.WEBHOOK.value,
            "recipient": destination,
            "target": "https://hooks.example.org/hook",
            "subscription_id": destination,
            "destination_id": destination,
            "status": MessageStatus.PENDING.value,
            "attempt_count": 0,
            "due_at_ms": _NOW_MS - number,
            "wait_ms": 0,
            "created_at_ms": _NOW_MS,
            "updated_at_ms": _NOW_MS,
        }


def claim_times_ms(engine: Engine, count: int) -> list[float]:
    """Return how long each of ``count`` claims takes, which are given back."""
    messages, times_ms = Messages(engine), []
    Sessions(engine).begin(_SESSION, lease_ms=10**9, now_ms=_NOW_MS)
    for _ in range(count):
        started_s = time.perf_counter()
        claimed = _claim(messages)
        times_ms.append((time.perf_counter() - started_s) * 1000)
        messages.release(_SESSION, claimed)
    return times_ms


def _claim_kib(messages: Messages) -> float:
    """Return the most memory that a claim takes, which is given back."""
    tracemalloc.start()
    messages.release(_SESSION, _claim(messages))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak_bytes / _BYTES_PER_KIB


def _claim(messages: Messages) -> list[str]:
    due = messages.due_destinations(_NOW_MS)
    shares = fair_shares(due, {}, limit=CLAIMED, most_each=CLAIMED)
    claimed = messages.claim(_SESSION, CLAIMED, now_ms=_NOW_MS, shares=shares)
    if len(claimed) != CLAIMED:
        raise AssertionError(f"{len(claimed)} messages were claimed of {CLAIMED}")
    return [one.id for one in claimed]
