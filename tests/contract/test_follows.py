"""Tests of many follows at once, and of the list of what a person follows."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import Engine, delete, event, insert, select
from tests.contract.test_access import create_entity, restrict
from tests.contract.test_search import index_all
from tests.notifying import notify_all
from tests.serving import Json, Served, table

from tocsin.model.follow_review import ADVISED_FOLLOWS, MOST_SELECTED, NOISY_FROM
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import entity, follow

SCHEMA = "warehouse.shop.public"
NOBODY = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def alice(served: Served) -> Iterator[tuple[str, httpx.Client]]:
    user_id, client = served.person("alice")
    with client:
        yield user_id, client


def post(client: httpx.Client, path: str, **body: Json) -> Json:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def list_of(client: httpx.Client, user_id: str, **parameters: str | int) -> Json:
    answer = client.get(f"/users/{user_id}/following", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def names_in(page: Json) -> list[str]:
    return [one["asset"]["name"] for one in page["data"]]


def messages_in(result: Json) -> dict[str, str]:
    """Return what became of each asset, by its name or what was sent."""
    outcomes = [*result["successRequest"], *result["failedRequest"]]
    requests = (one["request"] for one in outcomes)
    names = (one["name"] if isinstance(one, dict) else one for one in requests)
    return dict(zip(names, (one["message"] for one in outcomes), strict=True))


def events_of(client: httpx.Client) -> list[Json]:
    return list(client.get("/events", params={"limit": 10_000, "format": "tocsin"}).json()["data"])


def _follow_behind_the_api(engine: Engine, user_id: str, count: int) -> None:
    """Let somebody follow the first so many tables, in the order of their making, and nothing else."""
    tables = select(entity.c.id).where(entity.c.entity_type == "table").order_by(entity.c.id).limit(count)
    with writing(engine) as connection:
        connection.execute(delete(follow).where(follow.c.user_id == user_id))
        table_ids = connection.scalars(tables).all()
        follow_rows = [{"entity_id": one, "user_id": user_id, "entity_type": "table"} for one in table_ids]
        if follow_rows:
            connection.execute(insert(follow), follow_rows)


def describe(client: httpx.Client, asset: Json, text: str) -> None:
    operations = [{"op": "add", "path": "/description", "value": text}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert client.patch(f"/tables/{asset['id']}", json=operations, headers=headers).is_success


def test_many_are_followed_by_their_ids_as_one_by_one(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json
) -> None:
    user_id, client = alice
    customers = table(administrator, "customers")
    assert client.put(f"/tables/{orders['id']}/followers/{user_id}").is_success
    single = events_of(administrator)[-1]
    policy = administrator.get("/policies?limit=1").json()["data"][0]
    ids = [orders["id"], customers["id"], NOBODY, "nonsense", policy["id"]]
    result = post(client, f"/users/{user_id}/follows", ids=ids)
    assert messages_in(result) == {
        "orders": "already followed",
        "customers": "followed",
        NOBODY: f"{NOBODY} not found",
        "nonsense": "'nonsense' is not an id.",
        policy["id"]: "a policy cannot be followed; people follow assets, users and teams",
    }
    assert [one["status"] for one in result["failedRequest"]] == [404, 400, 400]
    assert (result["numberOfRowsPassed"], result["numberOfRowsFailed"], result["followCount"]) == (2, 3, 2)
    assert (result["status"], result["dryRun"]) == ("partialSuccess", False)
    bulk = events_of(administrator)[-1]
    assert (bulk["entityId"], bulk["changeDescription"]) == (customers["id"], single["changeDescription"])
    before = len(events_of(administrator))
    post(client, f"/users/{user_id}/follows", ids=ids)
    assert len(events_of(administrator)) == before


def test_ids_in_upper_and_lower_case_are_one_asset(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json
) -> None:
    user_id, client = alice
    for is_dry in (True, False):
        result = post(client, f"/users/{user_id}/follows", ids=[orders["id"].upper(), orders["id"]], dryRun=is_dry)
        assert (result["numberOfRowsProcessed"], result["followCount"]) == (1, 1)
        assert messages_in(result) == {"orders": "followed"}


def test_many_are_followed_by_their_names(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json
) -> None:
    user_id, client = alice
    create_entity(administrator, "/domains", name="Sales", domainType="Aggregate", description="x")
    create_entity(administrator, "/glossaries", name="Sales", description="x")
    names = [f"{SCHEMA}.orders", "Sales", f"{SCHEMA}.none"]
    result = post(client, f"/users/{user_id}/follows", names=names)
    assert messages_in(result) == {
        "orders": "followed",
        "Sales": "a domain and a glossary have this name; send type, or ids",
        f"{SCHEMA}.none": f"{SCHEMA}.none not found",
    }
    assert messages_in(post(client, f"/users/{user_id}/follows", names=["Sales"], type="domain")) == {
        "Sales": "followed"
    }
    assert messages_in(post(client, f"/users/{user_id}/unfollow", names=["Sales", f"{SCHEMA}.orders"])) == {
        "Sales": "unfollowed",
        "orders": "unfollowed",
    }, "of what has a name, what is followed is meant"


def test_people_are_followed_by_their_names_without_quotes(served: Served, alice: tuple[str, httpx.Client]) -> None:
    user_id, client = alice
    _, other_client = served.person("pri.ya")
    other_client.close()
    for action, outcome in (("follows", "followed"), ("unfollow", "unfollowed")):
        result = post(client, f"/users/{user_id}/{action}", names=["pri.ya"])
        assert list(messages_in(result).values()) == [outcome], result


def test_many_are_followed_by_a_search_and_a_dry_run_counts_them(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json, sqlite_engine: Engine
) -> None:
    user_id, client = alice
    for number in range(3):
        table(administrator, f"people_{number}", tags=[{"tagFQN": "PII.Sensitive"}])
    index_all(sqlite_engine)
    query = {"query": "tag:PII.Sensitive", "index": "table"}
    before = len(events_of(administrator))
    dry = post(client, f"/users/{user_id}/follows", dryRun=True, **query)
    assert (dry["dryRun"], dry["numberOfRowsPassed"], dry["followCount"]) == (True, 3, 3)
    assert set(messages_in(dry)) == {"people_0", "people_1", "people_2"}
    assert (len(events_of(administrator)), list_of(client, user_id)["data"]) == (before, [])
    assert post(client, f"/users/{user_id}/follows", **query)["numberOfRowsPassed"] == 3
    narrow_search = {"query": "*", "queryFilter": '{"term": {"name.keyword": "orders"}}'}
    assert messages_in(post(client, f"/users/{user_id}/follows", **narrow_search)) == {"orders": "followed"}
    dry = post(client, f"/users/{user_id}/unfollow", dryRun=True, **query)
    assert (dry["numberOfRowsPassed"], dry["followCount"]) == (3, 1)
    assert post(client, f"/users/{user_id}/unfollow", **query)["followCount"] == 1
    assert names_in(list_of(client, user_id)) == ["orders"]


def test_what_one_may_not_view_is_not_found_and_not_counted(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json, sqlite_engine: Engine
) -> None:
    user_id, client = alice
    hidden_table = table(administrator, "people", tags=[{"tagFQN": "PII.Sensitive"}])
    index_all(sqlite_engine)
    assert post(client, f"/users/{user_id}/follows", ids=[hidden_table["id"], orders["id"]])["followCount"] == 2
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    for action in ("follows", "unfollow"):
        by_id = post(client, f"/users/{user_id}/{action}", ids=[hidden_table["id"], NOBODY], dryRun=True)[
            "failedRequest"
        ]
        assert [(one["status"], one["message"]) for one in by_id] == [
            (404, f"{hidden_table['id']} not found"),
            (404, f"{NOBODY} not found"),
        ]
        (by_name,) = post(client, f"/users/{user_id}/{action}", names=[f"{SCHEMA}.people"])["failedRequest"]
        assert (by_name["status"], by_name["message"]) == (404, f"{SCHEMA}.people not found")
        by_query = post(client, f"/users/{user_id}/{action}", query=f"fqn:{SCHEMA}.people", dryRun=True)
        assert (by_query["numberOfRowsProcessed"], by_query["followCount"]) == (0, 1)
    page = list_of(client, user_id)
    assert (names_in(page), page["paging"]["total"]) == (["orders"], 1)
    assert names_in(list_of(administrator, user_id)) == ["orders", "people"]


def test_nobody_is_made_to_follow_what_they_may_not_view(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json
) -> None:
    user_id, _ = alice
    hidden = table(administrator, "people", tags=[{"tagFQN": "PII.Sensitive"}])
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    for is_dry in (True, False):
        result = post(administrator, f"/users/{user_id}/follows", ids=[hidden["id"], orders["id"]], dryRun=is_dry)
        (refused,) = result["failedRequest"]
        assert (refused["status"], result["numberOfRowsPassed"]) == (403, 1)
        assert refused["message"].startswith("alice may not view this table, so cannot follow it")


def test_only_people_follow_and_only_administrators_for_others(
    served: Served, administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json
) -> None:
    user_id, _ = alice
    bob_id, bob = served.person("bob")
    team = create_entity(administrator, "/teams", name="shop", teamType="Group")
    robot = create_entity(administrator, "/users", name="robot", email="robot@example.org", isBot=True)
    with bob:
        for action in ("follows", "unfollow"):
            assert bob.post(f"/users/{user_id}/{action}", json={"ids": [orders["id"]]}).status_code == 403
        assert bob.get(f"/users/{user_id}/following").status_code == 403
    assert post(administrator, f"/users/{bob_id}/follows", ids=[orders["id"]])["numberOfRowsPassed"] == 1
    for follower, why in ((team, "shop is a team; only people follow."), (robot, "robot is a bot, and nobody reads")):
        for answer in (
            administrator.post(f"/users/{follower['id']}/follows", json={"ids": [orders["id"]]}),
            administrator.put(f"/tables/{orders['id']}/followers/{follower['id']}"),
        ):
            assert (answer.status_code, answer.json()["message"].startswith(why)) == (400, True), answer.text
    for answer in (
        administrator.post(f"/users/{NOBODY}/follows", json={"ids": [orders["id"]]}),
        administrator.post(f"/users/{NOBODY}/unfollow", json={"ids": [orders["id"]]}),
        administrator.get(f"/users/{NOBODY}/following"),
    ):
        assert answer.status_code == 404


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({}, "Send one of ids, names, query"),
        ({"ids": [NOBODY], "names": ["a"]}, "Send one of ids, names, query"),
        ({"ids": []}, "ids: must be a list of 1 to 1000 texts"),
        ({"ids": [NOBODY] * (MOST_SELECTED + 1)}, "ids: must be a list of 1 to 1000 texts"),
        ({"names": [7]}, "names: must be a list of 1 to 1000 texts"),
        ({"names": ["a"], "type": "spoon"}, "unknown entity type 'spoon'"),
        ({"ids": [NOBODY], "type": "table"}, "type: has a meaning only beside names"),
        ({"query": "name:(", "index": "table"}, "column 7: unexpected end of the query"),
        ({"query": "a", "queryFilter": "{"}, "queryFilter: it is not JSON"),
        ({"query": "a", "index": "spoon"}, "unknown index 'spoon'"),
        ({"query": "a", "index": "policy"}, "index: names no type that can be followed"),
        ({"query": "a", "dryrun": True}, "unknown key dryrun"),
        ({"review": "stale"}, "review: selects what is followed: of this, only what is expiring can be kept"),
    ],
)
def test_a_request_that_selects_nothing_certain_is_refused(
    alice: tuple[str, httpx.Client], body: Json, problem: str
) -> None:
    user_id, client = alice
    answer = client.post(f"/users/{user_id}/follows", json=body)
    assert (answer.status_code, problem in answer.json()["message"]) == (400, True), answer.text


def test_a_search_that_finds_too_much_is_refused_with_the_count(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json, sqlite_engine: Engine
) -> None:
    user_id, client = alice
    requests = [{"name": f"t{number}", "databaseSchema": SCHEMA, "columns": []} for number in range(MOST_SELECTED)]
    assert administrator.put("/tables/bulk", json=requests).json()["status"] == "success"
    index_all(sqlite_engine)
    for is_dry in (True, False):
        answer = client.post(f"/users/{user_id}/follows", json={"query": "*", "index": "table", "dryRun": is_dry})
        assert answer.status_code == 400
        assert answer.json()["message"].startswith("This selects 1,001 assets; one request may select 1,000.")
    assert post(client, f"/users/{user_id}/unfollow", query="*")["numberOfRowsProcessed"] == 0
    _follow_behind_the_api(sqlite_engine, user_id, 600)
    dry = post(client, f"/users/{user_id}/unfollow", query="t1*", dryRun=True)
    assert (dry["numberOfRowsPassed"], dry["followCount"]) == (111, 489), "more are followed than one search can name"
    dry = post(client, f"/users/{user_id}/unfollow", query="*", dryRun=True)
    assert (dry["numberOfRowsPassed"], dry["followCount"], len(dry["successRequest"])) == (600, 0, 100)
    _follow_behind_the_api(sqlite_engine, user_id, MOST_SELECTED + 1)
    answer = client.post(f"/users/{user_id}/unfollow", json={"query": "*"})
    assert (answer.status_code, answer.json()["message"][:26]) == (400, "This selects 1,001 assets;")
    _follow_behind_the_api(sqlite_engine, user_id, 0)
    dry = post(client, f"/users/{user_id}/follows", query="t1*", dryRun=True)
    assert (dry["numberOfRowsPassed"], len(dry["successRequest"])) == (111, 100)
    assert dry["advice"].startswith("111 assets are followed")


def test_whoever_follows_much_is_advised_and_told_once(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json, sqlite_engine: Engine
) -> None:
    user_id, client = alice
    requests = [{"name": f"t{number}", "databaseSchema": SCHEMA, "columns": []} for number in range(ADVISED_FOLLOWS)]
    assert administrator.put("/tables/bulk", json=requests).json()["status"] == "success"
    names = [f"{SCHEMA}.{row['name']}" for row in requests]
    assert "advice" not in post(client, f"/users/{user_id}/follows", names=names)
    assert "advice" not in list_of(client, user_id)
    answer = client.put(f"/tables/{orders['id']}/followers/{user_id}")
    assert answer.headers["X-Tocsin-Advice"].startswith("101 assets are followed; with more than 100 it is hard")
    assert "X-Tocsin-Advice" not in client.put(f"/tables/{orders['id']}/followers/{user_id}").headers
    assert list_of(client, user_id)["advice"] == answer.headers["X-Tocsin-Advice"]
    again = post(client, f"/users/{user_id}/follows", names=names[:1])
    assert again["advice"] == answer.headers["X-Tocsin-Advice"]
    customers = table(administrator, "customers")
    assert post(client, f"/users/{user_id}/follows", ids=[customers["id"]])["advice"].startswith("102 assets")
    notify_all(sqlite_engine)
    (notice,) = client.get(f"/users/{user_id}/notifications").json()["data"]
    assert (notice["eventType"], notice["userName"]) == ("threadCreated", "system")
    assert "You follow more than 100 assets; with so many" in notice["title"], notice
    assert [one["kind"] for one in notice["reasons"]] == ["mention"]


def test_who_follows_nothing_more_is_not_advised(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json, sqlite_engine: Engine
) -> None:
    user_id, client = alice
    requests = [{"name": f"t{number}", "databaseSchema": SCHEMA, "columns": []} for number in range(ADVISED_FOLLOWS)]
    assert administrator.put("/tables/bulk", json=requests).json()["status"] == "success"
    _follow_behind_the_api(sqlite_engine, user_id, ADVISED_FOLLOWS + 1)

    def threads_told() -> int:
        notify_all(sqlite_engine)
        notifications = client.get(f"/users/{user_id}/notifications", params={"limit": 1_000}).json()["data"]
        return sum(one["eventType"] == "threadCreated" for one in notifications)

    entity_of_orders = {"id": orders["id"], "type": "table"}
    answer = client.put(f"/users/{user_id}/follows/bulk", json={"entities": [entity_of_orders]})
    assert (answer.json()["status"], "X-Tocsin-Advice" in answer.headers) == ("success", False)
    assert threads_told() == 0
    new_entity = {"id": table(administrator, "customers")["id"], "type": "table"}
    answer = client.put(f"/users/{user_id}/follows/bulk", json={"entities": [entity_of_orders, new_entity]})
    assert answer.headers["X-Tocsin-Advice"].startswith("102 assets are followed")
    assert threads_told() == 1


def test_the_list_says_since_when_what_changed_last_and_how_often_it_told(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json, sqlite_engine: Engine
) -> None:
    user_id, client = alice
    customers = table(administrator, "customers")
    post(client, f"/users/{user_id}/follows", ids=[orders["id"], customers["id"]])
    follow_ms = events_of(administrator)[-1]["timestamp"]
    for text in ("one", "two"):
        describe(administrator, orders, text)
    link = f"<#E::table::{orders['fullyQualifiedName']}>"
    test = {"name": "row_count", "entityLink": link, "testDefinition": "tableRowCountToBeBetween"}
    create_entity(administrator, "/dataQuality/testCases", **test)
    notify_all(sqlite_engine)
    page = list_of(client, user_id)
    assert (names_in(page), page["paging"]) == (["customers", "orders"], {"total": 2})
    first, second = page["data"]
    changed_table = administrator.get(f"/tables/{orders['id']}").json()
    assert second["lastChange"] == {"timestamp": changed_table["updatedAt"], "version": 0.3}
    assert second["since"] <= first["since"] == follow_ms
    assert second["asset"]["href"] == changed_table["href"]
    notifications = client.get(f"/users/{user_id}/notifications").json()["data"]
    assert (second["told"]["count"], second["told"]["unread"]) == (3, 3), "two changes and a new test"
    assert second["told"]["last"] > 0
    assert (first["told"], second["told"]["days"]) == ({"count": 0, "unread": 0, "days": [0] * 30}, [*[0] * 29, 3])
    assert "lastOpened" not in first
    assert client.put(f"/users/{user_id}/notifications/{notifications[0]['id']}/read").is_success
    (entry,) = list_of(client, user_id, q="ORDERS")["data"]
    assert (entry["told"]["count"], entry["told"]["unread"]) == (3, 2)
    assert entry["lastOpened"] >= entry["told"]["last"]
    assert names_in(list_of(client, user_id, sortField="lastOpened")) == ["orders", "customers"]


def test_the_list_is_filtered_sorted_and_paged(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json
) -> None:
    user_id, client = alice
    domain = create_entity(administrator, "/domains", name="Sales", domainType="Aggregate", description="x")
    tables = [orders, *(table(administrator, f"t{number}") for number in range(4))]
    for asset in (*tables, domain):
        assert post(client, f"/users/{user_id}/follows", ids=[asset["id"]])["numberOfRowsPassed"] == 1
    describe(administrator, tables[1], "Changed last.")
    assert names_in(list_of(client, user_id, type="domain")) == ["Sales"]
    assert names_in(list_of(client, user_id, type="table,domain", q="public.t")) == ["t0", "t1", "t2", "t3"]
    assert names_in(list_of(client, user_id, sortField="lastChange"))[0] == "t0"
    assert names_in(list_of(client, user_id, sortField="since"))[0] == "Sales"
    assert names_in(list_of(client, user_id, sortField="since", sortOrder="asc"))[0] == "orders"
    for order in ({}, {"sortField": "lastChange"}, {"sortField": "told"}, {"sortOrder": "desc"}):
        expected_names = names_in(list_of(client, user_id, **order))
        paged_names: list[str] = []
        after: dict[str, str] = {}
        while True:
            page = list_of(client, user_id, limit=2, **order, **after)
            assert page["paging"]["total"] == 6
            paged_names += names_in(page)
            if "after" not in page["paging"]:
                break
            after = {"after": page["paging"]["after"]}
        assert (paged_names, len(expected_names)) == (expected_names, 6), order
    cursor = list_of(client, user_id, limit=1)["paging"]["after"]
    for parameters in ({"after": cursor, "sortField": "since"}, {"after": "x"}, {"after": "Nw"}, {"type": "spoon"}):
        assert client.get(f"/users/{user_id}/following", params=parameters).status_code == 400
    assert list_of(client, user_id, limit=0) == {"data": [], "paging": {"total": 6}}


def test_follows_are_summarized_with_how_much_less_ending_them_would_tell(
    served: Served,
    administrator: httpx.Client,
    alice: tuple[str, httpx.Client],
    orders: Json,
    sqlite_engine: Engine,
) -> None:
    user_id, client = alice
    customers = table(administrator, "customers")
    domain = create_entity(administrator, "/domains", name="Sales", domainType="Aggregate", description="x")
    post(client, f"/users/{user_id}/follows", ids=[orders["id"], customers["id"], domain["id"]])
    post(client, f"/users/{user_id}/follows", ids=[customers["id"]], column="id")
    for number in range(NOISY_FROM):
        describe(administrator, orders, f"text {number}")
    describe(administrator, customers, "once")
    notify_all(sqlite_engine)
    summary = client.get(f"/users/{user_id}/following/summary").json()
    assert (summary["all"], summary["types"]) == (4, {"table": 3, "domain": 1})
    assert summary["ties"] == {"asset": 2, "column": 1, "container": 1, "team": 0}
    assert summary["reviews"] == {"stale": 0, "noisy": 1, "gone": 0, "expiring": 0}
    assert summary["month"] == {"told": NOISY_FROM + 1, "opened": 0}
    assert summary["fewer"] == {"stale": 0, "noisy": NOISY_FROM, "gone": 0, "all": NOISY_FROM}
    for tie, names in [("asset", ["customers", "orders"]), ("column", ["customers"]), ("container", ["Sales"])]:
        assert names_in(list_of(client, user_id, tie=tie)) == names
    restrict(administrator, user_id, {"effect": "deny", "resources": ["table"]})
    visible_summary = client.get(f"/users/{user_id}/following/summary").json()
    assert (visible_summary["all"], visible_summary["month"]["told"], visible_summary["fewer"]["all"]) == (1, 0, 0)
    _, client_of_bob = served.person("bob")
    with client_of_bob, served.client() as client_of_nobody:
        assert client_of_bob.get(f"/users/{user_id}/following/summary").status_code == 403
        assert client_of_nobody.get(f"/users/{user_id}/following/summary").status_code == 401


def test_what_one_owns_is_told_whether_it_is_followed_or_not(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json, sqlite_engine: Engine
) -> None:
    user_id, client = alice
    post(client, f"/users/{user_id}/follows", ids=[orders["id"]])
    owners = [{"op": "add", "path": "/owners", "value": [{"id": user_id, "type": "user"}]}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert administrator.patch(f"/tables/{orders['id']}", json=owners, headers=headers).is_success
    notify_all(sqlite_engine)
    for number in range(NOISY_FROM):
        describe(administrator, orders, f"text {number}")
    notify_all(sqlite_engine)
    summary = client.get(f"/users/{user_id}/following/summary").json()
    assert (summary["reviews"]["noisy"], summary["fewer"]["noisy"]) == (1, 0)


def test_only_a_review_reads_what_somebody_was_told(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json
) -> None:
    user_id, client = alice
    statements: list[str] = []

    def note(*arguments: object) -> None:
        statements.append(str(arguments[2]))

    def reads_notifications(**selection: Json) -> bool:
        statements.clear()
        post(client, f"/users/{user_id}/unfollow", dryRun=True, **selection)
        assert statements
        return any("FROM notification" in one for one in statements)

    post(client, f"/users/{user_id}/follows", ids=[orders["id"]])
    event.listen(Engine, "before_cursor_execute", note)
    try:
        assert reads_notifications(review="noisy")
        assert not reads_notifications(ids=[orders["id"]])
        assert not reads_notifications(names=[f"{SCHEMA}.orders"])
        assert not reads_notifications(query="orders")
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def test_a_column_of_many_assets_is_followed_and_unfollowed_at_once(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json, sqlite_engine: Engine
) -> None:
    user_id, client = alice
    create_entity(administrator, "/tables", name="empty", databaseSchema=SCHEMA, columns=[])
    index_all(sqlite_engine)
    column = orders["columns"][0]["name"]
    names = [f"{SCHEMA}.orders", f"{SCHEMA}.empty", f"{SCHEMA}.none"]
    for is_dry in (True, False):
        result = post(client, f"/users/{user_id}/follows", names=names, column=column, dryRun=is_dry)
        assert [one["message"] for one in result["successRequest"]] == ["followed"]
        assert result["successRequest"][0]["request"]["column"] == column
        messages = [one["message"] for one in result["failedRequest"]]
        assert (f"has no column {column}" in messages[0], messages[1]) == (True, f"{SCHEMA}.none not found")
        assert result["followCount"] == 1
    again = post(client, f"/users/{user_id}/follows", query="orders", column=column, dryRun=True)
    assert [one["message"] for one in again["successRequest"]] == ["already followed"]
    selections: list[Json] = [{"ids": [orders["id"]], "column": column}, {"query": "orders", "column": column}]
    for selection in (*selections, {"q": f"orders.{column}"}, {"q": "", "type": "table"}):
        post(client, f"/users/{user_id}/follows", ids=[orders["id"]], column=column)
        dry = post(client, f"/users/{user_id}/unfollow", **selection, dryRun=True)
        assert (dry["followCount"], list_of(client, user_id)["paging"]["total"]) == (0, 1), selection
        assert post(client, f"/users/{user_id}/unfollow", **selection)["followCount"] == 0, selection
    for wrong in ({"q": "o", "column": column}, {"q": "o", "names": names}, {"ids": [orders["id"]], "column": ""}):
        assert client.post(f"/users/{user_id}/unfollow", json=wrong).status_code == 400, wrong


def test_what_is_worth_a_review_is_listed_and_unfollowed_at_once(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json, sqlite_engine: Engine
) -> None:
    user_id, client = alice
    old, noisy = table(administrator, "old"), table(administrator, "noisy")
    post(client, f"/users/{user_id}/follows", ids=[orders["id"], old["id"], noisy["id"]])
    assert administrator.delete(f"/tables/{old['id']}").is_success
    for number in range(NOISY_FROM):
        describe(administrator, noisy, f"Change {number}.")
    notify_all(sqlite_engine)
    for review, expected_names in (("gone", ["old"]), ("noisy", ["noisy"]), ("stale", [])):
        assert names_in(list_of(client, user_id, review=review)) == expected_names
    assert [one["deleted"] for one in list_of(client, user_id)["data"]] == [False, True, False]
    dry = post(client, f"/users/{user_id}/unfollow", review="gone", dryRun=True)
    assert (messages_in(dry), dry["followCount"]) == ({"old": "unfollowed"}, 2)
    assert post(client, f"/users/{user_id}/unfollow", review="noisy", type="dashboard")["numberOfRowsProcessed"] == 0
    for review in ("gone", "noisy", "stale"):
        post(client, f"/users/{user_id}/unfollow", review=review)
    assert names_in(list_of(client, user_id)) == ["orders"]
    assert client.post(f"/users/{user_id}/unfollow", json={"review": "dull"}).status_code == 400
