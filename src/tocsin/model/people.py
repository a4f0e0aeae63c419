"""Actors who make changes, and persons who may be notified."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Actor:
    """Sender of a request: a person or a bot. ``reason`` is why they write, if the request says so."""

    id: str
    name: str
    is_admin: bool = False
    is_bot: bool = False
    reason: str | None = None


PRINCIPALS = ("user", "team", "bot")
"""The types of entities that act, own or are addressed."""

_REMOVED = re.compile(r" \(removed [0-9a-f-]{36}\)$")

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

    @property
    def shown_name(self) -> str:
        """Return what people call them: their display name, else their name."""
        return self.display_name or self.name


def removed_name(name: str, entity_id: str) -> str:
    """Return what alerts and policies call an entity that is deleted for good; no other can be called so."""
    return f"{name} (removed {entity_id})"


def is_removed_name(name: str) -> bool:
    """Return whether a name is one that ``removed_name`` returns."""
    return _REMOVED.search(name) is not None
