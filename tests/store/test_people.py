"""Tests of credentials, look-ups of people and the server's keys on both stores."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine

from tocsin.catalogue.writes import Writes
from tocsin.clock import FixedClock
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.people.identities import People, ensure_administrator
from tocsin.store.catalogue.relations.names import Names


@pytest.fixture
def people(store_engine: Engine) -> People:
    return People(store_engine)


@pytest.fixture
def writes(store_engine: Engine) -> Writes:
    return Writes(SqlCatalogue(store_engine), FixedClock(1_700_000_000_000))


def create(writes: Writes, name: str, email: str, **fields: object) -> str:
    return str(writes.create("user", {"name": name, "email": email, **fields}, actor=SYSTEM).document["id"])


def test_people_are_found_by_id_name_and_address(people: People, writes: Writes) -> None:
    user_id = create(writes, "alice.smith", "Alice.Smith@Example.org", displayName="Alice", isAdmin=True)
    by_id = people.by_id(user_id)
    assert by_id is not None
    assert (by_id.name, by_id.display_name, by_id.email) == ("alice.smith", "Alice", "alice.smith@example.org")
    assert (by_id.is_admin, by_id.is_bot, by_id.deleted) == (True, False, False)
    assert by_id == people.by_name("alice.smith")
    assert by_id == people.by_email(" ALICE.smith@example.org ")


def test_an_address_that_does_not_begin_with_the_name_is_found_too(people: People, writes: Writes) -> None:
    user_id = create(writes, "bob", "robert@example.org")
    create(writes, "robert", "another@example.org")
    person = people.by_email("robert@example.org")
    assert person is not None
    assert person.id == user_id


@pytest.mark.parametrize(
    "address", ["%", "_ob@example.org", 'bob@example.org"', "bob@example.org%", "", "ob@example.org"]
)
def test_an_address_is_no_pattern(people: People, writes: Writes, address: str) -> None:
    create(writes, "bob", "bob@example.org")
    assert people.by_email(address) is None


def test_whoever_is_deleted_shows_as_deleted(people: People, writes: Writes) -> None:
    user_id = create(writes, "carl", "carl@example.org")
    writes.delete("user", Key.by_id(user_id), actor=SYSTEM)
    person = people.by_id(user_id)
    assert person is not None
    assert person.deleted


def test_only_live_teams_have_a_name(store_engine: Engine, writes: Writes) -> None:
    names, team = Names(store_engine), ("team",)
    writes.create("team", {"name": "data.platform"}, actor=SYSTEM)
    assert names.references_of(team, ["data.platform", "data"]).keys() == {"data.platform"}
    writes.delete("team", Key.by_name('"data.platform"'), actor=SYSTEM)
    assert names.references_of(team, ["data.platform"]) == {}


def test_a_password_is_replaced_but_the_first_is_set_only_once(people: People, writes: Writes) -> None:
    user_id = create(writes, "dora", "dora@example.org")
    assert people.password_hash(user_id) is None
    assert people.set_first_password(user_id, "one")
    assert not people.set_first_password(user_id, "two")
    assert people.password_hash(user_id) == "one"
    people.set_password(user_id, "three")
    assert people.password_hash(user_id) == "three"


def test_a_secret_is_made_once_however_many_ask(people: People) -> None:
    with ThreadPoolExecutor(8) as pool:
        secrets = list(pool.map(lambda number: people.secret("key", lambda: f"secret {number}"), range(16)))
    assert len(set(secrets)) == 1


def test_a_first_start_that_broke_off_is_repaired(people: People, writes: Writes) -> None:
    create(writes, "admin", "admin@example.org")  # it had come this far

    def nobody() -> str:
        raise AssertionError("there is an administrator already")

    def ensure(password: str) -> str | None:
        return ensure_administrator(people, nobody, password=password, hash_password=lambda text: f"hash of {text}")

    assert ensure("first") == "first"
    assert ensure("second") is None
    admin = people.by_name("admin")
    assert admin is not None
    assert people.password_hash(admin.id) == "hash of first"
