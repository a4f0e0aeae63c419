"""Browsers that take web push messages: one per session, and none without its session.

A row counts while its session works: who logs out, is deactivated, has a new password or does not use the session for
too long, gets nothing more there. Endpoint and keys are sealed: who reads them could write to the browser.
Next: ``delivery/channels/push/sender.py``.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import ColumnElement, Engine, delete, select

from tocsin.model.push_browser import PushBrowser
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.people_tables import issued_token, push_browser
from tocsin.store.database.tables import person
from tocsin.store.database.vault import vault_of

_ROW = push_browser.c

PUSH_KEY = "push-key"
"""As what the key is kept that signs push messages (``People.secret``)."""

MOST_BROWSERS = 20
"""Of a person: each message goes to every one of them."""


_WORKING = (
    select(_ROW.user_id, _ROW.session_id, _ROW.sealed, _ROW.since_ms)
    .join(issued_token, (issued_token.c.id == _ROW.session_id) & (issued_token.c.user_id == _ROW.user_id))
    .join(person, person.c.user_id == _ROW.user_id)
    .where(~person.c.deleted)
)


class PushBrowsers:
    """The browsers of one store that take messages."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put(self, browser: PushBrowser) -> None:
        """Let a browser take messages, in place of what its session had before.

        Rows without a session go, and the oldest of a person who has too many.
        """
        keys = {"endpoint": browser.endpoint, "p256dh": browser.p256dh, "auth": browser.auth}
        row = {"session_id": browser.session_id, "user_id": browser.user_id, "since_ms": browser.since_ms}
        with writing(self._engine) as connection:
            has_session = select(issued_token.c.id).where(issued_token.c.id == _ROW.session_id).exists()
            connection.execute(delete(push_browser).where(~has_session | (_ROW.session_id == browser.session_id)))
            sealed = vault_of(connection).seal_text(_text_of(keys))
            newest_first = select(_ROW.session_id).where(_ROW.user_id == browser.user_id).order_by(_ROW.since_ms.desc())
            old_ids = connection.scalars(newest_first.offset(MOST_BROWSERS - 1)).all()
            connection.execute(delete(push_browser).where(_ROW.session_id.in_(old_ids)))
            connection.execute(push_browser.insert(), {**row, "sealed": sealed})

    def remove(self, session_id: str) -> bool:
        """Let a session's browser take no more messages; return whether it did."""
        with writing(self._engine) as connection:
            return connection.execute(delete(push_browser).where(_ROW.session_id == session_id)).rowcount > 0

    def forget(self, browser: PushBrowser) -> bool:
        """Let a browser that has unsubscribed take no more messages; not what its session has put there since."""
        is_of_session = _ROW.session_id == browser.session_id
        with writing(self._engine) as connection:
            sealed = connection.scalar(select(_ROW.sealed).where(is_of_session).with_for_update())
            if sealed is None or _keys_of(vault_of(connection).open_text(sealed))["endpoint"] != browser.endpoint:
                return False
            return connection.execute(delete(push_browser).where(is_of_session)).rowcount > 0

    def remove_all(self) -> None:
        """Let no browser of any person take messages any more."""
        with writing(self._engine) as connection:
            connection.execute(delete(push_browser))

    def holders(self, user_ids: Collection[str], now_ms: int) -> set[str]:
        """Return those of these people who have a browser that takes messages now."""
        with reading(self._engine) as connection:
            query = _WORKING.where(_works_at(now_ms)).with_only_columns(_ROW.user_id)
            return {row.user_id for row in rows_by_key(connection, query, _ROW.user_id, user_ids)}

    def of(self, user_ids: Collection[str], now_ms: int) -> dict[str, list[PushBrowser]]:
        """Return the browsers of these people that take messages now, by person; who has none is left out."""
        browsers: dict[str, list[PushBrowser]] = {}
        with reading(self._engine) as connection:
            vault = vault_of(connection)
            for user_id, session_id, sealed, since_ms in rows_by_key(
                connection, _WORKING.where(_works_at(now_ms)), _ROW.user_id, user_ids
            ):
                keys = _keys_of(vault.open_text(sealed))
                browsers.setdefault(user_id, []).append(PushBrowser(session_id, user_id, **keys, since_ms=since_ms))
        return browsers


def _works_at(now_ms: int) -> ColumnElement[bool]:
    return issued_token.c.expires_at_ms.is_(None) | (issued_token.c.expires_at_ms > now_ms)


def _text_of(keys: dict[str, str]) -> str:
    return "\n".join(keys[name] for name in ("endpoint", "p256dh", "auth"))


def _keys_of(text: str) -> dict[str, str]:
    return dict(zip(("endpoint", "p256dh", "auth"), text.split("\n"), strict=True))
