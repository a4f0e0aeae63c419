"""Tests of rollback: an earlier state as a new version and event, without references to deleted entities."""

from __future__ import annotations

from decimal import Decimal

import pytest
from sqlalchemy import Engine
from tests.store.catalogues import JANE, ORDERS, SCHEMA, Company, add_tags, company

from tocsin.errors import InvalidInput, NotFound, PreconditionFailed
from tocsin.flow.capture.diff import diff
from tocsin.flow.capture.rollback import RolledBack
from tocsin.model.entity import Document
from tocsin.model.stored import Key
from tocsin.store.upkeep.fsck.inspection import inspect

_FIRST = Decimal("0.1")


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    return company(store_engine)


def _roll_back(shop: Company, version: str = "0.1", **options: object) -> RolledBack:
    return shop.writes.rollback("table", Key.by_name(ORDERS), Decimal(version), actor=JANE, **options)  # type: ignore[arg-type]


def _version(shop: Company, number: str) -> Document:
    return shop.catalogue.version(shop.ids["orders"], number)


def test_a_rollback_is_a_new_version_and_an_event(shop: Company) -> None:
    add_tags(shop.writes, "PII.Email")
    shop.patch(("add", "/description", "x"), ("add", "/tags/0", {"tagFQN": "PII.Email"}))
    shop.patch(("add", "/columns/0/description", "number"), ("remove", "/columns/1", None))
    end = shop.log.readable_end()
    rollback = _roll_back(shop)
    [event] = shop.events_after(end)
    assert (event.event_type.value, event.previous_version, event.current_version) == (
        "entityUpdated",
        Decimal("1.2"),
        Decimal("1.3"),
    )
    assert event == rollback.written.event
    assert rollback.left_out == ()
    assert diff("table", _version(shop, "0.1"), _version(shop, "1.3")).is_empty()


def test_a_dry_run_says_the_same_and_leaves_nothing(shop: Company) -> None:
    shop.patch(("add", "/description", "x"))
    before, end = shop.get("table", ORDERS), shop.log.readable_end()
    tried = _roll_back(shop, dry_run=True)
    assert (shop.get("table", ORDERS), shop.log.readable_end()) == (before, end)
    rollback = _roll_back(shop)
    assert tried.written.event is not None
    assert rollback.written.event is not None
    assert tried.written.event.change_description == rollback.written.event.change_description
    assert tried.written.document == rollback.written.document


def test_a_rollback_to_what_stands_changes_nothing(shop: Company) -> None:
    assert _roll_back(shop).written.event is None


def test_who_is_no_more_is_left_out_and_named(shop: Company) -> None:
    jane, john = ({"id": shop.ids[name], "type": "user"} for name in ("jane", "john.doe"))
    shop.patch(("add", "/owners", [jane, john]), ("add", "/domains/0", {"id": shop.ids["commerce"], "type": "domain"}))
    shop.patch(("remove", "/owners", None), ("remove", "/domains", None))
    shop.writes.delete("user", Key.by_name("jane"), actor=JANE, hard=True)
    shop.writes.delete("domain", Key.by_name("commerce"), actor=JANE)
    rolled_back = _roll_back(shop, "0.2")
    assert [owner["name"] for owner in rolled_back.written.document["owners"]] == ["john.doe"]
    left_out = sorted((one.field, one.value["name"], one.reason) for one in rolled_back.left_out)  # type: ignore[index]
    assert left_out == [("domains", "commerce", "it no longer exists"), ("owners", "jane", "it no longer exists")]


def test_a_tag_that_was_deleted_does_not_come_back_but_a_free_one_does(shop: Company) -> None:
    add_tags(shop.writes, "PII.Email", "Free.Tag")
    shop.patch(("add", "/tags", [{"tagFQN": "PII.Email"}, {"tagFQN": "Free.Tag"}]))
    shop.patch(("remove", "/tags", None))
    shop.writes.delete("tag", Key.by_name("PII.Email"), actor=JANE, hard=True)
    shop.writes.delete("classification", Key.by_name("Free"), actor=JANE, recursive=True, hard=True)
    rolled_back = _roll_back(shop, "0.2")
    assert [label["tagFQN"] for label in rolled_back.written.document["tags"]] == ["Free.Tag"]
    assert [one.field for one in rolled_back.left_out] == ["tags"]


def test_what_was_deleted_comes_back_with_all_under_it(shop: Company) -> None:
    shop.writes.delete("database", Key.by_name("pg.shop"), actor=JANE, recursive=True)
    end = shop.log.readable_end()
    shop.writes.rollback("database", Key.by_name("pg.shop"), _FIRST, actor=JANE)
    assert [(event.event_type.value, event.entity_type) for event in shop.events_after(end)] == [
        ("entityRestored", "database"),
        ("entityRestored", "databaseSchema"),
        ("entityRestored", "table"),
    ]
    assert shop.get("table", ORDERS)["deleted"] is False


def test_a_rollback_never_deletes(shop: Company) -> None:
    shop.writes.delete("table", Key.by_name(ORDERS), actor=JANE)
    shop.writes.restore("table", shop.ids["orders"], actor=JANE)
    assert _version(shop, "0.2")["deleted"] is True
    assert _roll_back(shop, "0.2").written.event is None


def test_memberships_are_no_part_of_a_version(shop: Company) -> None:
    shop.writes.upsert("user", {"name": "jane", "email": "jane@example.org", "displayName": "Jane"}, actor=JANE)
    shop.writes.upsert("user", {"name": "jane", "email": "j@x.org", "teams": [shop.ids["sales"]]}, actor=JANE)
    shop.writes.rollback("user", Key.by_name("jane"), _FIRST, actor=JANE)
    jane = shop.get("user", "jane")
    assert (jane["email"], jane.get("displayName")) == ("jane@example.org", None)
    assert [team["name"] for team in jane["teams"]] == ["sales"]


def test_a_rollback_holds_only_for_the_state_it_was_made_for(shop: Company) -> None:
    shop.patch(("add", "/description", "x"))
    with pytest.raises(PreconditionFailed):
        _roll_back(shop, if_match='W/"0.1"')
    assert _roll_back(shop, if_match='W/"0.2"').written.event


def test_only_what_is_there_goes_back_to_what_was_there(shop: Company) -> None:
    with pytest.raises(NotFound, match=r"no version 7\.7"):
        _roll_back(shop, "7.7")
    shop.writes.delete("table", Key.by_name(ORDERS), actor=JANE, hard=True)
    with pytest.raises(NotFound):
        _roll_back(shop)


def test_an_alert_does_not_go_back_because_versions_hold_no_secrets(shop: Company) -> None:
    alert = {"name": "a", "alertType": "Notification", "destinations": []}
    shop.writes.create("eventsubscription", alert, actor=JANE)
    with pytest.raises(InvalidInput, match="secrets"):
        shop.writes.rollback("eventsubscription", Key.by_name("a"), _FIRST, actor=JANE)


def test_nothing_comes_back_before_its_parent(shop: Company, store_engine: Engine) -> None:
    shop.patch(("add", "/description", "x"))
    shop.writes.delete("databaseSchema", Key.by_name(SCHEMA), actor=JANE, recursive=True)
    end = shop.log.readable_end()
    for attempt in (_roll_back, lambda shop: shop.writes.restore("table", shop.ids["orders"], actor=JANE)):
        with pytest.raises(InvalidInput, match="is deleted; restore it first"):
            attempt(shop)
    assert shop.log.readable_end() == end
    assert inspect(store_engine, deep=True).findings == []
    shop.writes.restore("databaseSchema", shop.get("databaseSchema", SCHEMA)["id"], actor=JANE)
    assert "description" not in _roll_back(shop).written.document
