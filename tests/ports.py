"""Which port may a process of a test have? A free one that nothing else takes before the process does."""

from __future__ import annotations

import secrets
import socket

_BELOW_EPHEMERAL = range(10_000, 32_000)
"""No outgoing connection is given one of these, as it may be of those that the system hands out for port 0."""


def free_port() -> int:
    """Return a port that is free on the loopback; by true chance, for tests run side by side from one seed."""
    while True:
        port = secrets.choice(_BELOW_EPHEMERAL)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
