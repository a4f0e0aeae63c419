"""Display names of the people and teams that events name, which commands show; each is read once per command.

Next: ``cli/events.py``.
"""

from __future__ import annotations

from tocsin.client import Client
from tocsin.delivery.wording.naming import DisplayNaming, changes_of, references_of
from tocsin.errors import Forbidden, InvalidInput, NotFound
from tocsin.model.change import ChangeEvent
from tocsin.model.entity import Document

_PRINCIPALS = ("user", "team")


class DisplayNames:
    """The names that one command has read; those that its user may not see stay as the events have them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._names: dict[str, str] = {}

    def event_of(self, event: ChangeEvent) -> ChangeEvent:
        """Return an event in which people and teams have their display names, its author among them."""
        types_by_id = {one["id"]: one["type"] for change in changes_of(event) for one in references_of(change)}
        if event.user_id:
            types_by_id[event.user_id] = "user"
        for entity_id, entity_type in types_by_id.items():
            if entity_type in _PRINCIPALS:
                self._name_of(entity_type, entity_id)
        names = {entity_id: name for entity_id, name in self._names.items() if name}
        return DisplayNaming(names, frozenset()).event_of(event)

    def author_of(self, event: Document) -> str:
        """Return what the author of an event, as JSON, is called; empty for none."""
        name, user_id = str(event.get("userName") or ""), event.get("userId")
        return (self._name_of("user", str(user_id)) if user_id else "") or name

    def _name_of(self, entity_type: str, entity_id: str) -> str:
        if entity_id not in self._names:
            self._names[entity_id] = self._read(entity_type, entity_id)
        return self._names[entity_id]

    def _read(self, entity_type: str, entity_id: str) -> str:
        try:
            entity = self._client.get_by_id(entity_type, entity_id, include="all")
        except (Forbidden, NotFound, InvalidInput):  # the id of Tocsin itself, ``system``, is no UUID
            return ""
        return str(entity.document.get("displayName") or "")
