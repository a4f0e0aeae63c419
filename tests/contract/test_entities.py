"""Tests of the entity routes as OpenMetadata's client uses them: design/openmetadata-client.md, by HTTP."""

from __future__ import annotations

import json
from urllib.parse import quote

import httpx
import pytest
from tests.serving import Json, Served, table

PATCH = {"Content-Type": "application/json-patch+json"}


def send_patch(client: httpx.Client, path: str, *operations: Json, **headers: str) -> httpx.Response:
    return client.patch(path, content=json.dumps(operations), headers={**PATCH, **headers})


def test_an_entity_is_read_by_id_and_by_name(administrator: httpx.Client, orders: Json) -> None:
    by_id = administrator.get(f"/tables/{orders['id']}")
    by_name = administrator.get("/tables/name/warehouse.shop.public.orders")
    assert by_id.status_code == by_name.status_code == 200
    assert by_id.json() == by_name.json()
    assert by_id.json()["href"] == f"{administrator.base_url}tables/{orders['id']}".replace("v1/tables", "v1/tables")


def test_the_seeds_base_path_is_an_alias(served: Served, administrator: httpx.Client, orders: Json) -> None:
    answer = httpx.get(f"{served.url}/v1/tables/{orders['id']}", headers=administrator.headers)
    assert answer.json()["name"] == "orders"


def test_a_trailing_slash_is_no_redirect(administrator: httpx.Client, orders: Json) -> None:
    assert administrator.get(f"/tables/{orders['id']}/").status_code == 200


def test_a_name_may_hold_a_slash_a_dot_and_a_quotation_mark(administrator: httpx.Client, orders: Json) -> None:
    slashed = table(administrator, 'a.b/c "d" %2F é')
    answer = administrator.get(f"/tables/name/{quote(slashed['fullyQualifiedName'], safe='')}")
    assert answer.status_code == 200
    assert answer.json()["id"] == slashed["id"]


def test_only_the_fields_asked_for_appear(administrator: httpx.Client, orders: Json) -> None:
    plain = administrator.get(f"/tables/{orders['id']}").json()
    assert not {"owners", "tags", "followers", "domains"} & plain.keys()
    fields = administrator.get(f"/tables/{orders['id']}?fields=owners,tags,followers").json()
    assert (fields["owners"], fields["tags"], fields["followers"]) == ([], [], [])
    assert administrator.get(f"/tables/{orders['id']}?fields=*").status_code == 200
    assert administrator.get(f"/tables/{orders['id']}?fields=usageSummary").status_code == 200


def test_an_unknown_field_is_refused_with_a_way_out(administrator: httpx.Client, orders: Json) -> None:
    answer = administrator.get(f"/tables/{orders['id']}?fields=owner5")
    assert answer.status_code == 400
    assert "'owner5'" in answer.json()["message"]


def test_what_is_not_there_answers_404_with_an_integer_code(administrator: httpx.Client) -> None:
    for path in ("/tables/name/nowhere", "/tables/00000000-0000-0000-0000-000000000000", "/nothing/at/all"):
        answer = administrator.get(path)
        assert (answer.status_code, answer.json()["code"]) == (404, 404)
        assert isinstance(answer.json()["message"], str)


def test_creating_twice_is_a_conflict_and_putting_twice_is_not(administrator: httpx.Client, orders: Json) -> None:
    request = {"name": "orders", "databaseSchema": "warehouse.shop.public", "columns": orders["columns"]}
    assert administrator.post("/tables", json=request).status_code == 409
    again = administrator.put("/tables", json=request)
    assert (again.status_code, again.json()["version"]) == (200, 0.1)
    new = administrator.put("/tables", json={**request, "name": "fresh"})
    assert new.status_code == 201


def test_an_unknown_parent_is_404(administrator: httpx.Client, orders: Json) -> None:
    answer = administrator.post("/tables", json={"name": "x", "databaseSchema": "no.such.schema", "columns": []})
    assert answer.status_code == 404


@pytest.mark.parametrize("form", ["etag", "strong", "weak", "star", "list"])
def test_if_match_takes_every_form_of_the_present_version(administrator: httpx.Client, orders: Json, form: str) -> None:
    read = administrator.get(f"/tables/{orders['id']}")
    strong = read.headers["ETag"]
    tag = {
        "etag": strong,
        "strong": strong,
        "weak": 'W/"0.1"',
        "star": "*",
        "list": f'"bogus", W/"9.9", {strong}',
    }[form]
    operation = {"op": "add", "path": "/description", "value": "All orders."}
    answer = send_patch(administrator, f"/tables/{orders['id']}", operation, **{"If-Match": tag})
    assert (answer.status_code, answer.json()["version"]) == (200, 0.2)


def test_a_stale_if_match_is_412(administrator: httpx.Client, orders: Json) -> None:
    operation = {"op": "add", "path": "/description", "value": "All orders."}
    for tag in ('W/"0.7"', '"0123456789abcdef"', "nonsense"):
        answer = send_patch(administrator, f"/tables/{orders['id']}", operation, **{"If-Match": tag})
        assert (answer.status_code, answer.json()["code"]) == (412, 412)


def test_a_patch_by_name_adds_an_owner_to_the_empty_list(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    user_id, _ = served.person("alice")
    operation = {"op": "add", "path": "/owners/0", "value": {"id": user_id, "type": "user"}}
    answer = send_patch(administrator, "/tables/name/warehouse.shop.public.orders", operation)
    assert answer.status_code == 200
    assert [owner["name"] for owner in answer.json()["owners"]] == ["alice"]


def test_delete_and_restore(administrator: httpx.Client, orders: Json) -> None:
    path = f"/tables/{orders['id']}"
    assert administrator.delete(path).status_code == 200
    assert administrator.get(path).status_code == 404
    assert administrator.get(f"{path}?include=all").json()["deleted"] is True
    assert administrator.put("/tables/restore", json={"id": orders["id"]}).json()["deleted"] is False
    assert administrator.delete(path).status_code == 200
    by_name = {"fullyQualifiedName": "warehouse.shop.public.orders"}
    assert administrator.put("/tables/restore", json=by_name).json()["deleted"] is False
    assert administrator.put("/tables/restore", json={}).status_code == 400
    assert administrator.delete("/tables/name/warehouse.shop.public.orders?hardDelete=true").status_code == 200
    assert administrator.get(f"{path}?include=all").status_code == 404


def test_a_container_with_content_is_deleted_only_recursively(administrator: httpx.Client, orders: Json) -> None:
    path = "/databaseSchemas/name/warehouse.shop.public"
    refused = administrator.delete(path)
    assert (refused.status_code, "recursive=true" in refused.text) == (400, True)
    assert administrator.delete(f"{path}?recursive=true").status_code == 200
    assert administrator.get(f"/tables/{orders['id']}?include=deleted").status_code == 200


def test_the_children_of_a_container_are_paged(administrator: httpx.Client, orders: Json) -> None:
    administrator.post("/services/storageServices", json={"name": "s3", "serviceType": "S3"})
    bucket = administrator.post("/containers", json={"name": "a.b", "service": "s3"}).json()
    for name in ("x", "y", "z"):
        parent = {"id": bucket["id"], "type": "container"}
        child = administrator.post("/containers", json={"name": name, "service": "s3", "parent": parent}).json()
    inside = {"id": child["id"], "type": "container"}
    administrator.post("/containers", json={"name": "deeper", "service": "s3", "parent": inside})
    pages = [
        administrator.get(f"/containers/name/s3.%22a.b%22/children?limit=2&offset={offset}").json() for offset in (0, 2)
    ]
    assert [[one["name"] for one in page["data"]] for page in pages] == [["x", "y"], ["z"]]
    assert pages[1]["paging"] == {"offset": 2, "limit": 2, "total": 3}
    assert pages[0]["data"][0]["service"]["name"] == "s3"
    assert administrator.get("/containers/name/nowhere/children").status_code == 404
    refusal = administrator.get(f"/tables/name/{orders['fullyQualifiedName']}/children")
    assert (refusal.status_code, "have no children" in refusal.text) == (404, True)


def test_the_ancestors_of_a_container_are_listed_from_the_outermost(
    served: Served, administrator: httpx.Client
) -> None:
    administrator.post("/services/storageServices", json={"name": "s3", "serviceType": "S3"})
    above: Json = {}
    for name in ("a.b", "x", "y"):
        request = {"name": name, "service": "s3"} | ({"parent": above} if above else {})
        container = administrator.post("/containers", json=request).json()
        above = {"id": container["id"], "type": "container"}
    ancestors = administrator.get("/containers/name/s3.%22a.b%22.x.y/ancestors").json()
    assert [(one["name"], one["type"]) for one in ancestors] == [("a.b", "container"), ("x", "container")]
    assert ancestors[0]["href"] == f"{served.url}/api/v1/containers/{ancestors[0]['id']}"
    assert administrator.get("/containers/name/s3.%22a.b%22/ancestors").json() == []
    assert administrator.get("/tables/name/x/ancestors").status_code == 404


def test_versions_are_json_texts_newest_first(administrator: httpx.Client, orders: Json) -> None:
    send_patch(administrator, f"/tables/{orders['id']}", {"op": "add", "path": "/description", "value": "Orders."})
    history = administrator.get(f"/tables/{orders['id']}/versions").json()
    assert history["entityType"] == "table"
    assert [json.loads(text)["version"] for text in history["versions"]] == [0.2, 0.1]
    assert "words" not in history
    worded = administrator.get(f"/tables/{orders['id']}/versions?words=true").json()
    assert (worded["versions"], worded["words"]) == (history["versions"], [["description added: Orders."], ["created"]])
    assert worded["authors"] == ["Administrator", "Administrator"]
    assert {json.loads(text)["updatedBy"] for text in worded["versions"]} == {"admin"}
    assert "description" not in administrator.get(f"/tables/{orders['id']}/versions/0.1").json()
    assert administrator.get(f"/tables/{orders['id']}/versions/7.7").status_code == 404
    assert administrator.get(f"/tables/{orders['id']}/versions/latest").status_code == 400


def test_a_list_is_read_page_by_page(administrator: httpx.Client, orders: Json) -> None:
    for name in ("a", "b", "c"):
        table(administrator, name)
    first = administrator.get("/tables?limit=3").json()
    assert (len(first["data"]), first["paging"]["total"]) == (3, 4)
    next_page = administrator.get(f"/tables?limit=3&after={first['paging']['after']}").json()
    assert [one["name"] for one in first["data"] + next_page["data"]] == ["a", "b", "c", "orders"]
    assert "after" not in next_page["paging"]
    back = administrator.get(f"/tables?limit=3&before={next_page['paging']['before']}").json()
    assert [one["name"] for one in back["data"]] == ["a", "b", "c"]
    assert administrator.get("/tables?limit=0").json() == {"data": [], "paging": {"total": 4}}
    assert administrator.get("/tables?databaseSchema=warehouse.shop.public").json()["paging"]["total"] == 4
    assert administrator.get("/tables?databaseSchema=warehouse.shop.other").json()["paging"]["total"] == 0


@pytest.mark.parametrize(
    "query", ["limit=-1", "limit=1000001", "limit=x", "after=%21%21", "include=some", "fields=foo"]
)
def test_a_list_refuses_what_it_cannot_do(administrator: httpx.Client, query: str) -> None:
    answer = administrator.get(f"/tables?{query}")
    assert (answer.status_code, answer.json()["code"]) == (400, 400)


def test_people_are_made_by_administrators_only(served: Served, administrator: httpx.Client) -> None:
    user_id, alice = served.person("alice")
    with alice:
        assert alice.post("/users", json={"name": "eve", "email": "eve@example.org"}).status_code == 403
        assert alice.get("/users/loggedInUser").json()["name"] == "alice"
        grab = {"op": "add", "path": "/isAdmin", "value": True}
        assert send_patch(alice, f"/users/{user_id}", grab).status_code == 403
        me = alice.get(f"/users/{user_id}").json()
        whole_user = {"op": "replace", "path": "", "value": {**me, "isAdmin": True}}
        assert send_patch(alice, f"/users/{user_id}", whole_user).status_code == 403
        name = {"op": "add", "path": "/displayName", "value": "Alice"}
        assert send_patch(alice, f"/users/{user_id}", name).json()["displayName"] == "Alice"
    assert "password" not in administrator.get(f"/users/{user_id}").text


def test_a_bot_makes_people_but_gives_no_powers(served: Served, administrator: httpx.Client) -> None:
    bot = administrator.post("/users", json={"name": "bot", "email": "bot@example.org", "isBot": True}).json()
    token = administrator.put(f"/users/generateToken/{bot['id']}", json={}).json()["JWTToken"]
    with served.client(token) as client:
        assert client.put("/users", json={"name": "carl", "email": "carl@example.org"}).status_code == 201
        powerful = {"name": "dora", "email": "dora@example.org", "isAdmin": True}
        assert client.put("/users", json=powerful).status_code == 403


def test_an_administrator_cannot_delete_themselves(administrator: httpx.Client) -> None:
    me = administrator.get("/users/loggedInUser").json()
    assert administrator.delete(f"/users/{me['id']}").status_code == 403
    assert administrator.delete("/users/name/admin?hardDelete=true").status_code == 403


def test_a_misspelt_name_is_answered_with_the_one_that_was_meant(administrator: httpx.Client, orders: Json) -> None:
    creation = administrator.post("/users", json={"name": "dana.whitlock", "email": "dana@example.org"})
    assert creation.status_code == 201
    request = {"name": "more", "databaseSchema": "warehouse.shop.pulbic", "columns": orders["columns"]}
    about = {"about": "<#E::table::warehouse.shop.public.ordrs>", "message": "x"}
    for answer, nearest_name in (
        (administrator.get("/tables/name/warehouse.shop.publc.orders"), "warehouse.shop.public.orders"),
        (administrator.get("/users/name/dana.witlock"), "dana.whitlock"),
        (administrator.get("/permissions?user=dana.whitlok"), "dana.whitlock"),
        (administrator.post("/tables", json=request), "warehouse.shop.public"),
        (administrator.post("/feed", json=about), "warehouse.shop.public.orders"),
    ):
        assert answer.status_code == 404
        assert answer.json()["message"].endswith(f" not found; did you mean {nearest_name}?")
    response = administrator.delete("/tables/name/warehouse.shop.public.orders")
    assert response.status_code == 200
    assert "did you mean" not in administrator.get("/tables/name/warehouse.shop.public.ordrs").json()["message"]
