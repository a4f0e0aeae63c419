"""Search for free ports, by binding them."""

from __future__ import annotations

import secrets
import socket

from tocsin.errors import Conflict

LOOPBACK = "127.0.0.1"
_BELOW_EPHEMERAL = range(10_000, 32_000)
"""No outgoing connection is given one of these, as it may be of those that the system hands out for port 0."""


def is_free(host: str, port: int) -> bool:
    """Return whether something could listen on ``port`` now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def check_free(host: str, port: int, *, option: str) -> None:
    """Raise Conflict if something listens on ``port`` already; ``option`` is what chooses another."""
    if not is_free(host, port):
        raise Conflict(f"Port {port} on {host} is already in use; choose another with {option}.")


def free_port(preferred: int) -> int:
    """Return ``preferred`` if it is free on loopback, else a port that is."""
    return preferred if is_free(LOOPBACK, preferred) else any_free_port()


def any_free_port() -> int:
    """Return a port that is free on loopback and that nothing takes by accident before the server listens there.

    Two who ask at once get different ones, but for an unlucky chance.
    """
    while not is_free(LOOPBACK, port := secrets.choice(_BELOW_EPHEMERAL)):
        pass
    return port
