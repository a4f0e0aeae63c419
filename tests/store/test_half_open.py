"""Tests of connections to PostgreSQL whose network went away without a word: nothing arrives, and nothing ends them."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from sqlalchemy import Engine, make_url, text
from sqlalchemy.exc import OperationalError

from tocsin.store.database.engine import open_engine, reading


class Proxy:
    """A network in front of a server; while ``is_silent``, it takes what is sent and passes nothing on."""

    def __init__(self, host: str, port: int) -> None:
        self._address, self._listening = (host, port), socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.is_silent = False
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                far = socket.create_connection(self._address)
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=self._forward, args=(source, target), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError), source, target:
            while received := source.recv(65_536):
                if not self.is_silent:
                    target.sendall(received)


@contextmanager
def behind_proxy(address: str) -> Iterator[tuple[Proxy, Engine]]:
    url = make_url(address)
    proxy = Proxy(str(url.host), int(url.port or 5432))
    through = url.set(host="127.0.0.1", port=proxy.port).render_as_string(hide_password=False)
    through_proxy = open_engine(through, answers_within_s=0.5)
    try:
        yield proxy, through_proxy
    finally:
        through_proxy.dispose()
        proxy.close()


def ask(engine: Engine) -> int:
    with reading(engine) as connection:
        return int(connection.execute(text("SELECT 7")).scalar_one())


@pytest.mark.postgres
def test_a_half_open_connection_is_given_up_in_time_and_the_next_one_answers(postgres_url: str) -> None:
    with behind_proxy(postgres_url) as (proxy, engine):
        assert ask(engine) == 7
        proxy.is_silent = True
        started_s = time.monotonic()
        with pytest.raises(OperationalError, match="silent"):
            ask(engine)
        assert time.monotonic() - started_s >= 0.5
        proxy.is_silent = False
        assert ask(engine) == 7
