"""``tocsin pipeline``: the Spark driver that computes all notifications. Next: ``jobs/pipeline.py``."""

from __future__ import annotations

from typing import Annotated

import structlog
import typer

from tocsin.cli.checkpoint_lock import alone
from tocsin.cli.configuration import settings_of
from tocsin.cli.extras import needing
from tocsin.cli.java import check_java


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
