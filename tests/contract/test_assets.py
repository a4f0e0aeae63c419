"""Tests of adding and removing assets of domains, products, tags and owners, each with its own event."""

from __future__ import annotations

import httpx
import pytest
from tests.serving import Json, Served, table


@pytest.fixture
def groups(administrator: httpx.Client, served: Served) -> dict[str, str]:
    """One group of each kind; their ids by collection."""
    requests: dict[str, Json] = {
        "domains": {"name": "Sales", "description": "Sells.", "domainType": "Aggregate"},
        "dataProducts": {"name": "Orders360", "description": "Orders.", "domains": ["Sales"]},
        "classifications": {"name": "Care", "description": "How."},
        "tags": {"name": "Fragile", "classification": "Care", "description": "Handle with care."},
        "glossaries": {"name": "Words", "description": "Ours."},
        "glossaryTerms": {"name": "Customer", "glossary": "Words", "description": "Who buys."},
        "teams": {"name": "crew", "teamType": "Group"},
    }
    ids = {}
    for collection, request in requests.items():
        answer = administrator.post(f"/{collection}", json=request)
        assert answer.status_code == 201, answer.text
        ids[collection] = answer.json()["id"]
    ids["users"], client = served.person("olga")
    client.close()
    return ids


FIELDS = {
    "domains": ("Sales", "domains"),
    "dataProducts": ("Orders360", "dataProducts"),
    "tags": ("Care.Fragile", "tags"),
    "glossaryTerms": ("Words.Customer", "tags"),
    "teams": ("crew", "owners"),
    "users": ("olga", "owners"),
}


@pytest.mark.parametrize("collection", FIELDS)
def test_an_asset_joins_and_leaves(
    collection: str, administrator: httpx.Client, orders: Json, groups: dict[str, str]
) -> None:
    name, field = FIELDS[collection]
    body = {"assets": [{"id": orders["id"], "type": "table"}]}
    assert _totals(administrator, collection, name, groups) == [0, 0]
    for _ in range(2):
        add_answer = administrator.put(f"/{collection}/{groups[collection]}/assets/add", json=body)
        assert (add_answer.status_code, add_answer.json()["numberOfRowsPassed"]) == (200, 1), add_answer.text
    assert _totals(administrator, collection, name, groups) == [1, 1]
    assert len(administrator.get(f"/tables/{orders['id']}?fields={field}").json()[field]) == 1
    for _ in range(2):
        administrator.put(f"/{collection}/{name}/assets/remove", json=body)
    assert _totals(administrator, collection, name, groups) == [0, 0]
    events = administrator.get("/events", params={"entityId": orders["id"], "eventType": "entityUpdated"}).json()[
        "data"
    ]
    changes = [event["changeDescription"] for event in events]
    assert [[one["name"] for one in change["fieldsAdded"]] for change in changes] == [[field], []]
    assert [[one["name"] for one in change["fieldsDeleted"]] for change in changes] == [[], [field]]


def test_what_cannot_join_fails_alone(administrator: httpx.Client, orders: Json, groups: dict[str, str]) -> None:
    nobody = "00000000-0000-4000-8000-00000000dead"
    wrong: list[Json] = [{"id": nobody, "type": "table"}, {"id": groups["users"], "type": "user"}, {"type": "spoon"}, 7]
    body = {"assets": [{"id": orders["id"], "type": "table"}, *wrong]}
    answer = administrator.put(f"/dataProducts/{groups['dataProducts']}/assets/add", json=body).json()
    assert (answer["status"], answer["numberOfRowsPassed"], answer["numberOfRowsFailed"]) == ("partialSuccess", 1, 4)
    assert [one["status"] for one in answer["failedRequest"]] == [404, 400, 400, 400]


def test_a_dry_run_changes_nothing(administrator: httpx.Client, orders: Json, groups: dict[str, str]) -> None:
    body = {"assets": [{"id": orders["id"], "type": "table"}], "dryRun": True}
    assert administrator.put(f"/tags/{groups['tags']}/assets/add", json=body).json()["numberOfRowsPassed"] == 1
    assert _totals(administrator, "tags", "Care.Fragile", groups) == [0, 0]


def test_pages_go_on_where_the_last_one_ended(
    administrator: httpx.Client, orders: Json, groups: dict[str, str]
) -> None:
    assets = [{"id": table(administrator, f"t{number}")["id"], "type": "table"} for number in range(3)]
    administrator.put(f"/domains/{groups['domains']}/assets/add", json={"assets": assets})
    pages = [administrator.get(f"/domains/name/Sales/assets?limit=2&offset={offset}").json() for offset in (0, 2, 4)]
    assert [[one["name"] for one in page["data"]] for page in pages] == [["Orders360", "t0"], ["t1", "t2"], []]
    assert {page["paging"]["total"] for page in pages} == {4}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/tables/{orders}/assets", None),
        ("PUT", "/tables/{orders}/assets/add", {"assets": []}),
        ("PUT", "/domains/Sales/assets/add", {}),
        ("PUT", "/domains/Sales/assets/add", {"assets": [], "dryRun": "yes"}),
        ("PUT", "/domains/Sales/assets/swap", {"assets": []}),
    ],
)
def test_nonsense_is_refused(
    method: str, path: str, body: Json, administrator: httpx.Client, orders: Json, groups: dict[str, str]
) -> None:
    del groups
    assert administrator.request(method, path.format(orders=orders["id"]), json=body).status_code == 400


def _totals(client: httpx.Client, collection: str, name: str, groups: dict[str, str]) -> list[int]:
    pages = [client.get(f"/{collection}/{which}/assets").json() for which in (groups[collection], f"name/{name}")]
    own_count = 1 if collection == "domains" else 0  # the data product that was made in it
    return [page["paging"]["total"] - own_count for page in pages]
