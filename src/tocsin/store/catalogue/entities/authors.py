"""Authors of an entity's versions, as people or bots, and the paths of what people wrote last.

Next: ``flow/capture/curation.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, select

from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.store.catalogue.relations.label_names import new_names, with_new_names
from tocsin.store.catalogue.relations.names import Holder, holder_at, holders
from tocsin.store.database.documents import from_text
from tocsin.store.database.snapshots import VERSION_TEXT, Texts, newest_version
from tocsin.store.database.tables import entity_version, person

_VERSION = entity_version.c


def authored_versions(connection: Connection, entity_id: str) -> Iterator[tuple[Document, bool]]:
    """Yield every version of an entity, oldest first, and whether a bot wrote it; labels have their names of now.

    A version says its author's name: that is who had the name at the time, not who has it now. Who is unknown counts
    as a person, so that nothing is lost.
    """
    texts = Texts(connection)
    holders_of: dict[str, list[Holder]] = {}
    bots: dict[str, bool] = {}
    later = new_names(connection, [entity_id]).get(entity_id, [])
    query = select(*VERSION_TEXT).where(_VERSION.entity_id == entity_id).order_by(_VERSION.version_tenths)
    for row in connection.execute(query).all():
        document = with_new_names(from_text(texts.of(row)), later)
        name = str(document.get("updatedBy"))
        if name not in holders_of:
            holders_of[name] = holders(connection, ("user",), name)
        author = holder_at(holders_of[name], int(document["updatedAt"]))
        if author is not None and author not in bots:
            bots[author] = _is_bot(connection, author)
        yield document, name == SYSTEM.name or (author is not None and bots[author])


def _is_bot(connection: Connection, user_id: str) -> bool:
    """Return whether a user is a bot, or was one when they were deleted for good."""
    row = connection.execute(select(person.c.is_bot).where(person.c.user_id == user_id)).first()
    if row is not None:
        return bool(row.is_bot)
    last = newest_version(connection, user_id)
    return last is not None and bool(last.get("isBot"))
