"""How does the server start, and which routes does it have? Process 1: FastAPI over the store, no JVM, no Spark.

Every address begins with ``/api/v1`` (or ``/v1``); ``/`` is the page. Next: ``server/routes``.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import structlog
import uvicorn
from fastapi import APIRouter, Depends, FastAPI
from sqlalchemy import Engine
from starlette.convertors import Convertor, register_url_convertor
from starlette.middleware import Middleware

from tocsin.clock import Clock
from tocsin.logs import set_up_logs, uvicorn_logs
from tocsin.model.entity_types import BY_COLLECTION
from tocsin.server.build import ADMINISTRATOR, build_parts, first_start
from tocsin.server.errors import Boundary, install_errors
from tocsin.server.paths import API, RawPaths
from tocsin.server.request import actor_of
from tocsin.server.routes import (
    activity,
    entities,
    events,
    followers,
    inbox,
    lineage,
    listing,
    page,
    reports,
    subscriptions,
    system,
    users,
)
from tocsin.settings import Settings
from tocsin.store.engine import open_engine

_STOP_WITHIN_S = 5
_COLLECTION = "collection"
_log = structlog.get_logger()


class CollectionConvertor(Convertor[str]):
    """Lets a path name any collection of the catalogue, those of two words included."""

    regex = "|".join(sorted(BY_COLLECTION, key=len, reverse=True))

    def convert(self, value: str) -> str:
        """Return the collection as it stands in the path."""
        return value

    def to_string(self, value: str) -> str:
        """Return the collection as it stands in a path."""
        return value


def build_app(settings: Settings, engine: Engine, clock: Clock | None = None) -> FastAPI:
    """Return the application over the migrated store behind ``engine``; the caller disposes of the engine."""
    parts = build_parts(settings, engine, clock)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        await parts.streams.close()

    register_url_convertor(_COLLECTION, CollectionConvertor())
    app = FastAPI(
        title="Tocsin",
        description="Watches data assets and tells the right people, once.",
        version=system.API_VERSION,
        redirect_slashes=False,
        lifespan=lifespan,
        middleware=[Middleware(Boundary), Middleware(RawPaths)],
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    app.state.parts = parts
    install_errors(app)
    app.include_router(_open_routes(), prefix=API)
    app.include_router(_closed_routes(), prefix=API)
    app.include_router(page.router, include_in_schema=False)
    return app


def main(settings: Settings) -> None:
    """Run the server until it is told to stop; at first start, say the administrator's password once."""
    set_up_logs(settings)
    if settings.database_url is None:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
    engine = open_engine(settings.store_url(), synchronous=settings.sqlite_synchronous)
    try:
        password = first_start(engine, settings)
        if password is not None:
            sys.stderr.write(f"First start. Log in as {ADMINISTRATOR['email']} with password {password}\n")
        app = build_app(settings, engine)
        config = uvicorn.Config(
            app,
            host=settings.host,
            port=settings.port,
            log_config=uvicorn_logs(settings),
            access_log=False,
            timeout_graceful_shutdown=_STOP_WITHIN_S,
            server_header=False,
        )
        _log.info("server starts", host=settings.host, port=settings.port)
        StreamingServer(config, app).run()
    finally:
        engine.dispose()


class StreamingServer(uvicorn.Server):
    """A server that ends its open streams first, so that a stop need not wait for them, and then ends well."""

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._streams = app.state.parts.streams

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop when told to. Unlike uvicorn's own, it does not raise the signal again: a wanted stop is no failure."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def shutdown(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]  # sockets go through
        """Let every listener go, then stop as usual."""
        await self._streams.close()
        await super().shutdown(sockets)  # type: ignore[arg-type]  # as above


def _open_routes() -> APIRouter:
    """Return what works without a token."""
    routes = APIRouter()
    routes.include_router(system.router)
    routes.include_router(users.open_router)
    return routes


def _closed_routes() -> APIRouter:
    """Return what needs a token. What is special comes before the routes that every collection has."""
    routes = APIRouter(dependencies=[Depends(actor_of)])
    for resource in (users, inbox, activity, followers, reports, lineage, subscriptions):
        routes.include_router(resource.router)
    for router in (listing.router, entities.router, followers.of_asset):
        routes.include_router(router, prefix=f"/{{collection:{_COLLECTION}}}")
    routes.include_router(events.router)
    return routes
