"""Encryption of secrets: those of connections and alerts and the signing keys, with a key kept outside the store.

The key is a setting, or a file in the data directory that is created with the first secret. Several keys may be given:
the first encrypts, all decrypt, so that keys can be rotated (``tocsin admin reseal``). An engine carries its vault, as
it carries its turns. Next: ``store/catalogue/observations/series.py`` and ``store/catalogue/alerts/subscriptions.py``,
which encrypt; ``flow/capture/secrets.py`` and ``delivery/channels/masking.py``, which define what is secret.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, ColumnElement, Connection, Engine, select, true, update

from tocsin.errors import InvalidSetting, Unavailable, WrongKey
from tocsin.flow.capture.secrets import KIND
from tocsin.model.entity import Document
from tocsin.settings import StoreSettings
from tocsin.store.database.documents import from_text, to_text
from tocsin.store.database.engine import writing
from tocsin.store.database.folder import make_private
from tocsin.store.database.observation_tables import attachment
from tocsin.store.database.people_tables import push_browser
from tocsin.store.database.tables import destination_secret, server_secret

if TYPE_CHECKING:  # the library comes with the server; the pipeline, which opens nothing, does without
    from cryptography.fernet import MultiFernet

_SEALED, _TEXT = "sealed", "text"
_OPTION = "tocsin_vault"
KEY_FILE = "secrets.key"
"""The file in the data directory that holds the key when no setting does."""

SETTING_PREFIX = "setting:"
"""What the names of those secrets of the server begin with that are values of settings."""

_KEPT_IN = (
    (attachment.c.document, attachment.c.kind == KIND),
    (destination_secret.c.document, true()),
    (server_secret.c.value, true()),
    (push_browser.c.sealed, true()),
)
"""The columns with secrets, and which of their rows hold any."""


class Vault:
    """Seals and opens secrets; ``keys`` gives the keys, newest first, when they are first needed."""

    def __init__(self, keys: Callable[[], list[str]]) -> None:
        self._keys = keys

    def seal_text(self, secret: str) -> str:
        """Return what is stored in the place of a secret that is one text."""
        return to_text(self.seal({_TEXT: secret}))

    def open_text(self, sealed_text: str) -> str:
        """Return the decrypted text.

        Raises
        ------
        WrongKey : it was sealed with a key that is not among those known
        """
        return str(self.open(from_text(sealed_text))[_TEXT])

    def seal(self, secrets: Document) -> Document:
        """Return what is stored in the place of these secrets."""
        return {_SEALED: self._fernet.encrypt(to_text(secrets).encode()).decode()}

    def open(self, sealed_secrets: Document) -> Document:
        """Return the secrets that were sealed.

        Raises
        ------
        WrongKey : they were sealed with a key that is not among those known
        """
        from cryptography.fernet import InvalidToken

        try:
            return from_text(self._fernet.decrypt(str(sealed_secrets[_SEALED]).encode()).decode())
        except InvalidToken as error:
            raise WrongKey() from error

    def check(self) -> None:
        """Raise ``InvalidSetting`` unless the keys are keys."""
        _ = self._fernet

    @cached_property
    def _fernet(self) -> MultiFernet:
        from cryptography.fernet import Fernet, MultiFernet

        try:
            return MultiFernet([Fernet(key) for key in self._keys()])
        except ValueError as error:
            raise InvalidSetting(
                "secrets_key must be 32 random bytes in URL-safe base64; create one with `tocsin admin secrets-key`"
            ) from error


def new_key() -> str:
    """Return a fresh key."""
    from cryptography.fernet import Fernet

    return Fernet.generate_key().decode()


def use_vault(engine: Engine, settings: StoreSettings) -> None:
    """Let an engine seal and open secrets with the keys that the settings name, unless it can already.

    Raises
    ------
    InvalidSetting : ``secrets_key`` is no key; a file with keys is read when the first secret is
    """
    if _OPTION in engine.get_execution_options():
        return
    vault = Vault(lambda: _keys_of(settings))
    if settings.secrets_key is not None:
        vault.check()
    engine.update_execution_options(**{_OPTION: vault})


def vault_of(connection: Connection) -> Vault:
    """Return the vault of a connection's engine.

    Raises
    ------
    Unavailable : no key is configured
    """
    # Asked of the engine: a connection that writers share may be older than the vault.
    vault = connection.engine.get_execution_options().get(_OPTION)
    if not isinstance(vault, Vault):
        raise Unavailable("Secrets cannot be read or written: no key is configured.")
    return vault


def reseal(engine: Engine) -> int:
    """Encrypt every secret anew with the first key; return how many there are."""
    with writing(engine) as connection:
        return sum(_reseal(connection, column, holds) for column, holds in _KEPT_IN)


def _reseal(connection: Connection, column: Column[Any], holds: ColumnElement[bool]) -> int:
    table, vault = column.table, vault_of(connection)
    secret_rows = connection.execute(select(*table.primary_key, column).where(holds)).all()
    for *key, text in secret_rows:
        anew = to_text(vault.seal(vault.open(from_text(text))))
        key_conditions = (part == value for part, value in zip(table.primary_key, key, strict=True))
        connection.execute(update(table).where(*key_conditions).values({column.name: anew}))
    return len(secret_rows)


def _keys_of(settings: StoreSettings) -> list[str]:
    if settings.secrets_key is not None and (keys := settings.secrets_key.get_secret_value().split()):
        return keys
    return (_key_in_file(settings.data_dir.absolute() / KEY_FILE)).split()


def _key_in_file(path: Path) -> str:
    """Return the key in a file that only its owner may read, created by the first process that needs it."""
    if not path.exists():
        make_private(path.parent)
        temporary_path = path.with_name(f"{path.name}.{os.getpid()}")
        with os.fdopen(os.open(temporary_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(new_key() + "\n")
        try:
            os.link(temporary_path, path)
        except FileExistsError:
            pass
        finally:
            temporary_path.unlink()
    return path.read_text()
