"""Connection to Kafka: what all its clients are set to, and their errors as ours.

Next: ``relay/kafka/topics.py``, ``relay/kafka/tail.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from tocsin.errors import InvalidSetting
from tocsin.relay.target import BrokerUnavailable, Fenced

TIMEOUT_S = 15.0
"""Seconds for one request to the broker."""

METADATA_TIMEOUT_S = 5.0
"""Seconds for the first request of a connection; a relay that is told to stop waits so long at most."""

_TIMES = re.compile(r" \(after \d+ms in state .*\)$")
"""What the client adds to an error, and what makes two lines of the same one."""

_FENCED = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)


class Connection:
    """Settings of librdkafka's clients, ``settings`` among them, and the last error that one of them reported."""

    def __init__(self, client_id: str, settings: Mapping[str, str]) -> None:
        self._servers = settings["bootstrap.servers"]
        self._last_error = ""
        self._settings = {
            "client.id": client_id,
            "error_cb": self._note,
            "log_level": 0,
            "socket.timeout.ms": int(TIMEOUT_S * 1000),
            **settings,
        }

    def config(self, **settings: Any) -> dict[str, Any]:  # Any: values of librdkafka's settings
        """Return the settings of one client; names have ``_`` in place of ``.``."""
        return self._settings | {name.replace("_", "."): value for name, value in settings.items()}

    @contextmanager
    def guard(self, problem: str) -> Iterator[None]:
        """Turn errors of the clients into ours; ``problem`` says what failed.

        Raises
        ------
        Fenced : another relay writes to the broker now
        InvalidSetting : a client refuses its settings
        BrokerUnavailable : any other error
        """
        try:
            yield
        except BufferError as error:
            raise BrokerUnavailable(f"{problem}: more is waiting than the client may hold") from error
        except KafkaException as error:
            raise self._as_ours(error, problem) from error

    def _as_ours(self, error: KafkaException, doing: str) -> Exception:
        cause = error.args[0]
        if not isinstance(cause, KafkaError):
            return BrokerUnavailable(f"{doing}: {cause}")
        if cause.code() in _FENCED:
            return Fenced("another relay took over, or the transaction took too long")
        if cause.code() == KafkaError._INVALID_ARG:
            return InvalidSetting(f"Kafka's client refuses its settings: {cause.str()}")
        if self._last_error and cause.code() == KafkaError._TRANSPORT:  # which says no more than that it failed
            return BrokerUnavailable(f"{doing} at {self._servers}: {self._last_error}")
        return BrokerUnavailable(f"{doing} at {self._servers}: {cause.str()} ({cause.name()})")

    def _note(self, error: KafkaError) -> None:
        if error.code() != KafkaError._ALL_BROKERS_DOWN:  # says less than what was reported before
            self._last_error = _TIMES.sub("", error.str())
