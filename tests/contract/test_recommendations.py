"""Tests of recommendations over HTTP: reasons in words, rights at every read, dismissal and its undo."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict
from tests.contract.test_feed import hide
from tests.serving import Json, Served, table

from tocsin.store.recipients.recommendations import Recommendations

RUN_MS = 1_790_000_000_000


class Reader:
    """A person who follows orders, and what a run has found for them."""

    def __init__(self, served: Served, administrator: httpx.Client, engine: Engine, orders: Json) -> None:
        self.id, self.client = served.person("ann")
        self.administrator, self.engine, self.orders = administrator, engine, orders
        self.revenue, self.stock = table(administrator, "revenue"), table(administrator, "stock")
        self.team = create_entity(administrator, "/teams", name="ShopEngineering", teamType="Group", users=[self.id])
        self.follow(orders)
        schema_id, via_id = orders["databaseSchema"]["id"], orders["id"]
        self.run(
            (self.revenue, "container", via_id, schema_id, 0, 0, 0.5, 1),
            (self.revenue, "madeFrom", via_id, "", 0, 0, 0.3, 1),
            (self.stock, "together", via_id, "", 1, 0, 0.3, 2),
            (self.stock, "team", "", self.team["id"], 4, 6, 0.2, 2),
        )

    def run(self, *reasons: tuple[Json, str, str, str, int, int, float, int]) -> None:
        recommendations = Recommendations(self.engine)
        run_id = recommendations.begin(1)
        recommendations.add(run_id, [(self.id, asset["id"], *facts) for asset, *facts in reasons])
        recommendations.complete(run_id, now_ms=RUN_MS)

    def follow(self, asset: Json) -> None:
        assert self.client.put(f"/tables/{asset['id']}/followers/{self.id}").is_success

    def read(self, client: httpx.Client | None = None, **query: str | int) -> list[tuple[str, list[str]]]:
        answer = (client or self.client).get(f"/users/{self.id}/recommendations", params=query)
        assert answer.status_code == 200, answer.text
        return [(one["asset"]["name"], [reason["text"] for reason in one["reasons"]]) for one in answer.json()["data"]]


@pytest.fixture
def reader(served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine) -> Iterator[Reader]:
    the_reader = Reader(served, administrator, sqlite_engine, orders)
    with closing(the_reader.client):
        yield the_reader


def test_assets_are_recommended_with_their_reasons_in_words(reader: Reader) -> None:
    answer = reader.client.get(f"/users/{reader.id}/recommendations").json()
    assert answer["computedAt"] == RUN_MS
    assert reader.read() == [
        (
            "revenue",
            [
                "it is in warehouse.shop.public, as is orders, which you follow",
                "it is made from orders, which you follow",
            ],
        ),
        (
            "stock",
            [
                "1 person who follows orders, which you follow, follows it too",
                "4 of 6 people in ShopEngineering follow it",
            ],
        ),
    ]
    reason = answer["data"][1]["reasons"][1]
    assert (reason["kind"], reason["people"], reason["of"], reason["through"]["name"]) == (
        "team",
        4,
        6,
        "ShopEngineering",
    )
    assert "followed" not in reason
    assert reader.read(limit=1) == reader.read()[:1]
    (text, *_) = dict(reader.read(reader.administrator))["revenue"]
    assert text == "it is in warehouse.shop.public, as is orders, which ann follows"


def test_a_hidden_asset_is_neither_recommended_nor_a_reason(reader: Reader) -> None:
    hide(reader.administrator, reader.id, reader.revenue)
    assert [name for name, _ in reader.read()] == ["stock"]
    assert [name for name, _ in reader.read(reader.administrator)] == ["stock"], "what the person may not see"
    tag = [{"op": "add", "path": "/tags", "value": [{"tagFQN": "PII.Sensitive", "source": "Classification"}]}]
    patch_type = {"Content-Type": "application/json-patch+json"}
    assert reader.administrator.patch(f"/tables/{reader.orders['id']}", json=tag, headers=patch_type).is_success
    assert reader.read() == [("stock", ["4 of 6 people in ShopEngineering follow it"])]


def test_numbers_of_people_are_for_those_who_may_list_people(reader: Reader) -> None:
    restrict(
        reader.administrator,
        reader.id,
        {"effect": "deny", "operations": ["ViewBasic"], "resources": ["team"]},
    )
    assert reader.read()[1] == ("stock", ["1 person who follows orders, which you follow, follows it too"])
    reader.administrator.delete(f"/roles/name/R{reader.id}?hardDelete=true")
    rule = {"name": "no", "effect": "deny", "operations": ["ViewBasic"], "resources": ["user"]}
    create_entity(reader.administrator, "/policies", name="NoPeople", rules=[rule])
    role = create_entity(reader.administrator, "/roles", name="Alone", policies=["NoPeople"])
    patch = [{"op": "add", "path": "/roles", "value": [{"id": role["id"], "type": "role"}]}]
    patch_type = {"Content-Type": "application/json-patch+json"}
    assert reader.administrator.patch(f"/users/{reader.id}", json=patch, headers=patch_type).is_success
    assert [name for name, _ in reader.read()] == ["revenue"]


def test_what_is_dismissed_stays_away_until_that_is_undone(reader: Reader) -> None:
    path = f"/users/{reader.id}/recommendations/{reader.revenue['id']}/dismissal"
    for _ in range(2):
        assert reader.client.put(path).json() == {"id": reader.revenue["id"], "dismissed": True}
    assert [name for name, _ in reader.read()] == ["stock"]
    assert reader.read(dismissed="true") == [("revenue", [])]
    assert reader.client.delete(path).json()["dismissed"] is False
    assert reader.client.delete(path).status_code == 404
    assert [name for name, _ in reader.read()] == ["revenue", "stock"]
    reader.follow(reader.revenue)
    assert [name for name, _ in reader.read()] == ["stock"], "it is followed by now"


def test_recommendations_are_the_persons_own(reader: Reader, served: Served) -> None:
    own_path = f"/users/{reader.id}/recommendations"
    path = f"{own_path}/{reader.revenue['id']}/dismissal"
    _, stranger = served.person("eve")
    with stranger:
        answers = [stranger.get(own_path), stranger.put(path), stranger.delete(path)]
    assert [one.status_code for one in answers] == [403, 403, 403]
    missing = "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0001"
    hide(reader.administrator, reader.id, reader.revenue)
    refusals = [reader.client.put(f"{own_path}/{one}/dismissal") for one in (missing, reader.revenue["id"])]
    texts = [one.text.replace(missing, "ID").replace(reader.revenue["id"], "ID") for one in refusals]
    assert ([one.status_code for one in refusals], texts[0]) == ([404, 404], texts[1])
    assert reader.client.get(own_path, params={"limit": 0}).status_code == 400
    assert reader.client.put(f"{own_path}/x/dismissal").status_code == 400
