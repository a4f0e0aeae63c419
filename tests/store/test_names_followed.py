"""Tests of alerts that follow renames and deletions, on both stores."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from sqlalchemy import Engine
from tests.store.catalogues import JANE, Company, add_tags, company

from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.store.catalogue.relations.names import Names, holder_at, holders
from tocsin.store.upkeep.fsck.inspection import inspect


def _alert(shop: Company, *receivers: str) -> str:
    condition = "tags == 'it''s.%x_y' || user.isMemberOf('sales')"
    rule = {"name": "r", "effect": "include", "condition": condition}
    teams = {"category": "Teams", "type": "ActivityFeed", "config": {"receivers": [*receivers]}}
    request: dict[str, Any] = {
        "name": "ours",
        "alertType": "Notification",
        "destinations": [teams | {"id": str(uuid4())}],
    }
    request["filteringRules"] = {"resources": ["table"], "rules": [rule]}
    return str(shop.writes.create("eventsubscription", request, actor=JANE).document["id"])


def _condition(shop: Company) -> str:
    return str(shop.get("eventsubscription", "ours")["filteringRules"]["rules"][0]["condition"])


def test_signs_that_sql_and_json_treat_specially_are_followed(store_engine: Engine) -> None:
    shop = company(store_engine)
    add_tags(shop.writes, "it's.%x_y")
    _alert(shop, "sales")
    shop.patch(("replace", "/name", 'a"\\b'), fqn="it's.%x_y", entity_type="tag")
    assert _condition(shop) == "tags == 'it''s.\"a\"\"\\b\"' || user.isMemberOf('sales')"
    shop.patch(("replace", "/name", "its"), fqn="it's", entity_type="classification")
    assert _condition(shop) == "tags == 'its.\"a\"\"\\b\"' || user.isMemberOf('sales')"
    assert inspect(store_engine, deep=True).counts == {}


def test_a_former_name_means_the_last_to_have_it(store_engine: Engine) -> None:
    shop, names = company(store_engine), Names(store_engine)
    first = shop.get("team", "sales")["id"]
    shop.patch(("replace", "/name", "revenue"), fqn="sales", entity_type="team")
    assert names.references_now_and_formerly({("team",): ["sales"]})[1][("team",), "sales"]["id"] == first
    assert names.references_of(["team"], ["sales", "revenue"]).keys() == {"revenue"}
    second = shop.writes.create("team", {"name": "sales", "teamType": "Group"}, actor=SYSTEM).document["id"]
    shop.patch(("replace", "/name", "deals"), fqn="sales", entity_type="team")
    assert names.references_now_and_formerly({("team",): ["sales"]})[1][("team",), "sales"]["id"] == second
    shop.writes.delete("team", Key.by_id(second), actor=SYSTEM, hard=True)
    assert names.references_now_and_formerly({("team",): ["sales", "deals"]})[1] == {}
    assert names.lost_names(["team"], ["sales", "deals", "revenue", "never"]) == {"sales": "team", "deals": "team"}


def test_a_name_that_was_taken_again_and_again_is_known_for_every_holder(store_engine: Engine) -> None:
    """A policy of a time in which the first one had it must not grant to the third."""
    shop, ids, times = company(store_engine), list[str](), list[int]()
    for _ in range(3):
        ids.append(shop.writes.create("team", {"name": "rotating", "teamType": "Group"}, actor=SYSTEM).document["id"])
        shop.clock.advance(1_000)
        times.append(shop.clock.now_ms())
        shop.clock.advance(1_000)
        shop.writes.delete("team", Key.by_id(ids[-1]), actor=SYSTEM, hard=True)
    with store_engine.connect() as connection:
        holders_by_time = holders(connection, ["team"], "rotating")
    assert [holder_at(holders_by_time, at_ms) for at_ms in times] == ids
    assert inspect(store_engine, deep=True).counts == {}


def test_a_name_that_an_entity_takes_back_is_its_own_again(store_engine: Engine) -> None:
    shop = company(store_engine)
    first = shop.get("team", "sales")["id"]
    shop.clock.advance(1_000)
    shop.patch(("replace", "/name", "revenue"), fqn="sales", entity_type="team")
    shop.clock.advance(1_000)
    second = shop.writes.create("team", {"name": "sales", "teamType": "Group"}, actor=SYSTEM).document["id"]
    shop.clock.advance(1_000)
    between_ms = shop.clock.now_ms()
    shop.clock.advance(1_000)
    shop.patch(("replace", "/name", "deals"), fqn="sales", entity_type="team")
    shop.clock.advance(1_000)
    shop.patch(("replace", "/name", "sales"), fqn="revenue", entity_type="team")
    shop.clock.advance(1_000)
    with store_engine.connect() as connection:
        holders_by_time = holders(connection, ["team"], "sales")
    assert (holder_at(holders_by_time, between_ms), holder_at(holders_by_time, shop.clock.now_ms())) == (second, first)


def test_of_several_receivers_only_the_one_that_is_gone_is_removed(store_engine: Engine) -> None:
    shop = company(store_engine)
    shop.writes.create("team", {"name": "hr", "teamType": "Group"}, actor=SYSTEM)
    _alert(shop, "sales", "hr")
    team_id = shop.get("team", "sales")["id"]
    shop.writes.delete("team", Key.by_id(team_id), actor=SYSTEM, hard=True)
    (destination,) = shop.get("eventsubscription", "ours")["destinations"]
    assert destination["config"]["receivers"] == ["hr"]
    assert "enabled" not in destination
    assert _condition(shop).endswith(f"user.isMemberOf('sales (removed {team_id})')")
