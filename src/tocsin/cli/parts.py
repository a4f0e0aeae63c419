"""Processes that ``tocsin up`` starts, and the settings they share. Next: ``cli/supervisor.py``."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass

from tocsin.cli.ports import LOOPBACK, free_port
from tocsin.cli.readiness import Question, answers_at, has_started
from tocsin.cli.receive import HTTP_PORT, SMTP_PORT
from tocsin.cli.supervisor import Part
from tocsin.settings import Settings

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


def local_url(settings: Settings) -> str:
    """Return where the server answers on this machine."""
    return f"http://{_EVERYWHERE.get(settings.host, settings.host)}:{settings.port}"


def tocsin(*arguments: str) -> tuple[str, ...]:
    """Return the command that runs this very Tocsin with ``arguments``."""
    return (sys.executable, "-m", "tocsin", *arguments)


def parts_of(settings: Settings, dev_receiver: DevReceiver | None, pipeline_is_ready: Question) -> tuple[Part, ...]:
    """Return the processes to start, each with what it must know of the others."""
    shared = {
        "TOCSIN_PORT": str(settings.port),
        "TOCSIN_DATA_DIR": str(settings.data_dir.absolute()),
        "TOCSIN_EGRESS_ALLOW": json.dumps(settings.egress_allow),
    }
    server_is_ready = answers_at(f"{local_url(settings)}/api/v1/system/version")
    server = Part("server", tocsin("serve"), server_is_ready, shared)
    pipeline = Part("pipeline", tocsin("pipeline"), pipeline_is_ready, shared, _SPARKS_CHATTER)
    if dev_receiver is None:
        return server, pipeline, Part("worker", tocsin("deliver"), has_started(), shared)
    smtp = {"TOCSIN_SMTP_HOST": LOOPBACK, "TOCSIN_SMTP_PORT": str(dev_receiver.smtp_port)}
    ports = ("--http-port", str(dev_receiver.http_port), "--smtp-port", str(dev_receiver.smtp_port))
    worker = Part("worker", tocsin("deliver"), has_started(), {**shared, **smtp})
    return Part("dev receiver", tocsin("receive", *ports), answers_at(dev_receiver.url())), server, pipeline, worker
