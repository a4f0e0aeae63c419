"""Tests of search results on both stores: same hits, same order."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine
from tests.entries import entry_of
from tests.store.catalogues import company

from tocsin.errors import InvalidInput
from tocsin.logic import ALWAYS, conjunction_of, negation_of
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.search.fields import SORTED_BY
from tocsin.search.filters import filter_of
from tocsin.search.nodes import AnyFact
from tocsin.search.parse import Query, parse
from tocsin.search.tokens import token_of, words_of
from tocsin.store.catalogue.search.results import Hit, Search, SearchIndex
from tocsin.store.catalogue.search.writes import SearchWrites
from tocsin.store.eventlog.log import EventLog


def some(entity_type: str, fqn: str, number: int, **fields: Any) -> tuple[str, Document]:
    service = fqn.split(".")[0]
    document = {
        "id": f"00000000-0000-4000-8000-{number:012}",
        "name": fqn.split(".")[-1],
        "fullyQualifiedName": fqn,
        "updatedAt": 1_000 + number,
        "deleted": False,
        "service": {"name": service},
        **fields,
    }
    return entity_type, document


def labels(*names: str) -> list[Document]:
    return [{"tagFQN": name} for name in names]


CORPUS = [
    some("table", "pg.shop.public.customer", 1, usageSummary={"weeklyStats": {"count": 5}}),
    some("table", "pg.shop.public.dim_customer", 2, tags=labels("Tier.Tier1"), owners=[{"id": "o1", "name": "jane"}]),
    some("table", "pg.shop.public.customer_orders", 3, description="Every order."),
    some("table", "pg.shop.public.CustomerGold", 4, displayName="Best customers"),
    some("table", "pg.shop.public.orders", 5, columns=[{"name": "customer_id", "tags": labels("PII.Sensitive")}]),
    some("table", "pg.shop.public.cafe", 6, displayName="Café Ünïted", description="Where a customer sits"),
    some("dashboard", "bi.customer", 7, domains=[{"id": "d1", "name": "sales", "fullyQualifiedName": "sales"}]),
    some("dashboard", 'bi."a.b"', 8, name="a.b", description="orders of the week"),
    some("topic", "kafka.customers", 9, deleted=True),
    some(
        "pipeline",
        "airflow.load",
        10,
        description="loads the customer table",
        usageSummary={"weeklyStats": {"count": 9}},
    ),
    some("user", "jane", 11, service=None, email="Jane@example.org", displayName="Jane Doe"),
    some("user", "robot", 12, service=None, email="robot@example.org", isBot=True),
    some("table", "pg.shop.private.orders", 13, tableType="View", schemaDefinition="select 1", columns=[]),
]


@pytest.fixture
def index(store_engine: Engine) -> SearchIndex:
    SearchWrites(store_engine).put([entry_of(kind, document) for kind, document in CORPUS])
    return SearchIndex(store_engine)


def found_fqns(index: SearchIndex, q: str = "", *, query_filter: str = "{}", **options: Any) -> list[str]:
    return [FQNS[hit.entity_id] for hit in hits(index, q, query_filter=query_filter, **options)]


def hits(index: SearchIndex, q: str = "", *, query_filter: str = "{}", **options: Any) -> list[Hit]:
    query = parse(q)
    node = conjunction_of(query.node, filter_of(query_filter))
    search = Search(Query(node, query.free), **{"size": 100, **options})
    assert index.total(search).value == len(
        index.hits(Search(Query(node, query.free), **{**options, "size": 100, "after": (), "offset": 0}))
    )
    page, total = index.page(search)
    assert total == index.total(search)
    return page


FQNS = {document["id"]: document["fullyQualifiedName"] for _, document in CORPUS}


def test_whole_names_come_before_beginnings_words_and_mentions(index: SearchIndex) -> None:
    assert found_fqns(index, "customer") == [
        "pg.shop.public.customer",
        "bi.customer",
        "pg.shop.public.CustomerGold",
        "pg.shop.public.customer_orders",
        "pg.shop.public.dim_customer",
        "airflow.load",
        "pg.shop.public.cafe",
        "pg.shop.public.orders",
    ]


def test_scores_fall_with_the_rank(index: SearchIndex) -> None:
    assert [hit.score for hit in hits(index, "customer")] == [4, 4, 3, 3, 2, 1, 1, 1]


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("customergold", ["pg.shop.public.CustomerGold"]),
        ("customer gold", ["pg.shop.public.CustomerGold"]),
        ('"dim customer"', ["pg.shop.public.dim_customer"]),
        ('"customer dim"', []),
        ("dim_customer", ["pg.shop.public.dim_customer"]),
        ("united", ["pg.shop.public.cafe"]),
        ("CAFÉ", ["pg.shop.public.cafe"]),
        ("cust* NOT public", ["bi.customer", "airflow.load"]),
        ("fullyQualifiedName:*.public.orders", ["pg.shop.public.orders"]),
        ("fqn:pg.shop.*.orders", ["pg.shop.private.orders", "pg.shop.public.orders"]),
        ("fqn:PG.shop.private.orders", ["pg.shop.private.orders"]),
        ("name.keyword:*order*", ["pg.shop.private.orders", "pg.shop.public.customer_orders", "pg.shop.public.orders"]),
        ("name:orders", ["pg.shop.private.orders", "pg.shop.public.customer_orders", "pg.shop.public.orders"]),
        ("tag:PII.Sensitive", ["pg.shop.public.orders"]),
        ("columns.tags.tagFQN:pii.sensitive", ["pg.shop.public.orders"]),
        ("tier:Tier.Tier1 OR owner:jane", ["pg.shop.public.dim_customer"]),
        ("domain:sales", ["bi.customer"]),
        ("service:bi customer", ["bi.customer"]),
        ("service.name:(bi OR airflow)", ["airflow.load", 'bi."a.b"', "bi.customer"]),
        ("columns.name:customer_id", ["pg.shop.public.orders"]),
        ("description:orders", ['bi."a.b"']),
        ("displayName:best", ["pg.shop.public.CustomerGold"]),
        ("email.keyword:jane@example.org", ["jane"]),
        ("email:* isBot:true", ["robot"]),
        ("type:topic", []),
        ('"a.b"', ['bi."a.b"']),
        ("_exists_:schemaDefinition", ["pg.shop.private.orders"]),
        ("updatedAt:>1012", ["pg.shop.private.orders"]),
        ("updatedAt:<=1001 OR domain:sales", ["pg.shop.public.customer", "bi.customer"]),
        ("NOT (type:table OR type:user OR service:bi)", ["airflow.load"]),
        ("nowhere", []),
        ("pg.shop.public.cafe", ["pg.shop.public.cafe"]),
    ],
)
def test_a_query_finds(index: SearchIndex, q: str, expected: list[str]) -> None:
    assert found_fqns(index, q) == expected


def test_everything_that_lives_is_found_by_nothing_and_by_a_star(index: SearchIndex) -> None:
    assert len(found_fqns(index)) == len(found_fqns(index, "*")) == len(CORPUS) - 1
    assert found_fqns(index, deleted=True) == ["kafka.customers"]
    assert len(found_fqns(index, deleted=None)) == len(CORPUS)


def test_types_narrow_a_search(index: SearchIndex) -> None:
    assert found_fqns(index, "customer", types=("dashboard",)) == ["bi.customer"]
    assert found_fqns(index, "customer", types=()) == []
    assert found_fqns(index, types=("dashboard", "pipeline")) == ["airflow.load", 'bi."a.b"', "bi.customer"]


@pytest.mark.parametrize(
    ("query_filter", "expected"),
    [
        ('{"query":{"bool":{"must":[{"term":{"service.name.keyword":"bi"}}]}}}', ['bi."a.b"', "bi.customer"]),
        ('{"query":{"bool":{"must_not":{"exists":{"field":"service.name"}}}}}', ["jane", "robot"]),
        (
            '{"bool":{"should":[{"term":{"tableType":"View"}},{"terms":{"entityType":["pipeline"]}}]}}',
            ["airflow.load", "pg.shop.private.orders"],
        ),
        (
            '{"query":{"bool":{"must":[{"bool":{"should":[{"term":{"service.name.keyword":"pg"}}]}},'
            '{"bool":{"should":[{"exists":{"field":"schemaDefinition"}}]}},'
            '{"bool":{"should":[{"term":{"processedLineage":false}},{"bool":{"must_not":{"exists":{"field":"processedLineage"}}}}]}}]}}}',
            ["pg.shop.private.orders"],
        ),
        ('{"wildcard":{"fullyQualifiedName":"*.private.*"}}', ["pg.shop.private.orders"]),
        ('{"prefix":{"name.keyword":"dim_"}}', ["pg.shop.public.dim_customer"]),
        ('{"range":{"updatedAt":{"gte":1011,"lt":1013}}}', ["jane", "robot"]),
        ('{"match":{"description":"every order"}}', ["pg.shop.public.customer_orders"]),
        (
            '{"query":{"query_string":{"query":"doe AND isBot:false","fields":["name","displayName"]}}}',
            ["jane"],
        ),
        ('{"query":{}}', None),
    ],
)
def test_a_filter_finds(index: SearchIndex, query_filter: str, expected: list[str] | None) -> None:
    answer = found_fqns(index, query_filter=query_filter)
    assert answer == expected if expected else len(answer) == len(CORPUS) - 1


@pytest.mark.parametrize("sort_column", sorted(set(SORTED_BY.values())))
@pytest.mark.parametrize("is_descending", [False, True])
def test_pages_after_the_last_hit_hold_everything_once(
    index: SearchIndex, sort_column: str, is_descending: bool
) -> None:
    sorting: dict[str, Any] = {"sort_column": sort_column, "is_descending": is_descending}
    all_fqns = found_fqns(index, **sorting)
    pages: list[str] = []
    after: tuple[str, ...] = ()
    while page := hits(index, size=3, after=after, **sorting):
        pages += [FQNS[hit.entity_id] for hit in page]
        after = tuple(str(value) for value in page[-1].sort)
    assert pages == all_fqns
    assert len(all_fqns) == len(CORPUS) - 1


def test_pages_of_ranked_hits_hold_everything_once(index: SearchIndex) -> None:
    all_fqns = found_fqns(index, "customer")
    after: tuple[str, ...] = ()
    pages: list[str] = []
    while page := hits(index, "customer", size=3, after=after):
        pages += [FQNS[hit.entity_id] for hit in page]
        after = tuple(str(value) for value in page[-1].sort)
    assert pages == all_fqns
    assert [one for start in range(0, 9, 2) for one in found_fqns(index, "customer", offset=start, size=2)] == all_fqns


def test_a_sort_value_that_is_none_is_refused(index: SearchIndex) -> None:
    with pytest.raises(InvalidInput, match="score"):
        index.hits(Search(parse("x"), after=("high",)))


def test_entries_are_counted_by_column(index: SearchIndex) -> None:
    counts = index.counts(Search(parse("customer")), "entity_type", limit=10)
    assert counts == [("table", 6), ("dashboard", 1), ("pipeline", 1)]


def test_an_older_offset_changes_nothing_and_a_newer_one_replaces(store_engine: Engine, index: SearchIndex) -> None:
    writes = SearchWrites(store_engine)
    kind, document = CORPUS[0]
    renamed = {**document, "name": "client", "fullyQualifiedName": "pg.shop.public.client"}
    assert writes.put([entry_of(kind, renamed, log_offset=7)]) == 1
    assert writes.put([entry_of(kind, renamed, log_offset=7)]) == 0
    assert writes.put([entry_of(kind, document, log_offset=6)]) == 0
    assert [hit.sort[2] for hit in index.hits(Search(parse("client")))] == ["pg.shop.public.client"]
    assert "pg.shop.public.customer" not in [hit.sort[2] for hit in index.hits(Search(parse("customer")))]


@pytest.mark.parametrize("key", ["owner", "domain"])
def test_what_comes_down_to_something_is_found_as_its_own(store_engine: Engine, key: str) -> None:
    sample_company = company(store_engine)
    for name in ("jane", "web"):
        sample_company.writes.create(
            "domain", {"name": name, "domainType": "Aggregate", "description": "x"}, actor=SYSTEM
        )
    jane = {"type": "user" if key == "owner" else "domain", "fullyQualifiedName": "jane"}
    sample_company.patch(("add", f"/{key}s", [jane]), fqn="pg.shop", entity_type="database")
    web = {"type": "team", "fullyQualifiedName": "Web"} if key == "owner" else {"type": "domain", "name": "web"}
    sample_company.writes.create("team", {"name": "Web", "teamType": "Group"}, actor=SYSTEM)
    sample_company.writes.create("table", sample_company.table("pages", **{f"{key}s": [web]}), actor=SYSTEM)
    link = "<#E::table::pg.shop.public.orders::columns::email>"
    case = {"name": "filled", "entityLink": link, "testDefinition": "notNull"}
    sample_company.writes.create("testCase", case, actor=SYSTEM)
    logged_events = EventLog(store_engine).read(0, 1_000)
    states = {one.event.entity_id: one for one in logged_events if one.event.entity}
    SearchWrites(store_engine).put([entry_of(one.event.entity_type, one.event.entity or {}) for one in states.values()])
    everything = SearchIndex(store_engine)
    below = {"pg.shop.public", "pg.shop.public.orders", "pg.shop.public.orders.email.filled"}
    below.add("pg.shop.public.orders.testSuite")
    assert set(fqns_of(everything, f"{key}:jane")) == {"pg.shop", *below}
    assert fqns_of(everything, f"{key}:jane", types=("table",)) == ["pg.shop.public.orders"]
    assert fqns_of(everything, f"orders {key}:jane", types=("table",)) == ["pg.shop.public.orders"]
    assert fqns_of(everything, f"-{key}:jane AND pg", types=("table",)) == ["pg.shop.public.pages"]
    assert fqns_of(everything, f"_exists_:{key}s", types=("database",)) == ["pg.shop"]


def fqns_of(index: SearchIndex, q: str, **options: Any) -> list[str]:
    search = Search(parse(q), **options)
    hits = index.hits(search)
    assert index.total(search).value == len(hits)
    assert sum(count for _, count in index.counts(search, "entity_type", limit=50)) == len(hits)
    return [str(hit.sort[-2]) for hit in hits]


def test_entries_old_and_new_are_written_together(store_engine: Engine, index: SearchIndex) -> None:
    later = [entry_of(kind, document, log_offset=9) for kind, document in CORPUS[::-2]]
    new = [entry_of(*some("table", f"pg.shop.public.fresh_{number}", 100 + number), log_offset=9) for number in (1, 2)]
    assert SearchWrites(store_engine).put([new[0], *later, new[1]]) == len(later) + 2
    assert [hit.sort[2] for hit in index.hits(Search(parse("fresh")))] == [one["fqn"] for one in new]
    assert len(index.hits(Search(parse("*"), size=100))) == len(CORPUS) + 1


def test_what_is_gone_stays_gone(store_engine: Engine, index: SearchIndex) -> None:
    writes = SearchWrites(store_engine)
    kind, document = CORPUS[0]
    assert writes.put([entry_of(kind, document, log_offset=9, is_gone=True)]) == 1
    assert writes.renew([entry_of(kind, document, log_offset=8)]) == 0
    assert writes.count() == len(CORPUS) - 1
    assert "pg.shop.public.customer" not in [hit.sort[2] for hit in index.hits(Search(parse("customer")))]


def test_a_rebuild_writes_over_and_sweeps_what_it_did_not_find(store_engine: Engine, index: SearchIndex) -> None:
    writes = SearchWrites(store_engine)
    writes.put([entry_of(*CORPUS[1], log_offset=50)])
    assert writes.renew([entry_of(*CORPUS[0], log_offset=40), entry_of(*CORPUS[1], log_offset=40)]) == 1
    assert writes.sweep(40) == len(CORPUS) - 2
    assert writes.count() == 2


def test_words_keep_to_their_language() -> None:
    assert words_of("HTTPServer2Go straße 表 Ångström") == ("http", "server2", "go", "straße", "表", "angstrom")


def test_thousands_of_facts_are_one_query(index: SearchIndex) -> None:
    """A query for any label or owner that a reader may see names as many as there are."""
    tokens = (*(token_of("owners.id", f"o{number}") for number in range(5_000)), token_of("tags.tagFQN", "Tier.Tier1"))
    any_of_them = AnyFact(tokens)
    assert [FQNS[hit.entity_id] for hit in index.hits(Search(Query(any_of_them), size=100))] == [
        "pg.shop.public.dim_customer"
    ]
    assert index.total(Search(Query(negation_of(any_of_them)))).value == index.total(Search(Query(ALWAYS))).value - 1
