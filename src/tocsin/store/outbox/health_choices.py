"""People who have chosen to get a health summary, with the preferences that say when.

Next: ``jobs/health_summaries.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Engine, select

from tocsin.model.preferences import Layer, Preferences
from tocsin.store.database.engine import reading
from tocsin.store.database.keys import pages_of
from tocsin.store.database.people_tables import EVERYBODY, notification_preference
from tocsin.store.database.tables import person
from tocsin.store.outbox.preferences import find_preferences

_PAGE = 1_000
_ROW = notification_preference.c


class HealthChoices:
    """The choices of one store's people."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def pages(self) -> Iterator[dict[str, Preferences]]:
        """Yield people who have chosen a summary, with their own preferences, as many at a time as a page holds."""
        may_have_chosen = _ROW.document.contains('"healthSummary"')
        query = select(_ROW.user_id).join(person, person.c.user_id == _ROW.user_id)
        query = query.where(may_have_chosen, _ROW.user_id != EVERYBODY, ~person.c.deleted)
        with reading(self._engine) as connection:
            pages = list(pages_of(connection, query, _ROW.user_id, size=_PAGE))
        for page in pages:
            with reading(self._engine) as connection:
                layers_by_person = find_preferences(connection, [row.user_id for row in page]).layers
            own_choices = {user_id: layers[0] for user_id, layers in layers_by_person.items()}
            yield {
                user_id: preferences
                for user_id, (layer, preferences) in own_choices.items()
                if layer is Layer.OWN and preferences.health_summary is not None
            }
