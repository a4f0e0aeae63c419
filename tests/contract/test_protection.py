"""Tests of protected entities (labels, domains, teams, policies): claiming one does not grant ownership."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from tests.contract.test_access import create_entity, restrict, send_patch
from tests.serving import Json, Served, table

_SCHEMA = "warehouse.shop.public"
_HIDDEN = [{"tagFQN": "Secret.Salaries"}]


class Attacker:
    """Somebody who may see nothing tagged ``Secret.Salaries``."""

    def __init__(self, user_id: str, client: httpx.Client, hidden: Json) -> None:
        self.id, self.client, self.hidden = user_id, client, hidden
        self.me = [{"type": "user", "id": user_id}]

    def claim(self, path: str) -> httpx.Response:
        return send_patch(self.client, path, {"op": "add", "path": "/owners", "value": self.me})

    def sees(self) -> bool:
        return self.client.get(f"/tables/{self.hidden['id']}").status_code == 200


@pytest.fixture
def mallory(served: Served, administrator: httpx.Client, orders: Json) -> Iterator[Attacker]:
    del orders
    create_entity(administrator, "/classifications", name="Secret", description="x")
    create_entity(administrator, "/tags", name="Salaries", classification="Secret", description="x")
    hidden = table(administrator, "salaries", tags=_HIDDEN)
    user_id, client = served.person("mallory")
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('Secret.Salaries')"})
    with client:
        yield Attacker(user_id, client, hidden)


@pytest.mark.parametrize("path", ["/tags/name/Secret.Salaries", "/classifications/name/Secret"])
def test_a_label_that_protects_is_neither_claimed_nor_changed_by_its_owner(
    administrator: httpx.Client, mallory: Attacker, path: str
) -> None:
    assert mallory.claim(path).status_code == 403
    owner_operation = {"op": "add", "path": "/owners", "value": mallory.me}
    assert send_patch(administrator, path, owner_operation).status_code == 200
    for op in (
        {"op": "replace", "path": "/name", "value": "Other"},
        {"op": "add", "path": "/disabled", "value": True},
        {"op": "add", "path": "/mutuallyExclusive", "value": True},
        {"op": "remove", "path": "/owners/0"},
    ):
        assert send_patch(mallory.client, path, op).status_code == 403, op
    for query in ("", "?recursive=true", "?recursive=true&hardDelete=true"):
        assert mallory.client.delete(path + query).status_code == 403
    assert send_patch(mallory.client, path, {"op": "replace", "path": "/description", "value": "y"}).status_code == 200
    assert not mallory.sees()


def test_a_term_that_brings_the_label_keeps_it(administrator: httpx.Client, mallory: Attacker) -> None:
    create_entity(administrator, "/glossaries", name="Words", description="x")
    term = create_entity(administrator, "/glossaryTerms", name="Pay", glossary="Words", description="x", tags=_HIDDEN)
    free = create_entity(
        administrator, "/glossaryTerms", name="Free", glossary="Words", description="x", owners=mallory.me
    )
    assert (
        send_patch(mallory.client, f"/glossaryTerms/{term['id']}", {"op": "remove", "path": "/tags/0"}).status_code
        == 403
    )
    path = f"/glossaryTerms/{free['id']}"  # on this one no policy rests
    assert send_patch(mallory.client, path, {"op": "replace", "path": "/name", "value": "Freed"}).status_code == 200
    assert send_patch(mallory.client, path, {"op": "add", "path": "/synonyms", "value": ["x"]}).status_code == 200
    assert mallory.client.delete(path).status_code == 200


def test_nobody_lifts_what_a_rule_denies_them(administrator: httpx.Client, mallory: Attacker, served: Served) -> None:
    user_id, client = served.person("trent")
    rules = [
        {"effect": "allow"},
        {"effect": "deny", "operations": ["Delete"], "condition": "matchAnyTag('Tier.Tier1')"},
    ]
    restrict(administrator, user_id, *rules)
    create_entity(administrator, "/domains", name="Sales", domainType="Aggregate", description="x")
    protected_table = table(administrator, "kept", tags=[{"tagFQN": "Tier.Tier1"}])
    path = f"/tables/{protected_table['id']}"
    with client:
        assert client.delete(path).status_code == 403
        refusal = send_patch(client, path, {"op": "remove", "path": "/tags/0"})
        assert (refusal.status_code, "it would lift the rule r1" in refusal.text) == (403, True)
        for change in (
            {"op": "replace", "path": "/tags", "value": [{"tagFQN": "Tier.Tier2", "source": "Classification"}]},
            {"op": "replace", "path": "/tags", "value": []},
        ):
            assert send_patch(client, path, change).status_code == 403
        assert send_patch(client, path, {"op": "add", "path": "/description", "value": "y"}).status_code == 200
    assert send_patch(administrator, path, {"op": "remove", "path": "/tags/0"}).status_code == 200


def test_a_domain_on_which_a_policy_rests_is_not_its_owners_to_remove(
    served: Served, administrator: httpx.Client, mallory: Attacker
) -> None:
    free = create_entity(
        administrator, "/domains", name="Free", domainType="Aggregate", description="x", owners=mallory.me
    )
    assert mallory.client.delete(f"/domains/{free['id']}").status_code == 200
    domain = create_entity(
        administrator, "/domains", name="Sales", domainType="Aggregate", description="x", owners=mallory.me
    )
    user_id, client = served.person("trent")
    client.close()
    restrict(administrator, user_id, {"effect": "deny", "condition": "!hasDomain()"})
    path = f"/domains/{domain['id']}"
    assert mallory.client.delete(path).status_code == 403
    assert send_patch(mallory.client, path, {"op": "replace", "path": "/name", "value": "Other"}).status_code == 403


def test_what_things_inherit_is_not_their_containers_owners_to_change(
    served: Served, administrator: httpx.Client, mallory: Attacker
) -> None:
    user_id, client = served.person("trent")
    client.close()
    restrict(administrator, user_id, {"effect": "deny", "resources": ["table"], "condition": "!hasDomain()"})
    create_entity(administrator, "/domains", name="Sales", domainType="Aggregate", description="x")
    path, domain = f"/databaseSchemas/name/{_SCHEMA}", [{"type": "domain", "fullyQualifiedName": "Sales"}]
    assert send_patch(administrator, path, {"op": "add", "path": "/owners", "value": mallory.me}).status_code == 200
    assert send_patch(mallory.client, path, {"op": "add", "path": "/domains", "value": domain}).status_code == 403
    assert send_patch(mallory.client, path, {"op": "add", "path": "/displayName", "value": "x"}).status_code == 200


def test_the_owner_of_a_team_fills_it_unless_it_brings_powers(administrator: httpx.Client, mallory: Attacker) -> None:
    role = administrator.get("/roles/name/DataSteward").json()
    above = create_entity(administrator, "/teams", name="above", teamType="Department")
    free = create_entity(administrator, "/teams", name="free", teamType="Group", owners=mallory.me)
    below = create_entity(
        administrator, "/teams", name="below", teamType="Group", owners=mallory.me, parents=[above["id"]]
    )
    grant = {"op": "add", "path": "/defaultRoles", "value": [{"type": "role", "id": role["id"]}]}
    assert send_patch(administrator, f"/teams/{above['id']}", grant).status_code == 200
    assert mallory.client.put(f"/teams/{free['id']}/users", json=mallory.me).status_code == 200
    assert mallory.client.put(f"/teams/{below['id']}/users", json=mallory.me).status_code == 403
    assert (
        send_patch(
            mallory.client, f"/teams/{below['id']}", {"op": "add", "path": "/users", "value": mallory.me}
        ).status_code
        == 403
    )


def test_what_holds_things_of_others_cannot_be_claimed(mallory: Attacker) -> None:
    for path in (
        "/services/databaseServices/name/warehouse",
        "/databases/name/warehouse.shop",
        f"/databaseSchemas/name/{_SCHEMA}",
    ):
        assert mallory.claim(path).status_code == 403
        assert mallory.client.delete(f"{path}?recursive=true&hardDelete=true").status_code == 403


def test_what_was_claimed_can_be_changed_but_not_deleted_for_good(
    administrator: httpx.Client, mallory: Attacker
) -> None:
    path = f"/tables/name/{_SCHEMA}.orders"
    assert mallory.claim(path).status_code == 200
    assert send_patch(mallory.client, path, {"op": "add", "path": "/displayName", "value": "x"}).status_code == 200
    refused = mallory.client.delete(f"{path}?hardDelete=true")
    assert (refused.status_code, "Delete on table is not granted by ownership alone" in refused.text) == (403, True)
    assert mallory.client.delete(path).status_code == 200
    assert mallory.client.delete(f"{path}?hardDelete=true").status_code == 403
    assert administrator.delete(f"{path}?hardDelete=true").status_code == 200


@pytest.mark.parametrize("hard", ["false", "true"])
def test_deleting_with_all_beneath_needs_the_right_on_each(
    served: Served, administrator: httpx.Client, mallory: Attacker, hard: str
) -> None:
    trent_id, client = served.person("trent")
    client.close()
    table(administrator, "theirs", owners=[{"type": "user", "id": trent_id}])
    path = f"/databaseSchemas/name/{_SCHEMA}"
    assert send_patch(administrator, path, {"op": "add", "path": "/owners", "value": mallory.me}).status_code == 200
    refused = mallory.client.delete(f"{path}?recursive=true&hardDelete={hard}")
    assert refused.status_code == 403
    assert "theirs" not in refused.text
    assert "salaries" not in refused.text
    if hard == "false":
        assert "You may not delete 2 of the 3 entities below it" in refused.json()["message"]
    assert administrator.get(f"/tables/name/{_SCHEMA}.theirs").status_code == 200


def test_restoring_with_all_beneath_needs_the_right_on_each(
    served: Served, administrator: httpx.Client, mallory: Attacker
) -> None:
    path = f"/databaseSchemas/name/{_SCHEMA}"
    schema = administrator.get(path).json()
    assert send_patch(administrator, path, {"op": "add", "path": "/owners", "value": mallory.me}).status_code == 200
    assert administrator.delete(f"{path}?recursive=true").status_code == 200
    refused = mallory.client.put("/databaseSchemas/restore", json={"id": schema["id"]})
    assert (refused.status_code, "You may not restore" in refused.text) == (403, True)
    assert administrator.put("/databaseSchemas/restore", json={"id": schema["id"]}).status_code == 200
