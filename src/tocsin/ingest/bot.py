"""Bot whose rights hold for the events of a topic. Next: ``catalogue/ingest/writes.py``."""

from __future__ import annotations

from sqlalchemy import Engine

from tocsin.access.permission_cache import PermissionCache
from tocsin.catalogue.ingest.requests import ENTITY_TYPES_TAKEN
from tocsin.errors import Unavailable
from tocsin.logic import NEVER
from tocsin.model.access import Operation
from tocsin.model.people import Actor
from tocsin.store.catalogue.people.identities import People


class NoBot(Unavailable):
    """Nobody's rights hold for the events; they stay in the topic until a bot is there."""

    code = "NO_BOT"


class TopicBot:
    """The bot of this name in one store, looked up anew for each batch."""

    def __init__(self, engine: Engine, name: str, permission_cache: PermissionCache) -> None:
        self._people, self._name, self._permission_cache = People(engine), name, permission_cache

    def actor(self) -> Actor:
        """Return the bot, which may ingest something.

        Raises
        ------
        NoBot : there is none of this name, or it may not
        """
        person = self._people.by_name(self._name)
        if person is None or person.deleted:
            raise NoBot(f"Bot {self._name!r} is missing: make or restore it, or set TOCSIN_INGEST_BOT.")
        if not person.is_bot:
            raise NoBot(f"{self._name!r} is a person: set TOCSIN_INGEST_BOT to a bot.")
        permissions = self._permission_cache.current_policies().of(person.id)
        if not person.is_admin and all(
            permissions.scope(name, Operation.INGEST) is NEVER for name in ENTITY_TYPES_TAKEN
        ):
            raise NoBot(f"None of the policies of bot {self._name!r} allows Ingest on a type of asset.")
        return Actor(person.id, person.name, person.is_admin, is_bot=True)
