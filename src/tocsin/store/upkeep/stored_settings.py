"""Secret settings that are kept in the store, encrypted, instead of in the environment or a file.

``tocsin admin secret`` stores them. Next: ``store/database/vault.py``, which encrypts.
"""

from __future__ import annotations

from typing import Any

import structlog
from pydantic import SecretStr
from sqlalchemy import Delete, Engine, delete, insert, select

from tocsin.errors import WrongKey
from tocsin.settings import Settings
from tocsin.store.database.engine import fetch_rows, reading, writing
from tocsin.store.database.tables import server_secret
from tocsin.store.database.vault import SETTING_PREFIX, Vault, use_vault, vault_of

_LOG = structlog.get_logger(__name__)

STORED_SETTINGS = ("kafka_password", "pulsar_token", "openmetadata_token", "dbt_authorization", "lake_s3_secret_key")
"""The settings that may be stored."""


def store_secret(engine: Engine, setting: str, value: str) -> None:
    """Store the value of a setting, in the place of an earlier one."""
    with writing(engine) as connection:
        sealed_value = vault_of(connection).seal_text(value)
        connection.execute(_removal_of(setting))
        connection.execute(insert(server_secret).values(name=SETTING_PREFIX + setting, value=sealed_value))


def remove_secret(engine: Engine, setting: str) -> bool:
    """Remove the stored value of a setting; return whether there was one."""
    with writing(engine) as connection:
        return bool(connection.execute(_removal_of(setting)).rowcount)


def stored_names(engine: Engine) -> set[str]:
    """Return the settings whose values are stored."""
    names = {SETTING_PREFIX + name: name for name in STORED_SETTINGS}
    query = select(server_secret.c.name).where(server_secret.c.name.in_(names))
    return {names[name] for (name,) in fetch_rows(engine, query)}


def with_stored_secrets(engine: Engine, settings: Settings) -> Settings:
    """Return settings in which secrets that are not set have their stored values.

    Raises
    ------
    WrongKey : a value was encrypted with a key that is not here; the error says how to store it again
    """
    names = {SETTING_PREFIX + name: name for name in STORED_SETTINGS if getattr(settings, name) is None}
    query = select(server_secret.c.name, server_secret.c.value).where(server_secret.c.name.in_(names))
    with reading(engine) as connection:
        vault = vault_of(connection)
        stored_secrets = {names[row.name]: _secret_in(vault, row) for row in connection.execute(query)}
    return settings.model_copy(update=stored_secrets)


def with_lake_key(engine: Engine, settings: Settings) -> Settings:
    """Return settings with the stored key of the lake's bucket; without one if it cannot be read, which is logged."""
    if not settings.is_lake_in_bucket():
        return settings
    use_vault(engine, settings)
    try:
        return with_stored_secrets(engine, settings)
    except WrongKey as error:
        _LOG.error("lake_key_unreadable", reason=error.message)
        return settings


def _secret_in(vault: Vault, row: Any) -> SecretStr:  # Any: SQLAlchemy's row
    try:
        return SecretStr(vault.open_text(row.value))
    except WrongKey as error:
        command = f"tocsin admin secret {row.name.removeprefix(SETTING_PREFIX)}"
        raise WrongKey(f"{error.message} Run `{command}` to store it again.") from error


def _removal_of(setting: str) -> Delete:
    return delete(server_secret).where(server_secret.c.name == SETTING_PREFIX + setting)
