"""Tests of what alerts name: it follows renames, and who is gone for good is told of and replaced by nobody."""

from __future__ import annotations

import json

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict, send_patch
from tests.notifying import notify_all
from tests.serving import Json, Served

from tocsin.model.change import EventType
from tocsin.store.eventlog.log import EventLog

_RENAME = {"op": "replace", "path": "/name"}


def _alert(administrator: httpx.Client, name: str = "ours", **fields: Json) -> Json:
    teams = {"category": "Teams", "type": "ActivityFeed", "config": {"receivers": ["sales"]}}
    rules = {"filteringRules": {"resources": ["table"]}, "destinations": [teams]}
    return create_entity(
        administrator, "/events/subscriptions", **({"name": name, "alertType": "Notification", **rules} | fields)
    )


def _rules(*conditions: str) -> Json:
    rules = [{"name": f"rule{at}", "effect": "include", "condition": one} for at, one in enumerate(conditions)]
    return {"resources": ["table"], "rules": rules}


def _read(client: httpx.Client, alert: Json) -> Json:
    return client.get(f"/events/subscriptions/{alert['id']}").json()


def _conditions(alert: Json) -> list[str]:
    return [rule["condition"] for rule in alert["filteringRules"]["rules"]]


def _alerts_in_inbox(client: httpx.Client, user_id: str) -> list[str]:
    """Return the alerts that notified somebody, once per reason."""
    data = client.get(f"/users/{user_id}/notifications").json()["data"]
    return [reason["subscriptionId"] for one in data for reason in one["reasons"]]


@pytest.fixture
def team(administrator: httpx.Client) -> Json:
    return create_entity(administrator, "/teams", name="sales", teamType="Group")


def test_a_renamed_team_is_still_notified(
    served: Served, administrator: httpx.Client, team: Json, orders: Json, sqlite_engine: Engine
) -> None:
    ann_id, ann = served.person("ann", teams=[team["id"]])
    condition = "\tuser.isMemberOf( \"sales\" ) &&\n matchAnyOwnerName({'sales', 'hr'})"
    alert = _alert(administrator, filteringRules=_rules(condition))
    receivers = _alert(administrator, "receivers")
    assert send_patch(administrator, f"/teams/{team['id']}", {**_RENAME, "value": "rev'enue"}).is_success
    after = _read(administrator, alert)
    assert _conditions(after) == ["\tuser.isMemberOf( \"rev'enue\" ) &&\n matchAnyOwnerName({'rev''enue', 'hr'})"]
    assert after["destinations"][0]["config"]["receivers"] == ["rev'enue"]
    assert (after["version"], after["updatedBy"]) == (0.2, "system")
    rename = {one["name"]: one for one in after["changeDescription"]["fieldsUpdated"]}["renamed"]
    assert (rename["oldValue"], rename["newValue"]) == (
        {"type": "team", "name": "sales"},
        {"type": "team", "name": "rev'enue"},
    )
    description_operation = {"op": "add", "path": "/description", "value": "All of them."}
    assert send_patch(administrator, f"/tables/{orders['id']}", description_operation).is_success
    notify_all(sqlite_engine)
    with ann:
        assert receivers["id"] in _alerts_in_inbox(ann, ann_id)
    assert _read(administrator, receivers)["destinations"][0]["config"]["receivers"] == ["rev'enue"]


def test_labels_and_domains_are_followed_with_all_below_them(administrator: httpx.Client, team: Json) -> None:
    create_entity(administrator, "/classifications", name="Secret", description="x")
    create_entity(administrator, "/tags", name="Sensitive", classification="Secret", description="x")
    create_entity(administrator, "/domains", name="Finance", domainType="Aggregate", description="x")
    tag_filter = {
        "filters": [
            {
                "name": "filterByTag",
                "effect": "include",
                "arguments": [{"name": "tagList", "input": ["Secret.Sensitive"]}],
            }
        ]
    }
    by_input = _alert(administrator, "by input", filteringRules=None, resources=["table"], input=tag_filter)
    alert = _alert(
        administrator,
        filteringRules=_rules(
            "matchAnyTag('Secret.Sensitive') || tags.startsWith('Secret.')",
            r"tags.matches('Secret\.S.*') && domains == 'Finance'",
            "entity.description == 'Secret.Sensitive'",
        ),
    )
    assert send_patch(administrator, "/classifications/name/Secret", {**_RENAME, "value": "Privacy"}).is_success
    assert send_patch(administrator, "/domains/name/Finance", {**_RENAME, "value": "Money"}).is_success
    assert _conditions(_read(administrator, alert)) == [
        "matchAnyTag('Privacy.Sensitive') || tags.startsWith('Privacy.')",
        r"tags.matches('Privacy\.S.*') && domains == 'Money'",
        "entity.description == 'Secret.Sensitive'",
    ]
    after = _read(administrator, by_input)
    assert after["input"]["filters"][0]["arguments"][0]["input"] == ["Privacy.Sensitive"]
    assert _conditions(after) == ["matchAnyTag({'Privacy.Sensitive'})"]


def test_patterns_are_followed_however_their_signs_are_spelt(administrator: httpx.Client, team: Json) -> None:
    create_entity(administrator, "/glossaries", name="Our words", description="x")
    create_entity(administrator, "/glossaryTerms", name="Net-sale", glossary="Our words", description="x")
    old = r"Our words\.Net-sale\."
    spelt = [f"{old}.*", r"Our\ words.Net\-sale.S.*", f"{old}A|{old}B", f"({old}A|{old}B)", f"X(A|{old}B)", f"{old}?"]
    alert = _alert(administrator, filteringRules=_rules(*(f"tags matches '{one}'" for one in spelt)))
    term = {**_RENAME, "value": "Sale"}
    assert send_patch(administrator, "/glossaryTerms/name/Our words.Net-sale", term).is_success
    new = r"Our\ words\.Sale\."
    followed = [f"{new}.*", f"{new}S.*", f"{new}A|{new}B", f"({new}A|{new}B)", *spelt[4:]]
    assert _conditions(_read(administrator, alert)) == [f"tags matches '{one}'" for one in followed]


def test_a_rename_makes_nobody_an_editor_of_the_alert(served: Served, administrator: httpx.Client, team: Json) -> None:
    user_id, ann = served.person("ann", isAdmin=True)
    alert = _alert(administrator)
    with ann:
        assert send_patch(ann, f"/teams/{team['id']}", {**_RENAME, "value": "revenue"}).is_success
    assert user_id not in served.app.state.parts.alert_stores.events.editors_of([alert["id"]])[alert["id"]]


def test_policies_follow_as_well(served: Served, administrator: httpx.Client, team: Json) -> None:
    rule = {"name": "deny", "effect": "deny", "operations": ["All"], "resources": ["table"]}
    policy = create_entity(administrator, "/policies", name="p", rules=[{**rule, "condition": "!inAnyTeam('sales')"}])
    assert send_patch(administrator, f"/teams/{team['id']}", {**_RENAME, "value": "revenue"}).is_success
    assert administrator.get(f"/policies/{policy['id']}").json()["rules"][0]["condition"] == "!inAnyTeam('revenue')"


def test_another_team_of_the_name_inherits_no_messages(
    served: Served, administrator: httpx.Client, team: Json, orders: Json, sqlite_engine: Engine
) -> None:
    alert = _alert(administrator)
    asking = _alert(administrator, "asking", filteringRules=_rules("!isBot() && user.isMemberOf('sales')"))
    assert administrator.delete(f"/teams/{team['id']}?hardDelete=true").is_success
    later_team = create_entity(administrator, "/teams", name="sales", teamType="Group")
    ann_id, ann = served.person("ann", teams=[later_team["id"]])
    after = _read(administrator, alert)
    assert after["destinations"][0]["config"]["receivers"] == []
    assert after["destinations"][0]["enabled"] is False, "without receivers it could mean everybody"
    assert _conditions(_read(administrator, asking)) == [f"!isBot() && user.isMemberOf('sales (removed {team['id']})')"]
    description_operation = {"op": "add", "path": "/description", "value": "All of them."}
    assert send_patch(administrator, f"/tables/{orders['id']}", description_operation).is_success
    notify_all(sqlite_engine)
    with ann:
        assert not {alert["id"], asking["id"]} & {*_alerts_in_inbox(ann, ann_id)}
    events = [logged.event for logged in EventLog(sqlite_engine).read(0, 10_000)]
    findings = [one for one in events if one.event_type is EventType.AUDIT_FINDING and one.entity_id == alert["id"]]
    changes = [change for one in findings if one.change_description for change in one.change_description.fields_added]
    assert [change.new_value["about"] for change in changes] == ["team sales"]
    refusal = administrator.post("/teams", json={"name": f"sales (removed {team['id']})", "teamType": "Group"})
    assert refusal.status_code == 400


def _put(client: httpx.Client, body: Json, *, dry_run: bool = False) -> httpx.Response:
    return client.put("/events/subscriptions", params={"dryRun": dry_run}, json=body)


def _team_alert(name: str = "ours") -> Json:
    teams = {"category": "Teams", "type": "ActivityFeed", "config": {"receivers": ["sales"]}}
    rules = _rules("matchAnyTag('Secret.Sensitive') && user.isMemberOf('sales')")
    return {"name": name, "alertType": "Notification", "filteringRules": rules, "destinations": [teams]}


def test_an_alert_file_from_before_a_rename_changes_nothing_and_says_so(
    administrator: httpx.Client, team: Json
) -> None:
    create_entity(administrator, "/classifications", name="Secret", description="x")
    create_entity(administrator, "/tags", name="Sensitive", classification="Secret", description="x")
    alert = _put(administrator, _team_alert()).json()
    assert send_patch(administrator, f"/teams/{team['id']}", {**_RENAME, "value": "revenue"}).is_success
    assert send_patch(administrator, "/classifications/name/Secret", {**_RENAME, "value": "Privacy"}).is_success
    renamed_alert = _read(administrator, alert)
    for dry_run in (True, False):
        answer = _put(administrator, _team_alert(), dry_run=dry_run)
        assert answer.status_code == 200, answer.text
        assert answer.json()["version"] == renamed_alert["version"]
        remarks = [(one["kind"], one["field"]) for one in json.loads(answer.headers["X-Tocsin-Remarks"])]
        assert ("renamed", "destinations") in remarks
        assert remarks.count(("renamed", "filteringRules")) == 2
    assert _put(administrator, _team_alert("another")).json()["destinations"][0]["config"]["receivers"] == ["revenue"]


def test_a_former_name_that_another_team_has_now_is_not_taken_for_it(administrator: httpx.Client, team: Json) -> None:
    alert = _alert(administrator)
    assert send_patch(administrator, f"/teams/{team['id']}", {**_RENAME, "value": "revenue"}).is_success
    create_entity(administrator, "/teams", name="sales", teamType="Group")
    destinations = [{"category": "Teams", "type": "ActivityFeed", "config": {"receivers": ["sales"]}}]
    refused = _put(administrator, {"name": "ours", "destinations": destinations})
    assert refused.status_code == 400
    assert "which is now called 'revenue'; another team has the name now" in refused.json()["message"]
    assert _read(administrator, alert)["destinations"][0]["config"]["receivers"] == ["revenue"]
    assert _put(administrator, {"name": "ours", "destinations": []}).status_code == 200
    assert _put(administrator, {"name": "ours", "destinations": destinations}).status_code == 200


def test_a_policy_from_before_a_rename_still_denies_the_same(administrator: httpx.Client) -> None:
    create_entity(administrator, "/classifications", name="Secret", description="x")
    create_entity(administrator, "/tags", name="Sensitive", classification="Secret", description="x")
    rule = {"name": "deny", "effect": "deny", "operations": ["All"], "resources": ["table"]}
    request = {"name": "p", "rules": [{**rule, "condition": "matchAnyTag('Secret.Sensitive')"}]}
    policy = create_entity(administrator, "/policies", **request)
    assert send_patch(administrator, "/classifications/name/Secret", {**_RENAME, "value": "Privacy"}).is_success
    assert administrator.put("/policies", json=request).is_success
    conditions = [one["condition"] for one in administrator.get(f"/policies/{policy['id']}").json()["rules"]]
    assert conditions == ["matchAnyTag('Privacy.Sensitive')"]
    rolled_back = administrator.post(f"/policies/{policy['id']}/rollback", json={"version": 0.1})
    assert rolled_back.json()["entity"]["rules"][0]["condition"] == "matchAnyTag('Privacy.Sensitive')"


def test_a_name_for_which_a_policy_has_no_room_is_refused(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    create_entity(administrator, "/classifications", name="Secret", description="x")
    tag = create_entity(administrator, "/tags", name="Pay", classification="Secret", description="x")
    user_id, mallory = served.person("mallory")
    many = " || ".join(["matchAnyTag('Secret.Pay')"] * 60)
    restrict(administrator, user_id, {"effect": "deny", "condition": many})
    label = {"op": "add", "path": "/tags", "value": [{"tagFQN": "Secret.Pay"}]}
    assert send_patch(administrator, f"/tables/{orders['id']}", label).is_success
    refusal = send_patch(administrator, f"/tags/{tag['id']}", {**_RENAME, "value": "P" * 120})
    assert refusal.status_code == 400
    assert "the condition of a policy that names it would exceed" in refusal.json()["message"]
    with mallory:
        assert mallory.get(f"/tables/{orders['id']}").status_code == 403
        assert send_patch(administrator, f"/tags/{tag['id']}", {**_RENAME, "value": "Wages"}).is_success
        assert mallory.get(f"/tables/{orders['id']}").status_code == 403


def test_a_misspelt_name_is_warned_of_where_the_catalogue_knows_a_similar_one(
    served: Served, administrator: httpx.Client, team: Json, orders: Json
) -> None:
    conditions = (
        "matchAnyOwnerName('slaes')",
        "matchAnyOwnerName('sales')",
        "matchAnyEntityFqn('warehouse.shop.public.ordrs')",
        "matchAnyDomain('something that is still to come')",
    )
    body = {"name": "typos", "alertType": "Notification", "filteringRules": _rules(*conditions), "destinations": []}
    nothing = "Nothing that you may see is called"
    says = [
        f"{nothing} 'slaes'; did you mean sales?",
        f"{nothing} 'warehouse.shop.public.ordrs'; did you mean {orders['fullyQualifiedName']}?",
    ]

    def warnings(client: httpx.Client) -> list[str]:
        answer = client.put("/events/subscriptions", params={"dryRun": True}, json=body)
        assert answer.is_success, answer.text
        remarks = json.loads(answer.headers["X-Tocsin-Remarks"])
        return [one["message"] for one in remarks if one["kind"] == "unknownWord"]

    assert warnings(administrator) == says
    validations = [administrator.post("/conditions/validate", json={"condition": one}).json() for one in conditions]
    assert [one["message"] for answer in validations for one in answer["warnings"]] == says
    tier = administrator.post("/conditions/validate", json={"condition": "tier == 'Tier.Tier9'"}).json()
    assert [one["message"].partition(";")[0] for one in tier["warnings"]] == [f"{nothing} 'Tier.Tier9'"]
    ann_id, ann = served.person("ann")
    restrict(
        administrator, ann_id, {"effect": "deny", "resources": ["table"], "condition": "matchAnyTag('PII.Sensitive')"}
    )
    with ann:
        assert warnings(ann) == says, "she sees both"
        tag = [{"op": "add", "path": "/tags", "value": [{"tagFQN": "PII.Sensitive"}]}]
        assert send_patch(administrator, f"/tables/{orders['id']}", *tag).is_success
        assert warnings(ann) == says[:1], "a name that she may not see is not offered"
