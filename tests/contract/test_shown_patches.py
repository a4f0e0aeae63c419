"""Tests of patches of what a GET shows: labels with what their tags say, addresses, derived fields, empty texts."""

from __future__ import annotations

import httpx
import pytest
from tests.serving import Json

HEADERS = {"Content-Type": "application/json-patch+json"}
ORDERS = "/tables/name/warehouse.shop.public.orders"
SENSITIVE, PERSONAL = {"tagFQN": "PII.Sensitive"}, {"tagFQN": "PersonalData.Personal"}

pytestmark = pytest.mark.usefixtures("orders")


def send_patch(client: httpx.Client, *operations: Json, path: str = ORDERS) -> Json:
    answer = client.patch(path, json=list(operations), headers=HEADERS)
    assert answer.status_code == 200, answer.text
    return read(client, path)


def read(client: httpx.Client, path: str = ORDERS) -> Json:
    return client.get(path, params={"fields": "*"}).json()


def op(name: str, path: str, value: Json = None) -> Json:
    return {"op": name, "path": path, "value": value}


@pytest.mark.parametrize("operation", [op("replace", "/serviceType", "Oracle"), op("remove", "/serviceType")])
def test_the_type_of_a_service_cannot_be_falsified(administrator: httpx.Client, operation: Json) -> None:
    for path in (ORDERS, "/databases/name/warehouse.shop", "/databaseSchemas/name/warehouse.shop.public"):
        before = read(administrator, path)
        after = send_patch(administrator, operation, path=path)
        assert (after["serviceType"], after["version"]) == ("Postgres", before["version"])


def test_a_service_of_another_type_hands_it_down(administrator: httpx.Client) -> None:
    before = read(administrator)
    service = "/services/databaseServices/name/warehouse"
    send_patch(administrator, op("replace", "/serviceType", "Redshift"), path=service)
    after = read(administrator)
    assert (after["serviceType"], after["version"]) == ("Redshift", before["version"])
    assert read(administrator, "/databases/name/warehouse.shop")["serviceType"] == "Redshift"


def test_who_impersonates_cannot_be_claimed(administrator: httpx.Client) -> None:
    after = send_patch(administrator, op("add", "/impersonatedBy", "ingestion-bot"))
    assert "impersonatedBy" not in after


@pytest.mark.parametrize("where", ["", "/columns/0"])
def test_labels_are_patched_as_they_are_shown(administrator: httpx.Client, where: str) -> None:
    first = send_patch(administrator, op("add", f"{where}/tags", [SENSITIVE]))
    label = (first["columns"][0] if where else first)["tags"][0]
    assert label["name"] == "Sensitive"
    after = send_patch(
        administrator,
        op("test", f"{where}/tags/0/name", "Sensitive"),
        op("replace", f"{where}/tags/0/tagFQN", "PersonalData.Personal"),
        op("replace", f"{where}/tags/0/name", "Personal"),
        op("replace", f"{where}/tags/0/description", "Personal data."),
    )
    labels = (after["columns"][0] if where else after)["tags"]
    assert [(one["tagFQN"], one["name"]) for one in labels] == [("PersonalData.Personal", "Personal")]
    assert labels[0]["description"] != "Personal data."


def test_what_a_label_shows_does_not_pass_for_something_else(administrator: httpx.Client) -> None:
    send_patch(administrator, op("add", "/tags", [SENSITIVE]))
    wrong = administrator.patch(ORDERS, json=[op("test", "/tags/0/name", "Personal")], headers=HEADERS)
    assert wrong.status_code == 400


def test_addresses_are_ignored(administrator: httpx.Client) -> None:
    first = send_patch(administrator, op("add", "/tags", [SENSITIVE]))
    after = send_patch(
        administrator,
        op("replace", "/href", "https://elsewhere.example.org"),
        op("remove", "/service/href"),
        op("add", "/tags/0/href", "https://elsewhere.example.org"),
        op("add", "/displayName", "Orders"),
    )
    assert (after["href"], after["displayName"]) == (first["href"], "Orders")


def test_an_empty_description_removes_it(administrator: httpx.Client) -> None:
    send_patch(administrator, op("add", "/description", "All."), op("add", "/columns/0/description", "The key."))
    after = send_patch(administrator, op("replace", "/description", ""), op("replace", "/columns/0/description", ""))
    assert "description" not in after
    assert "description" not in after["columns"][0]
    deleted_names = {one["name"] for one in after["changeDescription"]["fieldsDeleted"]}
    assert deleted_names == {"columns.id.description", "description"}


def test_a_description_that_must_be_there_may_be_empty(administrator: httpx.Client) -> None:
    assert administrator.post("/classifications", json={"name": "Shop", "description": "x"}).status_code == 201
    after = send_patch(administrator, op("replace", "/description", ""), path="/classifications/name/Shop")
    assert after["description"] == ""


def test_derived_labels_are_where_they_are_shown(administrator: httpx.Client) -> None:
    administrator.post("/glossaries", json={"name": "Words", "description": "x"})
    term = {"name": "Customer", "glossary": "Words", "description": "x"}
    administrator.post("/glossaryTerms", json=term)
    label = {"tagFQN": "Words.Customer", "source": "Glossary"}
    send_patch(administrator, op("add", "/tags", [label]))
    send_patch(administrator, op("add", "/tags", [PERSONAL]), path="/glossaryTerms/name/Words.Customer")
    assert [one["tagFQN"] for one in read(administrator)["tags"]] == ["Words.Customer", "PersonalData.Personal"]
    after = send_patch(administrator, op("test", "/tags/1/tagFQN", "PersonalData.Personal"), op("remove", "/tags/0"))
    assert after["tags"] == []
