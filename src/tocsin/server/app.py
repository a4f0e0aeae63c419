"""FastAPI application of the server: start, routes and command; no JVM, no Spark.

Every path begins with ``/api/v1`` (or ``/v1``); ``/`` is the web page. Next: ``server/routes``.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from functools import cache, partial
from resource import RLIMIT_NOFILE, getrlimit, setrlimit
from typing import Any

import orjson
import structlog
import uvicorn
from fastapi import Depends, FastAPI, Request, Response
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware

from tocsin.clock import Clock
from tocsin.logs import set_up_logs, uvicorn_logs
from tocsin.model.entity import Document
from tocsin.server.access.similar_names import did_you_mean
from tocsin.server.asyncapi.document import asyncapi_document
from tocsin.server.bootstrap import ADMINISTRATOR, first_start
from tocsin.server.build import build_parts
from tocsin.server.http.connections import Connections, GuardedProtocol
from tocsin.server.http.embed_origins import EmbedOrigins
from tocsin.server.http.errors import Boundary, install_errors
from tocsin.server.http.paths import API, Acceptable, RawPaths
from tocsin.server.http.processes import listening_sockets, serve_in
from tocsin.server.http.query_names import check_query_names
from tocsin.server.http.routing import COLLECTION, IndexedRouter, LaidOutRoute, lay_out
from tocsin.server.openapi.document import openapi_document
from tocsin.server.request import caller_of, embedded_caller_of
from tocsin.server.routes import change_checks, changes, events, ingest, lake_queries, search, sheets
from tocsin.server.routes.alerts import (
    alert_history,
    alert_incidents,
    backtests,
    conditions,
    deliveries,
    drafts,
    editors,
    noise,
    progress,
    queue,
    subscriptions,
    templates,
)
from tocsin.server.routes.entities import bulk, columns, context, crud, history, listing, named_columns, watching
from tocsin.server.routes.feed import announcements, conversations, suggestions, task_entities, tasks, threads, votes
from tocsin.server.routes.governance import assets, custom_properties
from tocsin.server.routes.lineage import column_impact, edges, graph, impact, openlineage
from tocsin.server.routes.notifications import (
    acknowledge_links,
    activity,
    activity_events,
    addresses,
    answer_links,
    atom,
    embeds,
    explain,
    follow_links,
    inbox,
    inbox_assets,
    inbox_causes,
    inbox_counts,
    inbox_marks,
    mute_links,
    mutes,
    page_links,
    preferences,
    slack_interactions,
    unsubscribe,
)
from tocsin.server.routes.notifications.refusals import refusal_page
from tocsin.server.routes.observations import profiles, queries, runs, samples, table_details, usage
from tocsin.server.routes.people import (
    erasure,
    follow_preferences,
    followers,
    follows,
    openid,
    permissions,
    push_browsers,
    recommendations,
    searches,
    sessions,
    substitutes,
    team_follows,
    teams,
    tokens,
    users,
)
from tocsin.server.routes.quality import incidents, results, suites
from tocsin.server.routes.system import (
    catalogue_settings,
    connectors,
    consumers,
    health,
    lag,
    page,
    rdf,
    retention,
    schemas,
    server_settings,
    version,
)
from tocsin.settings import Settings
from tocsin.store.catalogue.access.revision import PeopleRevision
from tocsin.store.database.engine import open_engine
from tocsin.store.database.folder import make_private
from tocsin.store.database.startup import wait_for
from tocsin.store.database.vault import use_vault
from tocsin.store.upkeep.high_water_marks import check_and_warn, marking

_STOP_WITHIN_S = 5
_TICK_S = 1.0
_CONNECTIONS, _FEWEST_CONNECTIONS = 24, 8
"""Most connections to the store of all processes of a server together, and of each at least."""
_log = structlog.get_logger()


def build_app(
    settings: Settings, engine: Engine, clock: Clock | None = None, revision: PeopleRevision | None = None
) -> FastAPI:
    """Return the application over the migrated store behind ``engine``; the caller disposes of the engine.

    ``revision`` is shared by all processes of the server.
    """
    use_vault(engine, settings)
    parts = build_parts(settings, engine, clock, revision)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        await parts.traffic.streams.close()
        await run_in_threadpool(parts.access.refusals.close)

    app = FastAPI(
        title="Tocsin",
        description="Notifies the right people of every change of a data asset, once, and says why.",
        version=settings.api_version,
        redirect_slashes=False,
        lifespan=lifespan,
        middleware=[
            *(Middleware(Boundary), Middleware(RawPaths), Middleware(Acceptable)),
            Middleware(EmbedOrigins, settings.embed_origins),
        ],
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.parts = parts
    install_errors(app, did_you_mean, page_of_error)
    app.add_route(f"{API}/openapi.json", _description_route(lambda: openapi_document(app)), include_in_schema=False)
    app.add_route(
        f"{API}/asyncapi.json", _description_route(lambda: asyncapi_document(settings)), include_in_schema=False
    )
    app.router = IndexedRouter(app.router, _routes())
    return app


def page_of_error(request: Request, status: int, message: str) -> Response | None:
    """Return the page that says an error to a browser: of the link that it followed, or of an unknown address."""
    return refusal_page(request, status, message) or page.page_of_unknown_address(request, status)


def _description_route(document_of: Callable[[], Document]) -> Callable[[Request], Awaitable[Response]]:
    """Return a route that describes the API; written once, as anybody may ask for it."""

    @cache
    def text() -> bytes:
        return orjson.dumps(document_of())

    async def describe(_request: Request) -> Response:
        return Response(text(), media_type="application/json")

    return describe


def main(settings: Settings) -> None:
    """Run the server until it is stopped; at first start, print how the administrator logs in.

    It waits for an unavailable store, and does not listen before the store is available.
    """
    set_up_logs(settings)
    if settings.database_url is None and (change := make_private(settings.data_dir)):
        _log.warning("data_folder_made_private", change=change)
    wait_for("server", lambda: _say_first_password(settings), threading.Event())
    count = settings.process_count()
    sockets, revision = listening_sockets(settings.host, settings.port, count), PeopleRevision(count)
    _collect_seldom()
    _allow_files()
    _log.info("server_started", host=settings.host, port=sockets[0][0].getsockname()[1], processes=count)

    def serve(number: int) -> None:
        revision.count_as(number)
        _serve(settings, revision, sockets[number], is_first=not number)

    serve_in(count, serve)


def _say_first_password(settings: Settings) -> None:
    engine = open_engine(settings.store_url(), synchronous=settings.sqlite_synchronous)
    try:
        check_and_warn(engine, settings)
        password = first_start(engine, settings)
    finally:
        engine.dispose()
    if password is not None:
        sys.stderr.write(first_password_line(password, is_terminal=sys.stderr.isatty()))


def first_password_line(password: str, *, is_terminal: bool) -> str:
    """Return how the administrator logs in after the first start, without the password if the output is no terminal."""
    begin = f"First start. Log in as {ADMINISTRATOR['email']}"
    if is_terminal:
        return f"{begin} with password {password}\n"
    return f"{begin}; to set a password: tocsin admin reset-password {ADMINISTRATOR['name']}\n"


def _serve(settings: Settings, revision: PeopleRevision, sockets: list[socket.socket], *, is_first: bool) -> None:
    """Run one of the server's processes until stopped; the first also writes the mark of the log's position."""
    engine = open_engine(
        settings.store_url(),
        synchronous=settings.sqlite_synchronous,
        most_connections=max(_FEWEST_CONNECTIONS, _CONNECTIONS // settings.process_count()),
        answers_within_s=settings.database_timeout_s,
    )
    try:
        app = build_app(settings, engine, revision=revision)
        config = server_config(app, settings, log_config=uvicorn_logs(settings), within_s=_STOP_WITHIN_S)
        with marking(engine, settings) if is_first else nullcontext():
            StreamingServer(config, app).run(sockets)
    finally:
        engine.dispose()


def server_config(
    app: FastAPI,
    settings: Settings,
    *,
    log_config: dict[str, Any] | None,  # Any: as ``logging`` takes it
    within_s: int,
    port: int = 0,
) -> uvicorn.Config:
    """Return how uvicorn is to serve: over connections that are bounded, and that stop ``within_s``."""
    guarded: Any = partial(GuardedProtocol, Connections(settings))  # Any: uvicorn wants a class
    return uvicorn.Config(
        app,
        port=port,
        http=guarded,
        ws="none",
        log_config=log_config,
        access_log=False,
        timeout_graceful_shutdown=within_s,
        server_header=False,
        forwarded_allow_ips=list(settings.trusted_proxies),
    )


def _allow_files() -> None:
    """Let this process have as many files open as it may: every connection is one."""
    _, hard_limit = getrlimit(RLIMIT_NOFILE)
    setrlimit(RLIMIT_NOFILE, (hard_limit, hard_limit))


def _collect_seldom() -> None:
    """Look for garbage in cycles seldom: a request leaves next to none, and looking takes a quarter of its time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


class StreamingServer(uvicorn.Server):
    """A server that ends its open streams first, so that a stop need not wait for them, and then ends well."""

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        self._is_to_exit, self._exit_asked = False, asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        super().__init__(config)
        self._streams = app.state.parts.traffic.streams

    @property
    def should_exit(self) -> bool:
        """Whether the server is to stop; any thread, or a signal's handler, may set it."""
        return self._is_to_exit

    @should_exit.setter
    def should_exit(self, is_to_exit: bool) -> None:
        self._is_to_exit = is_to_exit
        if is_to_exit and self._loop is not None:
            self._loop.call_soon_threadsafe(self._exit_asked.set)

    async def main_loop(self) -> None:
        """Wait for the end; once a second the time that answers carry is set. uvicorn's own wakes up ten times."""
        self._loop = asyncio.get_running_loop()
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._exit_asked.wait(), _TICK_S)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on a signal. Unlike uvicorn's own, it does not raise the signal again: a wanted stop is no failure."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let every listener go, then stop as usual."""
        await self._streams.close()
        await super().shutdown(sockets)


_OF_THE_SYSTEM = (lag, consumers, connectors, catalogue_settings, retention, server_settings)
_OF_FOLLOWERS = (followers, follows, follow_preferences, recommendations, team_follows, searches)
_BY_LINK = (unsubscribe, mute_links, follow_links, acknowledge_links, answer_links, slack_interactions)
_OF_EVERY_COLLECTION = (bulk, sheets, listing, history, context, watching, assets, crud, votes)
_OF_ENTITIES = (samples.of_asset, followers.of_asset, activity.of_entities)
_OF_INBOXES = (
    inbox,
    inbox_assets,
    inbox_causes,
    inbox_counts,
    inbox_marks,
    page_links,
    mutes,
    preferences,
    substitutes,
    addresses,
    activity,
    activity_events,
    atom,
    embeds,
)
_OF_LINEAGE = (impact, column_impact, openlineage, edges, graph)
_OF_HISTORY = (search, rdf, lake_queries)
_OF_ALERTS = (
    backtests,
    deliveries,
    drafts,
    noise,
    progress,
    queue,
    editors,
    alert_history,
    alert_incidents,
    change_checks,
    changes,
    conditions,
    subscriptions,
    templates,
)


@cache
def _routes() -> list[LaidOutRoute]:
    """Return all routes, laid out once. What is special comes before the routes that every collection has."""
    routes = lay_out(embeds.embedded_router, API, [Depends(embedded_caller_of), Depends(check_query_names)])
    open_routers = (sessions.open_router, version.router, health.router, rdf.open_router, atom.open_router)
    for open_to_all in (*open_routers, users.open_router, openid.open_router, *(one.router for one in _BY_LINK)):
        routes += lay_out(open_to_all, API, [Depends(check_query_names)])
    dependencies = [Depends(caller_of), Depends(check_query_names)]
    for resource in (
        users,
        tokens,
        sessions,
        push_browsers,
        erasure,
        *_OF_INBOXES,
        *_OF_THE_SYSTEM,
        *_OF_FOLLOWERS,
        runs,
        results,
        incidents,
        explain,
        suites,
        profiles,
        queries,
        samples,
        table_details,
        columns,
        named_columns,
        teams,
        usage,
        *_OF_LINEAGE,
        *_OF_HISTORY,
        *_OF_ALERTS,
        permissions,
        tasks,
        task_entities,
        suggestions,
        announcements,
        conversations,
        threads,
    ):
        routes += lay_out(resource.router, API, dependencies)
    routes += lay_out(profiles.of_types, API, dependencies)
    for router in (*(resource.router for resource in _OF_EVERY_COLLECTION), *_OF_ENTITIES):
        routes += lay_out(router, f"{API}/{COLLECTION}", dependencies)
    for resource in (custom_properties, events, ingest):  # after all others: their paths could be of collections, too
        routes += lay_out(resource.router, API, dependencies)
    routes += lay_out(lag.metrics_router, "", dependencies)
    routes += lay_out(schemas.router, "")
    routes += lay_out(page.router, "")
    return routes
