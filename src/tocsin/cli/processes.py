"""Commands that each run one process: ``serve``, ``pipeline``, ``deliver``, ``relay``, ``ingest`` and others.

Next: ``server/app.py``, ``jobs/pipeline.py``, ``delivery/worker/deliver.py``, ``relay/build.py``, ``ingest/build.py``,
``delivery/worker/dev_receiver.py``, ``relay/kafka/dev_broker.py``.
"""

from __future__ import annotations

from typing import Annotated

import structlog
import typer

from tocsin.cli.checkpoint_lock import alone
from tocsin.cli.configuration import settings_of
from tocsin.cli.extras import needing
from tocsin.cli.java import check_java, java_program
from tocsin.cli.ports import LOOPBACK, any_free_port, check_free
from tocsin.cli.progress import megabytes_so_far
from tocsin.errors import InvalidInput
from tocsin.settings import RelaySettings

HTTP_PORT = 8586
SMTP_PORT = 8587
KAFKA_PORT = 9092


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
        from tocsin.logs import set_up_logs
        from tocsin.spark.session import start_java_early
        from tocsin.store.database.folder import make_private
    set_up_logs(settings)
    if change := make_private(settings.data_dir):
        structlog.get_logger().warning("data_folder_made_private", change=change)
    with alone(settings.checkpoint_dir()):
        archive = start_java_early(settings, settings.data_dir)  # Java starts while Python imports
        with needing("spark"):
            from tocsin.jobs.pipeline import main
        main(settings, archive)


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


def check_relay(settings: RelaySettings) -> None:
    """Check that the settings name one broker at most, and that its library is there; by default that of Kafka.

    Raises
    ------
    MissingExtra : it is not installed
    InvalidSetting : they name two
    """
    if settings.kafka_servers and settings.pulsar_url:
        from tocsin.relay.broker import check_broker

        check_broker(settings)
    if settings.pulsar_url:
        with needing("pulsar"):
            import pulsar  # noqa: F401
    else:
        with needing("kafka"):
            import confluent_kafka  # noqa: F401


RestartAt = Annotated[
    str | None,
    typer.Option(help="Only set how far the log is written, after a restore: to this offset, or to its `end`."),
]


def relay(*, restart_at: RestartAt = None) -> None:
    """Run a relay: write the change events that a bot may view to Kafka or Pulsar, once and in order per entity.

    TOCSIN_KAFKA_SERVERS or TOCSIN_PULSAR_URL names the brokers, TOCSIN_RELAY_READER the bot. The broker keeps how far
    the relay is. Run any number of relays: one writes, the others stand by.
    """
    settings = settings_of()
    if restart_at is not None and not (restart_at == "end" or (restart_at.isascii() and restart_at.isdecimal())):
        raise InvalidInput(f"{restart_at!r} is no offset of the log: give a number, or `end`", field="--restart-at")
    with needing("server"):
        from tocsin.logs import set_up_logs
        from tocsin.store.database.schema import migrate  # noqa: F401  # before the next block names its own extra
    check_relay(settings)
    from tocsin.relay.build import main, restart

    set_up_logs(settings)
    if restart_at is None:
        main(settings)
    else:
        typer.echo(f"The relay {settings.relay_name} goes on after {restart(settings, restart_at)}.")


def ingest() -> None:
    """Apply the events of a Kafka topic: changes by other systems, each once, with the rights of a bot.

    TOCSIN_KAFKA_SERVERS names the brokers, TOCSIN_INGEST_TOPIC the topic, TOCSIN_INGEST_BOT the bot. Refused events go
    to a dead-letter topic. Run any number: they share the partitions.
    """
    settings = settings_of()
    with needing("server"):
        from tocsin.logs import set_up_logs
        from tocsin.store.database.schema import migrate  # noqa: F401  # before the next block names its own extra
    with needing("kafka"):
        from tocsin.ingest.build import main
    set_up_logs(settings)
    main(settings)


def broker(*, port: Annotated[int, typer.Option(help="Port for clients.")] = KAFKA_PORT) -> None:
    """Run a Kafka broker for trying out the relay, with its data in the data folder. Requires Java 17 or newer.

    Its files, 43 MB, are fetched from Maven at the first start.
    """
    check_java()
    settings = settings_of()
    with needing("spark"):
        from tocsin.relay.kafka.dev_broker import FETCHED_MB, VERSION, DevBroker, fetch
    check_free(LOOPBACK, port, option="--port")
    folder = settings.data_dir.absolute() / "kafka"
    files, java = folder / VERSION, java_program() or "java"
    if not files.is_dir():
        with needing("spark"), megabytes_so_far(f"Fetching Kafka {VERSION}", FETCHED_MB) as report:
            fetch(files, java=java, report=report)
    dev_broker = DevBroker(files, folder, port, any_free_port(), java)
    dev_broker.prepare()
    dev_broker.run(lambda: typer.echo(f"Kafka {VERSION} is ready at {LOOPBACK}:{port}"))


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
