"""Tests that hidden entities are omitted from all lists, in pages and totals alike."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from tests.contract.test_access import create_entity, restrict
from tests.serving import Json, Served, table

_SCHEMA = "warehouse.shop.public"
_CASES = "/dataQuality/testCases"
_INCIDENTS = f"{_CASES}/testCaseIncidentStatus"
_HIDDEN = [{"tagFQN": "PII.Sensitive"}]


@pytest.fixture
def alice(served: Served, administrator: httpx.Client, orders: Json) -> Iterator[httpx.Client]:
    """Somebody who may see nothing tagged ``PII.Sensitive``: of two tables, ``orders`` alone."""
    del orders
    table(administrator, "people", tags=_HIDDEN)
    user_id, client = served.person("alice")
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    with client:
        yield client


def test_incidents_of_test_cases_that_may_not_be_seen(administrator: httpx.Client, alice: httpx.Client) -> None:
    for name, tags in (("orders", []), ("people", _HIDDEN)):
        link = f"<#E::table::{_SCHEMA}.{name}::columns::email>"
        case_fields = {"testDefinition": "columnValuesToBeNotNull", "tags": tags}
        fqn = create_entity(administrator, _CASES, name="no_nulls", entityLink=link, **case_fields)[
            "fullyQualifiedName"
        ]
        failed_result = {"timestamp": 1, "testCaseStatus": "Failed"}
        assert administrator.post(f"{_CASES}/testCaseResults/{fqn}", json=failed_result).is_success
    assert administrator.get(_INCIDENTS).json()["paging"]["total"] == 2
    for query in ("", "?latest=true", "?limit=1"):
        page = alice.get(_INCIDENTS + query).json()
        case_fqns = [step["testCaseReference"]["fullyQualifiedName"] for step in page["data"]]
        assert (case_fqns, page["paging"]) == ([f"{_SCHEMA}.orders.email.no_nulls"], {"total": 1}), query
    assert alice.get(f"{_INCIDENTS}?testCaseFQN={_SCHEMA}.people.email.no_nulls").json()["data"] == []


def test_assets_of_a_group(administrator: httpx.Client, alice: httpx.Client) -> None:
    create_entity(administrator, "/domains", name="Sales", description="Sells.", domainType="Aggregate")
    names = [f"{_SCHEMA}.{name}" for name in ("orders", "people")]
    assets = [{"type": "table", "fullyQualifiedName": name} for name in names]
    assert administrator.put("/domains/Sales/assets/add", json={"assets": assets}).json()["numberOfRowsPassed"] == 2
    assert administrator.get("/domains/name/Sales/assets").json()["paging"]["total"] == 2
    page = alice.get("/domains/name/Sales/assets?limit=1").json()
    assert [one["fullyQualifiedName"] for one in page["data"]] == names[:1]
    assert page["paging"] == {"offset": 0, "limit": 1, "total": 1}
    assert alice.get("/domains/name/Sales/assets?limit=1&offset=1").json()["data"] == []


@pytest.mark.parametrize("condition", ["matchAnyTag('PII.Sensitive')", "!isOwner()", "noDomain() && noOwner()"])
def test_counts_of_what_carries_a_tag(
    served: Served, administrator: httpx.Client, orders: Json, condition: str
) -> None:
    """The usage count of a tag includes visible entities only."""
    del orders
    table(administrator, "people", tags=_HIDDEN)
    user_id, client = served.person("bert")
    with client:
        restrict(administrator, user_id, {"effect": "deny", "resources": ["table"], "condition": condition})
        for path in ("tags/name/PII.Sensitive", "classifications/name/PII"):
            counts = [one.get(f"/{path}?fields=usageCount").json()["usageCount"] for one in (administrator, client)]
            assert counts == [1, 0], path


def test_threads(administrator: httpx.Client, alice: httpx.Client) -> None:
    for name in ("orders", "people", "people"):
        about = f"<#E::table::{_SCHEMA}.{name}>"
        create_entity(administrator, "/feed", about=about, message="What is this? <#E::user::alice>")
    assert administrator.get("/feed").json()["paging"]["total"] == 3
    page = alice.get("/feed").json()
    assert ([one["entityRef"]["name"] for one in page["data"]], page["paging"]) == (["orders"], {"total": 1})
    counts = alice.get("/feed/count", params={"entityLink": "<#E::user::alice>"}).json()
    assert counts[0]["mentionCount"] == 1


@pytest.mark.parametrize(
    ("typed", "nearest_name"), [(f"{_SCHEMA}.ordres", f"{_SCHEMA}.orders"), (f"{_SCHEMA}.peopel", "")]
)
def test_the_name_that_was_meant(alice: httpx.Client, typed: str, nearest_name: str) -> None:
    answer = alice.get(f"/tables/name/{typed}")
    hint = f"; did you mean {nearest_name}?" if nearest_name else ""
    assert (answer.status_code, answer.json()["message"]) == (404, f"table {typed} not found{hint}")


def test_filters_by_the_name_of_what_may_not_be_seen(served: Served, administrator: httpx.Client, orders: Json) -> None:
    """A visible table is not found by a hidden domain, team, tag or data product: that would confirm a guessed name."""
    create_entity(administrator, "/domains", name="Takeover", description="Secret.", domainType="Aggregate")
    create_entity(administrator, "/dataProducts", name="Price", description="Secret.", domains=["Takeover"])
    create_entity(administrator, "/classifications", name="Deal", description="Secret.")
    create_entity(administrator, "/tags", name="Open", description="Secret.", classification="Deal")
    team = create_entity(administrator, "/teams", name="lawyers", teamType="Group")
    asset = {"type": "table", "id": orders["id"]}
    labels = [{"tagFQN": "Deal.Open", "source": "Classification"}]
    patch = [
        {"op": "add", "path": "/owners", "value": [{"type": "team", "id": team["id"]}]},
        {"op": "add", "path": "/tags", "value": labels},
    ]
    assert administrator.put("/domains/Takeover/assets/add", json={"assets": [asset]}).is_success
    assert administrator.put("/dataProducts/Price/assets/add", json={"assets": [asset]}).is_success
    assert administrator.patch(f"/tables/{orders['id']}", json=patch).is_success
    user_id, client = served.person("carla")
    hidden_types = ["domain", "dataProduct", "tag", "team"]
    restrict(administrator, user_id, {"effect": "deny", "resources": hidden_types})
    filters = ("domain=Takeover", "dataProduct=Price", "tags=Deal.Open", "tier=Deal.Open", "owner=lawyers")
    with client:
        assert client.get("/tables").json()["paging"]["total"] == 1
        for query in filters:
            counts = [one.get(f"/tables?{query}").json()["paging"]["total"] for one in (administrator, client)]
            assert counts == [1, 0], query
        assert [one.get("/users?team=lawyers").json()["paging"]["total"] for one in (administrator, client)] == [0, 0]


def test_the_condition_of_an_alert_is_read_by_those_who_may_view_the_alert_and_by_nobody_else(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    """``docs/security.md``: the names in it are its author's words, whatever its readers may view."""
    rules = {
        "resources": ["table"],
        "rules": [{"effect": "include", "condition": f"entityFullyQualifiedName == '{orders['fullyQualifiedName']}'"}],
    }
    alert = create_entity(
        administrator,
        "/events/subscriptions",
        name="OfOrders",
        alertType="Notification",
        filteringRules=rules,
        destinations=[{"category": "Followers", "type": "ActivityFeed"}],
    )
    is_readable: dict[str, set[bool]] = {}
    for hidden_type in ("table", "eventsubscription"):
        user_id, client = served.person(f"without-{hidden_type}")
        restrict(
            administrator, user_id, {"effect": "deny", "resources": ["table", hidden_type], "operations": ["ViewAll"]}
        )
        with client:
            assert client.get(f"/tables/{orders['id']}").status_code == 403
            answers = [
                client.get(f"/events/subscriptions/{alert['id']}"),
                client.get("/events/subscriptions", params={"limit": 100}),
                client.get("/events", params={"timestamp": 0, "limit": 1_000}),
            ]
            is_readable[hidden_type] = {orders["fullyQualifiedName"] in answer.text for answer in answers}
    assert is_readable == {"table": {True}, "eventsubscription": {False}}
