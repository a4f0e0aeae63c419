"""Tests of encrypted secrets in the store, with a key kept elsewhere."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine, select
from tests.store.catalogues import JANE

from tocsin.catalogue.writes import Writes
from tocsin.clock import FixedClock
from tocsin.errors import InvalidSetting, Unavailable, WrongKey, WrongSealOfKeys
from tocsin.model.entity import Document
from tocsin.settings import Settings
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.observations.reads import ObservationReads
from tocsin.store.catalogue.people.identities import People
from tocsin.store.database.engine import open_engine
from tocsin.store.database.observation_tables import attachment
from tocsin.store.database.tables import server_secret
from tocsin.store.database.vault import KEY_FILE, Vault, new_key, reseal, use_vault, vault_of
from tocsin.store.upkeep.stored_settings import remove_secret, store_secret, with_stored_secrets

_SERVICE = {
    "name": "pg",
    "serviceType": "Postgres",
    "connection": {"config": {"type": "Postgres", "password": "xyzzy"}},
}
_PLACE = "connection.config.password"


def _stored_text(engine: Engine) -> str:
    with engine.connect() as connection:
        return str(connection.execute(select(attachment.c.document)).scalar_one())


def _signing_keys(engine: Engine) -> str:
    with engine.connect() as connection:
        return str(connection.execute(select(server_secret)).all())


def test_a_secret_is_sealed_and_opened(store_engine: Engine) -> None:
    creation = Writes(SqlCatalogue(store_engine), FixedClock(1)).create("databaseService", _SERVICE, actor=JANE)
    assert "xyzzy" not in _stored_text(store_engine)
    assert reseal(store_engine) == 1
    assert ObservationReads(store_engine).attachments([creation.document["id"]], "secrets") == {
        creation.document["id"]: {_PLACE: "xyzzy"}
    }


def test_any_known_key_opens_and_the_first_seals() -> None:
    old, new = new_key(), new_key()
    sealed = Vault(lambda: [old]).seal({"a": "b"})
    assert Vault(lambda: [new, old]).open(sealed) == {"a": "b"}
    with pytest.raises(WrongKey, match="secrets_key"):
        Vault(lambda: [new]).open(sealed)
    with pytest.raises(InvalidSetting, match="secrets-key"):
        Vault(lambda: ["too short"]).seal({})


def test_a_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    engines = [open_engine("sqlite://") for _ in range(2)]
    sealed: list[Document] = []
    for engine in engines:
        use_vault(engine, Settings(data_dir=folder))
        with engine.connect() as connection:
            assert folder.exists() == bool(sealed), "nothing is made before it is needed"
            sealed.append(vault_of(connection).seal({"a": "b"}))
            assert [vault_of(connection).open(one) for one in sealed] == [{"a": "b"}] * len(sealed)
        engine.dispose()
    assert [one.name for one in folder.iterdir()] == [KEY_FILE]
    assert stat.S_IMODE((folder / KEY_FILE).stat().st_mode) == 0o600


def test_a_setting_wins_over_the_file(tmp_path: Path) -> None:
    key = new_key()
    engine = open_engine("sqlite://")
    use_vault(engine, Settings(data_dir=tmp_path, secrets_key=SecretStr(key)))
    with engine.connect() as connection:
        assert Vault(lambda: [key]).open(vault_of(connection).seal({"a": "b"})) == {"a": "b"}
    engine.dispose()
    assert list(tmp_path.iterdir()) == []


def test_without_a_key_nothing_is_kept() -> None:
    engine = open_engine("sqlite://")
    with engine.connect() as connection, pytest.raises(Unavailable, match="no key"):
        vault_of(connection)
    engine.dispose()


def test_the_keys_that_sign_are_sealed_and_a_wrong_key_says_the_way_out(store_engine: Engine, store_url: str) -> None:
    signing_key = People(store_engine).secret("token-key", lambda: "the-first-key")
    assert "the-first-key" not in _signing_keys(store_engine)
    assert (signing_key, People(store_engine).secret("token-key", lambda: "the-second-key")) == (
        "the-first-key",
        "the-first-key",
    )
    engine_with_wrong_key = open_engine(store_url)
    use_vault(engine_with_wrong_key, Settings(secrets_key=SecretStr(new_key())))
    with pytest.raises(WrongSealOfKeys, match=r"secrets_key.*renew-keys"):
        People(engine_with_wrong_key).secret("token-key", lambda: "the-second-key")
    assert People(engine_with_wrong_key).forget_secrets() == 1
    assert People(engine_with_wrong_key).secret("token-key", lambda: "the-second-key") == "the-second-key"
    assert reseal(engine_with_wrong_key) == 1
    engine_with_wrong_key.dispose()


def test_stored_settings_fill_in_what_is_not_set_and_outlive_new_signing_keys(
    store_engine: Engine, store_url: str
) -> None:
    unset = Settings()
    assert with_stored_secrets(store_engine, unset) == unset
    for password in ("first", "second"):
        store_secret(store_engine, "kafka_password", password)
    assert "second" not in _signing_keys(store_engine)
    People(store_engine).secret("token-key", lambda: "a-key")
    assert People(store_engine).forget_secrets() == 1
    stored_password = with_stored_secrets(store_engine, unset).kafka_password
    assert stored_password is not None
    assert stored_password.get_secret_value() == "second"
    set_by_hand = Settings(kafka_password=SecretStr("of the environment"))
    assert with_stored_secrets(store_engine, set_by_hand) == set_by_hand

    engine_with_wrong_key = open_engine(store_url)
    use_vault(engine_with_wrong_key, Settings(secrets_key=SecretStr(new_key())))
    with pytest.raises(WrongKey, match=r"secrets_key.*tocsin admin secret kafka_password"):
        with_stored_secrets(engine_with_wrong_key, unset)
    store_secret(engine_with_wrong_key, "kafka_password", "third")
    assert reseal(engine_with_wrong_key) == 1
    engine_with_wrong_key.dispose()
    assert remove_secret(store_engine, "kafka_password")
    assert not remove_secret(store_engine, "kafka_password")
