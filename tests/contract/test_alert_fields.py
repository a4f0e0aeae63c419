"""Tests of the fields that alerts share with other entities: custom properties, tags, display name, domains."""

from __future__ import annotations

import httpx
import pytest
from tests.contract.test_subscriptions import alert, send_patch
from tests.serving import Json

PATH = "/events/subscriptions"
TAG = {"tagFQN": "PII.Sensitive", "source": "Classification"}


@pytest.fixture
def client(administrator: httpx.Client) -> httpx.Client:
    """A client of a server on which alerts have two custom properties, and a domain and another tag exist."""
    define(administrator, "costCenter", "string")
    define(administrator, "retentionDays", "integer")
    domain = {"name": "finance", "domainType": "Aggregate", "description": "x"}
    assert administrator.post("/domains", json=domain).status_code == 201
    return administrator


def define(client: httpx.Client, name: str, kind: str) -> None:
    of_alerts = client.get("/metadata/types/name/eventsubscription").json()
    property_type = client.get(f"/metadata/types/name/{kind}").json()
    body = {"name": name, "description": "x", "propertyType": {"id": property_type["id"], "type": "type"}}
    assert client.put(f"/metadata/types/{of_alerts['id']}", json=body).status_code == 200


def create(client: httpx.Client, **fields: Json) -> Json:
    answer = client.post(PATH, json=alert(**fields))
    assert answer.status_code == 201, answer.text
    return answer.json()


FIELDS: dict[str, Json] = {
    "extension": {"costCenter": "CC-7", "retentionDays": 30},
    "displayName": "Changes of schemas",
    "tags": [TAG],
    "domains": ["finance"],
}


@pytest.mark.parametrize("field", FIELDS)
def test_an_alert_keeps_it_from_creation_on(client: httpx.Client, field: str) -> None:
    created = create(client, **{field: FIELDS[field]})
    assert _plain(field, created) == _expected_value(field)
    for path in (f"{PATH}/{created['id']}", f"{PATH}/name/{created['name']}"):
        assert _plain(field, client.get(path, params={"fields": field}).json()) == _expected_value(field)
    listed = client.get(PATH, params={"fields": field, "limit": 100}).json()["data"]
    assert _plain(field, next(one for one in listed if one["id"] == created["id"])) == _expected_value(field)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("by", ["patch", "put"])
def test_an_alert_gets_and_loses_it_later_each_time_with_a_version(client: httpx.Client, field: str, by: str) -> None:
    created_alert = create(client)
    value = _reference(client) if field == "domains" and by == "patch" else FIELDS[field]
    if by == "patch":
        change_answer = send_patch(
            client, f"{PATH}/{created_alert['id']}", {"op": "add", "path": f"/{field}", "value": value}
        )
    else:
        change_answer = client.put(PATH, json=alert(**{field: value}))
    assert (change_answer.status_code, change_answer.json()["version"]) == (200, 0.2), change_answer.text
    assert _plain(field, change_answer.json()) == _expected_value(field)
    removal_answer = send_patch(client, f"{PATH}/{created_alert['id']}", {"op": "remove", "path": f"/{field}"})
    assert (removal_answer.status_code, removal_answer.json()["version"]) == (200, 0.3), removal_answer.text
    assert not removal_answer.json().get(field)
    versions = [
        client.get(f"{PATH}/{created_alert['id']}/versions/{number}").json() for number in ("0.1", "0.2", "0.3")
    ]
    assert [bool(one.get(field)) for one in versions] == [False, True, False]
    assert _plain(field, versions[1]) == _expected_value(field)


def test_a_put_keeps_what_it_does_not_name_and_removes_no_tag(client: httpx.Client) -> None:
    created = create(client, **FIELDS)
    personal = {"tagFQN": "PersonalData.Personal", "source": "Classification"}
    put = client.put(PATH, json=alert(tags=[personal])).json()
    assert put["version"] == 0.2
    assert [label["tagFQN"] for label in put["tags"]] == ["PII.Sensitive", "PersonalData.Personal"]
    assert {key: _plain(key, put) for key in FIELDS.keys() - {"tags"}} == {
        key: _expected_value(key) for key in FIELDS.keys() - {"tags"}
    }
    again = client.put(PATH, json=alert(**FIELDS)).json()
    assert (again["version"], again["id"]) == (0.2, created["id"])


@pytest.mark.parametrize("by", ["post", "put", "patch"])
@pytest.mark.parametrize(
    ("fields", "status", "place"),
    [
        ({"extension": {"color": "red"}}, 400, "extension.color"),
        ({"extension": {"retentionDays": "many"}}, 400, "extension.retentionDays"),
        ({"extension": "red"}, 400, "extension"),
        ({"extension": ["red"]}, 400, "extension"),
        ({"tags": [{"tagFQN": "PII.Unknown"}]}, 404, "PII.Unknown"),
        ({"tags": "PII.Sensitive"}, 400, "tags"),
        ({"tags": [3]}, 400, "tags"),
        ({"displayName": 3}, 400, "displayName"),
        ({"domains": ["nowhere"]}, 404, "nowhere"),
        ({"domains": "finance"}, 400, "domains"),
    ],
)
def test_what_is_not_defined_or_no_such_value_is_refused_with_its_place(
    client: httpx.Client, by: str, fields: Json, status: int, place: str
) -> None:
    if by == "post":
        answer = client.post(PATH, json=alert(**fields))
    else:
        created_alert = create(client)
        (key, value), *_ = fields.items()
        operation = {"op": "add", "path": f"/{key}", "value": value}
        put = by == "put"
        answer = (
            client.put(PATH, json=alert(**fields))
            if put
            else send_patch(client, f"{PATH}/{created_alert['id']}", operation)
        )
        assert client.get(f"{PATH}/{created_alert['id']}").json()["version"] == 0.1
    assert answer.status_code == status, answer.text
    assert place in answer.text
    if by == "post":
        assert client.get(f"{PATH}/name/{alert()['name']}").status_code == 404


def test_a_property_that_goes_takes_its_values_from_alerts(client: httpx.Client) -> None:
    created = create(client, **FIELDS)
    of_alerts = client.get("/metadata/types/name/eventsubscription", params={"fields": "customProperties"}).json()
    at = [one["name"] for one in of_alerts["customProperties"]].index("costCenter")
    removal = send_patch(
        client, f"/metadata/types/{of_alerts['id']}", {"op": "remove", "path": f"/customProperties/{at}"}
    )
    assert removal.status_code == 200, removal.text
    now = client.get(f"{PATH}/{created['id']}", params={"fields": "extension"}).json()
    assert (now["extension"], now["version"]) == ({"retentionDays": 30}, 0.2)


def test_a_tag_that_goes_for_good_goes_from_alerts(client: httpx.Client) -> None:
    tag = {"name": "Mine", "classification": "PII", "description": "x"}
    made_tag = client.post("/tags", json=tag).json()
    created = create(client, tags=[{"tagFQN": "PII.Mine", "source": "Classification"}])
    assert client.delete(f"/tags/{made_tag['id']}", params={"hardDelete": True}).status_code == 200
    now = client.get(f"{PATH}/{created['id']}", params={"fields": "tags"}).json()
    assert (now.get("tags") or [], now["version"]) == ([], 0.2)


def test_a_change_of_it_is_an_event(client: httpx.Client) -> None:
    created = create(client)
    for field, value in FIELDS.items():
        client.put(PATH, json=alert(**{field: value}))
    events = client.get("/events", params={"entityUpdated": "eventsubscription", "timestamp": 0}).json()["data"]
    added = {
        change["name"].partition(".")[0]
        for event in events
        if event["entityId"] == created["id"]
        for change in event["changeDescription"]["fieldsAdded"]
    }
    assert added == FIELDS.keys()


def _reference(client: httpx.Client) -> Json:
    domain = client.get("/domains/name/finance").json()
    return [{"id": domain["id"], "type": "domain"}]


def _expected_value(field: str) -> Json:
    return {"tags": ["PII.Sensitive"]}.get(field, FIELDS[field])


def _plain(field: str, document: Json) -> Json:
    value = document.get(field) or []
    match field:
        case "tags":
            return [label["tagFQN"] for label in value]
        case "domains":
            return [reference["fullyQualifiedName"] for reference in value]
        case _:
            return value


def test_an_alert_without_domains_has_those_of_its_owners(client: httpx.Client) -> None:
    def domain_names(alert_id: str) -> Json:
        read = client.get(f"{PATH}/{alert_id}", params={"fields": "domains"}).json()
        return [(one["name"], one.get("inherited", False)) for one in read.get("domains") or ()]

    finance = client.get("/domains/name/finance").json()
    sales = client.post("/domains", json={"name": "sales", "domainType": "Aggregate", "description": "x"}).json()
    team = client.post("/teams", json={"name": "tills", "teamType": "Group", "domains": ["finance"]}).json()
    member = {"name": "ann", "email": "ann@example.org", "teams": [team["id"]]}
    ann = client.post("/users", json=member).json()
    for owner in ({"id": team["id"], "type": "team"}, {"id": ann["id"], "type": "user"}):
        created_alert = create(client, name=f"of-{owner['type']}", owners=[owner])
        assert domain_names(created_alert["id"]) == [("finance", True)]
        assert "domains" not in client.get(f"{PATH}/{created_alert['id']}", params={"fields": "owners"}).json()
    read = client.get(f"{PATH}/{created_alert['id']}", params={"fields": "*"}).json()
    again = client.put(PATH, json=read)
    assert (again.status_code, again.json()["version"], domain_names(created_alert["id"])) == (
        200,
        0.1,
        [("finance", True)],
    )
    domains_change = {"op": "add", "path": "/domains", "value": [{"id": sales["id"], "type": "domain"}]}
    assert send_patch(client, f"{PATH}/{created_alert['id']}", domains_change).status_code == 200
    assert domain_names(created_alert["id"]) == [("sales", False)]
    assert finance["id"] not in client.get(f"{PATH}/{created_alert['id']}").text
