"""Tests of data products without owners: they inherit those of their domain, which explanations say."""

from __future__ import annotations

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict, send_patch
from tests.contract.test_explain import Person, alert, explanation_of, person
from tests.notifying import notify_all
from tests.serving import Json

from tocsin.store.upkeep.fsck.inspection import inspect

__all__ = ["person"]  # a fixture
BASKET = "/dataProducts/name/basket"


@pytest.fixture
def product(administrator: httpx.Client, person: Person) -> Json:
    """A data product of a domain below one that ann owns; ben owns another domain."""
    for name, owner, parent in (("trade", "ann", None), ("retail", None, "trade"), ("finance", "ben", None)):
        owners = [{"type": "user", "id": person(owner)[0]}] if owner else []
        above = {"parent": parent} if parent else {}
        create_entity(
            administrator, "/domains", name=name, domainType="Aggregate", description="x", owners=owners, **above
        )
    return create_entity(administrator, "/dataProducts", name="basket", description="x", domains=["trade.retail"])


def owners(client: httpx.Client) -> list[tuple[str, bool]]:
    shown_owners = client.get(BASKET, params={"fields": "owners"}).json()["owners"]
    return [(one["name"], one.get("inherited", False)) for one in shown_owners]


def describe(client: httpx.Client, text: str) -> str:
    answer = send_patch(client, BASKET, {"op": "add", "path": "/description", "value": text})
    assert answer.status_code == 200, answer.text
    events = client.get("/events", params={"entityType": "dataProduct", "format": "tocsin"}).json()["data"]
    return str(events[-1]["id"])


def move(client: httpx.Client, domain: str) -> None:
    reference = {"type": "domain", "id": client.get(f"/domains/name/{domain}").json()["id"]}
    assert send_patch(client, BASKET, {"op": "replace", "path": "/domains", "value": [reference]}).status_code == 200


@pytest.mark.usefixtures("product")
def test_a_product_shows_the_owners_of_its_domain_until_it_has_some(
    administrator: httpx.Client, sqlite_engine: Engine
) -> None:
    assert owners(administrator) == [("ann", True)]
    move(administrator, "finance")
    assert owners(administrator) == [("ben", True)]
    administrator_reference = {
        "type": "user",
        "name": "admin",
        "id": administrator.get("/users/loggedInUser").json()["id"],
    }
    assert (
        send_patch(
            administrator, BASKET, {"op": "add", "path": "/owners", "value": [administrator_reference]}
        ).status_code
        == 200
    )
    assert owners(administrator) == [("admin", False)]
    finance = administrator.get("/domains/name/finance", params={"fields": "children,childrenCount"}).json()
    assert (finance["children"], finance["childrenCount"]) == ([], 0)
    assert inspect(sqlite_engine, deep=True).findings == []


@pytest.mark.usefixtures("product")
def test_the_owners_of_the_domain_are_notified_and_the_explanation_says_so(
    administrator: httpx.Client, sqlite_engine: Engine
) -> None:
    alert(administrator, "Owned", filteringRules={"resources": ["dataProduct"]})
    before = describe(administrator, "What people buy.")
    move(administrator, "finance")
    after = describe(administrator, "What people sell.")
    notify_all(sqlite_engine)
    for event, name in ((before, "ann"), (after, "ben")):
        answer = explanation_of(administrator, event, subscription="Owned", user=name)
        assert f"{name} owns it by inheritance (alert Owned)." in answer["answer"]
        reason = answer["notified"]["data"][0]["reasons"][-1]
        assert reason["sentence"] == f"{name} owns it by inheritance (alert Owned)"
        (reached_recipient,) = answer["alerts"][0]["reached"]["data"]
        assert reached_recipient["ways"][0]["reason"]["sentence"] == reason["sentence"]
        assert reached_recipient["ways"][0]["reason"]["isInherited"] is reason["isInherited"] is True


@pytest.mark.usefixtures("product")
def test_rules_say_what_they_saw_of_the_domain(administrator: httpx.Client) -> None:
    conditions = ("owners == 'ben'", "entity.owners.name == 'ben'", "domains == 'nobody'", "tags == 'PII.None'")
    rules = [{"name": f"r{at}", "effect": "include", "condition": one} for at, one in enumerate(conditions)]
    alert(administrator, "Ruled", filteringRules={"resources": ["dataProduct"], "rules": rules})
    event = describe(administrator, "What people buy.")
    traced = explanation_of(administrator, event, subscription="Ruled")["alerts"][0]["rules"]
    assert [one["trace"]["seen"][0]["isInherited"] for one in traced] == [True, True, False, False]
    assert traced[0]["says"] == "the rule r0 is false: owners == 'ben' (owners is ann, inherited)"


@pytest.mark.usefixtures("product")
def test_what_a_product_inherits_counts_for_rights(administrator: httpx.Client, person: Person) -> None:
    user_id, client = person("cem")
    restrict(administrator, user_id, {"effect": "deny", "resources": ["dataProduct"], "condition": "!isOwner()"})

    def sees() -> tuple[int, int]:
        return client.get(BASKET).status_code, len(client.get("/dataProducts").json()["data"])

    assert sees() == (403, 0)
    owner = {"op": "replace", "path": "/owners", "value": [{"type": "user", "id": user_id}]}
    assert send_patch(administrator, "/domains/name/trade", owner).status_code == 200
    assert sees() == (200, 1)


@pytest.mark.usefixtures("product")
def test_nobody_lifts_a_denial_by_moving_a_product_into_their_own_domain(
    administrator: httpx.Client, person: Person
) -> None:
    user_id, client = person("dan")
    create_entity(
        administrator, "/domains", name="mine", domainType="Aggregate", description="x", owners=[_user(user_id)]
    )
    restrict(
        administrator,
        user_id,
        {"effect": "allow", "resources": ["dataProduct"], "operations": ["EditAll"]},
        {"effect": "deny", "resources": ["dataProduct"], "operations": ["Delete"], "condition": "!isOwner()"},
    )
    own_domain = {"type": "domain", "id": client.get("/domains/name/mine").json()["id"]}
    into = {"op": "replace", "path": "/domains", "value": [own_domain]}
    assert send_patch(client, BASKET, {"op": "add", "path": "/displayName", "value": "B"}).status_code == 200
    assert send_patch(client, BASKET, into).status_code == 403
    assert owners(administrator) == [("ann", True)]


def _user(user_id: str) -> Json:
    return {"type": "user", "id": user_id}
