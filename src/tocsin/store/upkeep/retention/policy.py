"""Settings and legal holds of retention, as the store has them.

The settings are attached to the Organization, as other settings of the system are
(``docs/decisions/0096-system-settings-are-attached-to-the-organization.md``).
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Engine, insert, select, update

from tocsin.access.subject import ORGANIZATION
from tocsin.catalogue.people.retention import SETTINGS_KIND
from tocsin.model.retention import LegalHold, RetentionSettings
from tocsin.store.database.engine import fetch_rows, reading, writing
from tocsin.store.database.observation_tables import attachment
from tocsin.store.database.retention_tables import legal_hold
from tocsin.store.database.tables import entity

_HOLD = legal_hold.c


def settings_on(connection: Connection) -> RetentionSettings:
    """Return the settings, as this connection sees them; those that remove nothing where nobody has set any."""
    is_organization = (entity.c.entity_type == "team") & (entity.c.fqn == ORGANIZATION)
    query = select(attachment.c.document).join(entity, entity.c.id == attachment.c.entity_id)
    text = connection.execute(query.where(is_organization, attachment.c.kind == SETTINGS_KIND)).scalar_one_or_none()
    return RetentionSettings() if text is None else RetentionSettings.model_validate_json(text)


def holds_on(connection: Connection) -> list[LegalHold]:
    """Return the holds that are in force, as this connection sees them."""
    query = select(legal_hold).where(_HOLD.lifted_at_ms.is_(None)).order_by(_HOLD.set_at_ms, _HOLD.id)
    return [_hold_of(row) for row in connection.execute(query)]


class Holds:
    """The legal holds of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def all(self) -> list[LegalHold]:
        """Return every hold there ever was, the newest first."""
        query = select(legal_hold).order_by(_HOLD.set_at_ms.desc(), _HOLD.id)
        return [_hold_of(row) for row in fetch_rows(self._engine, query)]

    def add(self, hold: LegalHold) -> None:
        """Set a hold; one with its id stays as it is."""
        with writing(self._engine) as connection:
            if connection.execute(select(_HOLD.id).where(_HOLD.id == hold.id)).first() is None:
                connection.execute(insert(legal_hold), asdict(hold))

    def lift(self, hold_id: str, *, lifted_by: str, now_ms: int) -> LegalHold | None:
        """Lift a hold and return it; None if there is no such hold. One that is lifted stays as it is."""
        in_force = update(legal_hold).where(_HOLD.id == hold_id, _HOLD.lifted_at_ms.is_(None))
        with writing(self._engine) as connection:
            connection.execute(in_force.values(lifted_by=lifted_by, lifted_at_ms=now_ms))
            row = connection.execute(select(legal_hold).where(_HOLD.id == hold_id)).first()
        return None if row is None else _hold_of(row)


def read_settings(engine: Engine) -> RetentionSettings:
    """Return the settings."""
    with reading(engine) as connection:
        return settings_on(connection)


def _hold_of(row: Any) -> LegalHold:  # Any: SQLAlchemy's row
    return LegalHold(**row._mapping)
