"""Tests of notification templates by HTTP: upstream's requests and answers, rights, and rendering of real events."""

from __future__ import annotations

import httpx
import pytest
from tests.contract import standards
from tests.contract.test_access import restrict
from tests.serving import Json, Served

TEXTS = {"templateSubject": "{{event.entityType}} {{entity.name}}", "templateBody": "<p>{{entity.description}}</p>"}


def make(client: httpx.Client, name: str = "Mine", **fields: object) -> Json:
    answer = client.post("/notificationTemplates", json={"name": name, **TEXTS, **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_a_template_of_ones_own_has_the_provider_user(administrator: httpx.Client) -> None:
    assert make(administrator)["provider"] == "user"
    assert make(administrator, "Claimed", provider="system")["provider"] == "user"


@pytest.mark.parametrize(
    ("key", "text", "says"),
    [
        ("templateSubject", "{{#if a}}", "templateSubject: Line 1, column 1: this block has no end"),
        ("templateBody", "\n{{> x}}", "templateBody: Line 2, column 1: partials"),
        ("templateSubject", "", "templateSubject"),
        ("templateSubject", "x" * 257, "templateSubject"),
        ("templateBody", "x" * 65_537, "templateBody"),
        ("templateBody", 7, "templateBody"),
    ],
)
def test_a_template_that_cannot_be_read_is_not_stored(
    administrator: httpx.Client, key: str, text: object, says: str
) -> None:
    refused = administrator.post("/notificationTemplates", json={"name": "Broken", **TEXTS, key: text})
    assert refused.status_code == 400, refused.text
    assert says in refused.json()["message"]
    template = make(administrator)
    patch = [{"op": "replace", "path": f"/{key}", "value": text}]
    assert administrator.patch(f"/notificationTemplates/{template['id']}", json=patch).status_code == 400


def test_validation_says_where_a_text_is_wrong(administrator: httpx.Client) -> None:
    good = administrator.post("/notificationTemplates/validate", json=TEXTS).json()
    assert good == {"isValid": True, "subjectError": None, "bodyError": None}
    bad = administrator.post(
        "/notificationTemplates/validate", json={"templateSubject": "{{x", "templateBody": "{{eqq a b}}"}
    ).json()
    assert bad == {
        "isValid": False,
        "subjectError": "Line 1, column 1: this tag has no end; write }}",
        "bodyError": "Line 1, column 3: unknown helper 'eqq'; did you mean eq?",
    }
    for texts in ({}, {"templateSubject": "x"}, {**TEXTS, "templateBody": ""}, {**TEXTS, "templateBody": 1}):
        assert administrator.post("/notificationTemplates/validate", json=texts).status_code == 400


def test_rendering_uses_a_made_up_event(administrator: httpx.Client) -> None:
    rendering = administrator.post("/notificationTemplates/render", json={**TEXTS, "resource": "table"}).json()
    assert rendering == {
        "validation": {"isValid": True, "subjectError": None, "bodyError": None},
        "render": {"subject": "table sample_table", "body": "<p>Orders of the shop, one row per order.</p>"},
    }
    body = "{{#each changes}}{{text}};{{/each}}"
    request = {"templateSubject": "x", "templateBody": body, "resource": "testCase", "eventType": "entityUpdated"}
    assert "failed" in administrator.post("/notificationTemplates/render", json=request).json()["render"]["body"]
    for kind in ("entityCreated", "entitySoftDeleted", "threadCreated", "destinationFailing"):
        answer = administrator.post("/notificationTemplates/render", json={**TEXTS, "resource": "x", "eventType": kind})
        assert answer.json()["validation"]["isValid"], answer.text


@standards.needs_standards
def test_answers_obey_upstreams_schemas(administrator: httpx.Client) -> None:
    for texts in (TEXTS, {**TEXTS, "templateBody": "{{x"}):
        request = {**texts, "resource": "table", "eventType": "entityUpdated"}
        assert standards.problems("api/events/notificationTemplateRenderRequest.json", request) == []
        answer = administrator.post("/notificationTemplates/render", json=request).json()
        assert standards.problems("api/events/notificationTemplateRenderResponse.json", answer) == []


def test_what_fails_on_an_event_is_said(administrator: httpx.Client) -> None:
    request = {**TEXTS, "templateBody": "{{#if missing}}x{{/if}}", "resource": "table"}
    answer = administrator.post("/notificationTemplates/render", json=request).json()
    assert answer["validation"]["bodyError"] == "the template says nothing of this event"
    assert "render" not in answer
    request["templateBody"] = "{{#each entity}}" * 8 + "{{@root}}" + "{{/each}}" * 8
    assert administrator.post("/notificationTemplates/render", json=request).status_code == 200


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "resource"),
        ({"resource": ""}, "resource"),
        ({"resource": "x" * 129}, "resource"),
        ({"resource": "table", "eventType": "entityUpdatd"}, "did you mean entityUpdated?"),
        ({"resource": "table", "channel": "Slak"}, "did you mean Slack?"),
        ({"resource": "table", "channel": ["Slack"]}, "channel"),
        ({"eventId": "x"}, "eventId"),
        ({"eventId": 1}, "eventId"),
    ],
)
def test_bad_requests_are_refused_with_their_place(administrator: httpx.Client, fields: Json, says: str) -> None:
    refused = administrator.post("/notificationTemplates/render", json={**TEXTS, **fields})
    assert refused.status_code == 400, refused.text
    assert says in refused.json()["message"]


def test_a_real_event_is_rendered_for_who_may_see_it(served: Served, administrator: httpx.Client, orders: Json) -> None:
    (event,) = administrator.get("/events", params={"entityId": orders["id"], "format": "tocsin"}).json()["data"]
    request = {"templateSubject": "{{entity.name}}", "templateBody": "{{event.eventType}}", "eventId": event["id"]}
    answer = administrator.post("/notificationTemplates/render", json=request).json()
    assert answer["render"] == {"subject": "orders", "body": "<p>entityCreated</p>"}
    mallory_id, mallory = served.person("mallory")
    with mallory:
        _may_not_see(administrator, mallory_id, mallory, request)


def _may_not_see(administrator: httpx.Client, mallory_id: str, mallory: httpx.Client, request: Json) -> None:
    assert mallory.post("/notificationTemplates/render", json=request).status_code == 403
    allow = {"name": "writes", "effect": "allow", "operations": ["Create"], "resources": ["notificationTemplate"]}
    hide = {"name": "hidden", "effect": "deny", "operations": ["ViewAll"], "resources": ["table"]}
    restrict(administrator, mallory_id, allow, hide)
    assert mallory.post("/notificationTemplates/render", json=request).status_code == 404
    assert mallory.post(
        "/notificationTemplates/render", json={**request, "eventId": None, "resource": "table"}
    ).is_success


def test_who_may_edit_peoples_templates_may_not_edit_ours(served: Served, administrator: httpx.Client) -> None:
    template = make(administrator)
    ben_id, ben = served.person("ben")
    with ben:
        _edits(administrator, ben_id, ben, template)


def _edits(administrator: httpx.Client, ben_id: str, ben: httpx.Client, template: Json) -> None:
    patch = [{"op": "replace", "path": "/templateBody", "value": "<b>x</b>"}]
    assert ben.patch(f"/notificationTemplates/{template['id']}", json=patch).status_code == 403
    rule = {
        "name": "words",
        "effect": "allow",
        "operations": ["EditUserNotificationTemplate"],
        "resources": ["notificationTemplate"],
    }
    restrict(administrator, ben_id, rule)
    assert ben.patch(f"/notificationTemplates/{template['id']}", json=patch).json()["templateBody"] == "<b>x</b>"
    assert ben.post("/notificationTemplates/validate", json=TEXTS).is_success
    assert ben.post("/notificationTemplates", json={"name": "New", **TEXTS}).status_code == 403


def test_the_helpers_are_listed(administrator: httpx.Client) -> None:
    listed = administrator.get("/notificationTemplates/helpers").json()
    assert listed["paging"]["total"] == 24
    eq = next(one for one in listed["data"] if one["name"] == "eq")
    assert eq["description"] == "whether two values are equal"
    assert eq["usages"] == [{"syntax": "{{eq a b}}", "example": "{{#if (eq name 'tags')}}tags{{/if}}"}]


ALERT = {
    "name": "Worded",
    "alertType": "Notification",
    "resources": ["table"],
    "destinations": [{"category": "External", "type": "Slack", "config": {"endpoint": "https://hooks.slack.com/x/y"}}],
}
UPDATED = "system-notification-entity-updated"


def reference_to(template: Json) -> Json:
    return {"id": template["id"], "type": "notificationTemplate"}


def test_only_templates_of_users_can_be_assigned(administrator: httpx.Client) -> None:
    system = administrator.get(f"/notificationTemplates/name/{UPDATED}").json()
    assert (system["provider"], system["isModifiedFromDefault"]) == ("system", False)
    refusal = administrator.post("/events/subscriptions", json={**ALERT, "notificationTemplate": reference_to(system)})
    assert refusal.status_code == 400
    assert refusal.json()["message"].startswith(f"notificationTemplate: {UPDATED} is a system template")
    response = administrator.post(
        "/events/subscriptions", json={**ALERT, "notificationTemplate": reference_to(make(administrator))}
    )
    assert response.status_code == 201, response.text
    assert response.json()["notificationTemplate"]["name"] == "Mine"
    by_name = {**ALERT, "notificationTemplate": {"type": "notificationTemplate", "name": "Mine"}}
    put = administrator.put("/events/subscriptions", json=by_name)
    assert (put.status_code, put.json()["version"]) == (200, response.json()["version"])
    patch = [{"op": "replace", "path": "/notificationTemplate", "value": reference_to(system)}]
    path = f"/events/subscriptions/{response.json()['id']}"
    assert administrator.patch(path, json=patch).status_code == 400
    removal = [{"op": "remove", "path": "/notificationTemplate"}]
    assert "notificationTemplate" not in administrator.patch(path, json=removal).json()
    no_references: tuple[Json, ...] = (
        {"id": response.json()["id"], "type": "notificationTemplate"},
        {"id": "x"},
        "x",
        7,
        [],
    )
    for wrong in no_references:
        answer = administrator.post("/events/subscriptions", json={**ALERT, "name": "N", "notificationTemplate": wrong})
        assert answer.status_code in (400, 404), answer.text


def test_a_template_that_alerts_use_is_not_deleted(served: Served, administrator: httpx.Client) -> None:
    template = make(administrator)
    for name in ("First", "Second"):
        request = {**ALERT, "name": name, "notificationTemplate": reference_to(template)}
        assert administrator.post("/events/subscriptions", json=request).status_code == 201
    path = f"/notificationTemplates/{template['id']}"
    for hard in ("true", "false"):
        refusal = administrator.delete(path, params={"hardDelete": hard})
        assert refusal.status_code == 409
        assert "2 alerts use this template (First, Second)" in refusal.json()["message"]
    ben_id, ben = served.person("ben")
    delete = {"name": "d", "effect": "allow", "operations": ["Delete"], "resources": ["notificationTemplate"]}
    hide = {"name": "h", "effect": "deny", "operations": ["ViewAll"], "resources": ["eventsubscription"]}
    restrict(administrator, ben_id, delete, hide)
    with ben:
        refusal = ben.delete(path)
        assert refusal.status_code == 409
        assert "2 alerts use this template (2 more)" in refusal.json()["message"]
    for name in ("First", "Second"):
        removal = [{"op": "remove", "path": "/notificationTemplate"}]
        assert administrator.patch(f"/events/subscriptions/name/{name}", json=removal).is_success
    assert administrator.delete(path, params={"hardDelete": "true"}).is_success


def test_a_system_template_is_changed_and_reset_and_never_deleted(served: Served, administrator: httpx.Client) -> None:
    before = administrator.get(f"/notificationTemplates/name/{UPDATED}").json()
    path = f"/notificationTemplates/{before['id']}"
    patch = [
        {"op": "replace", "path": "/templateBody", "value": "<p>Changed.</p>"},
        {"op": "replace", "path": "/description", "value": "Ours."},
    ]
    changed_template = administrator.patch(path, json=patch).json()
    assert (changed_template["isModifiedFromDefault"], changed_template["provider"]) == (True, "system")
    assert administrator.delete(path).status_code == 403
    ben_id, ben = served.person("ben")
    rule = {"effect": "allow", "operations": ["EditUserNotificationTemplate"], "resources": ["notificationTemplate"]}
    restrict(administrator, ben_id, rule)
    with ben:
        assert ben.put(f"{path}/reset").status_code == 403
        change = [{"op": "replace", "path": "/templateBody", "value": "<p>Another.</p>"}]
        assert ben.patch(path, json=change).status_code == 403
    answer = administrator.put(f"{path}/reset")
    assert answer.status_code == 200, answer.text
    for key in ("templateSubject", "templateBody", "description", "displayName", "isModifiedFromDefault"):
        assert answer.json()[key] == before[key]
    assert (
        administrator.put(f"/notificationTemplates/name/{UPDATED}/reset").json()["version"] == answer.json()["version"]
    )
    own_template = make(administrator)
    refusal = administrator.put(f"/notificationTemplates/{own_template['id']}/reset")
    assert refusal.status_code == 400
    assert "Cannot reset template: only SYSTEM templates can be reset to default" in refusal.json()["message"]
    assert administrator.put(f"/notificationTemplates/{ALERT_ID}/reset").status_code == 404


ALERT_ID = "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0001"


def test_every_system_template_renders_every_made_up_event(administrator: httpx.Client) -> None:
    templates = administrator.get("/notificationTemplates", params={"provider": "system", "limit": 100}).json()["data"]
    assert len(templates) == 8
    for template in templates:
        texts = {key: template[key] for key in ("templateSubject", "templateBody")}
        for kind in ("entityCreated", "entityUpdated", "entityDeleted"):
            request = {**texts, "resource": "table", "eventType": kind}
            answer = administrator.post("/notificationTemplates/render", json=request).json()
            assert answer["validation"]["isValid"], (template["name"], answer)


@pytest.mark.parametrize(
    ("channel", "place"),
    [("Email", "html"), ("Slack", "blocks"), ("MsTeams", "attachments"), ("GChat", "cardsV2")],
)
def test_a_real_event_is_shown_as_each_channel_sends_it(
    administrator: httpx.Client, orders: Json, channel: str, place: str
) -> None:
    (event,) = administrator.get("/events", params={"entityId": orders["id"], "format": "tocsin"}).json()["data"]
    body = "<p>{{channel}} <b>{{entity.name}}</b></p>"
    request = {"templateSubject": "{{headline}}", "templateBody": body, "eventId": event["id"], "channel": channel}
    answer = administrator.post("/notificationTemplates/render", json=request).json()
    assert answer["render"]["subject"] == "orders: created"
    assert "orders" in str(answer["message"][place])
    assert channel.lower() in str(answer["message"][place])


def test_a_template_is_sent_to_oneself_or_where_one_may_send(served: Served, administrator: httpx.Client) -> None:
    request = {**TEXTS, "resource": "table"}
    trial = administrator.post("/notificationTemplates/send", json={"renderRequest": request}).json()
    assert trial["isValid"]
    (mail,) = trial["destinations"]
    assert (mail["type"], mail["statusDetails"]["reason"]) == ("Email", "mailDeferred")  # there is no mail server
    hook = {"category": "External", "type": "Webhook", "config": {"endpoint": "http://10.0.0.1/x"}}
    send_request = {"renderRequest": request, "destinations": [hook]}
    (refusal,) = administrator.post("/notificationTemplates/send", json=send_request).json()["destinations"]
    assert refusal["statusDetails"]["reason"] == "egressRefused"
    broken_request = {"renderRequest": {**request, "templateBody": "{{x"}, "destinations": [hook]}
    assert administrator.post("/notificationTemplates/send", json=broken_request).json() == {
        "isValid": False,
        "subjectError": None,
        "bodyError": "Line 1, column 1: this tag has no end; write }}",
    }
    owners = {"category": "Owners", "type": "Email"}
    for wrong in ([], [owners], "x", [7], [hook] * 21, [{**hook, "config": {}}]):
        answer = administrator.post("/notificationTemplates/send", json={**send_request, "destinations": wrong})
        assert answer.status_code == 400, answer.text
    assert administrator.post("/notificationTemplates/send", json={}).status_code == 400
    ben_id, ben = served.person("ben")
    rule = {"effect": "allow", "operations": ["Create"], "resources": ["notificationTemplate"]}
    restrict(administrator, ben_id, rule)
    stranger = {"category": "External", "type": "Email", "config": {"receivers": ["x@elsewhere.example"]}}
    with ben:
        assert (
            ben.post("/notificationTemplates/send", json={**send_request, "destinations": [stranger]}).status_code
            == 400
        )
        answers = [ben.post("/notificationTemplates/send", json={"renderRequest": request}) for _ in range(21)]
        assert (answers[0].status_code, answers[-1].status_code) == (200, 429)
