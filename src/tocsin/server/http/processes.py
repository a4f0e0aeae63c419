"""Supervisor of several server processes: starts them, monitors them, and stops them; it serves no requests.

Each is forked from the supervisor after all imports, so they share most of their memory and start fast. A process that
dies is replaced; if they keep dying, all stop. They stop with the supervisor, even if that is killed. uvicorn's own
workers do neither (``docs/decisions/0041-our-own-supervisor.md``). Next: ``server/app.py``.
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess

import structlog

from tocsin.errors import Conflict, Unavailable
from tocsin.forks import EarlyDeaths, end_forks, end_in_words, fork, stop_requests

Serve = Callable[[int], None]
"""Serves until SIGTERM; given the number of its process, from 0."""

_GRACE_S = 8.0
_log = structlog.get_logger()


def serve_in(count: int, serve: Serve) -> None:
    """Run ``serve`` in ``count`` processes until this one is stopped; in this one if there is to be only one.

    Nothing that the processes must not share (connections, threads that work) may be open yet.

    Raises
    ------
    Unavailable : the processes do not stay up
    """
    if count == 1:
        serve(0)
        return
    family = _Family(serve)
    with stop_requests() as stop:
        try:
            for number in range(count):
                family.start(number)
            while stop not in wait((stop, *family.ends())):
                family.replace_the_dead()
        finally:
            family.end()


@dataclass(frozen=True)
class _Child:
    number: int
    process: ForkProcess
    started_s: float


class _Family:
    """The processes that this one has started and that still run."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._running: list[_Child] = []
        self._early_deaths = EarlyDeaths()

    def start(self, number: int) -> None:
        self._running.append(_Child(number, fork(partial(self._serve, number)), time.monotonic()))

    def ends(self) -> list[int]:
        """Return what can be read once a process has ended."""
        return [child.process.sentinel for child in self._running]

    def replace_the_dead(self) -> None:
        for child in [one for one in self._running if not one.process.is_alive()]:
            self._running.remove(child)
            if self._early_deaths.add(child.started_s):
                raise Unavailable("The server's processes keep failing; see their output above.")
            how = end_in_words(child.process.exitcode or 0)
            _log.warning("server_process_ended", pid=child.process.pid, how=how, then="restarting")
            self.start(child.number)

    def end(self) -> None:
        end_forks([child.process for child in self._running], grace_s=_GRACE_S)


_WAITING = 2048
_TOGETHER = sys.platform == "linux"

Address = tuple[socket.AddressFamily, tuple[object, ...]]


def listening_sockets(host: str, port: int, count: int) -> list[list[socket.socket]]:
    """Return the sockets of each of ``count`` processes, one per address that ``host`` resolves to.

    Raises
    ------
    Conflict : something else listens there
    """
    groups: list[list[socket.socket]] = []
    try:
        for _ in range(count if _TOGETHER else 1):
            groups.append(
                [_listening_socket(address, together=count > 1 and _TOGETHER) for address in _addresses(host, port)]
            )
            port = port or groups[0][0].getsockname()[1]
    except OSError as error:
        for listener in (listener for sockets in groups for listener in sockets):
            listener.close()
        raise Conflict(f"Cannot listen on port {port} of {host}: {error.strerror or error}.") from error
    return groups if _TOGETHER else groups * count


def _addresses(host: str, port: int) -> list[Address]:
    resolved = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return list(dict.fromkeys((family, address) for family, _, _, _, address in resolved))


def _listening_socket(address: Address, *, together: bool) -> socket.socket:
    family, place = address
    listener = socket.create_server(place, family=family, backlog=_WAITING, reuse_port=together)
    listener.setblocking(False)
    return listener
