"""Python workers whose driver has ended."""

from __future__ import annotations

import socket

import pytest

from tocsin.spark import worker_daemon


@pytest.mark.parametrize("error", [BrokenPipeError(32, "Broken pipe"), ConnectionResetError(104, "reset")])
def test_a_worker_whose_driver_has_ended_ends_in_order(error: OSError) -> None:
    def work(sock: socket.socket, authenticated: bool) -> int:
        raise error

    with socket.socket() as unused:
        assert worker_daemon.work_until_nobody_listens(unused, authenticated=True, work=work) == 1


def test_other_errors_of_a_worker_are_shown() -> None:
    def work(sock: socket.socket, authenticated: bool) -> int:
        raise FileNotFoundError(2, "No such file")

    with socket.socket() as unused, pytest.raises(FileNotFoundError):
        worker_daemon.work_until_nobody_listens(unused, authenticated=True, work=work)
