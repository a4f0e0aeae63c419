"""Tests of the serialization of entities with inherited values, labels and relations."""

from __future__ import annotations

import json

import httpx
from tests.serving import Json, Served, table

PATCH = {"Content-Type": "application/json-patch+json"}


def send_patch(client: httpx.Client, path: str, *operations: Json) -> Json:
    answer = client.patch(path, content=json.dumps(operations), headers=PATCH)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_owners_and_domains_are_inherited_and_marked(served: Served, administrator: httpx.Client, orders: Json) -> None:
    user_id, alice = served.person("alice")
    alice.close()
    schema = administrator.get("/databaseSchemas/name/warehouse.shop.public").json()
    owner = {"op": "add", "path": "/owners/0", "value": {"id": user_id, "type": "user"}}
    send_patch(administrator, f"/databaseSchemas/{schema['id']}", owner)
    read = administrator.get(f"/tables/{orders['id']}?fields=owners,domains").json()
    assert [(one["name"], one["inherited"]) for one in read["owners"]] == [("alice", True)]
    assert read["domains"] == []
    listed_tables = administrator.get("/tables?fields=owners").json()["data"]
    assert [[one["name"] for one in each["owners"]] for each in listed_tables] == [["alice"]]
    answer = send_patch(administrator, f"/tables/{orders['id']}", {"op": "add", "path": "/description", "value": "x"})
    assert answer["owners"][0]["inherited"] is True
    assert "owners" not in administrator.get(f"/tables/{orders['id']}").json()
    version = administrator.get(f"/tables/{orders['id']}/versions/0.2").json()
    assert version["owners"] == []
    bad = [{"op": "test", "path": "/owners/0/name", "value": "alice"}, {"op": "remove", "path": "/owners/0"}]
    assert send_patch(administrator, f"/tables/{orders['id']}", *bad)["version"] == 0.2


def test_a_label_says_what_its_tag_says_now(administrator: httpx.Client, orders: Json) -> None:
    table(administrator, "tagged", tags=[{"tagFQN": "PII.None"}])
    tag = administrator.get("/tags/name/PII.None").json()
    style = {"color": "#ff0000"}
    change = [{"op": "add", "path": key, "value": value} for key, value in (("/displayName", "No"), ("/style", style))]
    send_patch(administrator, f"/tags/{tag['id']}", *change)
    for read in (
        administrator.get("/tables/name/warehouse.shop.public.tagged?fields=tags").json(),
        administrator.get("/tables?fields=tags").json()["data"][1],
    ):
        (label,) = read["tags"]
        assert (label["name"], label["displayName"], label["style"]) == ("None", "No", style)
        assert label["description"] == tag["description"]


def test_a_term_that_gets_a_tag_gives_it_to_what_it_describes(administrator: httpx.Client, orders: Json) -> None:
    administrator.post("/glossaries", json={"name": "Business", "description": "x"})
    term = administrator.post("/glossaryTerms", json={"name": "Sale", "description": "x", "glossary": "Business"})
    sold = table(administrator, "sold", tags=[{"tagFQN": "Business.Sale", "source": "Glossary"}])
    assert [label["labelType"] for label in sold["tags"]] == ["Manual"]
    label = {"op": "add", "path": "/tags/0", "value": {"tagFQN": "PII.Sensitive"}}
    send_patch(administrator, f"/glossaryTerms/{term.json()['id']}", label)
    read = administrator.get(f"/tables/{sold['id']}?fields=tags").json()["tags"]
    assert [(one["tagFQN"], one["labelType"]) for one in read] == [
        ("Business.Sale", "Manual"),
        ("PII.Sensitive", "Derived"),
    ]
    assert read[1]["name"] == "Sensitive"


def test_a_query_without_a_name_is_called_by_its_checksum(administrator: httpx.Client, orders: Json) -> None:
    response = administrator.post("/queries", json={"query": "select 1", "service": "warehouse", "dialect": "ansi"})
    assert response.status_code == 201, response.text
    assert response.json()["name"] == response.json()["checksum"] == "95adb6e77a0884d9e50232cb8c5c969d"
    assert administrator.put("/queries", json={"query": "select 1", "service": "warehouse"}).json()["version"] == 0.1


def test_related_terms_are_given_by_name(administrator: httpx.Client) -> None:
    administrator.post("/glossaries", json={"name": "Business", "description": "x"})
    term = {"description": "x", "glossary": "Business"}
    administrator.post("/glossaryTerms", json={"name": "Sale", **term})
    response = administrator.post("/glossaryTerms", json={"name": "Refund", **term, "relatedTerms": ["Business.Sale"]})
    assert response.status_code == 201, response.text
    (relation,) = response.json()["relatedTerms"]
    assert (relation["relationType"], relation["term"]["fullyQualifiedName"]) == ("relatedTo", "Business.Sale")
    unknown = {"name": "Lost", **term, "relatedTerms": ["Business.No"]}
    assert administrator.post("/glossaryTerms", json=unknown).status_code == 404


def test_an_unknown_tag_is_404_with_its_name(administrator: httpx.Client, orders: Json) -> None:
    patch = [{"op": "add", "path": "/tags/0", "value": {"tagFQN": "No.Such"}}]
    answer = administrator.patch(f"/tables/{orders['id']}", content=json.dumps(patch), headers=PATCH)
    assert (answer.status_code, "No.Such" in answer.json()["message"]) == (404, True)
