"""Log configuration: structlog and uvicorn in one format, set up once per process."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog

from tocsin.settings import LogSettings

_SHARED: list[Any] = [  # Any: structlog's processors have many shapes
    structlog.contextvars.merge_contextvars,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def set_up_logs(settings: LogSettings) -> None:
    """Send log lines to the standard error stream, in the format of the settings."""
    level = getattr(logging, settings.log_level.upper())
    structlog.configure(
        processors=[*_SHARED, *_renderers(settings)],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=to_standard_error,
        cache_logger_on_first_use=False,  # a stream that was replaced may be closed
    )
    # Of a failure in Java it has the whole trace; who called Java logs what has failed.
    logging.getLogger("py4j").addHandler(logging.NullHandler())


def to_standard_error(*_: object) -> structlog.WriteLogger:
    """Return a logger that writes to the standard error stream of this moment."""
    return structlog.WriteLogger(sys.stderr)


def uvicorn_logs(settings: LogSettings) -> dict[str, Any]:  # Any: a logging configuration
    """Return the configuration that lets uvicorn's lines look like ours."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "ours": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    *_renderers(settings),
                ],
                "foreign_pre_chain": _SHARED,
            }
        },
        "handlers": {"ours": {"class": "logging.StreamHandler", "formatter": "ours", "stream": "ext://sys.stderr"}},
        "loggers": {"uvicorn": {"handlers": ["ours"], "level": settings.log_level.upper(), "propagate": False}},
    }


def _renderers(settings: LogSettings) -> list[Any]:  # Any: as above
    if settings.log_format == "json":
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    # A plain traceback: the pretty one prints local variables, and those may be secrets.
    plain = structlog.dev.plain_traceback
    return [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)]
