"""Tests of rules that OpenMetadata's own tests hold: certificates, columns, restores, tokens of bots, reviewers."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from tests.contract.test_answers import send_patch
from tests.serving import Json, Served, table

from tocsin.flow.match.plan import plan_of

BELL = [{"category": "Admins", "type": "ActivityFeed"}]
_GOLD = {"tagFQN": "Certification.Gold", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}


def certify(client: httpx.Client, asset: Json, certificate: Json) -> Json:
    operation = {"op": "add", "path": "/certification", "value": certificate}
    return send_patch(client, f"/tables/{asset['id']}", operation)


def test_a_certificate_shows_its_labels_name_and_the_servers_dates(administrator: httpx.Client, orders: Json) -> None:
    answer = certify(administrator, orders, {"tagLabel": _GOLD, "appliedDate": 1, "expiryDate": 2})
    certificate = answer["certification"]
    assert certificate["tagLabel"]["name"] == "Gold"
    assert certificate["appliedDate"] == answer["updatedAt"]
    assert certificate["expiryDate"] > certificate["appliedDate"]
    read = administrator.get(f"/tables/{orders['id']}").json()
    assert read["certification"] == certificate


def test_a_certificate_that_is_sent_again_is_not_renewed(administrator: httpx.Client, orders: Json) -> None:
    answer = certify(administrator, orders, {"tagLabel": _GOLD})
    for again in (answer["certification"], {"tagLabel": _GOLD}):
        assert certify(administrator, orders, again)["version"] == answer["version"]
    renewed = certify(administrator, orders, answer["certification"] | {"expiryDate": 2})
    assert renewed["version"] == pytest.approx(answer["version"] + 0.1)
    assert renewed["certification"]["expiryDate"] > 2


@pytest.mark.parametrize(
    ("column", "message_part"),
    [
        ({"dataType": "VARCHAR"}, "dataLength"),
        ({"dataType": "CHAR"}, "dataLength"),
        ({"dataType": "BINARY"}, "dataLength"),
        ({"dataType": "VARBINARY"}, "dataLength"),
        ({"dataType": "ARRAY"}, "arrayDataType"),
        ({"dataType": "STRUCT", "children": [{"name": "zip", "dataType": "VARCHAR"}]}, "dataLength"),
    ],
)
def test_a_column_says_how_long_it_is_or_of_what(
    administrator: httpx.Client, orders: Json, column: Json, message_part: str
) -> None:
    request = {"name": "short", "databaseSchema": "warehouse.shop.public", "columns": [{"name": "code", **column}]}
    answer = administrator.post("/tables", json=request)
    assert (answer.status_code, answer.json()["code"]) == (400, 400)
    assert message_part in answer.json()["message"]
    added = [{"op": "add", "path": "/columns/-", "value": {"name": "code", **column}}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert administrator.patch(f"/tables/{orders['id']}", content=json.dumps(added), headers=headers).status_code == 400


def test_display_texts_of_data_types_are_in_lower_case(administrator: httpx.Client, orders: Json) -> None:
    del orders
    column = {"name": "code", "dataType": "VARCHAR", "dataLength": 20, "dataTypeDisplay": "VARCHAR(20)"}
    shown_table = table(administrator, "shown", columns=[column])
    assert shown_table["columns"][0]["dataTypeDisplay"] == "varchar(20)"
    request = {"name": "shown", "databaseSchema": "warehouse.shop.public", "columns": [column]}
    assert administrator.put("/tables", json=request).json()["version"] == shown_table["version"]


def test_what_is_not_deleted_cannot_be_restored(administrator: httpx.Client, orders: Json) -> None:
    answer = administrator.put("/tables/restore", json={"id": orders["id"]})
    assert (answer.status_code, answer.json()["code"]) == (404, 404)
    assert answer.json()["message"] == "table warehouse.shop.public.orders is not deleted"


def test_an_owner_has_a_type(served: Served, administrator: httpx.Client, orders: Json) -> None:
    user_id, client = served.person("alice")
    client.close()
    operation = [{"op": "add", "path": "/owners", "value": [{"id": user_id}]}]
    headers = {"Content-Type": "application/json-patch+json"}
    answer = administrator.patch(f"/tables/{orders['id']}", content=json.dumps(operation), headers=headers)
    assert answer.status_code == 400
    assert answer.json()["message"] == "owners: each owner needs a type: user or team"


def test_the_words_of_a_choice_are_sorted(administrator: httpx.Client, orders: Json) -> None:
    types = {name: administrator.get(f"/metadata/types/name/{name}").json() for name in ("table", "enum")}
    config = {"config": {"multiSelect": True, "values": ["low", "high", "middle"]}}
    kind = {"id": types["enum"]["id"], "type": "type"}
    choice = {"name": "risk", "description": "x", "propertyType": kind, "customPropertyConfig": config}
    assert administrator.put(f"/metadata/types/{types['table']['id']}", json=choice).is_success
    operation = {"op": "add", "path": "/extension", "value": {"risk": ["middle", "high"]}}
    first = send_patch(administrator, f"/tables/{orders['id']}", operation)
    read = administrator.get(f"/tables/{orders['id']}?fields=extension").json()
    assert read["extension"] == {"risk": ["high", "middle"]}
    assert send_patch(administrator, f"/tables/{orders['id']}", operation)["version"] == first["version"]


def test_a_bot_gets_a_token_with_its_creation(served: Served, administrator: httpx.Client) -> None:
    mechanism = {"authType": "JWT", "config": {"JWTTokenExpiry": "7"}}
    request = {"name": "loader", "email": "loader@example.org", "isBot": True, "authenticationMechanism": mechanism}
    response = administrator.post("/users", json=request)
    assert response.status_code == 201
    auth_mechanism = administrator.get(f"/users/auth-mechanism/{response.json()['id']}").json()
    assert (auth_mechanism["authType"], auth_mechanism["config"]["JWTTokenExpiry"]) == ("JWT", "7")
    with served.client(auth_mechanism["config"]["JWTToken"]) as bot:
        assert bot.get("/users/loggedInUser").json()["name"] == "loader"
    administrator.put("/users", json=request)
    again = administrator.get(f"/users/auth-mechanism/{response.json()['id']}").json()
    assert again["config"]["JWTToken"] == auth_mechanism["config"]["JWTToken"]
    plain = administrator.post("/users", json={"name": "plain", "email": "plain@example.org", "isBot": True}).json()
    assert administrator.get(f"/users/auth-mechanism/{plain['id']}").status_code == 404
    wrong = request | {"name": "wrong", "email": "wrong@example.org"}
    wrong["authenticationMechanism"] = {"authType": "JWT", "config": {"JWTTokenExpiry": "never"}}
    assert administrator.post("/users", json=wrong).status_code == 400
    assert administrator.get("/users/name/wrong").status_code == 404


def test_terms_inherit_the_reviewers_of_their_glossary(served: Served, administrator: httpx.Client) -> None:
    user_id, client = served.person("alice")
    reviewers = [{"id": user_id, "type": "user"}]
    with client:
        response = administrator.post("/glossaries", json={"name": "Words", "description": "x", "reviewers": reviewers})
        assert response.status_code == 201
        administrator.post("/glossaryTerms", json={"name": "Sale", "description": "x", "glossary": "Words"})
        below = {"name": "Refund", "description": "x", "glossary": "Words", "parent": "Words.Sale"}
        term = administrator.post("/glossaryTerms", json=below).json()
        read = administrator.get(f"/glossaryTerms/{term['id']}?fields=reviewers").json()
    for document in (term, read):
        assert [(one["name"], one["inherited"]) for one in document["reviewers"]] == [("alice", True)]
    reviewers_operation = {"op": "replace", "path": "/reviewers", "value": read["reviewers"]}
    assert send_patch(administrator, f"/glossaryTerms/{term['id']}", reviewers_operation)["version"] == term["version"]


def test_patches_at_the_same_time_are_all_applied(administrator: httpx.Client, orders: Json) -> None:
    def patch(number: int) -> int:
        operation = [{"op": "add", "path": "/description", "value": f"Text {number}."}]
        headers = {"Content-Type": "application/json-patch+json"}
        return administrator.patch(
            f"/tables/{orders['id']}", content=json.dumps(operation), headers=headers
        ).status_code

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(patch, range(16))) == {200}


@pytest.mark.parametrize("sent", [["Table", "TOPIC"], ["All"], ["testcase"], ["Table", "table"]])
def test_resources_of_alerts_are_taken_in_any_case_and_answered_as_sent(
    served: Served, administrator: httpx.Client, sent: list[str]
) -> None:
    request = {"name": "watch", "alertType": "Notification", "destinations": BELL}
    response = administrator.post("/events/subscriptions", json=request | {"resources": sent})
    assert response.status_code == 201, response.text
    read = administrator.get(f"/events/subscriptions/{response.json()['id']}").json()
    assert response.json()["filteringRules"]["resources"] == read["filteringRules"]["resources"] == sent
    put = administrator.put("/events/subscriptions", json=request | {"resources": sent})
    assert (put.status_code, put.json()["version"]) == (200, response.json()["version"])
    (plan,) = [plan_of(one) for one in served.app.state.parts.subscriptions.list_all() if one.name == "watch"]
    resource_by_name = {"table": "table", "topic": "topic", "all": "all", "testcase": "testCase"}
    assert plan.resources == tuple(dict.fromkeys(resource_by_name[name.lower()] for name in sent))


@pytest.mark.parametrize("alert_type", ["Notification", "Observability", "GovernanceWorkflowChangeEvent"])
def test_resources_are_listed_under_the_type_of_the_alert_alone(administrator: httpx.Client, alert_type: str) -> None:
    path = f"/events/subscriptions/{alert_type}/resources"
    listed = administrator.get(path)
    assert listed.status_code == 200, listed.text
    assert listed.json()["data"]
    wrong = administrator.get("/events/subscriptions/Observabilty/resources")
    assert (wrong.status_code, "Observability" in wrong.json()["message"]) == (400, True)
