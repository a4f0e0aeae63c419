"""Tests of Spark's search index entries against the Python reference, for every type."""

from __future__ import annotations

import json
import string
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.entries import entry_of

from tocsin.search.fields import EXISTS
from tocsin.search.indexes import SEARCHED
from tocsin.search.tokens import token_of
from tocsin.spark import schema
from tocsin.spark.search import entities_to_index, entries, last_of, search_events
from tocsin.spark.sources import LogReader, OffsetRange
from tocsin.store.eventlog.log import EventLog

pytestmark = pytest.mark.spark

DOCUMENT: dict[str, Any] = {
    "name": "dimCustomer_ÄÖ",
    "displayName": "Kunden (Größe) naïve",
    "fullyQualifiedName": 'pg."my.shop".public.dimCustomer_ÄÖ',
    "description": "<b>Every</b> customer\nwe ever had: HTTPServer2Go.",
    "updatedAt": 1_760_000_000_000,
    "deleted": False,
    "serviceType": "Postgres",
    "service": {"name": "pg", "fullyQualifiedName": "pg", "type": "databaseService"},
    "tags": [{"tagFQN": "Tier.Tier1"}, {"tagFQN": "PII.None"}],
    "owners": [{"id": "o1", "name": "jane", "type": "user"}, {"id": "o2", "displayName": "Sales Team"}],
    "domains": [{"id": "d1", "name": "sales", "fullyQualifiedName": "eu.sales", "inherited": True}],
    "processedLineage": True,
    "aliases": ["pg.shop.public.Clients", "pg.shop.public.buyers"],
    "schemaDefinition": "select 1",
    "usageSummary": {"weeklyStats": {"count": 7}},
    "columns": [
        {"name": "customerId", "dataType": "INT", "tags": [{"tagFQN": "PII.Sensitive"}]},
        {
            "name": "address",
            "description": "where they live",
            "children": [{"name": "street", "children": [{"name": "number", "tags": [{"tagFQN": "X.Y"}]}]}],
        },
    ],
}


_FQN = {"fullyQualifiedName": "pg.x"}


def on_spark(spark: SparkSession, documents: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    frame = spark.createDataFrame(
        [(1, document["id"], kind, json.dumps(document)) for kind, document in documents],
        "log_offset long, entity_id string, entity_type string, document string",
    )
    return sorted(entries(entities_to_index(frame)).toArrow().to_pylist(), key=lambda entry: str(entry["entity_id"]))


def test_every_type_has_the_entry_of_the_oracle(spark: SparkSession) -> None:
    documents = [(kind, {**DOCUMENT, "id": f"{number:03}"}) for number, kind in enumerate(SEARCHED)]
    search_entries = on_spark(spark, documents)
    assert search_entries == [entry_of(kind, document) for kind, document in documents]
    inherited = {token_of("domains.name", "sales"), token_of(EXISTS, "domains")}
    assert not any(inherited & set(str(entry["keys"]).split()) for entry in search_entries)


_SIGNS = string.printable + "ÀÉîõüßøŁđĂằẞŻΑβγΣςДжщ表格かな한국١٣🚀—…“”·€"


def test_any_text_becomes_the_same_words(spark: SparkSession) -> None:
    rng = Random(7)
    texts = ["".join(rng.choices(_SIGNS, k=rng.randrange(25))) for _ in range(1_500)]
    documents = [
        ("table", {"id": f"{at:05}", "name": f"{text}x", "displayName": text, "columns": [{"name": text}], **_FQN})
        for at, text in enumerate(texts)
    ]
    assert on_spark(spark, documents) == [entry_of(kind, document) for kind, document in documents]


def test_only_the_last_event_of_an_entity_counts(spark: SparkSession, sqlite_engine: Engine) -> None:
    company = SmallCompany(sqlite_engine)
    company.describe("orders", "first words")
    company.describe("orders", "last words")
    logged_events = EventLog(sqlite_engine).read(0, 1_000)
    reader = LogReader({"url": sqlite_engine.url.render_as_string(hide_password=False)})
    batches = list(reader.read(OffsetRange(0, logged_events[-1].offset)))
    frame = spark.createDataFrame([row for batch in batches for row in batch.to_pylist()], schema.EVENTS)
    last_entries = {entry["entity_id"]: entry for entry in last_of(entries(search_events(frame))).toArrow().to_pylist()}
    last = {one.event.entity_id: one for one in logged_events if one.event.entity_type in SEARCHED}
    assert last_entries == {
        entity_id: entry_of(
            logged_event.event.entity_type, logged_event.event.entity or {}, log_offset=logged_event.offset
        )
        for entity_id, logged_event in last.items()
    }
    assert last_entries[company.ids["orders"]]["description"] == "last words"
