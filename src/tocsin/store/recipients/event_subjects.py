"""Current state of the subjects of events, and of the editors of alerts, for the visibility check before notifying.

Next: ``flow/resolve/only_visible.py``, which decides; ``store/catalogue/access/entity_states.py``, which looks up the
entities.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Engine

from tocsin.access.decide import Permissions
from tocsin.access.person_visibility import Visibility
from tocsin.access.visibility import TypedDocument, subjects_of
from tocsin.model.change import ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.thread import THREAD
from tocsin.store.catalogue.access.entity_states import SqlEntityStates
from tocsin.store.catalogue.alerts import editors
from tocsin.store.database.engine import reading
from tocsin.store.eventlog.log import events_at


class SqlEvents:
    """The events and alerts of one store, as far as visibility asks about them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._standing = SqlEntityStates(engine)

    def subjects(self, offsets: Collection[int]) -> dict[int, list[TypedDocument]]:
        """Return what each of these events is about, as it is now or was last."""
        references = {offset: subjects_of(event) for offset, event in self._read(offsets).items()}
        standing = self._standing.of({str(one.get("id")) for many in references.values() for one in many})
        return {
            offset: [standing.get(str(one.get("id")), (str(one.get("type")), one)) for one in many]
            for offset, many in references.items()
        }

    def parts_hidden(self, offsets: Collection[int], permissions: Permissions) -> dict[int, frozenset[str]]:
        """Return the parts of each of these events that refer to what a person may not view, as it is now or was last.

        Of events of threads, those of the asset as well: conditions read its owners and domains.
        """
        sight = Visibility(permissions, self._standing)
        events = self._read(offsets)
        threads = {offset: subjects_of(event)[0] for offset, event in events.items() if event.entity_type == THREAD}
        assets = self._standing.of({str(one.get("id")) for one in threads.values()})

        def asset_of(offset: int) -> Document | None:
            subject = assets.get(str(threads[offset].get("id"))) if offset in threads else None
            return None if subject is None else subject[1]

        return {offset: sight.parts_hidden(event, asset_of(offset)) for offset, event in events.items()}

    def _read(self, offsets: Collection[int]) -> dict[int, ChangeEvent]:
        with reading(self._engine) as connection:
            return events_at(connection, offsets)

    def creator_of(self, subscription_id: str) -> str | None:
        """Return the id of the creator of an alert, who may be gone; None for those that Tocsin made itself."""
        return self.creators([subscription_id]).get(subscription_id)

    def creators(self, subscription_ids: Collection[str]) -> dict[str, str]:
        """Return the id of the creator of each of these alerts, by its id; Tocsin's own have no entry."""
        with reading(self._engine) as connection:
            return editors.creators(connection, subscription_ids)

    def entities(self, entity_ids: Collection[str]) -> dict[str, TypedDocument]:
        """Return these entities as they are now, or were last; what never was has no entry."""
        return self._standing.of(entity_ids)

    def editors_of(self, subscription_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the creator and the editors of each of these alerts, by id; nobody for Tocsin's own.

        A person who is deleted for good is still named, and may see nothing.
        """
        with reading(self._engine) as connection:
            return editors.editors(connection, subscription_ids)
