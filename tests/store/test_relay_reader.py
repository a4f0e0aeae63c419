"""Tests of the rights of a topic: what its bot may not view is in none of its records."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.company import SmallCompany

from tocsin.flow.eventlog.selection import EventSelection
from tocsin.model.entity import Document
from tocsin.relay.reader import TopicReader
from tocsin.relay.records import BrokerRecord, RecordForm, records_of
from tocsin.store.database.engine import open_engine
from tocsin.store.eventlog.log import EventLog

_FORM = RecordForm("events", "seed", "https://tocsin.example.com", limit_bytes=1_000_000)


@pytest.fixture
def company(started_store_url: str) -> Iterator[SmallCompany]:
    engine = open_engine(started_store_url, synchronous="OFF")
    yield SmallCompany(engine)
    engine.dispose()


def test_a_bot_with_fewer_rights_gets_the_records_of_all_without_what_it_may_not_view(company: SmallCompany) -> None:
    company.describe("orders", "text")
    make_bot(company, "everything")
    make_bot(company, "no-tables", {"effect": "deny", "operations": ["ViewAll", "ViewBasic"], "resources": ["table"]})
    all_records, visible_records = (records_for(company, name) for name in ("everything", "no-tables"))
    assert set(all_records) == set(range(1, EventLog(company.engine).readable_end() + 1))
    tables = {company.ids["orders"].encode(), company.ids["revenue"].encode()}
    naming = {offset for offset, record in all_records.items() if any(table in record.value for table in tables)}
    assert all_records.keys() - naming <= visible_records.keys() < all_records.keys()
    assert not [record for record in visible_records.values() if any(table in record.value for table in tables)]
    assert {offset: record for offset, record in visible_records.items() if offset not in naming} == {
        offset: record for offset, record in all_records.items() if offset not in naming
    }


def make_bot(company: SmallCompany, name: str, *rules: Document) -> None:
    """Make a bot with the rights of bots, and a policy of these rules."""
    roles = ["IngestionBotRole"]
    if rules:
        company.put("policy", {"name": f"{name}-policy", "rules": [{"name": "rule", **rule} for rule in rules]})
        roles.append(str(company.put("role", {"name": f"{name}-role", "policies": [f"{name}-policy"]})["name"]))
    company.put("user", {"name": name, "email": f"{name}@example.com", "isBot": True, "roles": roles})


def records_for(company: SmallCompany, name: str) -> dict[int, BrokerRecord]:
    """Return the records of a topic whose reader is this bot, by the offset of their event."""
    log = EventLog(company.engine)
    events = log.list_documents(EventSelection(), after=0, through=log.readable_end(), limit=1_000)
    visible_events = TopicReader(company.engine, name).visible(events)
    return {record.log_offset: record for record in records_of(visible_events, _FORM)}
