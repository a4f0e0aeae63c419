"""Alias of ``tocsin.client.Client`` for programs written for ``openmetadata.client``.

Source: seeds/000, "Programmatic Usage", whose programs write ``OpenMetadata(...)`` with a literal ellipsis.
"""

from __future__ import annotations

from types import EllipsisType

from tocsin.client import Client


class OpenMetadata(Client):
    """A ``Client``; an ellipsis stands for "as the environment says": ``TOCSIN_SERVER`` and ``TOCSIN_TOKEN``."""

    def __init__(self, server: str | EllipsisType | None = None, token: str | None = None) -> None:
        super().__init__(None if server is ... else server, token)
