"""Tests of a bot's PUT and bulk PUT: what people wrote stays, what bots wrote is replaced, what is empty is filled."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from tests.serving import Json, Served

SCHEMA = "warehouse.shop.public"
ORDERS = f"/tables/name/{SCHEMA}.orders"
FIELDS = {"fields": "owners,tags,columns,domains,extension"}
PUT = ("single", "bulk")


def bot(served: Served, name: str = "connector", **fields: Json) -> httpx.Client:
    request = {"name": name, "email": f"{name}@example.org", "isBot": True} | fields
    with served.administrator() as administrator:
        user = administrator.put("/users", json=request).json()
        token = administrator.put(f"/users/generateToken/{user['id']}").json()["JWTToken"]
    return served.client(token)


@pytest.fixture
def connector(served: Served, orders: Json) -> Iterator[httpx.Client]:
    """An ingestion bot that has reported the table once."""
    with bot(served) as client:
        put(client, "single", description="By a bot.", displayName="Bot's", columns=columns("By a bot."))
        yield client


def columns(description: str | None = None, **fields: Json) -> list[Json]:
    email = {"name": "email", "dataType": "VARCHAR", "dataLength": 200} | fields
    return [{"name": "id", "dataType": "BIGINT"}, email | ({"description": description} if description else {})]


def put(client: httpx.Client, how: str, *, override: bool = False, **fields: Json) -> Json:
    """Put the table, alone or in bulk; return how it is afterwards."""
    request = {"name": "orders", "databaseSchema": SCHEMA, "columns": columns()} | fields
    query = {"overrideMetadata": "true"} if override else {}
    if how == "bulk":
        answer = client.put("/tables/bulk", json=[request], params=query)
        assert answer.json()["status"] == "success", answer.text
    else:
        answer = client.put("/tables", json=request, params=query)
        assert answer.status_code == 200, answer.text
    return read(client)


def read(client: httpx.Client) -> Json:
    answer = client.get(ORDERS, params=FIELDS)
    assert answer.status_code == 200, answer.text
    return answer.json()


def patch(client: httpx.Client, *operations: tuple[str, Json]) -> Json:
    """Set values; return the table."""
    body = [{"op": "add", "path": path, "value": value} for path, value in operations]
    answer = client.patch(ORDERS, json=body, headers={"Content-Type": "application/json-patch+json"})
    assert answer.status_code == 200, answer.text
    return answer.json()


def email_of(table: Json) -> Json:
    return next(column for column in table["columns"] if column["name"] == "email")


def tags_of(holder: Json) -> set[str]:
    return {label["tagFQN"] for label in holder.get("tags") or ()}


@pytest.mark.parametrize("how", PUT)
def test_texts_of_people_stay(administrator: httpx.Client, connector: httpx.Client, how: str) -> None:
    before = patch(
        administrator,
        ("/description", "By Jane."),
        ("/displayName", "Jane's"),
        ("/columns/1/description", "By Jane."),
        ("/columns/1/displayName", "Jane's"),
    )
    after = put(connector, how, description="Bot.", displayName="Bot", columns=columns("Bot.", displayName="Bot"))
    assert (after["description"], after["displayName"]) == ("By Jane.", "Jane's")
    assert (email_of(after)["description"], email_of(after)["displayName"]) == ("By Jane.", "Jane's")
    assert after["version"] == before["version"]


@pytest.mark.parametrize("how", PUT)
def test_texts_of_bots_are_replaced(served: Served, connector: httpx.Client, how: str) -> None:
    with bot(served, "other") as other_bot:
        after = put(other_bot, how, description="New.", displayName="New", columns=columns("New.", displayName="New"))
    assert (after["description"], after["displayName"]) == ("New.", "New")
    assert (email_of(after)["description"], email_of(after)["displayName"]) == ("New.", "New")


@pytest.mark.parametrize("how", PUT)
def test_what_is_empty_is_filled(administrator: httpx.Client, connector: httpx.Client, how: str) -> None:
    emptied = patch(administrator, ("/description", ""), ("/displayName", ""), ("/columns/1/description", ""))
    assert not emptied.get("description")
    after = put(connector, how, description="Again.", displayName="Again", columns=columns("Again."))
    assert (after["description"], after["displayName"]) == ("Again.", "Again")
    assert email_of(after)["description"] == "Again."


@pytest.mark.parametrize("how", PUT)
def test_what_a_bot_leaves_out_stays(administrator: httpx.Client, connector: httpx.Client, how: str) -> None:
    patch(administrator, ("/columns/1/description", "By Jane."))
    after = put(connector, how)
    assert (after["description"], after["displayName"]) == ("By a bot.", "Bot's")
    assert email_of(after)["description"] == "By Jane."


@pytest.mark.parametrize("how", PUT)
def test_owners_of_people_stay(served: Served, administrator: httpx.Client, connector: httpx.Client, how: str) -> None:
    jane, _ = served.person("jane")
    john, _ = served.person("john")
    first = put(connector, how, owners=[{"id": john, "type": "user"}])
    assert [owner["id"] for owner in first["owners"]] == [john]
    again = put(connector, how, owners=[{"id": jane, "type": "user"}])
    assert [owner["id"] for owner in again["owners"]] == [jane]
    patch(administrator, ("/owners", [{"id": john, "type": "user"}, {"id": jane, "type": "user"}]))
    for owners in ([{"id": jane, "type": "user"}], []):
        after = put(connector, how, owners=owners)
        assert {owner["id"] for owner in after["owners"]} == {john, jane}


@pytest.mark.parametrize("how", PUT)
def test_labels_of_people_stay_and_those_of_the_bot_join_them(
    administrator: httpx.Client, connector: httpx.Client, how: str
) -> None:
    person = {"tagFQN": "PII.Sensitive", "labelType": "Manual", "state": "Confirmed"}
    patch(administrator, ("/tags", [person]), ("/columns/1/tags", [person]))
    theirs = [
        {"tagFQN": "PII.Sensitive", "labelType": "Automated", "state": "Suggested"},
        {"tagFQN": "PersonalData.Personal"},
    ]
    after = put(connector, how, tags=theirs, columns=columns(tags=theirs))
    for holder in (after, email_of(after)):
        assert tags_of(holder) == {"PII.Sensitive", "PersonalData.Personal"}
        label = next(one for one in holder["tags"] if one["tagFQN"] == "PII.Sensitive")
        assert (label["labelType"], label["state"]) == ("Manual", "Confirmed")


@pytest.mark.parametrize("how", PUT)
@pytest.mark.usefixtures("orders")
def test_override_metadata_replaces_what_people_wrote(served: Served, administrator: httpx.Client, how: str) -> None:
    with bot(served, isAdmin=True) as admin_bot:
        put(admin_bot, how, description="By a bot.", columns=columns("By a bot."))
        patch(administrator, ("/description", "By Jane."), ("/columns/1/description", "By Jane."))
        after = put(admin_bot, how, override=True, description="Bot.", displayName="Bot", columns=columns("Bot."))
        assert (after["description"], after["displayName"]) == ("Bot.", "Bot")
        assert email_of(after)["description"] == "Bot."
        again = put(admin_bot, how, description="Own.", columns=columns("Own."))
        assert (again["description"], email_of(again)["description"]) == ("Own.", "Own.")


@pytest.mark.parametrize("how", PUT)
def test_override_metadata_lifts_no_rule(administrator: httpx.Client, connector: httpx.Client, how: str) -> None:
    patch(administrator, ("/displayName", "Jane's"), ("/description", "By Jane."))
    after = put(connector, how, override=True, displayName="Bot", description="Bot.")
    assert (after["displayName"], after["description"]) == ("Jane's", "Bot.")


def test_a_bots_patch_makes_a_value_its_own(administrator: httpx.Client, connector: httpx.Client) -> None:
    patch(administrator, ("/description", "By Jane."))
    patch(connector, ("/description", "Patched."))
    assert put(connector, "single", description="Reported.")["description"] == "Reported."


def test_people_put_what_they_like(administrator: httpx.Client, connector: httpx.Client) -> None:
    patch(administrator, ("/description", "By Jane."))
    assert put(administrator, "single", description="By the administrator.")["description"] == "By the administrator."
    assert put(connector, "single", description="Bot.")["description"] == "By the administrator."


def test_a_sheet_counts_as_its_sender(administrator: httpx.Client, connector: httpx.Client) -> None:
    text = administrator.get(f"{ORDERS}/export").text.replace("By a bot.", "By sheet.")
    headers = {"Content-Type": "text/plain"}
    assert administrator.put(f"{ORDERS}/import", content=text, headers=headers).json()["status"] == "success"
    assert email_of(put(connector, "bulk", columns=columns("Bot.")))["description"] == "By sheet."


def test_a_rollback_counts_as_its_sender(administrator: httpx.Client, connector: httpx.Client) -> None:
    put(connector, "single", description="Second.")
    back = administrator.post(f"{ORDERS}/rollback", json={"version": "0.2"})
    assert back.status_code == 200, back.text
    assert put(connector, "single", description="Third.")["description"] == "By a bot."


def test_a_column_that_comes_back_is_the_bots(administrator: httpx.Client, connector: httpx.Client) -> None:
    patch(administrator, ("/columns/1/description", "By Jane."))
    put(connector, "single", columns=columns()[:1])
    assert email_of(put(connector, "single", columns=columns("Bot.")))["description"] == "Bot."
    assert email_of(put(connector, "single", columns=columns("New.")))["description"] == "New."


def test_a_renamed_entity_keeps_what_people_wrote(administrator: httpx.Client, connector: httpx.Client) -> None:
    assert administrator.post("/classifications", json={"name": "Shop", "description": "x"}).status_code == 201
    request = {"name": "old", "classification": "Shop", "description": "Bot."}
    assert connector.put("/tags", json=request).status_code == 201
    for key, value in (("description", "By Jane."), ("name", "new")):
        body = [{"op": "replace", "path": f"/{key}", "value": value}]
        headers = {"Content-Type": "application/json-patch+json"}
        assert administrator.patch("/tags/name/Shop.old", json=body, headers=headers).status_code == 200
    assert connector.put("/tags", json=request | {"name": "new"}).json()["description"] == "By Jane."


def test_a_custom_property_of_a_person_stays(administrator: httpx.Client, connector: httpx.Client) -> None:
    types = administrator.get("/metadata/types/name/table").json()["id"]
    kind = administrator.get("/metadata/types/name/string").json()
    custom_property = {"name": "criticality", "description": "x", "propertyType": {"id": kind["id"], "type": "type"}}
    assert administrator.put(f"/metadata/types/{types}", json=custom_property).status_code == 200
    assert put(connector, "single", extension={"criticality": "low"})["extension"] == {"criticality": "low"}
    patch(administrator, ("/extension/criticality", "high"))
    assert put(connector, "single", extension={"criticality": "low"})["extension"] == {"criticality": "high"}


def test_tasks_of_pipelines_are_no_different(
    served: Served, administrator: httpx.Client, connector: httpx.Client
) -> None:
    service = {"name": "air", "serviceType": "Airflow"}
    assert administrator.post("/services/pipelineServices", json=service).status_code == 201
    request = {"name": "etl", "service": "air", "tasks": [{"name": "load", "description": "Bot."}]}
    assert connector.put("/pipelines", json=request).status_code == 201
    body = [{"op": "add", "path": "/tasks/0/description", "value": "By Jane."}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert administrator.patch("/pipelines/name/air.etl", json=body, headers=headers).status_code == 200
    assert connector.put("/pipelines", json=request).json()["tasks"][0]["description"] == "By Jane."
