"""Tests of Atom feeds: an address opens one feed, as far as its person may see it by then."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

import httpx
import pytest
from sqlalchemy import Engine, select, update
from tests.contract.test_access import restrict
from tests.serving import Json, Served, table

from tocsin.model.change import LoggedEvent
from tocsin.store.database.engine import writing
from tocsin.store.database.page_bytes import BoundedList
from tocsin.store.database.people_tables import issued_token
from tocsin.store.eventlog.activity import Activity, FeedPage

_ATOM = {"a": "http://www.w3.org/2005/Atom"}
HOSTILE = '<script>alert("&amp;")</script> \\u0007 ]]>'


@pytest.fixture
def alice(served: Served) -> Iterator[tuple[str, httpx.Client]]:
    user_id, client = served.person("alice")
    with client:
        yield user_id, client


def describe(administrator: httpx.Client, asset: Json, text: str) -> None:
    patch = [{"op": "add", "path": "/description", "value": text}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert administrator.request("PATCH", f"/tables/{asset['id']}", json=patch, headers=headers).is_success


def make(client: httpx.Client, user_id: str, **feed: str) -> Json:
    answer = client.post(f"/users/{user_id}/feeds", json=feed)
    assert answer.status_code == 201, answer.text
    address: Json = answer.json()
    return address


def entries_of(url: str) -> list[ElementTree.Element]:
    """Return the entries of a feed, read without any log-in."""
    answer = httpx.get(url)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("application/atom+xml")
    assert answer.headers["cache-control"] == "private, no-store"
    return ElementTree.fromstring(answer.content).findall("a:entry", _ATOM)


def text_of(entry: ElementTree.Element, name: str) -> str:
    return entry.findtext(f"a:{name}", "", _ATOM)


def test_an_address_opens_the_feed_of_its_person_until_it_is_revoked(
    served: Served, administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json
) -> None:
    user_id, client = alice
    client.put(f"/tables/{orders['id']}/followers/{user_id}")
    describe(administrator, orders, HOSTILE)
    address = make(client, user_id, of="following")
    (latest, *_) = entries_of(address["url"])
    assert text_of(latest, "title").startswith("orders: description")
    assert "<script>" in text_of(latest, "title") + text_of(latest, "content"), "as text, not as markup"
    assert latest.find("a:link", _ATOM).attrib["href"].endswith(f"/#/tables/{orders['id']}")  # type: ignore[union-attr]
    feed_rows = client.get(f"/users/{user_id}/feeds").json()["data"]
    assert [(one["id"], one["feed"], one["url"]) for one in feed_rows] == [(address["id"], "following", None)]
    assert client.delete(f"/users/{user_id}/feeds/{address['id']}").is_success
    assert httpx.get(address["url"]).status_code == 404
    assert client.delete(f"/users/{user_id}/feeds/{address['id']}").status_code == 404


def test_the_secret_is_stored_as_a_hash_and_opens_nothing_else(
    alice: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    user_id, client = alice
    address = make(client, user_id)
    secret = address["url"].rpartition("/")[2]
    with sqlite_engine.connect() as connection:
        stored_row = connection.execute(select(issued_token).where(issued_token.c.kind == "feed")).one()
    assert secret not in str(stored_row)
    assert str(stored_row.id) == address["id"] not in address["url"]
    base = address["url"].rpartition("/atom/")[0]
    for token in (secret, address["id"]):
        bearer = {"Authorization": f"Bearer {token}"}
        assert httpx.get(f"{base}/users/{user_id}/activity", headers=bearer).status_code == 401
    assert httpx.get(f"{base}/atom/{address['id']}").status_code == 404
    assert httpx.get(f"{base}/atom/{secret}x").status_code == 404


def test_rights_are_those_at_each_read(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json
) -> None:
    user_id, client = alice
    client.put(f"/tables/{orders['id']}/followers/{user_id}")
    describe(administrator, orders, "new")
    own_feed = make(client, user_id)
    of_asset = make(client, user_id, type="table", id=orders["id"])
    assert len(entries_of(own_feed["url"])) == len(entries_of(of_asset["url"])) == 2, "created and described"
    restrict(
        administrator,
        user_id,
        {"name": "hidden", "effect": "deny", "resources": ["table"], "operations": ["ViewAll", "ViewBasic"]},
    )
    assert entries_of(own_feed["url"]) == []
    assert httpx.get(of_asset["url"]).status_code in {403, 404}


def test_a_feed_ends_with_its_person_and_nobody_makes_one_for_another(
    served: Served, administrator: httpx.Client, alice: tuple[str, httpx.Client]
) -> None:
    user_id, client = alice
    _, bob = served.person("bob")
    with bob:
        assert bob.post(f"/users/{user_id}/feeds", json={}).status_code == 403
        assert bob.get(f"/users/{user_id}/feeds").status_code == 403
    assert administrator.post(f"/users/{user_id}/feeds", json={}).status_code == 403
    address = make(client, user_id)
    assert entries_of(address["url"]) == []
    assert administrator.delete(f"/users/{user_id}").is_success
    assert httpx.get(address["url"]).status_code == 404


def test_a_feed_that_was_made_with_a_personal_token_ends_with_it(
    served: Served, alice: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    user_id, client = alice
    own_address = make(client, user_id)
    addresses = []
    for name in ("revoked", "expired"):
        token = client.put("/users/security/token", json={"tokenName": name, "JWTTokenExpiry": "OneHour"}).json()
        with served.client(token["jwtToken"]) as script:
            addresses.append(make(script, user_id))
        assert entries_of(addresses[-1]["url"]) == []
        if name == "revoked":
            client.put("/users/security/token/revoke", json={"tokenIds": [token["token"]]})
            assert httpx.get(addresses[-1]["url"]).status_code == 404
    is_it = issued_token.c.id == addresses[-1]["id"]
    with writing(sqlite_engine) as connection:
        connection.execute(update(issued_token).where(is_it).values(expires_at_ms=1))
    assert httpx.get(addresses[-1]["url"]).status_code == 404
    assert entries_of(own_address["url"]) == [], "made after a log-in, it stays"


@pytest.mark.parametrize(
    ("feed", "field"),
    [
        ({"of": "everything"}, "of"),
        ({"type": "table"}, "of"),
        ({"type": "tabel", "id": "5a000000-0000-4000-8000-000000000001"}, "type"),
        ({"of": "all", "type": "table", "id": "5a000000-0000-4000-8000-000000000001"}, "of"),
        ({"url": "x"}, "url"),
    ],
)
def test_a_feed_that_is_none_is_refused_with_its_place(alice: tuple[str, httpx.Client], feed: Json, field: str) -> None:
    user_id, client = alice
    answer = client.post(f"/users/{user_id}/feeds", json=feed)
    assert answer.status_code == 400, answer.text
    assert field in answer.json()["message"]


def test_addresses_are_limited(alice: tuple[str, httpx.Client]) -> None:
    user_id, client = alice
    for _ in range(50):
        make(client, user_id)
    assert client.post(f"/users/{user_id}/feeds", json={}).status_code == 400


def test_the_feed_of_an_asset_is_readable_with_other_events(administrator: httpx.Client, orders: Json) -> None:
    me = administrator.get("/users/loggedInUser").json()["id"]
    unrelated_table = table(administrator, "other")
    describe(administrator, unrelated_table, "elsewhere")
    address = make(administrator, me, type="table", id=orders["id"])
    assert all(text_of(one, "title").startswith("orders") for one in entries_of(address["url"]))


def test_a_feed_of_which_hardly_anything_may_be_seen_is_read_in_few_steps(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_id, client = alice
    for number in range(12):
        describe(administrator, orders, f"text {number}")
    restrict(administrator, user_id, {"effect": "deny", "resources": ["table"]})
    pages: list[FeedPage] = []
    read = Activity.of_entity

    def read_and_note(activity: Activity, entity_id: str, page: FeedPage) -> BoundedList[LoggedEvent]:
        pages.append(page)
        return read(activity, entity_id, page)

    monkeypatch.setattr(Activity, "of_entity", read_and_note)
    schema_id = orders["databaseSchema"]["id"]
    page = client.get(f"/databaseSchemas/{schema_id}/activity?limit=1").json()
    assert {one["event"]["entityType"] for one in page["data"]} <= {"databaseSchema"}
    assert len(pages) == 1
