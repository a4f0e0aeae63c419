"""Members of an entity by their paths: ``columns.address.children.street``; each list is read once.

Next: ``delivery/wording/changes.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tocsin.model.entity import Document

Value = Any  # Any: a JSON value


class MemberIndex:
    """The members of the lists of one entity."""

    def __init__(self, entity: Document) -> None:
        self._entity = entity
        self._by_list: dict[int, dict[str, Document]] = {}

    def at(self, path: Sequence[str]) -> Document:
        """Return the member that a path leads to: nothing where it is not known."""
        value: Value = self._entity
        for step in path:
            if isinstance(value, list):
                value = self._by_name(value).get(step)
            else:
                value = value.get(step) if isinstance(value, dict) else None
        return value if isinstance(value, dict) else {}

    def _by_name(self, members: list[Value]) -> dict[str, Document]:
        """Return the first member of each name."""
        if (by_name := self._by_list.get(id(members))) is None:
            objects = [one for one in members if isinstance(one, dict) and isinstance(one.get("name"), str)]
            by_name = {one["name"]: one for one in reversed(objects)}
            self._by_list[id(members)] = by_name
        return by_name
