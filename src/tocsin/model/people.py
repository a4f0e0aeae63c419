"""Actors who make changes, and persons who may be notified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Actor:
    """Sender of a request: a person or a bot."""

    id: str
    name: str
    is_admin: bool = False
    is_bot: bool = False


SYSTEM = Actor(id="system", name="system", is_admin=True, is_bot=True)
"""Tocsin itself, as the one who writes at first start."""


class Person(NamedTuple):
    """A person who can be notified. ``email`` is lower-case; ``None`` when there is none."""

    id: str
    name: str
    display_name: str | None = None
    email: str | None = None
    is_admin: bool = False
    is_bot: bool = False
    deleted: bool = False
