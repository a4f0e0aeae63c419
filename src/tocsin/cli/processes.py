"""Commands that each run one process of Tocsin: ``serve``, ``pipeline``, ``deliver`` and ``receive``.

Next: ``server/app.py``, ``jobs/pipeline.py``, ``delivery/worker/deliver.py`` and ``delivery/worker/dev_receiver.py``.
"""

from __future__ import annotations

from typing import Annotated

import structlog
import typer

from tocsin.cli.checkpoint_lock import alone
from tocsin.cli.configuration import settings_of
from tocsin.cli.extras import needing
from tocsin.cli.java import check_java
from tocsin.cli.ports import LOOPBACK, check_free

HTTP_PORT = 8586
SMTP_PORT = 8587


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


def pipeline(
    *, master: Annotated[str | None, typer.Option(help="Spark master to run on, e.g. spark://host:7077.")] = None
) -> None:
    """Run the pipeline: read the log, match alerts, find recipients, write notifications.

    Run one pipeline per checkpoint folder. Requires Java 17 or newer.
    """
    check_java()
    settings = settings_of(spark_master=master)
    with needing("spark"):
        from tocsin.jobs.pipeline import main
        from tocsin.logs import set_up_logs
        from tocsin.store.database.folder import make_private
    set_up_logs(settings)
    if changed := make_private(settings.data_dir):
        structlog.get_logger().warning("data_folder_made_private", change=changed)
    with alone(settings.checkpoint_dir()):
        main(settings)


def deliver() -> None:
    """Run a worker: claim due messages, send them, record the outcome.

    Run any number of workers. If one is killed, another takes over its messages.
    """
    settings = settings_of()
    with needing("server"):
        from tocsin.delivery.worker.deliver import main
        from tocsin.logs import set_up_logs
    set_up_logs(settings)
    main(settings)


def receive(
    *,
    http_port: Annotated[int, typer.Option(help="Port for webhooks; /received lists what arrived.")] = HTTP_PORT,
    smtp_port: Annotated[int, typer.Option(help="Port for mail.")] = SMTP_PORT,
) -> None:
    """Run a development receiver: a mail server and a webhook endpoint that print what arrives.

    tocsin up starts one and may send to it. Any other server or worker may send to addresses of this machine only if
    the setting egress_allow permits them: TOCSIN_EGRESS_ALLOW='["127.0.0.1:8586"]'.
    """
    with needing("server"):
        from tocsin.delivery.worker.dev_receiver import main
    check_free(LOOPBACK, http_port, option="--http-port")
    check_free(LOOPBACK, smtp_port, option="--smtp-port")
    main(http_port=http_port, smtp_port=smtp_port)
