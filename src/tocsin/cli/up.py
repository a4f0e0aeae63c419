"""``tocsin up``: all of Tocsin on one machine, without configuration.

The parts are the commands of the same names, run as processes; shared settings are passed in their environment.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast
from urllib.parse import urlsplit

import typer

from tocsin.cli.checkpoint_lock import check_alone
from tocsin.cli.configuration import settings_of
from tocsin.cli.console import Login, Screen, Welcome
from tocsin.cli.extras import needing
from tocsin.cli.java import check_java
from tocsin.cli.local_store import opened_store
from tocsin.cli.ports import LOOPBACK, check_free, free_port, is_free
from tocsin.cli.preparation import Report, preparing
from tocsin.cli.processes import HTTP_PORT, KAFKA_PORT, SMTP_PORT, check_relay
from tocsin.cli.progress import progress_bar
from tocsin.cli.supervisor import Part, supervise
from tocsin.clock import SystemClock
from tocsin.errors import InvalidInput
from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.settings import Settings

if TYPE_CHECKING:  # the store's library is an extra
    from sqlalchemy import Engine

    from tocsin.store.eventlog.log import EventLog

Question = Callable[[], Awaitable[bool]]
"""Asks a part for its readiness by its function, not by its log."""

_ANSWER_WITHIN_S = 2.0


def up(
    *,
    port: Annotated[int | None, typer.Option(help="Port of the web page and the API.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder for all data.")] = None,
    sample: Annotated[bool, typer.Option(help="Load the sample company if the store is empty.")] = True,
    kafka: Annotated[bool, typer.Option("--kafka", help="Start a Kafka broker, and relay all events to it.")] = False,
) -> None:
    """Start server, pipeline, worker and a development receiver for mails and webhooks on this machine.

    The first start creates the store, shows the administrator's password once, and loads a sample company. Passwords
    are shown only on a terminal; otherwise set one with `tocsin admin reset-password admin`. Processes that end are
    restarted; Ctrl-C stops all. Requires Java 17 or newer.
    """
    check_java()
    settings = settings_of(port=port, data_dir=data_dir)
    check_free(settings.host, settings.port, option="--port or TOCSIN_PORT")
    if kafka or has_broker(settings):
        check_relay(settings)
    check_alone(settings.checkpoint_dir())
    dev_receiver = dev_receiver_of(settings)
    settings, dev_broker = with_broker(with_dev_receiver(settings, dev_receiver), is_wanted=kafka)
    prepare = partial(_prepare, settings, dev_receiver, with_sample=sample)
    with preparing(prepare) as preparation:
        welcome = cast(Welcome, preparation.result())
        parts = parts_of(settings, dev_receiver, preparation.is_over, dev_broker)
        asyncio.run(_run(parts, welcome))


def _prepare(settings: Settings, dev_receiver: DevReceiver | None, report: Report, *, with_sample: bool) -> None:
    """Make what the first start needs, report what a newcomer needs, and wait until the pipeline has read the log."""
    with needing("all"):
        import pyspark  # noqa: F401  # better now than in the pipeline, after all else has started
    with opened_store(settings) as engine:
        from tocsin.store.eventlog.log import EventLog

        logins = _first_logins(engine, settings, dev_receiver, with_sample=with_sample)
        welcome = _welcome(settings, dev_receiver, logins)
        report(welcome, pipeline_has_caught_up(EventLog(engine), SystemClock().now_ms()))


def _first_logins(
    engine: Engine, settings: Settings, dev_receiver: DevReceiver | None, *, with_sample: bool
) -> tuple[Login, ...]:
    """Make what the first start needs, and return who can log in, with the passwords that were made just now."""
    from tocsin.server.bootstrap import ADMINISTRATOR, first_start

    password = first_start(engine, settings)
    administrator = Login(ADMINISTRATOR["name"], "administrator", ADMINISTRATOR["email"], password)
    demo = _load_sample(engine, settings, dev_receiver) if with_sample else None
    return (administrator, demo) if demo else (administrator,)


def _load_sample(engine: Engine, settings: Settings, dev_receiver: DevReceiver | None) -> Login | None:
    """Load the sample company unless it is there; return its demo person's login if it was made just now.

    The webhook of one that is there is led to this start's development receiver.
    """
    from tocsin.sample.load import is_loaded, lead_hook_to, load

    if is_loaded(engine):
        if dev_receiver:
            lead_hook_to(engine, dev_receiver.http_port, clock=SystemClock())
        return None
    port = dev_receiver.http_port if dev_receiver else HTTP_PORT
    with progress_bar("Loading the sample company") as report:
        demo_person = load(engine, settings, now_ms=SystemClock().now_ms(), progress=report, receiver_port=port)
    return Login(demo_person.name, "a user of the sample", demo_person.email, demo_person.password)


def _welcome(settings: Settings, dev_receiver: DevReceiver | None, logins: Sequence[Login]) -> Welcome:
    from tocsin.client.connection import local_server

    server = local_url(settings)
    return Welcome(
        address=settings.public_url or server,
        logins=tuple(logins),
        dev_receiver=dev_receiver.url() if dev_receiver else None,
        server=None if server == local_server(None) else server,
        events=_topic_of(settings) if has_broker(settings) else None,
    )


def has_broker(settings: Settings) -> bool:
    """Return whether events are to be relayed."""
    return bool(settings.kafka_servers or settings.pulsar_url)


def _topic_of(settings: Settings) -> str:
    if settings.pulsar_url:
        return f"{settings.pulsar_url}, topic {settings.pulsar_namespace}/{settings.pulsar_topic}"
    return f"{settings.kafka_servers}, topic {settings.kafka_topic}"


async def _run(parts: Sequence[Part], welcome: Welcome) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    screen = Screen()
    screen.say("up", f"starting {', '.join(part.name for part in parts)}")
    try:
        await supervise(parts, say=screen.say, on_ready=lambda: screen.welcome(welcome), stop=stop)
    finally:
        screen.farewell(welcome)


_SPARKS_CHATTER = (
    "WARNING: Using incubator modules",
    "Starting Streaming TransformWithState",
    "Streaming TransformWithState",
)
"""Spark prints these, with whole schemas in them, past every setting of its logs."""

_EVERYWHERE = {"0.0.0.0": LOOPBACK, "::": "[::1]"}  # noqa: S104  # what a server listens on is not what one calls


@dataclass(frozen=True)
class DevReceiver:
    """The ports of the development receiver, in place of a mail server and a webhook receiver."""

    http_port: int
    smtp_port: int

    def url(self) -> str:
        """Return where everything it received can be read."""
        return f"http://{LOOPBACK}:{self.http_port}/received"


def dev_receiver_of(settings: Settings) -> DevReceiver | None:
    """Return the development receiver to start, or None when a mail server is set."""
    if settings.smtp_host is not None:
        return None
    return DevReceiver(free_port(HTTP_PORT), free_port(SMTP_PORT))


def with_dev_receiver(settings: Settings, dev_receiver: DevReceiver | None) -> Settings:
    """Return the settings that let webhooks reach the development receiver, and nothing else besides."""
    if dev_receiver is None:
        return settings
    receiver = f"{LOOPBACK}:{dev_receiver.http_port}"
    return settings.model_copy(update={"egress_allow": (*settings.egress_allow, receiver)})


def with_broker(settings: Settings, *, is_wanted: bool) -> tuple[Settings, Part | None]:
    """Return the settings of a relay to a development broker, and the broker, if one is wanted.

    Raises
    ------
    InvalidInput : another broker is set
    """
    if not is_wanted:
        return settings, None
    if address := settings.kafka_servers or settings.pulsar_url:
        raise InvalidInput(f"Events go to {address} already, by the settings", field="--kafka")
    port = free_port(KAFKA_PORT)
    command, data_dir = tocsin("broker", "--port", str(port)), str(settings.data_dir.absolute())
    broker = Part("broker", command, takes_connections(port), {"TOCSIN_DATA_DIR": data_dir})
    plain = {"kafka_servers": f"{LOOPBACK}:{port}", "kafka_security": "plaintext"}
    return settings.model_copy(update=plain), broker


def _relay_parts(settings: Settings, shared: dict[str, str], dev_broker: Part | None) -> tuple[Part, ...]:
    if not has_broker(settings):
        return ()
    kafka = {"TOCSIN_KAFKA_SERVERS": settings.kafka_servers, "TOCSIN_KAFKA_SECURITY": settings.kafka_security}
    environment = {**shared, **{name: value for name, value in kafka.items() if value and settings.kafka_servers}}
    relay = Part("relay", tocsin("relay"), has_started(), environment, after=dev_broker)
    parts = (relay,) if dev_broker is None else (dev_broker, relay)
    if not (settings.kafka_servers and settings.ingest_topic):
        return parts
    return *parts, Part("ingest", tocsin("ingest"), has_started(), environment, after=dev_broker)


def local_url(settings: Settings) -> str:
    """Return where the server answers on this machine."""
    return f"http://{_EVERYWHERE.get(settings.host, settings.host)}:{settings.port}"


def tocsin(*arguments: str) -> tuple[str, ...]:
    """Return the command that runs this very Tocsin with ``arguments``."""
    return (sys.executable, "-m", "tocsin", *arguments)


def parts_of(
    settings: Settings,
    dev_receiver: DevReceiver | None,
    pipeline_is_ready: Question,
    dev_broker: Part | None = None,
) -> tuple[Part, ...]:
    """Return the processes to start, each with what it must know of the others."""
    environment = {
        "TOCSIN_PORT": str(settings.port),
        "TOCSIN_DATA_DIR": str(settings.data_dir.absolute()),
        "TOCSIN_EGRESS_ALLOW": json.dumps(settings.egress_allow),
    }
    smtp = {"TOCSIN_SMTP_HOST": LOOPBACK, "TOCSIN_SMTP_PORT": str(dev_receiver.smtp_port)} if dev_receiver else {}
    server_is_ready = answers_at(f"{local_url(settings)}/api/v1/system/version")
    server = Part("server", tocsin("serve"), server_is_ready, {**environment, **smtp})  # it sends tests of destinations
    pipeline = Part("pipeline", tocsin("pipeline"), pipeline_is_ready, environment, _SPARKS_CHATTER)
    relay = _relay_parts(settings, environment, dev_broker)
    if dev_receiver is None:
        return server, pipeline, Part("worker", tocsin("deliver"), has_started(), environment), *relay
    ports = ("--http-port", str(dev_receiver.http_port), "--smtp-port", str(dev_receiver.smtp_port))
    worker = Part("worker", tocsin("deliver"), has_started(), {**environment, **smtp})
    receiver = Part("dev receiver", tocsin("receive", *ports), answers_at(dev_receiver.url()))
    return receiver, server, pipeline, worker, *relay


def answers_at(url: str) -> Question:
    """Return a question that is true once ``url``, which begins with ``http:``, answers 200."""
    address = urlsplit(url)

    def is_answered() -> bool:
        # A proxy has no part in what happens on this machine.
        connection = HTTPConnection(address.hostname or "", address.port, timeout=_ANSWER_WITHIN_S)
        try:
            connection.request("GET", address.path)
            return connection.getresponse().status == HTTPStatus.OK
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    return partial(asyncio.to_thread, is_answered)


def takes_connections(port: int) -> Question:
    """Return a question that is true once something listens on a port of this machine."""

    async def ask() -> bool:
        return not is_free(LOOPBACK, port)

    return ask


def pipeline_has_caught_up(log: EventLog, since_ms: int) -> Callable[[], bool]:
    """Return a predicate that is true once the pipeline, started at ``since_ms`` or later, has processed the log."""
    from tocsin.store.database.engine import STORE_FAILURES

    def has_caught_up() -> bool:
        try:
            reported_at_ms = log.reported_at_ms(MATCH_STREAM)
            return reported_at_ms is not None and reported_at_ms >= since_ms and log.lag(MATCH_STREAM) == 0
        except STORE_FAILURES:  # the store is away: the next look asks again
            return False

    return has_caught_up


def has_started() -> Question:
    """Return a question that is true at once, for a part that waits for work and has nothing to show before."""

    async def ask() -> bool:
        return True

    return ask
