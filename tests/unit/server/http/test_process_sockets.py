"""Tests of listening sockets that share an address, and of the error when it is taken."""

from __future__ import annotations

import socket

import pytest

from tocsin.errors import Conflict
from tocsin.server.http.processes import listening_sockets


@pytest.mark.parametrize("count", [1, 3])
def test_all_listen_at_one_port(count: int) -> None:
    process_sockets = listening_sockets("127.0.0.1", 0, count)
    try:
        assert len(process_sockets) == count
        assert len({one.getsockname() for sockets in process_sockets for one in sockets}) == 1
        with socket.create_connection(process_sockets[0][0].getsockname(), timeout=5):
            pass
    finally:
        for sockets in process_sockets:
            for listener in sockets:
                listener.close()


@pytest.mark.parametrize("count", [1, 2])
def test_a_taken_port_is_a_conflict(count: int) -> None:
    with socket.socket() as taken_socket:
        taken_socket.bind(("127.0.0.1", 0))
        taken_socket.listen()
        with pytest.raises(Conflict):
            listening_sockets("127.0.0.1", taken_socket.getsockname()[1], count)
