"""Supervisor of several server processes: starts them, monitors them, and stops them; it serves no requests.

Each is forked from the supervisor after all imports, so they share most of their memory and start fast. A process that
dies is replaced; if they keep dying, all stop. They stop with the supervisor, even if that is killed:
each reads from a pipe whose other end only the supervisor holds. Next: ``server/app.py``.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import structlog

from tocsin.errors import Conflict, Unavailable

Serve = Callable[[int], None]
"""Serves until SIGTERM; given the number of its process, from 0."""

SHORT_LIFE_S = 5.0
"""Who dies younger than this has not stayed up."""
DEATHS_BEFORE_GIVING_UP = 5
"""So many in a row who did not stay up end the whole."""

_LOOK_EVERY_S = 0.1
_GRACE_S = 8.0
_STOP = (signal.SIGINT, signal.SIGTERM)
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
    stop = threading.Event()
    before = {number: signal.signal(number, lambda _number, _frame: stop.set()) for number in _STOP}
    held, watched = os.pipe()[::-1]
    family = _Family(serve, (held, watched))
    try:
        for number in range(count):
            family.start(number)
        while not stop.is_set():
            family.replace_the_dead()
            time.sleep(_LOOK_EVERY_S)
    finally:
        family.end()
        os.close(held)
        os.close(watched)
        for number, action in before.items():
            signal.signal(number, action)


@dataclass(frozen=True)
class _Child:
    number: int
    started_s: float


class _Family:
    """The processes that this one has started and that still run."""

    def __init__(self, serve: Serve, pipe: tuple[int, int]) -> None:
        self._serve, self._pipe = serve, pipe
        self._running: dict[int, _Child] = {}
        self._early_deaths = 0

    def start(self, number: int) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOP)  # until the child has left our answers to them behind
        try:
            pid = os.fork()
            if pid == 0:
                _be_child(self._serve, number, self._pipe)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP)
        self._running[pid] = _Child(number, time.monotonic())

    def replace_the_dead(self) -> None:
        for pid, status in self._reaped():
            child = self._running.pop(pid)
            is_early = time.monotonic() - child.started_s < SHORT_LIFE_S
            self._early_deaths = self._early_deaths + 1 if is_early else 0
            if self._early_deaths >= DEATHS_BEFORE_GIVING_UP:
                raise Unavailable("The server's processes do not stay up; their lines above say why.")
            _log.warning("server process ended", pid=pid, how=_how(status), then="another takes its place")
            self.start(child.number)

    def end(self) -> None:
        """Ask all to stop, and end those that do not."""
        for ask, within_s in ((signal.SIGTERM, _GRACE_S), (signal.SIGKILL, _GRACE_S)):
            for pid in self._running:
                with suppress(ProcessLookupError):
                    os.kill(pid, ask)
            give_up_s = time.monotonic() + within_s
            while self._running and time.monotonic() < give_up_s:
                for pid, _status in self._reaped():
                    del self._running[pid]
                time.sleep(_LOOK_EVERY_S / 10)

    def _reaped(self) -> list[tuple[int, int]]:
        """Return those of ours that have ended, and how."""
        looked = [os.waitpid(pid, os.WNOHANG) for pid in self._running]
        return [(pid, os.waitstatus_to_exitcode(status)) for pid, status in looked if pid]


def _be_child(serve: Serve, number: int, pipe: tuple[int, int]) -> None:
    """Serve, and never return into what the parent was doing."""
    code = 1
    try:
        for stop in _STOP:
            signal.signal(stop, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP)
        held, watched = pipe
        os.close(held)
        threading.Thread(target=_end_with, args=(watched,), name="watch", daemon=True).start()
        serve(number)
        code = 0
    finally:
        if sys.exc_info()[1] is not None:  # logged here, because nobody else will
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _end_with(watched: int) -> None:
    """End this process when the parent's end of the pipe is closed: the parent was killed, and so is the server.

    At once, so that the address is free for the next one.
    """
    while os.read(watched, 1024):
        continue
    os._exit(1)


def _how(code: int) -> str:
    return f"by signal {signal.Signals(-code).name}" if code < 0 else f"with code {code}"


_WAITING = 2048
_TOGETHER = sys.platform == "linux"

Address = tuple[socket.AddressFamily, tuple[object, ...]]


def listening(host: str, port: int, count: int) -> list[list[socket.socket]]:
    """Return the sockets of each of ``count`` processes, one per address that ``host`` resolves to.

    Raises
    ------
    Conflict : something else listens there
    """
    made: list[list[socket.socket]] = []
    try:
        for _ in range(count if _TOGETHER else 1):
            made.append([_listening(address, together=count > 1 and _TOGETHER) for address in _addresses(host, port)])
            port = port or made[0][0].getsockname()[1]
    except OSError as error:
        for one in (one for sockets in made for one in sockets):
            one.close()
        raise Conflict(f"Nothing can listen at port {port} of {host}: {error.strerror or error}.") from error
    return made if _TOGETHER else made * count


def _addresses(host: str, port: int) -> list[Address]:
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return list(dict.fromkeys((family, address) for family, _, _, _, address in found))


def _listening(address: Address, *, together: bool) -> socket.socket:
    family, place = address
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if together:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(place)
        made.listen(_WAITING)
        made.setblocking(False)
    except OSError:
        made.close()
        raise
    return made
