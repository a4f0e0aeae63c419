"""Writes over HTTP at a steady rate, from a process of their own: the load beside which something else is measured.

Next: ``bench/latency.py``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import aiohttp

from bench.running import Served

_WRITERS = 16
_PATCH_TYPE = {"Content-Type": "application/json-patch+json"}
_STARTS_WITHIN_S = 30.0


@dataclass
class WriteRate:
    """How many writes a second were answered while they went on; 0 until they have ended."""

    per_s: float = 0.0


@contextmanager
def steady_writes(served: Served, table_ids: Sequence[str], per_s: int) -> Iterator[WriteRate]:
    """PATCH descriptions of these tables, so many a second if the server answers as many, until the block ends."""
    context = get_context("spawn")
    has_begun, is_over, totals = context.Event(), context.Event(), context.SimpleQueue()
    arguments = (served.url, served.headers, list(table_ids), per_s, has_begun, is_over, totals)
    writer = context.Process(target=_write, args=arguments, daemon=True)
    writer.start()
    if not has_begun.wait(_STARTS_WITHIN_S):
        raise AssertionError("no write was answered")
    rate, started_s = WriteRate(), time.perf_counter()
    try:
        yield rate
    finally:
        is_over.set()
        rate.per_s = totals.get() / (time.perf_counter() - started_s)
        writer.join()


def _write(
    url: str,
    headers: Mapping[str, str],
    table_ids: Sequence[str],
    per_s: int,
    *signals: Any,  # Any: events and a queue of multiprocessing
) -> None:
    asyncio.run(_write_until(url, headers, table_ids, per_s, *signals))


async def _write_until(
    url: str,
    headers: Mapping[str, str],
    table_ids: Sequence[str],
    per_s: int,
    *signals: Any,  # Any: as above
) -> None:
    has_begun, is_over, totals = signals
    pause_s, write_count = _WRITERS / per_s, 0
    async with aiohttp.ClientSession(headers={**headers, **_PATCH_TYPE}) as session:

        async def write_on(first: int) -> None:
            nonlocal write_count
            own_ids, due_s, number = table_ids[first::_WRITERS], time.perf_counter() + first / per_s, 0
            while not is_over.is_set():
                await asyncio.sleep(max(0.0, due_s - time.perf_counter()))
                due_s, number = max(due_s + pause_s, time.perf_counter() - pause_s), number + 1
                patch = [{"op": "add", "path": "/description", "value": f"text {first} {number}"}]
                address = f"{url}/api/v1/tables/{own_ids[number % len(own_ids)]}"
                async with session.patch(address, json=patch) as answer:
                    answer.raise_for_status()
                write_count += has_begun.is_set()
                has_begun.set()

        await asyncio.gather(*map(write_on, range(_WRITERS)))
    totals.put(write_count)
