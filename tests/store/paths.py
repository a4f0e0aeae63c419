"""Table of all writes with the exact events of each, used by ``test_paths.py``.

An event is written ``type entityType fqn [fields] from>to``; an unchanged version is written once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tests.prefilled import Ids, fill
from tests.store.catalogues import JANE, ORDERS, SCHEMA, Company

from tocsin.catalogue.people.teams import set_users, take_out
from tocsin.catalogue.writes import BulkWrites
from tocsin.model.change import ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.stored import Key

Step = Callable[[Company], Any]  # Any: whatever the write answers


@dataclass(frozen=True)
class Row:
    """One write: the state before it, the write itself, and the events it makes, in their order."""

    step_name: str
    write: Step
    events: tuple[str, ...]
    before: Step = lambda _shop: None


def description_of(event: ChangeEvent) -> str:
    """Return an event as the table writes it."""
    change = event.change_description
    fields = " ".join(sorted(set(change.paths()))) if change else ""
    versions = [str(version) for version in (event.previous_version, event.current_version)]
    span = versions[0] if versions[0] == versions[1] else ">".join("" if one == "None" else one for one in versions)
    subject = f"{event.event_type.value} {event.entity_type} {event.entity_fully_qualified_name}"
    if event.event_type.value == "entityCreated":
        return f"{subject} {span}"
    return f"{subject} [{fields}] {span}"


def furnish(shop: Company) -> None:
    """Add what assets are described by, and describe ``orders`` by it; it is at version 0.2 then."""
    shop.ids.update(fill(shop.engine, "what assets are described by", lambda: _furnish(shop)))


def _furnish(shop: Company) -> Ids:
    for entity_type, request in _DESCRIBING:
        shop.ids[request["name"]] = shop.writes.create(entity_type, request, actor=JANE).document["id"]
    shop.patch(
        ("add", "/owners", [_reference(shop, "jane", "user"), _reference(shop, "sales", "team")]),
        ("add", "/domains", [_reference(shop, "commerce", "domain")]),
        ("add", "/dataProducts", [_reference(shop, "basket", "dataProduct")]),
        ("add", "/tags", [_label("PII.Contact"), _label("Business.Revenue.Net", "Glossary")]),
        ("add", "/columns/1/tags", [_label("PII.Contact.Email")]),
    )
    return shop.ids


def _patch(*operations: tuple[str, str, Any], target: tuple[str, str] = ("table", ORDERS)) -> Step:
    entity_type, fqn = target
    return lambda shop: shop.patch(*operations, entity_type=entity_type, fqn=fqn)


def _patch_to(path: str, target: str, target_type: str, subject: tuple[str, str], op: str = "add") -> Step:
    return lambda shop: shop.patch(
        (op, path, _reference(shop, target, target_type)), entity_type=subject[0], fqn=subject[1]
    )


def _delete(entity_type: str, fqn: str, *, hard: bool = False, recursive: bool = False) -> Step:
    return lambda shop: shop.writes.delete(entity_type, Key.by_name(fqn), actor=JANE, hard=hard, recursive=recursive)


def _bulk(*requests: Document, dry_run: bool = False) -> Step:
    requests_to_put = [{"databaseSchema": SCHEMA, "columns": _SAME_COLUMNS} | request for request in requests]
    return lambda shop: BulkWrites(shop.catalogue, shop.clock).put(
        "table", requests_to_put, actor=JANE, dry_run=dry_run
    )


def _restore(entity_type: str, name: str) -> Step:
    return lambda shop: shop.writes.restore(entity_type, shop.ids[name], actor=JANE)


def _put(entity_type: str, **request: Any) -> Step:
    return lambda shop: shop.writes.upsert(entity_type, request, actor=JANE)


def _follow(*, twice: bool = False) -> Step:
    def step(shop: Company) -> None:
        for _ in range(2 if twice else 1):
            shop.writes.follow("table", shop.ids["orders"], shop.ids["jane"], actor=JANE)

    return step


def _follow_both(shop: Company) -> None:
    for entity_type, name in (("table", "orders"), ("dashboard", "revenue")):
        shop.writes.follow(entity_type, shop.ids[name], shop.ids["jane"], actor=JANE)


def _rollback_to(version: str, *, dry_run: bool = False) -> Step:
    return lambda shop: shop.writes.rollback(
        "table", Key.by_name(ORDERS), Decimal(version), actor=JANE, dry_run=dry_run
    )


def _test(shop: Company) -> Any:
    link = f"<#E::table::{ORDERS}>"
    return shop.writes.create(
        "testCase", {"name": "not_null", "entityLink": link, "testDefinition": "hasRows"}, actor=JANE
    )


def _set_users(*names: str) -> Step:
    def step(shop: Company) -> Any:
        references = [_reference(shop, name, "user") for name in names]
        return shop.writes.on_entity(
            "team", Key.by_name("sales"), lambda record, team: set_users(record, team, references), actor=JANE
        )

    return step


def _take_out(name: str) -> Step:
    return lambda shop: shop.writes.on_entity(
        "team",
        Key.by_name("sales"),
        lambda record, team: take_out(record, team, shop.ids[name]),
        actor=JANE,
    )


def _edge(shop: Company) -> Any:
    ends = {"fromEntity": _reference(shop, "orders", "table"), "toEntity": _reference(shop, "revenue", "dashboard")}
    return shop.writes.put_edge(ends, actor=JANE)


def _reference(shop: Company, name: str, entity_type: str) -> Document:
    return {"id": shop.ids[name], "type": entity_type}


def _label(fqn: str, source: str = "Classification") -> Document:
    return {"tagFQN": fqn, "source": source, "labelType": "Manual", "state": "Confirmed"}


def _rename(entity_type: str, fqn: str, name: str) -> Step:
    return _patch(("replace", "/name", name), target=(entity_type, fqn))


_X = {"description": "x"}
_DESCRIBING: list[tuple[str, Document]] = [
    ("domain", {"name": "retail", "domainType": "Aggregate", "parent": "commerce", **_X}),
    ("dataProduct", {"name": "basket", "domains": ["commerce"], **_X}),
    ("classification", {"name": "PII", **_X}),
    ("tag", {"name": "Contact", "classification": "PII", **_X}),
    ("tag", {"name": "Email", "classification": "PII", "parent": "PII.Contact", **_X}),
    ("classification", {"name": "Law", **_X}),
    ("type", {"name": "integer", "category": "field", **_X}),
    ("glossary", {"name": "Business", **_X}),
    ("glossaryTerm", {"name": "Revenue", "glossary": "Business", **_X}),
    ("glossaryTerm", {"name": "Net", "glossary": "Business", "parent": "Business.Revenue", **_X}),
    ("glossary", {"name": "Finance", "reviewers": [{"type": "user", "name": "jane"}], **_X}),
]

_COST = {"name": "cost", "description": "x", "propertyType": {"type": "type", "name": "integer"}}
_COLUMN = {"name": "note", "dataType": "TEXT"}
_SAME_COLUMNS = [{"name": "id", "dataType": "BIGINT"}, {"name": "email", "dataType": "VARCHAR", "dataLength": 50}]
_LABELS = "[columns.email.tags tags]"
_TERM = ("glossaryTerm", "Business.Revenue")

ROWS = (
    Row(
        "POST of something new",
        lambda shop: shop.writes.create("dashboard", {"name": "new", "service": "bi"}, actor=JANE),
        ("entityCreated dashboard bi.new >0.1",),
    ),
    Row("PUT of something new", _put("dashboard", name="new", service="bi"), ("entityCreated dashboard bi.new >0.1",)),
    Row(
        "PUT that changes something",
        _put("table", name="orders", databaseSchema=SCHEMA, columns=[*_SAME_COLUMNS, _COLUMN], description="y"),
        (f"entityUpdated table {ORDERS} [columns description] 0.2>0.3",),
    ),
    Row(
        "bulk: one changed, one new, one as it stands, one refused",
        _bulk({"name": "orders", "description": "y"}, {"name": "fresh"}, {"name": "orders"}, {"name": ""}),
        (
            f"entityUpdated table {ORDERS} [description] 0.2>0.3",
            f"entityCreated table {SCHEMA}.fresh >0.1",
        ),
    ),
    Row("rehearsal of a bulk", _bulk({"name": "fresh"}, dry_run=True), ()),
    Row("PUT of what stands", _put("table", name="orders", databaseSchema=SCHEMA, columns=_SAME_COLUMNS), ()),
    Row(
        "PATCH that changes something",
        _patch(("add", "/columns/1/description", "where they write from"), ("remove", "/owners/0", None)),
        (f"entityUpdated table {ORDERS} [columns.email.description owners] 0.2>0.3",),
    ),
    Row(
        "PATCH that changes nothing",
        _patch(("add", "/description", "x"), ("remove", "/description", None), ("replace", "/name", "orders")),
        (),
    ),
    Row("PATCH of what the server keeps", _patch(("replace", "/version", 7.0), ("add", "/followers", [])), ()),
    Row(
        "PATCH that drops a column",
        _patch(("remove", "/columns/0", None)),
        (f"entityUpdated table {ORDERS} [columns] 0.2>1.2",),
    ),
    Row(
        "a whole state, as a history has it",
        lambda shop: shop.writes.replace("table", ORDERS, {"name": "orders", "description": "y"}, 5, actor=JANE),
        (f"entityUpdated table {ORDERS} [columns dataProducts description domains owners tags] 0.2>1.2",),
    ),
    Row(
        "the end of an asset, as a history has it",
        lambda shop: shop.writes.remove("table", ORDERS, 5, actor=JANE),
        (f"entityDeleted table {ORDERS} [entity] 0.2>",),
    ),
    Row(
        "soft delete of what holds more",
        _delete("databaseService", "pg", recursive=True),
        (
            f"entitySoftDeleted table {ORDERS} [deleted] 0.2>0.3",
            f"entitySoftDeleted databaseSchema {SCHEMA} [deleted] 0.1>0.2",
            "entitySoftDeleted database pg.shop [deleted] 0.1>0.2",
            "entitySoftDeleted databaseService pg [deleted] 0.1>0.2",
        ),
    ),
    Row(
        "soft delete, when some of it is deleted already",
        _delete("database", "pg.shop", recursive=True),
        (
            f"entitySoftDeleted databaseSchema {SCHEMA} [deleted] 0.1>0.2",
            "entitySoftDeleted database pg.shop [deleted] 0.1>0.2",
        ),
        before=_delete("table", ORDERS),
    ),
    Row(
        "hard delete of what holds more",
        _delete("databaseService", "pg", recursive=True, hard=True),
        (
            f"entityDeleted table {ORDERS} [entity] 0.2>",
            f"entityDeleted databaseSchema {SCHEMA} [entity] 0.1>",
            "entityDeleted database pg.shop [entity] 0.1>",
            "entityDeleted databaseService pg [entity] 0.1>",
        ),
    ),
    Row(
        "restore, parents first",
        _restore("database", "shop"),
        (
            "entityRestored database pg.shop [deleted] 0.2>0.3",
            f"entityRestored databaseSchema {SCHEMA} [deleted] 0.2>0.3",
            f"entityRestored table {ORDERS} [deleted] 0.3>0.4",
        ),
        before=_delete("database", "pg.shop", recursive=True),
    ),
    Row(
        "PUT of what is softly deleted",
        _put("dashboard", name="revenue", service="bi"),
        ("entityRestored dashboard bi.revenue [deleted] 0.2>0.3",),
        before=_delete("dashboard", "bi.revenue"),
    ),
    Row(
        "rename of a glossary: its terms follow, and what carries them has not changed",
        _rename("glossary", "Business", "Trade"),
        (
            "entityUpdated glossary Trade [fullyQualifiedName name] 0.1>0.2",
            "entityUpdated glossaryTerm Trade.Revenue [fullyQualifiedName] 0.1>0.2",
            "entityUpdated glossaryTerm Trade.Revenue.Net [fullyQualifiedName] 0.1>0.2",
        ),
    ),
    Row(
        "rename of a term, with another change",
        _patch(("replace", "/name", "Income"), ("replace", "/description", "y"), target=_TERM),
        (
            "entityUpdated glossaryTerm Business.Income [description fullyQualifiedName name] 0.1>0.2",
            "entityUpdated glossaryTerm Business.Income.Net [fullyQualifiedName] 0.1>0.2",
        ),
    ),
    Row(
        "move of a term to another glossary, which has reviewers",
        _patch_to("/glossary", "Finance", "glossary", _TERM, "replace"),
        (
            "entityUpdated glossaryTerm Finance.Revenue [entityStatus fullyQualifiedName glossary] 0.1>0.2",
            "threadCreated thread Finance.Revenue [message task.assignees task.status] None",
            "entityUpdated glossaryTerm Finance.Revenue.Net [fullyQualifiedName glossary] 0.1>0.2",
        ),
    ),
    Row(
        "move of a term out of another one",
        _patch(("remove", "/parent", None), target=("glossaryTerm", "Business.Revenue.Net")),
        ("entityUpdated glossaryTerm Business.Net [fullyQualifiedName parent] 0.1>0.2",),
    ),
    Row(
        "rename of a classification",
        _rename("classification", "PII", "Personal"),
        (
            "entityUpdated classification Personal [fullyQualifiedName name] 0.1>0.2",
            "entityUpdated tag Personal.Contact [fullyQualifiedName] 0.1>0.2",
            "entityUpdated tag Personal.Contact.Email [fullyQualifiedName] 0.1>0.2",
        ),
    ),
    Row(
        "move of a tag to another classification",
        _patch_to("/classification", "Law", "classification", ("tag", "PII.Contact"), "replace"),
        (
            "entityUpdated tag Law.Contact [classification fullyQualifiedName] 0.1>0.2",
            "entityUpdated tag Law.Contact.Email [classification fullyQualifiedName] 0.1>0.2",
        ),
    ),
    Row(
        "rename of a domain: what only points to it has not changed",
        _rename("domain", "commerce", "trade"),
        (
            "entityUpdated domain trade [fullyQualifiedName name] 0.1>0.2",
            "entityUpdated domain trade.retail [fullyQualifiedName] 0.1>0.2",
        ),
    ),
    Row(
        "rename of a data product",
        _rename("dataProduct", "basket", "cart"),
        ("entityUpdated dataProduct cart [fullyQualifiedName name] 0.1>0.2",),
    ),
    Row(
        "rename of a team",
        _rename("team", "sales", "selling"),
        ("entityUpdated team selling [fullyQualifiedName name] 0.1>0.2",),
    ),
    Row(
        "PUT under a name that was given up",
        _put("team", name="sales"),
        ("entityCreated team sales >0.1",),
        before=_rename("team", "sales", "selling"),
    ),
    Row(
        "people of a team, set as a whole: one stays, one comes, one goes",
        _set_users("john.doe", "robot"),
        ("entityUpdated team sales [users] 0.2>0.3",),
        before=_set_users("jane", "robot"),
    ),
    Row("people of a team, set to who is in it", _set_users("jane"), (), before=_set_users("jane")),
    Row(
        "somebody taken out of a team",
        _take_out("jane"),
        ("entityUpdated team sales [users] 0.2>0.3",),
        before=_set_users("jane", "robot"),
    ),
    Row("somebody taken out of a team they are not in", _take_out("jane"), ()),
    Row("soft delete of a user", _delete("user", "jane"), ("entitySoftDeleted user jane [deleted] 0.1>0.2",)),
    Row(
        "hard delete of a user",
        _delete("user", "jane", hard=True),
        (
            "entityUpdated glossary Finance [reviewers] 0.1>0.2",
            f"entityUpdated table {ORDERS} [owners] 0.2>0.3",
            "entityDeleted user jane [entity] 0.1>",
        ),
    ),
    Row(
        "hard delete of a user who follows: one event per asset, without a version where nothing else changes",
        _delete("user", "jane", hard=True),
        (
            "entityUpdated glossary Finance [reviewers] 0.1>0.2",
            "entityUpdated dashboard bi.revenue [followers] 0.1",
            f"entityUpdated table {ORDERS} [followers owners] 0.2>0.3",
            "entityDeleted user jane [entity] 0.1>",
        ),
        before=_follow_both,
    ),
    Row(
        "hard delete of a team",
        _delete("team", "sales", hard=True),
        (
            "entityUpdated user jane [teams] 0.2>0.3",
            f"entityUpdated table {ORDERS} [owners] 0.2>0.3",
            "entityDeleted team sales [entity] 0.1>",
        ),
        before=_put("user", name="jane", email="jane@example.org", teams=["sales"]),
    ),
    Row(
        "delete of a domain, which is always for good",
        _delete("domain", "commerce", recursive=True),
        (
            "entityUpdated dataProduct basket [domains] 0.1>0.2",
            f"entityUpdated table {ORDERS} [domains] 0.2>0.3",
            "entityDeleted domain commerce.retail [entity] 0.1>",
            "entityDeleted domain commerce [entity] 0.1>",
        ),
    ),
    Row(
        "delete of a data product",
        _delete("dataProduct", "basket"),
        (f"entityUpdated table {ORDERS} [dataProducts] 0.2>0.3", "entityDeleted dataProduct basket [entity] 0.1>"),
    ),
    Row(
        "soft delete of a tag: the labels stay",
        _delete("tag", "PII.Contact", recursive=True),
        (
            "entitySoftDeleted tag PII.Contact.Email [deleted] 0.1>0.2",
            "entitySoftDeleted tag PII.Contact [deleted] 0.1>0.2",
        ),
    ),
    Row(
        "hard delete of a classification: its labels come off, one event per asset",
        _delete("classification", "PII", recursive=True, hard=True),
        (
            f"entityUpdated table {ORDERS} {_LABELS} 0.2>0.3",
            "entityDeleted tag PII.Contact.Email [entity] 0.1>",
            "entityDeleted tag PII.Contact [entity] 0.1>",
            "entityDeleted classification PII [entity] 0.1>",
        ),
    ),
    Row(
        "hard delete of a term",
        _delete("glossaryTerm", "Business.Revenue.Net", hard=True),
        (
            f"entityUpdated table {ORDERS} [tags] 0.2>0.3",
            "entityDeleted glossaryTerm Business.Revenue.Net [entity] 0.1>",
        ),
    ),
    Row(
        "custom property described anew",
        _put("type", name="table", description="x", customProperties=[_COST | {"description": "y"}]),
        ("entityUpdated type table [customProperties.cost] 0.1>0.2",),
        before=_put("type", name="table", description="x", customProperties=[_COST]),
    ),
    Row(
        "custom property given a value",
        _patch(("add", "/extension", {"cost": 3})),
        (f"entityUpdated table {ORDERS} [extension.cost] 0.2>0.3",),
    ),
    Row("follow, twice", _follow(twice=True), (f"entityUpdated table {ORDERS} [followers] 0.2",)),
    Row(
        "unfollow",
        lambda shop: shop.writes.unfollow("table", shop.ids["orders"], shop.ids["jane"], actor=JANE),
        (f"entityUpdated table {ORDERS} [followers] 0.2",),
        before=_follow(),
    ),
    Row("lineage edge", _edge, ("entityUpdated dashboard bi.revenue [lineage] 0.1",)),
    Row("lineage edge that stands there", _edge, (), before=_edge),
    Row(
        "pipeline status",
        lambda shop: shop.writes.add_pipeline_status(
            "airflow.nightly", {"timestamp": 5, "executionStatus": "Failed"}, actor=JANE
        ),
        ("entityUpdated pipeline airflow.nightly [pipelineStatus] 0.1",),
    ),
    Row(
        "failed test",
        lambda shop: shop.writes.add_test_result(
            f"{ORDERS}.not_null", {"timestamp": 5, "testCaseStatus": "Failed"}, actor=JANE
        ),
        (
            f"testCaseFailure testCase {ORDERS}.not_null [incidentStatus testCaseResult] 0.1",
            f"testSuiteRunCompleted testSuite {ORDERS}.testSuite [summary] 0.1",
        ),
        before=_test,
    ),
    Row(
        "owners of a schema: what lies in it inherits them and has not changed",
        _patch(("add", "/owners", [{"type": "team", "name": "sales"}]), target=("databaseSchema", SCHEMA)),
        (f"entityUpdated databaseSchema {SCHEMA} [owners] 0.1>0.2",),
    ),
    Row(
        "rollback",
        _rollback_to("0.1"),
        (f"entityUpdated table {ORDERS} [columns.email.tags dataProducts domains owners tags] 0.2>0.3",),
    ),
    Row("dry run of a rollback", _rollback_to("0.1", dry_run=True), ()),
    Row("rollback to what stands", _rollback_to("0.2"), ()),
    Row(
        "rollback of a rename",
        lambda shop: shop.writes.rollback("glossaryTerm", Key.by_name("Business.Income"), Decimal("0.1"), actor=JANE),
        (
            "entityUpdated glossaryTerm Business.Revenue [fullyQualifiedName name] 0.2>0.3",
            "entityUpdated glossaryTerm Business.Revenue.Net [fullyQualifiedName] 0.2>0.3",
        ),
        before=_rename(*_TERM, "Income"),
    ),
)
"""Every way to write that there is."""
