"""Listening sockets of the server's processes: one each, at a shared address, where the kernel supports it.

Linux distributes connections among sockets that share an address (``SO_REUSEPORT``), more evenly than processes that
accept from one socket do. All sockets are created before the processes and remain open in the supervisor: a client that
connects while a process is being replaced waits and is not refused. Next: ``server/processes.py``.
"""

from __future__ import annotations

import socket
import sys

from tocsin.errors import Conflict

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
