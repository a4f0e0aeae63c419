"""Tests of atomic writes: entity, version and event, or nothing."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine, func, select
from tests.store.catalogues import JANE, ORDERS, SCHEMA, Company, add_tags, company

from tocsin.errors import Conflict, InvalidInput, NotFound, PreconditionFailed
from tocsin.model.change import EventType
from tocsin.model.stored import Key
from tocsin.store.database import tables


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    return company(store_engine)


def _counts(engine: Engine) -> dict[str, int]:
    with engine.connect() as connection:
        return {
            table.name: int(connection.execute(select(func.count()).select_from(table)).scalar_one())
            for table in (tables.entity, tables.entity_version, tables.change_event)
        }


def _paths(written: Any) -> tuple[str, ...]:
    return tuple(written.event.change_description.paths())


def test_a_created_entity_has_version_0_1_one_version_and_one_event(shop: Company, store_engine: Engine) -> None:
    before = _counts(store_engine)
    written = shop.writes.create("table", shop.table("new"), actor=JANE)
    assert {name: count - before[name] for name, count in _counts(store_engine).items()} == dict.fromkeys(before, 1)
    assert written.created
    assert written.document["version"] == 0.1
    assert written.document == shop.get("table", f"{SCHEMA}.new")
    assert written.event == shop.events_after(0)[-1]
    assert written.event is not None
    assert (written.event.previous_version, float(written.event.current_version or 0)) == (None, 0.1)
    assert (written.event.user_name, written.event.user_id) == (JANE.name, JANE.id)
    assert written.event.timestamp == shop.clock.now_ms() == written.document["updatedAt"]


def test_a_table_knows_its_ancestors_and_the_kind_of_its_service(shop: Company) -> None:
    table = shop.get("table", ORDERS)
    assert {key: table[key]["fullyQualifiedName"] for key in ("databaseSchema", "database", "service")} == {
        "databaseSchema": SCHEMA,
        "database": "pg.shop",
        "service": "pg",
    }
    assert table["serviceType"] == "Postgres"


def test_parents_are_given_by_name_by_id_or_by_reference(shop: Company) -> None:
    schema_id = shop.ids["public"]
    for number, parent in enumerate((SCHEMA, schema_id, {"id": schema_id, "type": "databaseSchema"})):
        written = shop.writes.create("table", shop.table(f"t{number}", databaseSchema=parent), actor=JANE)
        assert written.document["fullyQualifiedName"] == f"{SCHEMA}.t{number}"


def test_names_with_dots_are_quoted_in_fqns(shop: Company) -> None:
    written = shop.writes.create("table", shop.table("v1.2"), actor=JANE)
    assert written.document["fullyQualifiedName"] == f'{SCHEMA}."v1.2"'
    assert shop.get("user", "john.doe")["fullyQualifiedName"] == '"john.doe"'


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"name": "t", "columns": [], "databaseSchema": "pg.shop.nowhere"}, NotFound),
        ({"name": "t", "columns": []}, InvalidInput),
        ({"name": "t", "databaseSchema": SCHEMA}, InvalidInput),
        ({"columns": [], "databaseSchema": SCHEMA}, InvalidInput),
        ({"name": " ", "columns": [], "databaseSchema": SCHEMA}, InvalidInput),
        ({"name": 7, "columns": [], "databaseSchema": SCHEMA}, InvalidInput),
        ({"name": "t", "columns": [], "databaseSchema": SCHEMA, "colour": "red"}, InvalidInput),
        ({"name": "t", "columns": {}, "databaseSchema": SCHEMA}, InvalidInput),
        ({"name": "t", "columns": ["a"], "databaseSchema": SCHEMA}, InvalidInput),
        ({"name": "t", "columns": [{"dataType": "INT"}], "databaseSchema": SCHEMA}, InvalidInput),
        ({"name": "t", "columns": [{"name": "a"}, {"name": "a"}], "databaseSchema": SCHEMA}, InvalidInput),
        ({"name": "t", "columns": [], "databaseSchema": SCHEMA, "tags": [{}]}, InvalidInput),
        ({"name": "t", "columns": [], "databaseSchema": SCHEMA, "extension": []}, InvalidInput),
        ({"name": "t", "columns": [], "databaseSchema": SCHEMA, "owners": [{"type": "user", "name": "x"}]}, NotFound),
        (
            {"name": "t", "columns": [], "databaseSchema": SCHEMA, "owners": [{"type": "table", "name": "x"}]},
            InvalidInput,
        ),
        ({"name": "t", "columns": [], "databaseSchema": SCHEMA, "owners": [{}]}, InvalidInput),
        ({"name": "t", "columns": [], "databaseSchema": SCHEMA, "domains": ["nowhere"]}, NotFound),
        ({"name": "t", "columns": [], "databaseSchema": 7}, InvalidInput),
        ({"name": "t", "columns": [{"name": "a", "dataLength": 2**70}], "databaseSchema": SCHEMA}, InvalidInput),
    ],
)
def test_what_cannot_be_accepted_is_refused_and_leaves_nothing(
    shop: Company, store_engine: Engine, request_: dict[str, Any], error: type[Exception]
) -> None:
    before = _counts(store_engine)
    with pytest.raises(error):
        shop.writes.upsert("table", request_, actor=JANE)
    assert _counts(store_engine) == before


def test_creating_what_exists_is_a_conflict_even_when_it_is_soft_deleted(shop: Company) -> None:
    with pytest.raises(Conflict):
        shop.writes.create("table", shop.table(), actor=JANE)
    shop.writes.delete("table", Key.by_name(ORDERS), actor=JANE)
    with pytest.raises(Conflict):
        shop.writes.create("table", shop.table(), actor=JANE)


def test_ensuring_what_exists_leaves_it_as_it_is(shop: Company) -> None:
    written = shop.writes.ensure("table", shop.table(description="other"), actor=JANE)
    assert (written.event, written.created) == (None, False)
    assert written.document["id"] == shop.ids["orders"]
    assert shop.writes.ensure("table", shop.table("new"), actor=JANE).created


def test_a_put_without_a_difference_leaves_nothing(shop: Company, store_engine: Engine) -> None:
    before, document = _counts(store_engine), shop.get("table", ORDERS)
    shop.clock.advance(1000)
    written = shop.writes.upsert("table", shop.table(description="", tags=[]), actor=JANE)
    assert written.event is None
    assert _counts(store_engine) == before
    assert shop.get("table", ORDERS) == document == written.document


def test_a_put_raises_the_version_and_says_what_changed(shop: Company) -> None:
    shop.clock.advance(1000)
    outcome = shop.writes.upsert("table", shop.table(description="All orders"), actor=JANE)
    assert outcome.event is not None
    assert outcome.event.event_type is EventType.ENTITY_UPDATED
    wire = outcome.event.to_wire()
    assert (wire["previousVersion"], wire["currentVersion"]) == (0.1, 0.2)
    assert wire["changeDescription"] == {
        "fieldsAdded": [{"name": "description", "newValue": "All orders"}],
        "fieldsUpdated": [],
        "fieldsDeleted": [],
        "previousVersion": 0.1,
    }
    document = shop.get("table", ORDERS)
    assert (document["version"], document["updatedBy"]) == (0.2, "jane")
    assert document["changeDescription"] == wire["changeDescription"]
    assert wire["entity"] == {key: value for key, value in document.items() if key != "changeDescription"}


def test_a_put_keeps_what_it_does_not_give_and_what_people_wrote(shop: Company) -> None:
    add_tags(shop.writes, "Tier.Tier1", "PII.Email", "New.Tag", "Column.Tag")
    shop.patch(
        ("add", "/description", "kept"),
        ("add", "/tags/0", {"tagFQN": "Tier.Tier1"}),
        ("add", "/columns/1/description", "kept, too"),
        ("add", "/columns/1/tags/0", {"tagFQN": "PII.Email"}),
    )
    request = shop.table(tags=[{"tagFQN": "New.Tag"}])
    request["columns"][1]["tags"] = [{"tagFQN": "Column.Tag"}]
    shop.writes.upsert("table", request, actor=JANE)
    table = shop.get("table", ORDERS)
    assert table["description"] == "kept"
    assert [label["tagFQN"] for label in table["tags"]] == ["Tier.Tier1", "New.Tag"]
    assert table["columns"][1]["description"] == "kept, too"
    assert [label["tagFQN"] for label in table["columns"][1]["tags"]] == ["PII.Email", "Column.Tag"]


def test_dropping_a_column_raises_the_version_by_one(shop: Company) -> None:
    written = shop.writes.upsert("table", shop.table(columns=[{"name": "id", "dataType": "BIGINT"}]), actor=JANE)
    assert written.document["version"] == 1.1
    assert shop.writes.upsert("table", shop.table(description="x"), actor=JANE).document["version"] == 1.2


def test_tags_get_their_defaults(shop: Company) -> None:
    add_tags(shop.writes, "PII.Sensitive")
    written = shop.patch(("add", "/tags/0", {"tagFQN": "PII.Sensitive"}))
    assert written.document["tags"] == [
        {"tagFQN": "PII.Sensitive", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
    ]


def test_owners_are_made_full_references_however_they_are_given(shop: Company) -> None:
    jane = {"id": shop.ids["jane"], "type": "user", "name": "jane", "fullyQualifiedName": "jane"}
    for number, owner in enumerate(({"type": "user", "name": "jane"}, {"id": shop.ids["jane"], "type": "user"})):
        for key, value in (("owners", [owner]), ("owner", owner)):
            written = shop.writes.create("table", shop.table(f"t{number}{key}", **{key: value}), actor=JANE)
            assert written.document["owners"] == [jane]


def test_owners_with_dots_in_their_names_and_teams_are_found(shop: Company) -> None:
    owners = [{"type": "user", "name": "john.doe"}, {"type": "team", "name": "sales"}]
    written = shop.writes.create("table", shop.table("t", owners=owners, domains=["commerce"]), actor=JANE)
    assert [owner["id"] for owner in written.document["owners"]] == [shop.ids["john.doe"], shop.ids["sales"]]
    assert written.event is not None
    assert written.event.domains == (shop.ids["commerce"],)


def test_emails_are_kept_in_lower_case(shop: Company) -> None:
    assert shop.get("user", "jane")["email"] == "jane@example.org"


def test_the_fields_that_conditions_name_are_derived_when_the_event_is_captured(shop: Company) -> None:
    shop.patch(("add", "/columns/1/description", "x"))
    assert sorted(shop.log.read(0, 1000)[-1].derived["fieldChanged"]) == [
        "columns",
        "columns.email",
        "columns.email.description",
    ]


def test_a_patch_removes_what_it_removes(shop: Company) -> None:
    add_tags(shop.writes, "A.b")
    shop.patch(("add", "/tags/0", {"tagFQN": "A.b"}), ("add", "/owners/0", {"id": shop.ids["jane"], "type": "user"}))
    written = shop.patch(("remove", "/tags/0", None), ("remove", "/owners", None))
    assert sorted(_paths(written)) == ["owners", "tags"]
    again = shop.patch(("add", "/owners/0", {"id": shop.ids["jane"], "type": "user"}))
    assert _paths(again) == ("owners",)


def test_a_patch_cannot_rename_or_move_an_entity_or_touch_what_the_server_keeps(shop: Company) -> None:
    for path, value in (("/name", "other"), ("/databaseSchema", {"id": "x", "type": "databaseSchema"})):
        with pytest.raises(InvalidInput):
            shop.patch(("replace", path, value))
    assert shop.patch(("replace", "/version", 9.9), ("replace", "/updatedBy", "me")).event is None


def test_a_patch_holds_only_for_the_state_it_was_made_for(shop: Company) -> None:
    operation = [{"op": "add", "path": "/description", "value": "x"}]
    with pytest.raises(PreconditionFailed):
        shop.writes.patch("table", Key.by_name(ORDERS), operation, actor=JANE, if_match='W/"0.7"')
    assert shop.writes.patch("table", Key.by_name(ORDERS), operation, actor=JANE, if_match='W/"0.1"').event


def test_a_patch_that_changes_nothing_leaves_nothing(shop: Company) -> None:
    end = shop.log.readable_end()
    assert shop.patch(("add", "/description", "x"), ("remove", "/description", None)).event is None
    assert shop.log.readable_end() == end


def test_every_version_can_be_read_again(shop: Company) -> None:
    for text in "abc":
        shop.patch(("add", "/description", text))
    versions = shop.catalogue.versions(shop.ids["orders"])
    assert [(one["version"], one.get("description")) for one in versions] == [
        (0.4, "c"),
        (0.3, "b"),
        (0.2, "a"),
        (0.1, None),
    ]
    assert shop.catalogue.version(shop.ids["orders"], "0.3") == versions[1]
    with pytest.raises(NotFound):
        shop.catalogue.version(shop.ids["orders"], "7.7")


def test_following_is_an_event_but_no_version(shop: Company) -> None:
    before = shop.get("table", ORDERS)
    written = shop.writes.follow("table", shop.ids["orders"], shop.ids["john.doe"], actor=JANE)
    assert written.event is not None
    wire = written.event.to_wire()
    john = {"id": shop.ids["john.doe"], "type": "user", "name": "john.doe", "fullyQualifiedName": '"john.doe"'}
    assert wire["eventType"] == "entityUpdated"
    assert wire["previousVersion"] == wire["currentVersion"] == 0.1
    assert wire["changeDescription"]["fieldsAdded"] == [{"name": "followers", "newValue": [john]}]
    assert shop.get("table", ORDERS) == before
    assert shop.catalogue.followers(shop.ids["orders"]) == [john]
    assert [one["name"] for one in shop.catalogue.follows(shop.ids["john.doe"])] == ["orders"]
    assert len(shop.catalogue.versions(shop.ids["orders"])) == 1


def test_following_twice_is_one_event_and_so_is_unfollowing(shop: Company) -> None:
    orders, jane, end = shop.ids["orders"], shop.ids["jane"], shop.log.readable_end()
    events = [shop.writes.follow("table", orders, jane, actor=JANE).event for _ in range(2)]
    events += [shop.writes.unfollow("table", orders, jane, actor=JANE).event for _ in range(2)]
    assert [event and event.change_description and event.change_description.paths() for event in events] == [
        ("followers",),
        None,
        ("followers",),
        None,
    ]
    assert len(shop.events_after(end)) == 2


def test_only_who_is_there_can_follow_what_is_there(shop: Company) -> None:
    orders, jane = shop.ids["orders"], shop.ids["jane"]
    policy_id = shop.writes.create("policy", {"name": "open", "rules": []}, actor=JANE).document["id"]
    for entity_type, entity_id, user_id, error in (
        ("table", orders, shop.ids["orders"], NotFound),
        ("table", jane, jane, NotFound),
        ("policy", policy_id, jane, InvalidInput),
    ):
        with pytest.raises(error):
            shop.writes.follow(entity_type, entity_id, user_id, actor=JANE)
    shop.writes.delete("user", Key.by_id(jane), actor=JANE)
    with pytest.raises(InvalidInput):
        shop.writes.follow("table", orders, jane, actor=JANE)
    shop.writes.delete("table", Key.by_id(orders), actor=JANE)
    with pytest.raises(NotFound):
        shop.writes.follow("table", orders, shop.ids["john.doe"], actor=JANE)
