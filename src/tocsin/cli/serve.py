"""``tocsin serve``: the API, the web page and the live streams. Next: ``server/app.py``."""

from __future__ import annotations

from typing import Annotated

import typer

from tocsin.cli.configuration import settings_of
from tocsin.cli.extras import needing
from tocsin.cli.ports import check_free


def serve(
    *,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    processes: Annotated[
        int | None, typer.Option(help="Number of processes. Default: one per core, at most four.")
    ] = None,
) -> None:
    """Run the server: REST API, web page, live notifications.

    Several processes share one address, and several servers may share one store. Java is not needed.
    """
    settings = settings_of(host=host, port=port, processes=processes)
    with needing("server"):
        from tocsin.server.app import main
    check_free(settings.host, settings.port, option="--port or TOCSIN_PORT")
    main(settings)
