"""Tests of the log-in throttle: guessing is slowed down, and nobody is locked out by others' attempts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine
from tests.serving import KEY, running_server
from tests.startedstore import StartedStore

from tocsin.catalogue.writes import Writes
from tocsin.clock import FixedClock
from tocsin.errors import TooManyRequests, Unauthenticated
from tocsin.model.people import SYSTEM, Person
from tocsin.server.http.connections import source_of
from tocsin.server.login.throttle import LoginThrottle
from tocsin.settings import Settings
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.people.identities import People
from tocsin.store.catalogue.people.login_attempts import LoginAttempts, Pace

HASH = "not looked at"
PACE = Pace(longest_ms=30_000, forget_ms=600_000)


class ThrottleSetup:
    """A throttle over a store, a stopped clock, and the number of passwords that were checked."""

    def __init__(self, engine: Engine) -> None:
        self.clock, self.people, self.checked = FixedClock(1_000_000_000), People(engine), 0
        writes = Writes(SqlCatalogue(engine), self.clock)
        for name in ("alice", "bob"):
            request = {"name": name, "email": f"{name}.smith@example.org"}
            user_id = str(writes.create("user", request, actor=SYSTEM).document["id"])
            self.people.set_password(user_id, HASH)
        attempts = LoginAttempts(engine, PACE)
        self.throttle = LoginThrottle(self.people, attempts, self.clock, free=5, is_right=self._is_right)

    def _is_right(self, _people: People, person: Person | None, password: str) -> bool:
        self.checked += 1
        return person is not None and password == "right-password"

    def outcome_of(self, login: str = "alice", password: str = "guess", address: str = "10.0.0.1") -> str | int:
        """Return "in", "wrong", or the seconds to wait."""
        try:
            self.throttle.authenticate(login, password, address)
        except TooManyRequests as refused:
            assert refused.retry_after_s is not None
            return refused.retry_after_s
        except Unauthenticated:
            return "wrong"
        return "in"


@pytest.fixture
def door(store_engine: Engine) -> ThrottleSetup:
    return ThrottleSetup(store_engine)


def test_as_many_passwords_are_checked_of_many_tries_at_once_as_of_one_after_another(door: ThrottleSetup) -> None:
    logins = ("alice", "alice.smith@example.org", "ALICE.Smith@example.org")
    with ThreadPoolExecutor(16) as pool:
        outcomes = list(pool.map(lambda number: door.outcome_of(logins[number % 3]), range(60)))
    assert (door.checked, outcomes.count("wrong")) == (5, 5)


def test_delays_double_up_to_the_longest_and_failures_are_forgotten_in_time(door: ThrottleSetup) -> None:
    assert [door.outcome_of() for _ in range(6)] == ["wrong"] * 5 + [1]
    waits: list[Any] = []
    for _ in range(7):
        door.clock.advance(1000 * (waits[-1] if waits else 1))
        assert door.outcome_of() == "wrong"
        waits.append(int(door.outcome_of()))
    assert waits == [2, 4, 8, 16, 30, 30, 30]
    door.clock.advance(PACE.forget_ms + 30_001)
    assert [door.outcome_of() for _ in range(6)] == ["wrong"] * 5 + [1]


def test_the_owner_comes_in_from_where_they_did_before_whatever_others_try_elsewhere(door: ThrottleSetup) -> None:
    assert door.outcome_of("alice", "right-password", "10.0.0.9") == "in"
    for number in range(40):
        door.outcome_of("alice", "guess", f"10.0.1.{number}")
    assert door.outcome_of("alice", "guess", "10.0.2.1") == 1
    assert door.outcome_of("alice", "right-password", "10.0.0.9") == "in"


def test_the_owner_comes_in_from_elsewhere_after_a_short_delay(door: ThrottleSetup) -> None:
    for number in range(200):
        door.outcome_of("alice", "guess", f"10.0.1.{number}")
        door.clock.advance(1000)
    wait_s = door.outcome_of("alice", "right-password", "10.0.2.1")
    assert isinstance(wait_s, int)
    assert wait_s <= PACE.longest_ms // 1000
    door.clock.advance(wait_s * 1000)
    assert door.outcome_of("alice", "right-password", "10.0.2.1") == "in"


def test_a_source_that_fails_at_many_accounts_is_slowed_down_but_not_those_who_log_in_from_there(
    door: ThrottleSetup,
) -> None:
    assert door.outcome_of("bob", "right-password") == "in"
    outcomes = [door.outcome_of(f"nobody{number}") for number in range(60)]
    assert (outcomes[:50], outcomes[50:]) == (["wrong"] * 50, [1] * 10)
    assert door.outcome_of("alice", "right-password") == 1
    assert door.outcome_of("bob", "right-password") == "in"
    door.clock.advance(1000)
    assert door.outcome_of("alice", "right-password") == "in"


@pytest.mark.soak_on_postgresql
def test_who_succeeds_is_not_counted(door: ThrottleSetup) -> None:
    assert [door.outcome_of("alice", "right-password") for _ in range(100)] == ["in"] * 100
    assert [door.outcome_of("bob", "right-password") for _ in range(100)] == ["in"] * 100


def test_a_name_that_nobody_has_answers_as_one_that_somebody_has(door: ThrottleSetup) -> None:
    outcomes_of_known = [
        door.outcome_of(login, "guess", "10.0.3.1") for login in ("alice", "alice.smith@example.org") * 4
    ]
    unknown = [door.outcome_of(login, "guess", "10.0.3.2") for login in ("carl", "carl@example.org") * 4]
    assert outcomes_of_known == unknown
    assert door.checked == 10


def test_a_new_password_forgets_what_was_tried(door: ThrottleSetup) -> None:
    assert [door.outcome_of() for _ in range(6)][-1] == 1
    alice = door.people.by_name("alice")
    assert alice is not None
    door.people.set_password(alice.id, HASH)
    assert door.outcome_of("alice", "right-password") == "in"


def test_a_clock_that_is_set_back_delays_nobody_for_long(door: ThrottleSetup) -> None:
    assert [door.outcome_of() for _ in range(6)][-1] == 1
    door.clock.advance(-3_600_000)
    assert door.outcome_of("alice", "right-password") == "in"


@pytest.mark.parametrize(
    ("address", "source"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
        ("", ""),
    ],
)
def test_an_ipv6_customer_is_one_source(address: str, source: str) -> None:
    assert source_of(address) == source


def test_failed_log_ins_return_how_long_to_wait(sqlite_engine: Engine, started_store: StartedStore) -> None:
    settings = Settings(log_level="warning", login_failures=3, secrets_key=SecretStr(KEY))
    with running_server(sqlite_engine, settings, password=started_store.password) as served, served.client() as client:
        guess = {"email": "admin@tocsin.example.org", "password": "guess"}
        with ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(lambda _: client.post("/users/login", json=guess), range(40)))
        assert {answer.status_code for answer in answers} == {401, 429}
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert int(refused.headers["Retry-After"]) >= 1
        assert refused.json()["code"] == 429
