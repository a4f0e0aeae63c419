"""Readiness checks for the processes of ``tocsin up``, by their function and not by their log."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import httpx

from tocsin.flow.eventlog.readers import MATCH_STREAM

if TYPE_CHECKING:  # the store's library is an extra
    from tocsin.store.eventlog.log import EventLog

Question = Callable[[], Awaitable[bool]]

_ANSWER_WITHIN_S = 2.0


def answers_at(url: str) -> Question:
    """Return a question that is true once ``url`` answers 200."""

    async def ask() -> bool:
        # A proxy has no part in what happens on this machine.
        async with httpx.AsyncClient(timeout=_ANSWER_WITHIN_S, trust_env=False) as http:
            try:
                return (await http.get(url)).status_code == httpx.codes.OK
            except httpx.TransportError:
                return False

    return ask


def pipeline_has_caught_up(log: EventLog, since_ms: int) -> Question:
    """Return a predicate that is true once the pipeline, started at ``since_ms`` or later, has processed the log."""

    async def ask() -> bool:
        reported_at_ms = await asyncio.to_thread(log.reported_at_ms, MATCH_STREAM)
        has_reported = reported_at_ms is not None and reported_at_ms >= since_ms
        return has_reported and await asyncio.to_thread(log.lag, MATCH_STREAM) == 0

    return ask


def has_started() -> Question:
    """Return a question that is true at once, for a part that waits for work and has nothing to show before."""

    async def ask() -> bool:
        return True

    return ask
