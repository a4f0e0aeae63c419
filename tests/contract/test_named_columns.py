"""Tests of the routes of one column by its own name."""

from __future__ import annotations

import httpx
import pytest
from tests.serving import Json, Served, table

FQN = "warehouse.shop.public.people"
COLUMNS = [
    {"name": "id", "dataType": "BIGINT", "constraint": "PRIMARY_KEY"},
    {
        "name": "home",
        "dataType": "STRUCT",
        "children": [{"name": "street.no", "dataType": "STRING"}, {"name": "home", "dataType": "STRING"}],
    },
]


@pytest.fixture
def people(administrator: httpx.Client, orders: Json) -> Json:
    del orders
    return table(administrator, "people", columns=COLUMNS)


def test_a_column_is_read_by_its_name(administrator: httpx.Client, people: Json) -> None:
    assert administrator.get(f"/columns/name/{FQN}.id").json() == people["columns"][0]
    nested = administrator.get(f'/columns/name/{FQN}.home."street.no"', params={"entityType": "table"}).json()
    assert nested["fullyQualifiedName"] == f'{FQN}.home."street.no"'
    for missing in (f"{FQN}.nothing", "warehouse.shop.public.nowhere.id", "id", f"{FQN}.home.nothing"):
        answer = administrator.get(f"/columns/name/{missing}")
        assert (answer.status_code, answer.json()["code"]) == (404, 404), missing
    assert administrator.get(f"/columns/name/{FQN}.id", params={"entityType": "spoon"}).status_code == 400


def test_a_column_is_changed_by_its_name_as_a_version_of_its_table(administrator: httpx.Client, people: Json) -> None:
    path = f'/columns/name/{FQN}.home."street.no"'
    change = {"displayName": "Street", "description": "Where they live.", "tags": [{"tagFQN": "PII.Sensitive"}]}
    change_answer = administrator.put(path, json=change)
    assert change_answer.status_code == 200, change_answer.text
    assert (change_answer.json()["displayName"], change_answer.json()["description"]) == ("Street", "Where they live.")
    assert [label["tagFQN"] for label in change_answer.json()["tags"]] == ["PII.Sensitive"]
    read = administrator.get(f"/tables/{people['id']}").json()
    assert read["version"] == 0.2
    names = {one["name"] for one in read["changeDescription"]["fieldsAdded"]}
    assert names == {f'columns.home.children."street.no".{key}' for key in change}
    assert administrator.put(path, json=change).json() == change_answer.json()
    emptied_column = administrator.put(path, json={"displayName": "", "description": "", "tags": []}).json()
    assert emptied_column.keys().isdisjoint(("displayName", "description"))
    assert emptied_column["tags"] == []
    assert administrator.get(f"/tables/{people['id']}").json()["version"] == 0.3


def test_a_column_may_have_the_name_of_what_it_is_in(administrator: httpx.Client, people: Json) -> None:
    del people
    changed = administrator.put(f"/columns/name/{FQN}.home.home", json={"description": "By day."}).json()
    assert (changed["fullyQualifiedName"], changed["description"]) == (f"{FQN}.home.home", "By day.")


def test_a_constraint_of_a_column_is_set_and_removed(administrator: httpx.Client, people: Json) -> None:
    del people
    path = f"/columns/name/{FQN}.id"
    assert administrator.put(path, json={"constraint": "UNIQUE"}).json()["constraint"] == "UNIQUE"
    assert "constraint" not in administrator.put(path, json={"removeConstraint": True}).json()
    assert administrator.put(path, json={"constraint": "SPOON"}).status_code == 400
    assert administrator.put(path, json={"dataType": "INT"}).status_code == 400
    assert administrator.put(path, json={"tags": "PII.Sensitive"}).status_code == 400


def test_who_may_not_edit_a_table_may_not_edit_its_columns(
    served: Served, administrator: httpx.Client, people: Json
) -> None:
    del administrator, people
    _, client = served.person("alice")
    with client:
        assert client.get(f"/columns/name/{FQN}.id").status_code == 200
        assert client.put(f"/columns/name/{FQN}.id", json={"constraint": "UNIQUE"}).status_code == 403
