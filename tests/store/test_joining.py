"""Tests of requests that name an entity's members: the members change, each with its own event."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany

from tocsin.errors import InvalidInput, NotFound
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue


def test_a_team_is_put_above_those_it_names(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    request = {"name": "trade", "teamType": "Division", "children": [company.ids["shop"]]}
    written = company.writes.create("team", request, actor=SYSTEM)
    assert [event.entity_fully_qualified_name for event in written.cascaded] == ["shop"]
    shop = SqlCatalogue(store_engine).get("team", Key.by_name("shop"))
    assert [parent["name"] for parent in shop["parents"]] == ["trade"]
    assert company.writes.upsert("team", request, actor=SYSTEM).cascaded == (), "it is so already"


def test_a_data_product_takes_in_the_assets_it_names(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    company.put("domain", {"name": "Sales", "domainType": "Aggregate", "description": "Sells."})
    assets = [{"id": company.ids["orders"], "type": "table"}]
    request = {"name": "Orders360", "description": "Orders.", "domains": ["Sales"], "assets": assets}
    written = company.writes.create("dataProduct", request, actor=SYSTEM)
    (event,) = written.cascaded
    assert event.change_description is not None
    assert (event.entity_id, event.change_description.paths()) == (company.ids["orders"], ("dataProducts",))


@pytest.mark.parametrize(
    ("children", "refusal"),
    [("shop", InvalidInput), ([7], InvalidInput), ([{"type": "spoon", "id": "x"}], InvalidInput), (["none"], NotFound)],
)
def test_nonsense_is_refused_and_leaves_nothing(
    sqlite_engine: Engine, children: object, refusal: type[Exception]
) -> None:
    company = SmallCompany(sqlite_engine)
    with pytest.raises(refusal):
        company.writes.create("team", {"name": "trade", "teamType": "Division", "children": children}, actor=SYSTEM)
    with pytest.raises(NotFound):
        SqlCatalogue(sqlite_engine).get("team", Key.by_name("trade"))
