"""Tests of custom properties of types, and of the validation of ``extension``."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from tests.serving import Json, Served

from tocsin.catalogue.governance.custom_properties import KINDS
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import with_article

MADE = ("href", "deleted")
PATCH = {"Content-Type": "application/json-patch+json"}


def give(client: httpx.Client, name: str, kind: str, config: Any = None) -> httpx.Response:
    table = client.get("/metadata/types/name/table?fields=customProperties").json()
    property_kind = client.get(f"/metadata/types/name/{kind}?category=field").json()
    body = {"name": name, "description": "x", "propertyType": {"id": property_kind["id"], "type": "type"}}
    config_field = {} if config is None else {"customPropertyConfig": {"config": config}}
    return client.put(f"/metadata/types/{table['id']}", json=body | config_field)


def extend(client: httpx.Client, table: Json, extension: Json) -> httpx.Response:
    patch = [{"op": "add", "path": "/extension", "value": extension}]
    return client.patch(f"/tables/{table['id']}", content=json.dumps(patch), headers=PATCH)


def as_stored(extension: Json) -> Json:
    """Return values without what answers add to references."""
    values: Json = json.loads(json.dumps(extension), object_hook=lambda one: {k: one[k] for k in one if k not in MADE})
    return values


def test_every_type_and_every_kind_is_there_from_the_first_start(administrator: httpx.Client) -> None:
    for category, names in (("entity", ENTITY_TYPES), ("field", KINDS)):
        listed = administrator.get(f"/metadata/types?category={category}&limit=1000").json()
        assert {one["name"] for one in listed["data"]} == set(names)
        assert listed["paging"]["total"] == len(names)


def test_a_property_makes_a_version_of_its_type_and_can_be_described_anew(administrator: httpx.Client) -> None:
    first = give(administrator, "cost", "integer")
    assert (first.status_code, first.json()["version"]) == (200, 0.2)
    assert [one["name"] for one in first.json()["customProperties"]] == ["cost"]
    assert first.json()["customProperties"][0]["propertyType"]["name"] == "integer"
    assert give(administrator, "cost", "integer").json()["version"] == 0.2
    assert give(administrator, "cost", "string").status_code == 400
    assert give(administrator, "since", "timestamp").json()["version"] == 0.3


@pytest.mark.parametrize(
    ("kind", "config", "good", "bad"),
    [
        ("string", None, "x", 5),
        ("integer", None, 5, "5"),
        ("integer", None, -1, True),
        ("number", None, 0.5, "x"),
        ("email", None, "a@b.c", "nobody"),
        ("markdown", None, "# x", []),
        ("date-cp", "yyyy-MM-dd", "2024-01-31", "someday"),
        ("dateTime-cp", "yyyy-MM-dd HH:mm:ss", "2024-01-31 10:00:00", "2024-01-31"),
        ("time-cp", "HH:mm:ss", "10:00:00", "noon"),
        ("timestamp", None, 1_700_000_000_000, "now"),
        ("enum", {"values": ["a", "b"], "multiSelect": False}, ["a"], ["a", "b"]),
        ("enum", {"values": ["a", "b"], "multiSelect": True}, ["a", "b"], ["c"]),
        ("entityReference", ["user"], {"id": "{me}", "type": "user"}, {"id": "{me}", "type": "team"}),
        ("entityReferenceList", ["user"], [{"id": "{me}", "type": "user"}], {"id": "{me}", "type": "user"}),
        ("timeInterval", None, {"start": 1, "end": 2}, {"start": 1}),
        ("duration", None, "P1DT2H", "a day"),
        ("sqlQuery", None, "select 1", 1),
        ("hyperlink-cp", None, {"url": "https://x", "displayText": "x"}, "https://x"),
        ("table-cp", {"columns": ["a"]}, {"columns": ["a"], "rows": [{"a": "1"}]}, {"rows": [{"b": "1"}]}),
    ],
)
def test_a_value_must_be_of_its_propertys_kind(
    administrator: httpx.Client, orders: Json, kind: str, config: Any, good: Any, bad: Any
) -> None:
    assert give(administrator, "own", kind, config).status_code == 200
    me = administrator.get("/users/loggedInUser").json()["id"]
    good, bad = (json.loads(json.dumps(value).replace("{me}", me)) for value in (good, bad))
    assert as_stored(extend(administrator, orders, {"own": good}).json()["extension"]) == {"own": good}
    refused = extend(administrator, orders, {"own": bad})
    assert (refused.status_code, f"must be {with_article(kind)}" in refused.json()["message"]) == (400, True)


@pytest.fixture
def steward(served: Served, administrator: httpx.Client) -> Json:
    """A reference to a person who may be the value of the custom properties ``steward`` and ``experts``."""
    give(administrator, "steward", "entityReference", ["user"])
    give(administrator, "experts", "entityReferenceList", ["user"])
    person_id, client = served.person("alice")
    client.close()
    return {"id": person_id, "type": "user"}


def test_references_in_values_have_an_address_and_say_whether_they_are_deleted(
    served: Served, administrator: httpx.Client, orders: Json, steward: Json
) -> None:
    answer = extend(administrator, orders, {"steward": steward, "experts": [steward]}).json()
    reference = steward | {"href": f"{served.url}/api/v1/users/{steward['id']}", "deleted": False}
    assert answer["extension"] == {"steward": reference, "experts": [reference]}
    assert answer["changeDescription"]["fieldsAdded"][0]["newValue"] == steward, "the change holds what was sent"
    assert administrator.delete(f"/users/{steward['id']}").is_success
    for path in (f"{orders['id']}?fields=extension", f"{orders['id']}/versions/0.2"):
        extension = administrator.get(f"/tables/{path}").json()["extension"]
        assert extension == {"steward": reference | {"deleted": True}, "experts": [reference | {"deleted": True}]}


def test_values_that_are_sent_back_as_they_were_shown_change_nothing(
    administrator: httpx.Client, orders: Json, steward: Json
) -> None:
    table = extend(administrator, orders, {"steward": steward, "experts": [steward]}).json()
    assert extend(administrator, orders, table["extension"]).json()["version"] == table["version"]
    tested = [{"op": "test", "path": "/extension", "value": table["extension"]}]
    tested += [{"op": "remove", "path": f"/extension/{path}"} for path in ("steward/href", "experts/0/deleted")]
    answer = administrator.patch(f"/tables/{orders['id']}", content=json.dumps(tested), headers=PATCH)
    assert (answer.status_code, answer.json().get("version")) == (200, table["version"]), answer.text
    body = {key: orders[key] for key in ("name", "columns")} | {"databaseSchema": "warehouse.shop.public"}
    put = administrator.put("/tables", json=body | {"extension": table["extension"]}).json()
    assert (put["version"], put["extension"]) == (table["version"], table["extension"])


def test_what_answers_add_to_references_is_not_stored(administrator: httpx.Client, orders: Json, steward: Json) -> None:
    sent = steward | {"href": "http://elsewhere/", "deleted": True}
    change = extend(administrator, orders, {"experts": [sent]}).json()["changeDescription"]
    assert change["fieldsAdded"][0]["newValue"] == [steward]


def test_a_property_may_be_called_as_what_answers_add_to_references(administrator: httpx.Client, orders: Json) -> None:
    for name in MADE:
        give(administrator, name, "string")
    extend(administrator, orders, {"href": "a", "deleted": "b"})
    patch = [{"op": "replace", "path": f"/extension/{name}", "value": "c"} for name in MADE]
    answer = administrator.patch(f"/tables/{orders['id']}", content=json.dumps(patch), headers=PATCH)
    assert answer.json()["extension"] == {"href": "c", "deleted": "c"}


def test_a_property_that_there_is_not_is_refused_with_those_there_are(
    administrator: httpx.Client, orders: Json
) -> None:
    assert "it has none" in extend(administrator, orders, {"own": 1}).json()["message"]
    give(administrator, "cost", "integer")
    refused = extend(administrator, orders, {"price": 1})
    assert (refused.status_code, "valid properties: cost" in refused.json()["message"]) == (400, True)


def test_a_property_that_goes_takes_its_values_along(administrator: httpx.Client, orders: Json) -> None:
    for name in ("cost", "price"):
        give(administrator, name, "integer")
    assert extend(administrator, orders, {"cost": 1, "price": 2}).json()["version"] == 0.2
    kind = administrator.get("/metadata/types/name/table").json()
    patch = [{"op": "remove", "path": "/customProperties/0"}]
    answer = administrator.patch(f"/metadata/types/{kind['id']}", content=json.dumps(patch), headers=PATCH)
    assert answer.status_code == 200, answer.text
    table = administrator.get(f"/tables/{orders['id']}?fields=extension").json()
    assert (table["extension"], table["version"]) == ({"price": 2}, 0.3)


def test_a_patch_of_a_type_defines_properties_as_a_put_of_one_does(administrator: httpx.Client, orders: Json) -> None:
    kind = administrator.get("/metadata/types/name/integer").json()["id"]
    path = f"/metadata/types/{administrator.get('/metadata/types/name/table').json()['id']}"

    def patch_type(kind_id: str) -> httpx.Response:
        value = {"name": "cost", "description": "x", "propertyType": {"id": kind_id, "type": "type"}}
        patch = [{"op": "add", "path": "/customProperties", "value": [value]}]
        return administrator.patch(path, content=json.dumps(patch), headers=PATCH)

    assert patch_type("00000000-0000-0000-0000-000000000000").status_code == 404
    assert patch_type(kind).json()["customProperties"][0]["propertyType"]["name"] == "integer"
    assert give(administrator, "cost", "integer").status_code == 200
    assert extend(administrator, orders, {"cost": "five"}).status_code == 400


@pytest.mark.parametrize("config", [None, "x", {}, {"values": []}, {"values": 5}, {"values": [5]}])
def test_an_enum_without_words_is_refused(administrator: httpx.Client, config: Any) -> None:
    refused = give(administrator, "size", "enum", config)
    assert (refused.status_code, "config.values" in refused.json()["message"]) == (400, True), refused.text
