"""Rights of a topic: its records hold what one bot, the reader, may see at the moment they are written.

Next: ``access/person_visibility.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

import structlog
from sqlalchemy import Engine

from tocsin.access.permission_cache import PermissionCache
from tocsin.access.person_visibility import Visibility
from tocsin.errors import Unavailable
from tocsin.model.change import ChangeEvent, LoggedDocument
from tocsin.store.catalogue.access.entity_states import SqlEntityStates
from tocsin.store.catalogue.access.subjects import SqlSubjects
from tocsin.store.catalogue.people.identities import People

_log = structlog.get_logger("tocsin.relay")


class NoReader(Unavailable):
    """Nobody's rights hold for the topic; the relay waits until the bot is there."""

    code = "NO_READER"


class TopicReader:
    """The bot of this name in one store; its policies are read anew for each call."""

    def __init__(self, engine: Engine, name: str) -> None:
        self._name, self._people, self._subjects = name, People(engine), SqlSubjects(engine)
        self._permission_cache, self._standing = PermissionCache(self._subjects), SqlEntityStates(engine)

    def check(self) -> None:
        """Check that there is a bot, and policies that say what it may see.

        Raises
        ------
        NoReader : there is none
        """
        self._bot_id()
        if not self._subjects.policies_in_use():
            raise NoReader("The store has no policies, so nobody may see anything: start the server once.")

    def visible(self, events: Sequence[LoggedDocument]) -> Sequence[LoggedDocument]:
        """Return the events that the reader may see, without what they may not see in them.

        Raises
        ------
        NoReader : no bot has this name, or not any more
        """
        visibility = Visibility(self._permission_cache.current_policies().of(self._bot_id()), self._standing)
        if visibility.is_whole:
            return events
        visible_events = visibility.visible_events([ChangeEvent.model_validate(logged.event) for logged in events])
        visible_entries = [
            LoggedDocument(logged.offset, event.as_wire())
            for logged, event in zip(events, visible_events, strict=True)
            if event is not None
        ]
        if hidden_count := len(events) - len(visible_entries):
            _log.info("relay.withheld", reader=self._name, count=hidden_count, through=events[-1].offset)
        return visible_entries

    def _bot_id(self) -> str:
        bot = self._people.by_name(self._name)
        if bot is None or bot.deleted:
            raise NoReader(f"Bot {self._name!r}, whose rights hold for the topic, is missing: make or restore it.")
        if not bot.is_bot:
            raise NoReader(f"{self._name!r} is a person: set TOCSIN_RELAY_READER to a bot.")
        return bot.id
