"""Tests of sheet imports: one event per table or term, none for unchanged rows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine
from tests.store.catalogues import JANE, ORDERS, Company, company

from tocsin.catalogue.sheets.columns import column_rows
from tocsin.catalogue.sheets.import_sheet import SHEETS, import_sheet
from tocsin.catalogue.sheets.rows import write_sheet
from tocsin.catalogue.sheets.terms import term_rows
from tocsin.errors import NotFound
from tocsin.model.entity import Document

COLUMN = "column.fullyQualifiedName,column.description,column.dataType,column.dataLength,column.tags\n"
TERM = (
    "parent,name*,displayName,description,synonyms,relatedTerms,references,tags,reviewers,owner,glossaryStatus,color\n"
)
RELAXED = settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
TEXTS = st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=15)
WORDS = st.text(
    alphabet=st.characters(categories=("L", "N", "P", "Zs"), exclude_characters=":"), min_size=1, max_size=9
)


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    sample_company = company(store_engine)
    sample_company.writes.create("classification", {"name": "PII", "description": "x"}, actor=JANE)
    for name in ("Sensitive", "None"):
        sample_company.writes.create("tag", {"name": name, "description": "x", "classification": "PII"}, actor=JANE)
    glossary = sample_company.writes.create("glossary", {"name": "Shop", "description": "Words."}, actor=JANE)
    sample_company.ids["Shop"] = glossary.document["id"]
    return sample_company


def do(shop: Company, text: str, entity_type: str = "table", *, dry_run: bool = False) -> Document:
    entity_id = shop.ids["orders" if entity_type == "table" else "Shop"]
    return import_sheet(shop.writes, (entity_type, entity_id), text, actor=JANE, dry_run=dry_run)


def details(result: Document) -> list[str]:
    return [line.split(",")[1] for line in result["importResultsCsv"].splitlines()[1:]]


def export(shop: Company, entity_type: str) -> str:
    headers = [header.label for header in SHEETS[entity_type].headers]
    if entity_type == "table":
        return write_sheet([headers, *column_rows(shop.get("table", ORDERS))])
    return write_sheet([headers, *term_rows(shop.catalogue.entities_under("glossaryTerm", "Shop"))])


def test_a_tables_sheet_is_one_change_of_the_table(shop: Company) -> None:
    end = shop.log.readable_end()
    result = do(shop, COLUMN + "id,The number.,BIGINT,,\nemail,Where to write.,VARCHAR,80,PII.Sensitive\n")
    assert (result["status"], result["numberOfRowsPassed"], result["dryRun"]) == ("success", 2, False)
    (event,) = shop.events_after(end)
    assert event.change_description is not None
    assert set(event.change_description.paths()) == {
        "columns.id.description",
        "columns.email.description",
        "columns.email.tags",
        "columns.email.dataLength",
    }
    email = shop.get("table", ORDERS)["columns"][1]
    assert (email["dataLength"], email["tags"][0]["tagFQN"]) == (80, "PII.Sensitive")
    do(shop, "column.fullyQualifiedName,column.tags\nemail,\n")
    assert "tags" not in shop.get("table", ORDERS)["columns"][1]
    assert shop.get("table", ORDERS)["columns"][1]["description"] == "Where to write."


def test_what_cannot_be_is_said_row_by_row_and_stops_nothing_else(shop: Company) -> None:
    lines = (
        "nothing,x,INT,,",
        "email,x,VARCHAR,long,",
        "email,x,STRANGE,,",
        "email,x,VARCHAR,,PII.Unknown",
        f"{ORDERS}.id,Kept.,BIGINT,,",
        "id,Again.,BIGINT,,",
        "email",
    )
    end = shop.log.readable_end()
    result = do(shop, COLUMN + "\n".join(lines))
    assert (result["status"], result["numberOfRowsFailed"]) == ("partialSuccess", 6)
    messages = details(result)
    assert messages[0] == "unknown column nothing"
    assert "PII.Unknown" in messages[3]
    assert messages[4] == "Column updated"
    assert "twice" in messages[5]
    (event,) = shop.events_after(end)
    assert event.change_description is not None
    assert event.change_description.paths() == ("columns.id.description",)


def test_a_dry_run_says_the_same_and_writes_nothing(shop: Company) -> None:
    text = COLUMN + "id,The number.,BIGINT,,\nx,,,,\n"
    terms = TERM + ",Client,,Who buys.,,,,,,,,\nShop.Client,Best,,Who buys most.,,,,,,,,\n"
    end = shop.log.readable_end()
    tried, tried_terms = do(shop, text, dry_run=True), do(shop, terms, "glossary", dry_run=True)
    assert shop.events_after(end) == []
    assert shop.catalogue.entities_under("glossaryTerm", "Shop") == []
    assert do(shop, text) == tried | {"dryRun": False}
    assert do(shop, terms, "glossary") == tried_terms | {"dryRun": False}


@pytest.mark.parametrize("text", ["", "colour\nx", COLUMN + '"a"b,,,,\n', COLUMN + 'id,x,,,\n"open'])
def test_a_broken_sheet_changes_nothing(shop: Company, text: str) -> None:
    end = shop.log.readable_end()
    result = do(shop, text)
    assert (result["status"], result["numberOfRowsProcessed"]) == ("aborted", 0)
    assert result["abortReason"]
    assert shop.events_after(end) == []


def test_terms_are_made_and_changed_each_as_one_event(shop: Company) -> None:
    end = shop.log.readable_end()
    lines = (
        "Shop.Client,Best,,Buys most.,,,,,,,,",
        ",Client,Customer,Buys.,buyer;payer,,ISO;https://iso.org/x,PII.None,user:jane,team:sales,Approved,#FF0000",
        ",Person,,Lives.,,broader:Shop.Client,,,,,,",
        ",Wordless,,,,,,,,,,",
        ",Stray,,x,,Shop.Nobody,,,,user:nobody,,",
        "Other.X,Lost,,x,,,,,,,,",
        ",Strange,,x,,,,,,,Unheard,",
    )
    result = do(shop, TERM + "\n".join(lines), "glossary")
    assert details(result)[:4] == ["Term created"] * 3 + ["a new term needs a description"]
    assert (result["numberOfRowsPassed"], result["numberOfRowsFailed"]) == (3, 4)
    kinds = [(event.event_type.value, event.entity_fully_qualified_name) for event in shop.events_after(end)]
    in_review = ("Client", "Client.Best")  # jane reviews them
    assert sorted(kinds) == [
        *(("entityCreated", f"Shop.{name}") for name in (*in_review, "Person")),
        *(("threadCreated", f"Shop.{name}") for name in in_review),
    ]
    client = shop.get("glossaryTerm", "Shop.Client")
    assert (client["synonyms"], client["style"], client["entityStatus"]) == (
        ["buyer", "payer"],
        {"color": "#FF0000"},
        "In Review",
    )
    assert (client["owners"][0]["name"], client["reviewers"][0]["name"]) == ("sales", "jane")
    assert client["references"] == [{"name": "ISO", "endpoint": "https://iso.org/x"}]
    relation = shop.get("glossaryTerm", "Shop.Person")["relatedTerms"][0]
    assert (relation["relationType"], relation["term"]["name"]) == ("broader", "Client")
    end = shop.log.readable_end()
    again = do(
        shop, TERM + ",Client,Customer,Buys.,buyer,,,,,,,\n,Person,,Lives.,,broader:Shop.Client,,,,,,", "glossary"
    )
    assert details(again) == ["Term updated", "Term unchanged"]
    (event,) = shop.events_after(end)
    assert "owners" not in shop.get("glossaryTerm", "Shop.Client")
    assert event.entity_fully_qualified_name == "Shop.Client"


def test_what_is_exported_and_imported_again_changes_nothing(shop: Company) -> None:
    test_terms_are_made_and_changed_each_as_one_event(shop)
    nested = [{"name": "a.b", "dataType": "STRUCT", "children": [{"name": 'q"uo', "dataType": "INT"}]}]
    shop.patch(("add", "/columns/2", nested[0]))
    shop.patch(("add", "/columns/2/children/0/tags/0", {"tagFQN": "PII.Sensitive"}))
    end = shop.log.readable_end()
    for entity_type in ("table", "glossary"):
        assert do(shop, export(shop, entity_type), entity_type)["numberOfRowsFailed"] == 0
    assert shop.events_after(end) == []


@RELAXED
@given(st.lists(st.tuples(TEXTS, TEXTS, st.sampled_from(("BIGINT", "STRING", "JSON"))), min_size=1, max_size=4))
def test_whatever_stands_in_columns_survives_a_sheet(shop: Company, columns: list[tuple[str, str, str]]) -> None:
    new_columns = [
        {"name": f"c {number}.", "dataType": kind, "displayName": display, "description": text}
        for number, (display, text, kind) in enumerate(columns)
    ]
    shop.patch(("replace", "/columns", new_columns))
    end = shop.log.readable_end()
    result = do(shop, export(shop, "table"))
    assert (result["status"], shop.events_after(end)) == ("success", [])


@RELAXED
@given(TEXTS, st.lists(WORDS, max_size=3, unique=True))
def test_whatever_stands_in_a_term_survives_a_sheet(shop: Company, text: str, synonyms: list[str]) -> None:
    request: dict[str, Any] = {"name": "T", "glossary": "Shop", "description": text, "displayName": text}
    shop.writes.upsert("glossaryTerm", request, actor=JANE)
    shop.patch(("add", "/synonyms", synonyms), fqn="Shop.T", entity_type="glossaryTerm")
    end = shop.log.readable_end()
    result = do(shop, export(shop, "glossary"), "glossary")
    assert (result["status"], shop.events_after(end)) == ("success", [])


def test_there_is_nothing_to_import_into_where_nothing_is(shop: Company) -> None:
    with pytest.raises(NotFound):
        import_sheet(shop.writes, ("table", shop.ids["Shop"]), COLUMN, actor=JANE, dry_run=True)


TREE = """name*,description,entityType*,fullyQualifiedName,column.dataType,storedProcedure.code
fresh,F,database,,,
deep,,databaseSchema,pg.fresh.deep,,
t,T,table,pg.fresh.deep.t,,
a,,column,pg.fresh.deep.t.a,INT,
b,,column,pg.fresh.deep.t.b,STRUCT,
b.c,C,column,pg.fresh.deep.t.b.c,INT,
p,,storedProcedure,pg.fresh.deep.p,,SELECT 1
email,Mail.,column,pg.shop.public.orders.email,,
"""


def test_a_tree_is_made_and_changed_with_one_event_for_each_entity(shop: Company) -> None:
    offset = shop.log.read(0, 10_000)[-1].offset
    target = ("databaseService", shop.get("databaseService", "pg")["id"])
    rehearsal_result = import_sheet(shop.writes, target, TREE, actor=JANE, dry_run=True, recursive=True)
    assert shop.events_after(offset) == []
    import_result = import_sheet(shop.writes, target, TREE, actor=JANE, dry_run=False, recursive=True)
    assert (import_result["status"], rehearsal_result) == ("success", import_result | {"dryRun": True})
    event_summaries = [
        (event.event_type.value, event.entity_fully_qualified_name) for event in shop.events_after(offset)
    ]
    assert event_summaries == [
        ("entityCreated", "pg.fresh"),
        ("entityCreated", "pg.fresh.deep"),
        ("entityCreated", "pg.fresh.deep.t"),
        ("entityCreated", "pg.fresh.deep.p"),
        ("entityUpdated", ORDERS),
    ]
    again = import_sheet(shop.writes, target, TREE, actor=JANE, dry_run=False, recursive=True)
    assert again["importResultsCsv"].count("unchanged") == 8
    assert len(shop.events_after(offset)) == 5
