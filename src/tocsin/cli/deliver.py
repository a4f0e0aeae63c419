"""``tocsin deliver``: the worker that sends mails and webhooks. Next: ``delivery/worker/deliver.py``."""

from __future__ import annotations

from tocsin.cli.configuration import settings_of
from tocsin.cli.extras import needing


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
