"""Current state of the subjects of events, and of the editors of alerts, for the visibility check before notifying.

Next: ``flow/resolve/only_visible.py``, which decides; ``store/access/entity_states.py``, which looks up the entities.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, Engine, select

from tocsin.access.visibility import Subject, concerned
from tocsin.catalogue.alerts.editors import KIND
from tocsin.model.change import ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.store.access.entity_states import SqlEntityStates
from tocsin.store.chunks import chunked
from tocsin.store.documents import from_text
from tocsin.store.engine import reading
from tocsin.store.observations.tables import attachment
from tocsin.store.snapshots import EVENT_TEXT, VERSION_TEXT, Texts
from tocsin.store.tables import change_event, entity_version, person


class SqlEvents:
    """The events and alerts of one store, as far as visibility asks about them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._standing = SqlEntityStates(engine)

    def subjects(self, offsets: Collection[int]) -> dict[int, list[Subject]]:
        """Return what each of these events is about, as it is now or was last."""
        named: dict[int, list[Document]] = {}
        with reading(self._engine) as connection:
            event, texts = change_event.c, Texts(connection)
            for some in chunked(sorted(offsets)):
                query = select(event.log_offset, *EVENT_TEXT).where(event.log_offset.in_(some))
                for row in connection.execute(query):
                    named[row.log_offset] = concerned(ChangeEvent.model_validate_json(texts.of(row)))
        standing = self._standing.of({str(one.get("id")) for many in named.values() for one in many})
        return {
            offset: [standing.get(str(one.get("id")), (str(one.get("type")), one)) for one in many]
            for offset, many in named.items()
        }

    def makers(self, subscription_ids: Collection[str]) -> dict[str, str | None]:
        """Return who made each of these alerts, by id; None for those that Tocsin made itself."""
        version, made = entity_version.c, dict[str, str | None]()
        with reading(self._engine) as connection:
            texts = Texts(connection)
            for some in chunked(sorted(subscription_ids)):
                query = select(version.entity_id, *VERSION_TEXT).where(
                    version.entity_id.in_(some), version.version_tenths == 1
                )
                names = {row.entity_id: _editor(texts.of(row)) for row in connection.execute(query)}
                people = select(person.c.name, person.c.user_id).where(person.c.name.in_(set(names.values())))
                ids = {row.name: row.user_id for row in connection.execute(people)}
                made |= {one: ids.get(name) for one, name in names.items()}
        return made

    def editors_of(self, subscription_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the creator and the editors of each of these alerts, by id; nobody for Tocsin's own.

        A deleted person is still named: by an id that may see nothing.
        """
        version, names = entity_version.c, dict[str, set[str]]()
        with reading(self._engine) as connection:
            texts = Texts(connection)
            for some in chunked(sorted(subscription_ids)):
                query = select(version.entity_id, *VERSION_TEXT).where(version.entity_id.in_(some))
                for row in connection.execute(query):
                    names.setdefault(row.entity_id, set()).add(_editor(texts.of(row)))
            ids = _ids_of(connection, {name for many in names.values() for name in many})
            editors = _editors(connection, names)
        found = {one: {ids[name] for name in many if name in ids} for one, many in names.items()}
        return {one: tuple(sorted(many | editors.get(one, set()))) for one, many in found.items()}


def _editor(text: str) -> str:
    return str(from_text(text)["updatedBy"])


def _editors(connection: Connection, alert_ids: Collection[str]) -> dict[str, set[str]]:
    """Return the people who changed the secrets or masked addresses of each alert, which no version records."""
    found: dict[str, set[str]] = {}
    for some in chunked(sorted(alert_ids)):
        named = attachment.c.entity_id.in_(some), attachment.c.kind == KIND
        query = select(attachment.c.entity_id, attachment.c.document).where(*named)
        found |= {one: set(from_text(text)["users"]) for one, text in connection.execute(query)}
    return found


def _ids_of(connection: Connection, names: Collection[str]) -> dict[str, str]:
    """Return the ids of people by name; an unknown name is its own id, Tocsin's own name is nobody."""
    found: dict[str, str] = {name: name for name in names if name != SYSTEM.name}
    for some in chunked(sorted(names)):
        people = select(person.c.name, person.c.user_id).where(person.c.name.in_(some))
        found |= {row.name: row.user_id for row in connection.execute(people)}
    return found
