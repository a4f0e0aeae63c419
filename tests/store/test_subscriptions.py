"""Tests of reading alerts and their separate secrets on both stores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine, event, select, update

from tocsin.catalogue.writes import Writes
from tocsin.clock import FixedClock
from tocsin.delivery.dispatch import Route
from tocsin.errors import WrongKey
from tocsin.model.address import MASK
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM, Actor
from tocsin.model.stored import Key
from tocsin.settings import Settings
from tocsin.store.catalogue.alerts.subscriptions import ENTITY_TYPE, UNREADABLE, Subscriptions, UnreadableError
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.documents import to_text
from tocsin.store.database.engine import open_engine
from tocsin.store.database.tables import destination_secret, entity
from tocsin.store.database.vault import Vault, new_key, reseal, use_vault
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.addresses import Routes

DESTINATION = "11111111-1111-1111-1111-111111111111"


@contextmanager
def counted_statements(engine: Engine) -> Iterator[list[str]]:
    """Note the statements that an engine executes, but for the look-up of a token, which depends on the time."""
    statements = list[str]()

    def note(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        if "FROM issued_token JOIN person" not in statement:
            statements.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    yield statements
    event.remove(engine, "before_cursor_execute", note)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(1_700_000_000_000)


@pytest.fixture
def writes(store_engine: Engine, clock: FixedClock) -> Writes:
    return Writes(SqlCatalogue(store_engine), clock)


@pytest.fixture
def subscriptions(store_engine: Engine) -> Subscriptions:
    return Subscriptions(store_engine)


def create(writes: Writes, name: str, **fields: object) -> str:
    config = {"endpoint": "https://example.org/hook", "secretKey": MASK, "headers": {"Authorization": MASK, "X-A": "b"}}
    destination = {"id": DESTINATION, "category": "External", "type": "Webhook", "config": config}
    request: Document = {"name": name, "alertType": "Notification", "destinations": [destination], **fields}
    return str(writes.create(ENTITY_TYPE, request, actor=SYSTEM).document["id"])


def test_only_enabled_alerts_are_listed_in_the_order_of_their_names(
    subscriptions: Subscriptions, writes: Writes
) -> None:
    create(writes, "b")
    create(writes, "a")
    create(writes, "off", enabled=False)
    assert [one.name for one in subscriptions.list_enabled()] == ["a", "b"]


def test_an_alert_names_its_creator_whoever_changes_it(subscriptions: Subscriptions, writes: Writes) -> None:
    request: Document = {"name": "mine", "alertType": "Notification", "destinations": []}
    creation = writes.create(ENTITY_TYPE, request, actor=Actor("ann's id", "ann"))
    change = [{"op": "add", "path": "/description", "value": "changed"}]
    writes.patch(ENTITY_TYPE, Key.by_id(str(creation.document["id"])), change, actor=Actor("bob's id", "bob"))
    (alert,) = subscriptions.list_all()
    assert (alert.creator_id, alert.is_of_administrators) == ("ann's id", False)


def test_the_watermark_is_the_first_version_whatever_changes_later(
    subscriptions: Subscriptions, writes: Writes, clock: FixedClock
) -> None:
    alert_id = create(writes, "a")
    clock.advance(60_000)
    writes.patch(ENTITY_TYPE, Key.by_id(alert_id), [{"op": "add", "path": "/retries", "value": 7}], actor=SYSTEM)
    alert = subscriptions.find(alert_id)
    assert alert is not None
    assert (alert.retries, alert.created_at_ms) == (7, 1_700_000_000_000)


def test_an_alert_covers_what_follows_the_event_that_created_or_last_enabled_it(
    subscriptions: Subscriptions, writes: Writes, store_engine: Engine
) -> None:
    def first_covered_offset() -> int:
        alert = subscriptions.find(alert_id)
        assert alert is not None
        return alert.since_offset

    def change_alert(key: str, value: object) -> int:
        patch = [{"op": "add", "path": f"/{key}", "value": value}]
        writes.patch(ENTITY_TYPE, Key.by_id(alert_id), patch, actor=SYSTEM)
        return EventLog(store_engine).readable_end()

    alert_id = create(writes, "a")
    created_offset = EventLog(store_engine).readable_end()
    change_alert("description", "two")
    assert first_covered_offset() == created_offset + 1
    change_alert("enabled", False)
    enabled_offset = change_alert("enabled", True)
    change_alert("displayName", "enabled")
    assert first_covered_offset() == enabled_offset + 1


def test_secrets_are_put_in_only_for_who_sends(subscriptions: Subscriptions, writes: Writes) -> None:
    alert_id = create(writes, "a")
    subscriptions.keep_secrets(alert_id, {DESTINATION: {"secretKey": "k", "headers": {"Authorization": "Bearer t"}}})
    masked, clear = subscriptions.find(alert_id), subscriptions.with_secrets(alert_id)
    assert masked is not None
    assert clear is not None
    assert masked.destinations[0].config.secret_key == MASK
    assert clear.destinations[0].config.secret_key == "k"
    assert clear.destinations[0].config.headers == {"Authorization": "Bearer t", "X-A": "b"}
    assert clear.created_at_ms == masked.created_at_ms


def test_keeping_secrets_replaces_all_of_them(subscriptions: Subscriptions) -> None:
    subscriptions.keep_secrets("s", {"one": {"secretKey": "1"}, "two": {"secretKey": "2"}})
    subscriptions.keep_secrets("s", {"two": {"secretKey": "3"}, "three": {}})
    assert subscriptions.secrets_of("s") == {"two": {"secretKey": "3"}}
    subscriptions.forget("s")
    assert subscriptions.secrets_of("s") == {}


def test_secrets_lie_sealed(subscriptions: Subscriptions, store_engine: Engine) -> None:
    secrets_by_destination: dict[str, Document] = {
        "one": {"secretKey": "xyzzy"},
        "two": {"headers": {"Authorization": "xyzzy"}},
    }
    subscriptions.keep_secrets("s", secrets_by_destination)
    assert "xyzzy" not in _stored_secrets(store_engine)
    assert reseal(store_engine) == 2
    assert subscriptions.secrets_of("s") == secrets_by_destination


def test_with_a_wrong_key_a_destination_waits(
    subscriptions: Subscriptions, writes: Writes, store_engine: Engine, store_url: str
) -> None:
    alert_id, plain_id = create(writes, "a"), create(writes, "b")
    subscriptions.keep_secrets(alert_id, {DESTINATION: {"secretKey": "k"}})
    engine_with_wrong_key = open_engine(store_url)
    use_vault(engine_with_wrong_key, Settings(secrets_key=SecretStr(new_key())))
    with pytest.raises(WrongKey):
        Subscriptions(engine_with_wrong_key).secrets_of(alert_id)
    routes = Routes(engine_with_wrong_key).of(alert_id)
    assert "secrets_key" in (routes[DESTINATION].waits_because or "")
    assert (routes[DESTINATION].retries, routes[DESTINATION].closed_because) == (3, None)
    assert Routes(engine_with_wrong_key).of(plain_id)[DESTINATION].waits_because is None
    assert Routes(store_engine).of(alert_id)[DESTINATION].waits_because is None
    engine_with_wrong_key.dispose()


def test_a_route_has_the_zone_of_its_alert_also_of_one_without_a_schedule(writes: Writes, store_engine: Engine) -> None:
    zone = "Europe/Berlin"
    in_zone = create(writes, "in zone", trigger={"triggerType": "RealTime", "timezone": zone})
    assert Routes(store_engine).of(in_zone)[DESTINATION].zone == zone
    assert Routes(store_engine).of(create(writes, "plain"))[DESTINATION].zone == "UTC"


def test_routes_of_many_alerts_are_those_of_each_in_as_many_statements_as_of_one(
    subscriptions: Subscriptions, writes: Writes, store_engine: Engine
) -> None:
    sealed_id, stale = (create(writes, name) for name in ("sealed", "stale"))
    plain = [create(writes, f"plain{number}", enabled=bool(number)) for number in range(3)]
    subscriptions.keep_secrets(sealed_id, {DESTINATION: {"secretKey": "k"}})
    subscriptions.keep_secrets(stale, {DESTINATION: {"secretKey": "k", "endpoint": "https://example.com/other"}})
    routes, ids = Routes(store_engine), [sealed_id, stale, *plain, "gone"]
    with counted_statements(store_engine) as of_one:
        routes.of_all([sealed_id])
    with counted_statements(store_engine) as of_many:
        read_together = routes.of_all(ids)
    assert read_together == {one: routes.of(one) for one in ids}
    read_sealed, read_stale = routes_of(read_together[sealed_id]), routes_of(read_together[stale])
    assert read_sealed[DESTINATION].destination.config.secret_key == "k"
    assert read_stale[DESTINATION].waits_because is not None
    assert len(of_many) == len(of_one)


DOCUMENTS_OF_NO_ALERT = ('{"id": "o", "destinations": 1}', "[]", "{", '{"id": "o", "destinations": [{"id": 1}]}')
TEXTS_OF_NO_SECRET = ("{", "[]", "{}")


@pytest.mark.parametrize("text", DOCUMENTS_OF_NO_ALERT)
def test_an_alert_whose_document_means_nothing_keeps_no_other_from_being_sent(
    subscriptions: Subscriptions, writes: Writes, store_engine: Engine, text: str
) -> None:
    plain, odd = create(writes, "plain"), create(writes, "odd")
    subscriptions.keep_secrets(plain, {DESTINATION: {"secretKey": "k"}})
    with store_engine.begin() as connection:
        connection.execute(update(entity).where(entity.c.id == odd).values(document=text))
    assert_that_only_one_fails(Routes(store_engine), plain, odd)


@pytest.mark.parametrize("text", TEXTS_OF_NO_SECRET)
def test_an_alert_whose_secrets_mean_nothing_keeps_no_other_from_being_sent(
    subscriptions: Subscriptions, writes: Writes, store_engine: Engine, text: str
) -> None:
    plain, odd = create(writes, "plain"), create(writes, "odd")
    for alert in (plain, odd):
        subscriptions.keep_secrets(alert, {DESTINATION: {"secretKey": "k"}})
    of_alert = destination_secret.c.subscription_id == odd
    with store_engine.begin() as connection:
        connection.execute(update(destination_secret).where(of_alert).values(document=text))
    assert_that_only_one_fails(Routes(store_engine), plain, odd)


def test_an_alert_whose_secrets_do_not_fit_keeps_no_other_from_being_sent(
    subscriptions: Subscriptions, writes: Writes, store_engine: Engine
) -> None:
    plain, odd = create(writes, "plain"), create(writes, "odd")
    subscriptions.keep_secrets(plain, {DESTINATION: {"secretKey": "k"}})
    subscriptions.keep_secrets(odd, {DESTINATION: {"secretKey": ["k"]}})
    assert_that_only_one_fails(Routes(store_engine), plain, odd)


def test_an_alert_with_secrets_of_another_key_waits_and_keeps_no_other_from_being_sent(
    subscriptions: Subscriptions, writes: Writes, store_engine: Engine
) -> None:
    plain, odd = create(writes, "plain"), create(writes, "odd")
    for alert in (plain, odd):
        subscriptions.keep_secrets(alert, {DESTINATION: {"secretKey": "k"}})
    sealed_elsewhere = to_text(Vault(lambda: [new_key()]).seal({"secretKey": "k"}))
    of_alert = destination_secret.c.subscription_id == odd
    with store_engine.begin() as connection:
        connection.execute(update(destination_secret).where(of_alert).values(document=sealed_elsewhere))
    routes = Routes(store_engine).of_all([plain, odd])
    assert routes_of(routes[plain])[DESTINATION].waits_because is None
    assert "secrets_key" in (routes_of(routes[odd])[DESTINATION].waits_because or "")


def routes_of(outcome: dict[str, Route] | UnreadableError) -> dict[str, Route]:
    assert isinstance(outcome, dict), outcome
    return outcome


def assert_that_only_one_fails(routes: Routes, plain: str, odd: str) -> None:
    """Assert that one alert is read, and the other is not, for the reason for which it is not read alone."""
    outcomes = routes.of_all([plain, odd])
    assert routes_of(outcomes[plain])[DESTINATION].destination.config.secret_key == "k"
    with pytest.raises(UNREADABLE) as alone:
        routes.of(odd)
    assert type(outcomes[odd]) is alone.type


def _stored_secrets(engine: Engine) -> str:
    with engine.connect() as connection:
        return " ".join(connection.execute(select(destination_secret.c.document)).scalars())


def test_the_revision_differs_after_every_write(subscriptions: Subscriptions, writes: Writes) -> None:
    revisions = [subscriptions.revision()]
    alert_id = create(writes, "a")
    revisions.append(subscriptions.revision())
    writes.patch(ENTITY_TYPE, Key.by_id(alert_id), [{"op": "add", "path": "/enabled", "value": False}], actor=SYSTEM)
    revisions.append(subscriptions.revision())
    writes.create("team", {"name": "data"}, actor=SYSTEM)
    assert subscriptions.revision() == revisions[-1]
    writes.delete(ENTITY_TYPE, Key.by_id(alert_id), actor=SYSTEM, hard=True)
    revisions.append(subscriptions.revision())
    assert len(set(revisions)) == 4


def test_what_is_gone_is_not_found(subscriptions: Subscriptions) -> None:
    assert subscriptions.find("nothing") is None
    assert subscriptions.with_secrets("nothing") is None


def test_a_mark_differs_when_and_only_when_its_alert_was_written(subscriptions: Subscriptions, writes: Writes) -> None:
    first, second = create(writes, "a"), create(writes, "b")
    before = subscriptions.marks()
    writes.patch(ENTITY_TYPE, Key.by_id(second), [{"op": "add", "path": "/retries", "value": 7}], actor=SYSTEM)
    after = subscriptions.marks()
    assert set(before) == set(after) == {first, second}
    assert (before[first] == after[first], before[second] == after[second]) == (True, False)
    writes.delete(ENTITY_TYPE, Key.by_id(second), actor=SYSTEM)
    assert subscriptions.marks()[second] != after[second]
    assert [one.id for one in subscriptions.list_enabled({first, second})] == [first]


def test_some_alerts_are_read_by_their_ids(subscriptions: Subscriptions, writes: Writes) -> None:
    ids = [create(writes, name) for name in "abc"]
    assert [one.id for one in subscriptions.list_enabled(ids[1:])] == ids[1:]
    assert subscriptions.list_enabled(()) == []
    many = [*ids[:2], *map(str, range(1_000))]
    assert [one.id for one in subscriptions.list_enabled(many)] == ids[:2]


def test_an_alert_that_means_nothing_to_this_version_keeps_no_other_from_being_listed(
    store_engine: Engine, subscriptions: Subscriptions, writes: Writes
) -> None:
    valid, odd = create(writes, "kept"), create(writes, "odd")
    with store_engine.begin() as connection:
        document = connection.execute(select(entity.c.document).where(entity.c.id == odd)).scalar_one()
        strange = document.replace('"Notification"', '"Telepathy"')
        connection.execute(update(entity).where(entity.c.id == odd).values(document=strange))
    assert [one.id for one in subscriptions.list_enabled()] == [valid]
    assert [one.id for one in subscriptions.list_enabled([valid, odd])] == [valid]
    assert "Telepathy" in subscriptions.list_unparsable([valid, odd])[odd]
    assert set(subscriptions.list_unparsable([valid, odd])) == {odd}
