"""Tests of lineage from a model's feature sources."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from tests.store.catalogues import JANE, Company, company

from tocsin.catalogue.writes import BulkWrites
from tocsin.model.entity import Document
from tocsin.model.stored import Key
from tocsin.store.catalogue.lineage.reach import Lineage


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    sample_company = company(store_engine)
    sample_company.ids["a"] = sample_company.writes.create("table", sample_company.table("a"), actor=JANE).document[
        "id"
    ]
    sample_company.writes.create("mlmodelService", {"name": "ml", "serviceType": "Mlflow"}, actor=JANE)
    return sample_company


def model(*sources: Document) -> Document:
    features = [
        {"name": "f", "featureSources": [{"name": f"s{at}", "dataSource": one} for at, one in enumerate(sources)]}
    ]
    return {"name": "churn", "service": "ml", "algorithm": "trees", "mlFeatures": features}


def sources_of_model(engine: Engine) -> list[str]:
    return [node["name"] for node in Lineage(engine).around("mlmodel", Key.by_name("ml.churn"))["nodes"]]


def source(shop: Company, name: str) -> Document:
    return {"type": "table", "id": shop.ids[name]}


def test_a_model_is_made_from_the_sources_of_its_features(shop: Company, store_engine: Engine) -> None:
    end = shop.log.readable_end()
    nowhere = {"type": "table", "id": "00000000-0000-4000-8000-00000000dead"}
    outcome = shop.writes.create("mlmodel", model(source(shop, "orders"), nowhere), actor=JANE)
    event_summaries = [(event.event_type.value, event.entity_fully_qualified_name) for event in shop.events_after(end)]
    assert event_summaries == [("entityCreated", "ml.churn"), ("entityUpdated", "ml.churn")]
    assert [event.id for event in outcome.cascaded] == [shop.events_after(end)[1].id]
    assert sources_of_model(store_engine) == ["orders"]
    shop.writes.upsert("mlmodel", model(source(shop, "orders"), source(shop, "a")), actor=JANE)
    assert sources_of_model(store_engine) == ["a", "orders"]
    shop.writes.upsert("mlmodel", model(source(shop, "a")), actor=JANE)
    assert sources_of_model(store_engine) == ["a"]
    end = shop.log.readable_end()
    assert shop.writes.upsert("mlmodel", model(source(shop, "a")), actor=JANE).event is None
    assert shop.events_after(end) == []


def test_an_edge_of_which_more_is_said_stays(shop: Company, store_engine: Engine) -> None:
    shop.writes.create("mlmodel", model(source(shop, "orders")), actor=JANE)
    ends = {"fromEntity": source(shop, "orders"), "toEntity": {"type": "mlmodel", "fullyQualifiedName": "ml.churn"}}
    shop.writes.put_edge(ends | {"lineageDetails": {"sqlQuery": "select 1"}}, actor=JANE)
    shop.writes.upsert("mlmodel", model(), actor=JANE)
    assert sources_of_model(store_engine) == ["orders"]


def test_models_written_in_bulk_have_their_edges_too(shop: Company, store_engine: Engine) -> None:
    writes = BulkWrites(shop.catalogue, shop.clock)
    writes.put("mlmodel", [model(source(shop, "orders"))], actor=JANE)
    assert sources_of_model(store_engine) == ["orders"]
