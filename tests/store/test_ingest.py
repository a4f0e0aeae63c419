"""Tests of events of other systems: what each does to the catalogue, and that it does it once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import orjson
import pytest
from sqlalchemy import Engine, func, select
from sqlalchemy.event import listens_for
from sqlalchemy.exc import SQLAlchemyError
from tests.store.catalogues import JANE, ORDERS, SCHEMA, Company, company

from tocsin.catalogue.ingest.requests import EventArrival
from tocsin.catalogue.ingest.writes import CHUNK, IngestResult, IngestRules, IngestState, IngestWrites
from tocsin.delivery.wording.event_formats import EVENT_FORMATS
from tocsin.errors import TocsinError
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.people import Actor
from tocsin.model.stored import Key
from tocsin.store.database.engine import reading
from tocsin.store.database.faults import fault_of
from tocsin.store.database.log_tables import ingested_event
from tocsin.store.eventlog.ingested import EventOrigins

BOT = Actor("00000000-0000-4000-8000-00000000000b", "feeder", is_bot=True)
OTHER_BOT = Actor("00000000-0000-4000-8000-00000000000c", "another", is_bot=True)
SOURCE = "https://warehouse.example.com"
RULES = IngestRules(frozenset({"https://tocsin.example.com"}))
DAY_MS = 86_400_000


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    return company(store_engine)


@pytest.fixture
def writes(shop: Company) -> IngestWrites:
    return IngestWrites(shop.catalogue, shop.clock)


def change(event_type: str = "entityUpdated", fqn: str = ORDERS, **fields: Any) -> Document:
    """Return a change event of another system."""
    event = {"id": str(uuid4()), "eventType": event_type, "entityType": "table", "entityId": str(uuid4())}
    return event | {"entityFullyQualifiedName": fqn, "userName": "jane"} | fields


def update(name: str, old: Any, new: Any, **fields: Any) -> Document:
    """Return an event about field_change changed field, in the list where it belongs."""
    key = "fieldsAdded" if old is None else "fieldsDeleted" if new is None else "fieldsUpdated"
    values = {"oldValue": old, "newValue": new}
    field_change = {"name": name} | {value: held for value, held in values.items() if held is not None}
    return change(changeDescription={key: [field_change], "previousVersion": 0.7}, **fields)


def send(
    writes: IngestWrites, shop: Company, *events: Any, actor: Actor = BOT, dry_run: bool = False, source: str = SOURCE
) -> list[IngestResult]:
    arrival = EventArrival(shop.clock.now_ms(), source)
    return writes.ingest([(one, arrival) for one in events], actor=actor, rules=RULES, dry_run=dry_run)


def states(results: list[IngestResult]) -> list[str]:
    return [one.state.value for one in results]


def send_one(writes: IngestWrites, shop: Company, event: Any, **options: Any) -> str:
    (result,) = send(writes, shop, event, **options)
    return result.state.value if result.error is None else result.error.message


def row_count(engine: Engine) -> int:
    with reading(engine) as connection:
        return connection.execute(select(func.count()).select_from(ingested_event)).scalar_one()


def test_an_event_is_applied_once_as_a_write_of_the_bot(
    shop: Company, writes: IngestWrites, store_engine: Engine
) -> None:
    end = shop.log.readable_end()
    event = update("description", None, "All orders.", userName="somebody")
    assert states(send(writes, shop, event, event)) == ["applied", "duplicate"]
    assert states(send(writes, shop, event)) == ["duplicate"]
    (ours,) = shop.events_after(end)
    assert (ours.user_id, ours.user_name, ours.event_type) == (BOT.id, "feeder", EventType.ENTITY_UPDATED)
    document = shop.get("table", ORDERS)
    assert (document["description"], document["version"], document["updatedBy"]) == ("All orders.", 0.2, "feeder")
    origin = EventOrigins(store_engine).of_event(ours.id)
    assert origin is not None
    assert (origin.source, origin.source_event_id, origin.author) == (SOURCE, event["id"], "somebody")


def test_the_same_id_of_another_source_or_bot_is_another_event(shop: Company, writes: IngestWrites) -> None:
    event = update("description", None, "All orders.")
    assert send_one(writes, shop, event) == "applied"
    assert send_one(writes, shop, event, source="https://other.example.com") == "unchanged"
    assert send_one(writes, shop, event, actor=OTHER_BOT) == "unchanged"


def test_a_snapshot_is_put_with_names_for_the_ids_of_the_other_system(shop: Company, writes: IngestWrites) -> None:
    entity = {
        "id": str(uuid4()),
        "name": "refunds",
        "fullyQualifiedName": f"{SCHEMA}.refunds",
        "version": 3.4,
        "updatedAt": 1,
        "updatedBy": "somebody",
        "deleted": False,
        "databaseSchema": {"id": str(uuid4()), "type": "databaseSchema", "fullyQualifiedName": SCHEMA},
        "service": {"id": str(uuid4()), "type": "databaseService", "name": "pg", "fullyQualifiedName": "pg"},
        "serviceType": "Postgres",
        "columns": [{"name": "id", "dataType": "BIGINT", "fullyQualifiedName": f"{SCHEMA}.refunds.id"}],
        "owners": [{"id": str(uuid4()), "type": "user", "name": "nobody-here", "inherited": True}],
        "followers": [],
    }
    event = change("entityCreated", f"{SCHEMA}.refunds", entity=entity)
    assert send_one(writes, shop, event) == "applied"
    document = shop.get("table", f"{SCHEMA}.refunds")
    assert document["id"] not in (entity["id"], event["entityId"])
    assert (document["version"], document["databaseSchema"]["id"]) == (0.1, shop.ids["public"])
    assert "owners" not in document
    again = change("entityUpdated", f"{SCHEMA}.refunds", entity=orjson.dumps(entity).decode())
    assert send_one(writes, shop, again) == "unchanged"


def test_a_cloud_event_carries_a_change_event_or_an_entity(shop: Company, writes: IngestWrites) -> None:
    envelope = {"specversion": "1.0", "source": SOURCE, "time": "2024-01-15T12:00:00Z"}
    cloud_event = {**envelope, "id": "1", "type": "com.example.changed", "data": update("description", None, "Orders.")}
    request: Document = {**envelope, "id": "2", "type": "com.example.entityCreated", "entitytype": "table"}
    request["data"] = shop.table("carts")
    deletion = {
        **request,
        "id": "3",
        "type": "com.example.entityDeleted",
        "data": {"fullyQualifiedName": f"{SCHEMA}.carts"},
    }
    assert states(send(writes, shop, cloud_event, request, deletion)) == ["applied"] * 3
    assert shop.get("table", ORDERS)["description"] == "Orders."
    assert shop.events_after(0)[-1].event_type == EventType.ENTITY_DELETED


def test_an_old_value_that_is_not_here_is_a_conflict(shop: Company, writes: IngestWrites) -> None:
    assert send_one(writes, shop, update("description", None, "First.")) == "applied"
    assert send_one(writes, shop, update("description", "Zero.", "Second.")).endswith("oldValue here")
    assert send_one(writes, shop, update("description", "Zero.", "First.")) == "unchanged"
    assert send_one(writes, shop, update("description", "First.", "Second.")) == "applied"
    assert send_one(writes, shop, update("columns.gone.description", None, "No.")).endswith(
        "no columns.gone.description here"
    )
    assert send_one(writes, shop, update("columns.email.description", None, "Mail.")) == "applied"


def test_members_are_added_and_taken_away(shop: Company, writes: IngestWrites) -> None:
    column = {"name": "total", "dataType": "DOUBLE"}
    assert send_one(writes, shop, update("columns", None, [column])) == "applied"
    assert send_one(writes, shop, update("columns", None, orjson.dumps([column]).decode())) == "unchanged"
    assert [one["name"] for one in shop.get("table", ORDERS)["columns"]] == ["id", "email", "total"]
    assert send_one(writes, shop, update("columns", [column], None)) == "applied"
    assert send_one(writes, shop, update("columns", [column], None)) == "unchanged"
    assert [one["name"] for one in shop.get("table", ORDERS)["columns"]] == ["id", "email"]


def test_what_a_person_wrote_stays(shop: Company, writes: IngestWrites) -> None:
    shop.patch(("add", "/description", "Jane's words."))
    assert send_one(writes, shop, update("description", "Old.", "New.")) == "unchanged"
    assert send_one(writes, shop, update("description", "Jane's words.", "New.")) == "unchanged"
    assert send_one(writes, shop, change(entity=shop.table(description="New."))) == "unchanged"
    assert shop.get("table", ORDERS)["description"] == "Jane's words."


def test_a_snapshot_with_deleted_fields_takes_them_away(shop: Company, writes: IngestWrites) -> None:
    assert send_one(writes, shop, update("description", None, "First.")) == "applied"
    snapshot = change(
        entity=shop.table(), changeDescription={"fieldsDeleted": [{"name": "description", "oldValue": "First."}]}
    )
    assert send_one(writes, shop, snapshot) == "applied"
    assert not shop.get("table", ORDERS).get("description")


def test_deletions_and_restores(shop: Company, writes: IngestWrites) -> None:
    kinds = (
        "entitySoftDeleted",
        "entitySoftDeleted",
        "entityRestored",
        "entityRestored",
        "entityDeleted",
        "entityDeleted",
    )
    results = send(writes, shop, *(change(kind) for kind in kinds))
    assert states(results) == ["applied", "unchanged", "applied", "unchanged", "applied", "unchanged"]
    assert send_one(writes, shop, change("entityRestored")) == f"table {ORDERS} not found"


def test_a_container_with_something_in_it_is_not_deleted_for_good(shop: Company, writes: IngestWrites) -> None:
    event = change("entityDeleted", SCHEMA, entityType="databaseSchema")
    assert "is not empty" in send_one(writes, shop, event)
    assert send_one(writes, shop, change("entitySoftDeleted", SCHEMA, entityType="databaseSchema")) == "applied"
    assert shop.get("table", ORDERS)["deleted"]


@pytest.mark.parametrize(
    "name", ["id", "version", "updatedAt", "followers", "votes", "columns.email.fullyQualifiedName"]
)
def test_what_only_tocsin_writes_is_refused(name: str, shop: Company, writes: IngestWrites) -> None:
    assert send_one(writes, shop, update(name, "1", "2")) == f"{name} is worked out by Tocsin"
    event = {"specversion": "1.0", "source": SOURCE, "id": "1", "type": "entityUpdated", "entitytype": "table"}
    if "." not in name:
        (result,) = send(writes, shop, event | {"data": shop.table() | {name: "1"}})
        assert result.error is not None
        assert result.error.message == f"only Tocsin writes {name}; leave it out"


@pytest.mark.parametrize(
    "event_type",
    sorted(set(EventType) - {"entityCreated", "entityUpdated", "entitySoftDeleted", "entityDeleted", "entityRestored"}),
)
@pytest.mark.soak_on_postgresql
def test_types_of_our_own_are_refused(event_type: str, shop: Company, writes: IngestWrites) -> None:
    assert "are not taken from other systems" in send_one(writes, shop, change(event_type))


@pytest.mark.parametrize("entity_type", ["user", "team", "bot", "role", "policy", "eventsubscription"])
def test_people_rights_and_alerts_are_not_ingested(entity_type: str, shop: Company, writes: IngestWrites) -> None:
    event = change("entityCreated", "x", entityType=entity_type, entity={"name": "x"})
    assert "cannot be ingested" in send_one(writes, shop, event)


def test_the_future_is_refused_and_the_past_is_stale(shop: Company, writes: IngestWrites) -> None:
    now_ms = shop.clock.now_ms()
    ahead = update("description", None, "Soon.", timestamp=now_ms + 300_001)
    assert "in the future" in send_one(writes, shop, ahead)
    assert send_one(writes, shop, update("description", None, "Now.", timestamp=now_ms + 300_000)) == "applied"
    late = update("description", "Now.", "Before.", timestamp=now_ms)
    assert send_one(writes, shop, late) == "stale"
    assert send_one(writes, shop, late, source="https://other.example.com") == "applied"
    both = [
        update("displayName", None, "B", timestamp=now_ms + 2),
        update("displayName", "B", "A", timestamp=now_ms + 1),
    ]
    assert states(send(writes, shop, *both, source="third")) == ["applied", "stale"]


@pytest.mark.parametrize("key", ["id", "name", "fullyQualifiedName"])
def test_the_order_holds_per_entity_however_its_parent_is_named(key: str, shop: Company, writes: IngestWrites) -> None:
    """Nothing newer of another entity makes an event stale, and no spelling makes one new."""
    database = SCHEMA.rpartition(".")[0]
    second = shop.writes.create("databaseSchema", {"name": "second", "database": database}, actor=JANE).document
    now_ms = shop.clock.now_ms()

    def entity_event(schema: Document, words: str, at_ms: int) -> Document:
        time = datetime.fromtimestamp(at_ms / 1000, UTC).isoformat()
        parent = {"type": "databaseSchema", key: schema["fullyQualifiedName" if key == "name" else key]}
        data = {"name": "orders", "databaseSchema": parent, "columns": [], "description": words}
        head = {"specversion": "1.0", "id": str(uuid4()), "source": SOURCE, "type": "org.example.entityUpdated"}
        return head | {"entitytype": "table", "time": time, "data": data}

    first = shop.get("databaseSchema", SCHEMA)
    assert send_one(writes, shop, update("description", None, "New.", timestamp=now_ms)) == "applied"
    sent_events = [entity_event(first, "Old.", now_ms - 9_000), entity_event(second, "Another.", now_ms - 9_000)]
    assert states(send(writes, shop, *sent_events)) == ["stale", "applied"]
    assert shop.get("table", ORDERS)["description"] == "New."
    assert send_one(writes, shop, entity_event(second, "Old.", now_ms - 10_000)) == "stale"


def test_what_tocsin_sent_is_ignored_whatever_carries_it(shop: Company, writes: IngestWrites) -> None:
    written = shop.patch(("add", "/description", "Jane's words."))
    assert written.event is not None
    ours = EVENT_FORMATS["cloudEvents"](written.event.as_wire(), "https://tocsin.example.com")
    (result,) = send(writes, shop, ours)
    assert result.state is IngestState.IGNORED
    for name in ("default", "tocsin", "openmetadata"):
        assert send_one(writes, shop, EVENT_FORMATS[name](written.event.as_wire(), "")) == "ignored"
    moved = ours | {"source": "https://former.example.com"}
    assert send_one(writes, shop, moved) == "ignored"


def test_a_refused_event_can_be_sent_again(shop: Company, writes: IngestWrites) -> None:
    event = update("description", "First.", "Second.")
    assert send_one(writes, shop, event).endswith("oldValue here")
    assert send_one(writes, shop, update("description", None, "First.")) == "applied"
    assert send_one(writes, shop, event) == "applied"


def test_a_dry_run_keeps_nothing_and_tells_what_would_change(
    shop: Company, writes: IngestWrites, store_engine: Engine
) -> None:
    end = shop.log.readable_end()
    events = [update("description", None, "All."), update("description", "All.", "More."), change("entityDeleted")]
    assert states(send(writes, shop, *events, dry_run=True)) == ["applied"] * 3
    assert (shop.events_after(end), row_count(store_engine)) == ([], 0)
    assert states(send(writes, shop, *events)) == ["applied"] * 3


def test_refused_events_leave_the_others_of_a_chunk_alone(shop: Company, writes: IngestWrites) -> None:
    tables = [
        change("entityCreated", f"{SCHEMA}.t{number}", entity=shop.table(f"t{number}")) for number in range(CHUNK + 9)
    ]
    tables[3]["entity"]["columns"] = "none"
    tables[5]["entity"]["name"] = "other"
    results = send(writes, shop, *tables, "no event", None, {"eventType": []})
    refused = [number for number, one in enumerate(results) if one.state is IngestState.REFUSED]
    assert refused == [3, 5, CHUNK + 9, CHUNK + 10, CHUNK + 11]
    assert states(results).count("applied") == CHUNK + 7


def test_the_same_event_sent_by_many_at_once_is_applied_once(shop: Company, writes: IngestWrites) -> None:
    events = [change("entityCreated", f"{SCHEMA}.r{number}", entity=shop.table(f"r{number}")) for number in range(20)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: send(writes, shop, *events), range(4)))
    for number in range(20):
        assert sorted(one[number].state for one in results) == ["applied", "duplicate", "duplicate", "duplicate"]


def test_old_ids_are_forgotten_but_the_last_of_each_entity(
    shop: Company, writes: IngestWrites, store_engine: Engine
) -> None:
    now_ms = shop.clock.now_ms()
    events = [update("description", None if n == 0 else f"{n - 1}", f"{n}", timestamp=now_ms + n) for n in range(5)]
    assert states(send(writes, shop, *events)) == ["applied"] * 5
    shop.clock.advance(31 * DAY_MS)
    later = [change("entityCreated", f"{SCHEMA}.o{n}", entity=shop.table(f"o{n}")) for n in range(3)]
    assert states(send(writes, shop, *later)) == ["applied"] * 3
    assert row_count(store_engine) == 1 + 3
    assert states(send(writes, shop, *events)) == ["stale"] * 4 + ["duplicate"]


def test_a_bot_that_is_erased_takes_its_ids_with_it(shop: Company, writes: IngestWrites, store_engine: Engine) -> None:
    request = {"name": "feeder", "email": "feeder@example.com", "isBot": True}
    bot = shop.writes.create("user", request, actor=JANE).document["id"]
    send(writes, shop, update("description", None, "All."), actor=Actor(bot, "feeder", is_bot=True))
    assert row_count(store_engine) == 1
    shop.writes.delete("user", Key.by_id(bot), actor=JANE, hard=True)
    assert row_count(store_engine) == 0


def test_a_person_who_is_erased_is_no_claimed_author_any_more(
    shop: Company, writes: IngestWrites, store_engine: Engine
) -> None:
    person = shop.writes.create("user", {"name": "cem", "email": "cem@example.com"}, actor=JANE).document["id"]
    (result,) = send(writes, shop, update("description", None, "All.", userName="cem"))
    assert result.written is not None
    assert result.written.event is not None
    shop.writes.delete("user", Key.by_id(person), actor=JANE, hard=True)
    origin = EventOrigins(store_engine).of_event(result.written.event.id)
    assert origin is not None
    assert origin.author is None


@pytest.mark.parametrize("before_count", [0, CHUNK])
def test_events_that_a_full_disk_refuses_are_applied_once_later(sqlite_engine: Engine, before_count: int) -> None:
    """Fault scenario 53."""
    shop = company(sqlite_engine)
    writes, limits = IngestWrites(shop.catalogue, shop.clock), [1_073_741_823]

    @listens_for(sqlite_engine, "begin")
    def limit(connection: Any) -> None:  # Any: the driver's own connection
        connection.connection.dbapi_connection.execute(f"PRAGMA max_page_count = {limits[0]}")

    tables = [shop.table(f"f{number}") | {"description": "x" * 9_000} for number in range(2 * CHUNK)]
    events = [change("entityCreated", f"{SCHEMA}.{table['name']}", entity=table) for table in tables]
    send(writes, shop, *events[:before_count])
    limits[0] = 1
    with pytest.raises((TocsinError, SQLAlchemyError)) as refusal:
        send(writes, shop, *events)
    assert fault_of(refusal.value) is not None
    limits[0] = 1_073_741_823
    sqlite_engine.dispose()
    assert states(send(writes, shop, *events)).count("applied") == len(events) - before_count
    assert set(states(send(writes, shop, *events))) == {"duplicate"}
    names = [one.entity_fully_qualified_name for one in shop.events_after(0)]
    assert [names.count(f"{SCHEMA}.{table['name']}") for table in tables] == [1] * len(tables)
