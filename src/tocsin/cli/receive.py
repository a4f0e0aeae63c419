"""``tocsin receive``: a development receiver for mails and webhooks. Next: ``delivery/worker/dev_receiver.py``."""

from __future__ import annotations

from typing import Annotated

import typer

from tocsin.cli.extras import needing
from tocsin.cli.ports import LOOPBACK, check_free

HTTP_PORT = 8586
SMTP_PORT = 8587


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
