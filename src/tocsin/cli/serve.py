"""``tocsin serve``: the API, the page and the live push. Next: ``server/app.py``."""

from __future__ import annotations

from typing import Annotated

import typer

from tocsin.cli.configured import settings_of
from tocsin.cli.extras import needing


def serve(
    *,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
) -> None:
    """Run the server: REST API, page, live notifications.

    Several may run beside each other over one PostgreSQL store. It never starts Java.
    """
    settings = settings_of(host=host, port=port)
    with needing("server"):
        from tocsin.server.app import main
    main(settings)
