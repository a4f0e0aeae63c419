"""Receivers of webhooks on loopback, and destinations that lead to them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from aiohttp import web

from tocsin.model.subscription import Category, Channel, Destination, DestinationConfig

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]
LOOPBACK = ("127.0.0.0/8", "::1/128")


@contextlib.asynccontextmanager
async def receiver(answer: Answer) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def talking(talk: Talk) -> AsyncIterator[str]:
    """A receiver that follows ``talk`` on every connection, and hangs up at its end."""
    talks: set[asyncio.Task[Any]] = set()

    async def follow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talks.add(task)
        try:
            await talk(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    server = await asyncio.start_server(follow, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for talk_task in talks:
            talk_task.cancel()
        await asyncio.gather(*talks, return_exceptions=True)


def speaking(greeting: bytes, *, after: float = 0.0) -> contextlib.AbstractAsyncContextManager[str]:
    """A receiver that takes anything and says ``greeting``."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(after)
        writer.write(greeting)
        await writer.drain()

    return talking(talk)


def destination(endpoint: str | None, *, timeout: int = 2, read_timeout: int = 2, **config: object) -> Destination:
    return Destination(
        id="d",
        category=Category.EXTERNAL,
        type=Channel.WEBHOOK,
        timeout=timeout,
        read_timeout=read_timeout,
        config=DestinationConfig(endpoint=endpoint, **config),
    )
