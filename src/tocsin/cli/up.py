"""``tocsin up``: all of Tocsin on one machine, without configuration. Next: ``cli/parts.py``.

The parts are the commands of the same names, run as processes; shared settings are passed in their environment.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tocsin.cli.checkpoint_lock import check_alone
from tocsin.cli.configuration import settings_of
from tocsin.cli.console import Login, Screen, Welcome
from tocsin.cli.extras import needing
from tocsin.cli.java import check_java
from tocsin.cli.local_store import opened_store
from tocsin.cli.parts import PostRoom, local_url, parts_of, post_room_of, with_post_room
from tocsin.cli.ports import check_free
from tocsin.cli.progress import progress_bar
from tocsin.cli.readiness import Question, pipeline_has_caught_up
from tocsin.cli.receive import HTTP_PORT
from tocsin.cli.supervisor import supervise
from tocsin.client.connection import local_server
from tocsin.clock import SystemClock
from tocsin.settings import Settings

if TYPE_CHECKING:  # the store's library is an extra
    from sqlalchemy import Engine


def up(
    *,
    port: Annotated[int | None, typer.Option(help="Port of the page and the API.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder for everything that is kept.")] = None,
    sample: Annotated[bool, typer.Option(help="Load the sample company into an empty store.")] = True,
) -> None:
    """Start everything on this machine: server, pipeline, worker, and a post room for mails and webhooks.

    The first time it makes the store, shows the administrator's password once, and loads a sample company.
    What is no terminal is shown no password: `tocsin admin reset-password admin` makes a new one.
    A part that dies is started again; Ctrl-C ends them all. It needs Java 17 or newer.
    """
    check_java()
    settings = settings_of(port=port, data_dir=data_dir)
    check_free(settings.host, settings.port, option="--port or TOCSIN_PORT")
    with needing("all"):
        import pyspark  # noqa: F401  # better now than in the pipeline, after all else has started
    check_alone(settings.checkpoint_dir())
    post_room = post_room_of(settings)
    settings = with_post_room(settings, post_room)
    with opened_store(settings) as engine:
        logins = _prepare(engine, settings, post_room, with_sample=sample)
        asyncio.run(_run(settings, post_room, logins, _pipeline_question(engine)))


def _prepare(engine: Engine, settings: Settings, post_room: PostRoom | None, *, with_sample: bool) -> tuple[Login, ...]:
    """Make what the first start needs, and return who can log in, with the passwords that were made just now."""
    from tocsin.server.bootstrap import ADMINISTRATOR, first_start

    password = first_start(engine, settings)
    administrator = Login(ADMINISTRATOR["name"], "administrator", ADMINISTRATOR["email"], password)
    demo = _load_sample(engine, settings, post_room) if with_sample else None
    return (administrator, demo) if demo else (administrator,)


def _load_sample(engine: Engine, settings: Settings, post_room: PostRoom | None) -> Login | None:
    """Load the sample company unless it is there; return its demo person's login if it was made just now.

    The webhook of one that is there is led to this start's post room.
    """
    from tocsin.sample.hook import lead_hook_to
    from tocsin.sample.load import is_loaded, load

    if is_loaded(engine):
        if post_room:
            lead_hook_to(engine, post_room.http_port, clock=SystemClock())
        return None
    port = post_room.http_port if post_room else HTTP_PORT
    with progress_bar("Loading the sample company") as report:
        made = load(engine, settings, now_ms=SystemClock().now_ms(), progress=report, receiver_port=port)
    return Login(made.name, "somebody of the sample", made.email, made.password)


def _pipeline_question(engine: Engine) -> Question:
    from tocsin.store.eventlog.log import EventLog

    return pipeline_has_caught_up(EventLog(engine), SystemClock().now_ms())


async def _run(settings: Settings, post_room: PostRoom | None, logins: Sequence[Login], question: Question) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    screen, parts = Screen(), parts_of(settings, post_room, question)
    server, received = local_url(settings), post_room.url() if post_room else None
    welcome = Welcome(
        settings.public_url or server, tuple(logins), received, None if server == local_server(None) else server
    )
    screen.say("up", f"starting {', '.join(part.name for part in parts)}")
    try:
        await supervise(parts, say=screen.say, on_ready=lambda: screen.welcome(welcome), stop=stop)
    finally:
        screen.farewell(welcome)
