"""Tests of what policies name: who takes the name of something deleted for good does not get its rights."""

from __future__ import annotations

import httpx
import pytest
from tests.contract.test_access import create_entity, send_patch
from tests.serving import Json, Served

_RENAME = {"op": "replace", "path": "/name"}
_RULE = {"name": "r", "effect": "allow", "operations": ["EditAll"], "resources": ["table"]}


def _policy(administrator: httpx.Client, condition: str, **rule: str) -> Json:
    return create_entity(administrator, "/policies", name="p", rules=[_RULE | {"condition": condition} | rule])


def _condition(administrator: httpx.Client, policy: Json) -> str:
    rules = administrator.get(f"/policies/{policy['id']}").json()["rules"]
    return str(rules[0]["condition"])


def _give_to_all(administrator: httpx.Client, policy: Json) -> None:
    root = administrator.get("/teams/name/Organization").json()
    added = {"op": "add", "path": "/policies/-", "value": {"id": policy["id"], "type": "policy"}}
    assert send_patch(administrator, f"/teams/{root['id']}", added).is_success


def _delete(administrator: httpx.Client, path: str) -> None:
    assert administrator.delete(f"{path}?hardDelete=true&recursive=true").is_success


def _retain(client: httpx.Client, table: Json, period: str) -> int:
    return send_patch(
        client, f"/tables/{table['id']}", {"op": "add", "path": "/retentionPeriod", "value": period}
    ).status_code


def test_a_later_team_of_the_name_does_not_get_its_rights(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    team = create_entity(administrator, "/teams", name="sales", teamType="Group")
    policy = _policy(administrator, "inAnyTeam('sales', 'Organization') && inAnyTeam({'sales'})")
    _give_to_all(administrator, policy)
    _, ann = served.person("ann", teams=[team["id"]])
    with ann:
        assert _retain(ann, orders, "P1D") == 200
    _delete(administrator, f"/teams/{team['id']}")
    name_after_removal = f"sales (removed {team['id']})"
    assert (
        _condition(administrator, policy)
        == f"inAnyTeam('{name_after_removal}', 'Organization') && inAnyTeam({{'{name_after_removal}'}})"
    )
    later_team = create_entity(administrator, "/teams", name="sales", teamType="Group")
    _, bob = served.person("bob", teams=[later_team["id"]])
    with bob:
        assert _retain(bob, orders, "P2D") == 403
    assert send_patch(
        administrator, f"/policies/{policy['id']}", {"op": "add", "path": "/description", "value": "x"}
    ).is_success


def test_a_later_role_of_the_name_does_not_get_its_rights(administrator: httpx.Client) -> None:
    create_entity(administrator, "/policies", name="basis", rules=[_RULE])
    role = create_entity(administrator, "/roles", name="lead.eu", policies=["basis"])
    policy = _policy(administrator, "hasAnyRole('lead.eu')")
    _delete(administrator, f"/roles/{role['id']}")
    assert _condition(administrator, policy) == f"hasAnyRole('lead.eu (removed {role['id']})')"
    response = administrator.post("/roles", json={"name": f"lead.eu (removed {role['id']})", "policies": ["basis"]})
    assert response.status_code == 400
    assert "must not end like the names of what is deleted for good" in response.json()["message"]


def _labels(administrator: httpx.Client, *tags: str) -> list[Json]:
    create_entity(administrator, "/classifications", name="Data", description="x")
    return [create_entity(administrator, "/tags", name=one, classification="Data", description="x") for one in tags]


@pytest.mark.parametrize(
    ("effect", "condition", "after"),
    [
        ("allow", "matchAnyTag('Data.Open', 'Data.Free')", "matchAnyTag('{0}', '{1}')"),
        ("allow", "!(isOwner() || !matchAllTags('Data.Open'))", "!(isOwner() || !matchAllTags('{0}'))"),
        ("allow", "matchAnyTag('Data.Open') == true", "matchAnyTag('{0}') == true"),
        ("deny", "matchAnyTag('Data.Open') == false", "matchAnyTag('{0}') == false"),
        ("deny", "!matchAnyCertification('Data.Open')", "!matchAnyCertification('{0}')"),
        ("deny", "matchAnyTag('Data.Open')", "matchAnyTag('Data.Open')"),
        ("allow", "!matchAnyTag('Data.Open')", "!matchAnyTag('Data.Open')"),
    ],
)
def test_a_label_that_grants_passes_nothing_on_and_one_that_denies_still_denies(
    administrator: httpx.Client, effect: str, condition: str, after: str
) -> None:
    tags = _labels(administrator, "Open", "Free")
    policy = _policy(administrator, condition, effect=effect)
    _delete(administrator, "/classifications/name/Data")
    names_after_removal = [f"{one['fullyQualifiedName']} (removed {one['id']})" for one in tags]
    assert _condition(administrator, policy) == after.format(*names_after_removal)
    create_entity(administrator, "/classifications", name="Data", description="x")
    renamed = {"name": f"Open (removed {tags[0]['id']})", "classification": "Data", "description": "x"}
    assert administrator.post("/tags", json=renamed).status_code == 400


def test_every_label_that_a_rule_names_follows_a_rename(administrator: httpx.Client) -> None:
    _labels(administrator, "Open", "Free")
    policy = _policy(administrator, "matchAnyTag('Data.Open', 'Data.Free')")
    assert send_patch(administrator, "/tags/name/Data.Free", {**_RENAME, "value": "Public"}).is_success
    assert _condition(administrator, policy) == "matchAnyTag('Data.Open', 'Data.Public')"


def test_a_rollback_does_not_hand_the_rights_to_a_later_team(administrator: httpx.Client) -> None:
    team = create_entity(administrator, "/teams", name="sales", teamType="Group")
    policy = _policy(administrator, "inAnyTeam('sales')")
    _delete(administrator, f"/teams/{team['id']}")
    create_entity(administrator, "/teams", name="sales", teamType="Group")
    back = administrator.post(f"/policies/{policy['id']}/rollback", json={"version": 0.1})
    assert back.is_success, back.text
    assert _condition(administrator, policy) == f"inAnyTeam('sales (removed {team['id']})')"


@pytest.mark.parametrize("is_there", [True, False])
def test_a_rollback_does_not_hand_the_rights_of_a_tag_to_the_one_after_the_next(
    administrator: httpx.Client, *, is_there: bool
) -> None:
    classification = create_entity(administrator, "/classifications", name="Kind", description="x")["name"]
    _short_lived(administrator, classification)
    second_tag = create_entity(administrator, "/tags", classification=classification, name="open", description="x")
    policy = _policy(administrator, "matchAnyTag('Kind.open')")
    before = administrator.get(f"/policies/{policy['id']}").json()["version"]
    _delete(administrator, f"/tags/{second_tag['id']}")
    for _ in range(2):
        _short_lived(administrator, classification)
    if is_there:
        create_entity(administrator, "/tags", classification=classification, name="open", description="x")
    assert administrator.post(f"/policies/{policy['id']}/rollback", json={"version": before}).is_success
    assert _condition(administrator, policy) == f"matchAnyTag('Kind.open (removed {second_tag['id']})')"


def _short_lived(administrator: httpx.Client, classification: str) -> None:
    tag = create_entity(administrator, "/tags", classification=classification, name="open", description="x")
    _delete(administrator, f"/tags/{tag['id']}")


def test_a_deletion_for_which_a_condition_has_no_room_is_refused(administrator: httpx.Client) -> None:
    team = create_entity(administrator, "/teams", name="sales", teamType="Group")
    label = "x" * (4_090 - len("inAnyTeam('sales') || matchAnyTag('')"))
    policy = _policy(administrator, f"inAnyTeam('sales') || matchAnyTag('{label}')")
    refused = administrator.delete(f"/teams/{team['id']}?hardDelete=true")
    assert refused.status_code == 409
    assert "policy p" in refused.json()["message"]
    assert _condition(administrator, policy).startswith("inAnyTeam('sales')")
