"""Tests of imports that are told as one: bulk requests and sheets that write many entities below a container."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from sqlalchemy import Engine, select
from tests.company import SmallCompany
from tests.store.test_wholes import CHAT, FOLLOWERS, HOOK, OWNERS, SCHEMA, follow, last_events, new_notifications

from tocsin.catalogue.sheets.import_sheet import import_sheet
from tocsin.catalogue.writes import BulkWrites
from tocsin.delivery.wording.changes import event_text
from tocsin.flow.capture.bounds import Bounds
from tocsin.flow.capture.imports import FEWEST_IMPORTED
from tocsin.model.change import ChangeEvent, EventType, LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.stored import CapturedEvent
from tocsin.rehearsal import RehearsalAudience
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.tables import change_event, notification

WEBHOOK = ("Webhook", "http://127.0.0.1:9/hook")


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    return SmallCompany(store_engine)


def table_request(name: str, *, schema: str = SCHEMA, **fields: object) -> Document:
    columns = [{"name": "id", "dataType": "INT"}, {"name": "email", "dataType": "VARCHAR", "dataLength": 80}]
    return {"name": name, "databaseSchema": schema, "columns": columns, **fields}


def table_requests(count: int, **fields: str) -> list[Document]:
    return [table_request(f"t{number}", **fields) for number in range(count)]


def put_many(
    company: SmallCompany, requests: Sequence[Document], *, who: str | None = None, chunk_rows: int = 1_000
) -> None:
    bulk = BulkWrites(SqlCatalogue(company.engine), company.clock, bounds=Bounds(chunk_rows=chunk_rows))
    outcomes = bulk.put("table", requests, actor=SYSTEM if who is None else company.actor(who))
    assert not [outcome for outcome in outcomes if isinstance(outcome, Exception)]


def import_events(events: Sequence[LoggedEvent]) -> list[ChangeEvent]:
    return [logged.event for logged in events if logged.event.is_import]


def counts_of(event: ChangeEvent) -> dict[str, tuple[int, int]]:
    return {count.entity_type: (count.created, count.updated) for count in event.imported or ()}


def test_the_log_has_each_table_and_an_event_of_the_schema_with_their_numbers(company: SmallCompany) -> None:
    put_many(company, [*table_requests(12), table_request("orders", description="All orders.")])
    *parts, whole_event = (logged.event for logged in last_events(company, 14))
    assert (whole_event.event_type, whole_event.entity_fully_qualified_name) == (EventType.ENTITY_UPDATED, SCHEMA)
    assert (whole_event.current_version, whole_event.below_count) == (whole_event.previous_version, None)
    assert {part.part_of for part in parts} == {whole_event.id}
    assert counts_of(whole_event) == {"table": (12, 1)}
    assert event_text(whole_event).headline == "public: 12 tables added, 1 changed"
    assert event_text(whole_event.by_itself()).headline == "public: contents imported"


def test_who_watches_the_schema_hears_once_and_who_follows_or_owns_a_table_hears_of_it(company: SmallCompany) -> None:
    for name, destinations in (("hook", HOOK), ("chat", CHAT), ("owners", OWNERS), ("followers", FOLLOWERS)):
        company.alert(name, destinations)
    follow(company, "ben", "databaseSchema", "public")
    new_notifications(company)
    put_many(company, [*table_requests(12), table_request("orders", description="All orders.")])
    assert new_notifications(company) == {
        (*WEBHOOK, SCHEMA): 1,
        ("Slack", "http://127.0.0.1:9/chat", SCHEMA): 1,
        ("ActivityFeed", "ana", f"{SCHEMA}.orders"): 1,
        ("ActivityFeed", "ben", f"{SCHEMA}.orders"): 1,
        ("Email", "ben@example.com", SCHEMA): 1,
        ("Email", "cem@example.com", f"{SCHEMA}.orders"): 1,
    }


def test_a_rehearsal_counts_an_import_once(company: SmallCompany) -> None:
    company.alert("chat", CHAT)
    put_many(company, table_requests(12))
    audience = RehearsalAudience(company.engine, company.clock)
    audience.add([CapturedEvent(logged.event, logged.derived) for logged in last_events(company, 13)])
    assert audience.as_document()["addresses"] == [{"alert": "chat", "channel": "Slack", "events": 1}]


def test_an_import_that_changes_few_tables_tells_of_each(company: SmallCompany) -> None:
    put_many(company, table_requests(20))
    company.alert("hook", HOOK)
    new_notifications(company)
    few_count = FEWEST_IMPORTED - 1
    put_many(company, [*table_requests(few_count, description="Changed."), *table_requests(20)[few_count:]])
    assert new_notifications(company) == {(*WEBHOOK, f"{SCHEMA}.t{number}"): 1 for number in range(few_count)}
    with company.engine.connect() as connection:
        whole_ids = set(connection.execute(select(notification.c.whole_id)).scalars())
        event_ids = set(connection.execute(select(change_event.c.id)).scalars())
    assert whole_ids - {None} <= event_ids, "an inbox shows each of the few by itself"
    put_many(company, table_requests(20))
    assert new_notifications(company) == {}, "nothing changed"


def test_a_change_that_breaks_readers_is_told_by_itself(company: SmallCompany) -> None:
    put_many(company, table_requests(20))
    company.alert("hook", HOOK)
    new_notifications(company)
    breaking = table_request("t3") | {"columns": [{"name": "id", "dataType": "INT"}]}
    put_many(company, [breaking, *(one for one in table_requests(20, description="Changed.") if one["name"] != "t3")])
    assert new_notifications(company) == {(*WEBHOOK, SCHEMA): 1, (*WEBHOOK, f"{SCHEMA}.t3"): 1}
    (whole_event,) = import_events(last_events(company, 21))
    assert counts_of(whole_event) == {"table": (0, 19)}


def test_each_schema_and_each_transaction_of_a_request_is_told_by_itself(company: SmallCompany) -> None:
    company.put("databaseSchema", {"name": "other", "database": "pg.store"})
    company.alert("hook", HOOK)
    new_notifications(company)
    requests = [*table_requests(30), *table_requests(11, schema="pg.store.other")]
    put_many(company, requests, chunk_rows=15)
    assert new_notifications(company) == {(*WEBHOOK, SCHEMA): 2, (*WEBHOOK, "pg.store.other"): 1}
    counts = [counts_of(event) for event in import_events(last_events(company, 44))]
    assert counts == [{"table": (15, 0)}, {"table": (15, 0)}, {"table": (11, 0)}]


def test_a_restored_table_is_part_of_the_import_and_what_comes_before_it_is_too(company: SmallCompany) -> None:
    """A row that needs a savepoint of its own does not cut an import in two."""
    put_many(company, table_requests(20))
    company.writes.delete("table", company.key("orders"), actor=SYSTEM, recursive=True)
    company.alert("hook", HOOK)
    new_notifications(company)
    changed_tables = table_requests(20, description="Changed.")
    put_many(company, [*changed_tables[:10], table_request("orders"), *changed_tables[10:]])
    assert new_notifications(company) == {(*WEBHOOK, SCHEMA): 1}
    (whole_event,) = import_events(last_events(company, 22))
    assert counts_of(whole_event) == {"table": (0, 21)}


def test_a_sheet_is_told_as_one_event_of_what_it_is_a_sheet_of(company: SmallCompany) -> None:
    company.alert("hook", HOOK)
    new_notifications(company)
    lines = ["name,description,entityType,fullyQualifiedName", "new,,databaseSchema,pg.store.new"]
    lines += [f"n{number},x,table,pg.store.new.n{number}" for number in range(11)]
    lines += ["orders,Changed.,table,pg.store.public.orders"]
    target = ("database", company.ids["store"])
    result = import_sheet(
        company.writes, target, "\n".join(lines), actor=company.actor("ana"), dry_run=False, recursive=True
    )
    assert result["numberOfRowsFailed"] == 0, result
    assert new_notifications(company) == {(*WEBHOOK, "pg.store"): 1}
    (whole_event,) = import_events(last_events(company, 14))
    assert counts_of(whole_event) == {"databaseSchema": (1, 0), "table": (11, 1)}
    assert event_text(whole_event).headline == "store: 1 database schema added, 11 tables added, 1 changed"


def test_a_sheet_of_few_rows_and_a_dry_run_are_no_whole(company: SmallCompany) -> None:
    text = "\n".join(["name,description", *(f"n{number},x" for number in range(20))])
    target = ("databaseSchema", company.ids["public"])
    for lines, is_dry in ((text, True), ("\n".join(text.split("\n")[:10]), False)):
        import_sheet(company.writes, target, lines, actor=company.actor("ana"), dry_run=is_dry)
    assert import_events(last_events(company, 100)) == []
