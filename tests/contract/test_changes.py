"""Tests of change requests by HTTP: announced, answered, discussed, moved, withdrawn, and who may."""

from __future__ import annotations

from uuid import uuid4

import httpx
import pytest
from sqlalchemy import Engine, delete, update
from sqlalchemy import event as statement_events
from tests.contract.test_access import create_entity, restrict, send_patch
from tests.contract.test_bot_puts import bot
from tests.contract.test_explain import Person, person
from tests.contract.test_feed import hide
from tests.contract.test_impact import feed
from tests.notifying import notify_all
from tests.serving import Json, Served, table

from tocsin.store.database.change_tables import change_request
from tocsin.store.database.tables import change_event

__all__ = ["person"]  # a fixture

_DAY_MS = 86_400_000


@pytest.fixture
def world(administrator: httpx.Client, orders: Json, person: Person) -> dict[str, Json]:
    """orders.email -> clean.email -> sales (whole); orders.id -> counts.id; ann owns clean, a team of bob's sales."""
    ann_id, ann = person("ann")
    bob_id, bob = person("bob")
    team = create_entity(administrator, "/teams", name="analysts", teamType="Group", users=[bob_id])
    clean = table(administrator, "clean", owners=[{"type": "user", "id": ann_id}])
    sales = table(administrator, "sales", owners=[{"type": "team", "id": team["id"]}])
    counts = table(administrator, "counts")
    feed(administrator, orders, clean, "email")
    feed(administrator, orders, counts, "id")
    feed(administrator, clean, sales)
    entities = {"orders": orders, "clean": clean, "sales": sales, "counts": counts}
    return {**entities, "ann": ann_id, "bob": bob_id, "as_ann": ann, "as_bob": bob}


def announcement(orders: Json, **fields: Json) -> Json:
    request = {
        "entity": {"type": "table", "id": orders["id"]},
        "kind": "removal",
        "column": "email",
        "date": orders["updatedAt"] + 7 * _DAY_MS,
        "why": "the address belongs to the customer",
    }
    return {**request, **fields}


def announce(client: httpx.Client, orders: Json, **fields: Json) -> Json:
    answer = client.post("/changes", json=announcement(orders, **fields))
    assert answer.status_code == 201, answer.text
    return answer.json()


def leave_one_post(served: Served, user_id: str) -> None:
    """Use up what somebody may post in this hour, but for one post."""
    served.stop_clock()
    parts = served.app.state.parts
    limit, now_ms = parts.settings.posts_per_hour, parts.clock.now_ms()
    assert parts.quotas.take(user_id, "post", limit - 1, limit=limit, now_ms=now_ms) is None


def consumers(client: httpx.Client, name: str = "CR-1", **query: Json) -> dict[str, Json]:
    entries = client.get(f"/changes/{name}/consumers", params=query).json()["data"]
    return {one["entity"]["name"]: one for one in entries}


def test_a_removal_finds_who_reads_the_column_and_who_answers(
    administrator: httpx.Client, world: dict[str, Json], person: Person
) -> None:
    zoe_id, _ = person("zoe")
    follow_answer = administrator.put(f"/tables/{world['orders']['id']}/followers/{zoe_id}")
    assert follow_answer.is_success
    dry = administrator.post("/changes?dryRun=true", json=announcement(world["orders"])).json()
    assert [one["entity"]["name"] for one in dry["firstConsumers"]] == ["clean", "sales", "zoe"]
    assert administrator.get("/changes").json()["data"] == []
    request = announce(administrator, world["orders"], replacement="customers.email")
    assert (request["name"], request["status"], request["column"]) == ("CR-1", "announced", "email")
    assert request["answers"] | request["consumers"] == {
        **{"total": 3, "open": 3, "ready": 0, "notAffected": 0, "needsTime": 0, "objects": 0},
        **{"hidden": 0, "nobody": 0, "yours": 0, "yoursOpen": 0},
    }
    answers = consumers(administrator)
    assert [(name, one["level"], one["basis"], one["answeredBy"][0]["name"]) for name, one in answers.items()] == [
        ("zoe", 0, "follow", "zoe"),
        ("clean", 1, "column", "ann"),
        ("sales", 2, "asset", "analysts"),
    ]
    (event,) = administrator.get("/events?eventType=changeRequestUpdated&format=tocsin").json()["data"]
    (change,) = event["changeDescription"]["fieldsAdded"]
    assert (event["entityId"], change["newValue"]["name"]) == (world["orders"]["id"], "CR-1")
    second = announce(administrator, world["counts"], column=None)
    assert (second["name"], second["answers"]["total"]) == ("CR-2", 0)


def test_owners_and_members_of_teams_answer_and_change_their_answers(
    administrator: httpx.Client, world: dict[str, Json], person: Person
) -> None:
    ann, bob = world["as_ann"], world["as_bob"]
    announce(administrator, world["orders"])
    extent = ann.get("/changes/CR-1").json()["consumers"]
    assert (extent["yours"], extent["yoursOpen"]) == (1, 1)
    until = world["orders"]["updatedAt"] + 9 * _DAY_MS
    for past in (0, until - 10 * _DAY_MS):
        refusal = bob.put("/changes/CR-1/answer", json={"answer": "needsTime", "until": past})
        assert (refusal.status_code, "until: must be in the future" in refusal.text) == (400, True)
    answered_request = bob.put("/changes/CR-1/answer", json={"answer": "needsTime", "until": until}).json()
    assert (answered_request["answers"]["needsTime"], answered_request["consumers"]["yoursOpen"]) == (1, 0)
    assert ann.put("/changes/CR-1/answer", json={"answer": "ready"}).is_success
    again = ann.put(
        "/changes/cr-1/answer",
        json={"answer": "objects", "comment": "still in use", "consumers": [world["clean"]["id"]]},
    )
    assert again.json()["answers"] == {
        **{"total": 2, "open": 0, "ready": 0, "notAffected": 0, "needsTime": 1, "objects": 1},
    }
    answer = consumers(administrator)["clean"]["answer"]
    assert (answer["answer"], answer["comment"], answer["user"]["name"]) == ("objects", "still in use", "ann")
    refusal = ann.put("/changes/CR-1/answer", json={"answer": "ready", "consumers": [world["sales"]["id"]]})
    assert refusal.status_code == 403
    _, eve = person("eve")
    assert eve.put("/changes/CR-1/answer", json={"answer": "ready"}).status_code == 403
    assert ann.post("/changes/CR-1/comments", json={"comment": "Can it wait?"}).is_success
    timeline = administrator.get("/changes/CR-1/timeline?limit=2").json()
    further = administrator.get("/changes/CR-1/timeline", params={"after": timeline["paging"]["after"]}).json()
    assert [(one["kind"], one["user"]["name"], one.get("answer")) for one in (*timeline["data"], *further["data"])] == [
        ("announced", "admin", None),
        ("answered", "bob", "needsTime"),
        ("answered", "ann", "ready"),
        ("answered", "ann", "objects"),
        ("commented", "ann", None),
    ]


def test_only_who_may_edit_the_asset_announces_moves_and_withdraws(
    administrator: httpx.Client, world: dict[str, Json]
) -> None:
    ann = world["as_ann"]
    assert ann.post("/changes", json=announcement(world["orders"])).status_code == 403
    request = announce(ann, world["clean"])
    assert request["author"]["name"] == "ann"
    announce(administrator, world["orders"])
    later = {"date": world["orders"]["updatedAt"] + 14 * _DAY_MS}
    assert ann.put("/changes/CR-2/move", json=later).status_code == 403
    assert ann.put("/changes/CR-2/withdraw").status_code == 403
    new = table(administrator, "new")
    feed(administrator, world["orders"], new, "email")
    moved_request = administrator.put("/changes/CR-2/move", json=later | {"comment": "more time"}).json()
    assert (moved_request["date"], moved_request["answers"]["total"]) == (later["date"], 3)
    sooner = administrator.put("/changes/CR-2/move", json={"date": later["date"] - 1})
    assert (sooner.status_code, "later" in sooner.json()["message"]) == (400, True)
    assert administrator.put("/changes/CR-2/withdraw", json={"comment": "kept"}).json()["status"] == "withdrawn"
    for path in ("withdraw", "move", "answer"):
        body = {"move": later, "answer": {"answer": "ready", "consumers": [new["id"]]}}.get(path)
        assert administrator.put(f"/changes/CR-2/{path}", json=body).status_code == 409, path
    kinds = [one["kind"] for one in administrator.get("/changes/CR-2/timeline").json()["data"]]
    assert kinds == ["announced", "moved", "withdrawn"]
    query = {"entityId": world["orders"]["id"], "eventType": "changeRequestUpdated", "format": "tocsin"}
    texts = ["\n".join(one["changes"]) for one in administrator.get("/events", params=query).json()["data"]]
    assert [("more time" in text, "kept" in text) for text in texts] == [(False, False), (True, False), (False, True)]


def test_the_same_answer_again_is_no_post(served: Served, administrator: httpx.Client, world: dict[str, Json]) -> None:
    announce(administrator, world["orders"])
    leave_one_post(served, world["ann"])
    for answer, status in (
        ({"answer": "ready"}, 200),
        ({"answer": "ready"}, 200),
        ({"answer": "ready", "consumers": [world["clean"]["id"]]}, 200),
        ({"answer": "ready", "comment": "now"}, 429),
        ({"answer": "notAffected"}, 429),
    ):
        assert world["as_ann"].put("/changes/CR-1/answer", json=answer).status_code == status, answer


def test_a_column_has_one_request_at_a_time(administrator: httpx.Client, world: dict[str, Json]) -> None:
    announce(administrator, world["orders"])
    again = administrator.post("/changes", json=announcement(world["orders"], kind="type", newValue="INT"))
    assert (again.status_code, "CR-1" in again.json()["message"]) == (409, True)
    announce(administrator, world["orders"], column="id", kind="rename", newValue="order_id")
    assert administrator.put("/changes/CR-1/withdraw").is_success
    assert announce(administrator, world["orders"])["name"] == "CR-3"


@pytest.mark.parametrize(
    "fields",
    [
        {"column": "emial"},
        {"date": 1},
        {"date": 253_402_300_799_999},
        {"kind": "type"},
        {"newValue": "x"},
        {"kind": "deletion"},
        {"why": " "},
        {"entity": {"type": "user", "name": "ann"}},
        {"entity": {"type": "table"}},
        {"x": 1},
    ],
)
def test_what_is_no_announcement_is_refused(administrator: httpx.Client, orders: Json, fields: Json) -> None:
    answer = administrator.post("/changes", json=announcement(orders, **fields))
    assert answer.status_code == 400, answer.text


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"kind": "type", "why": "", "date": 1, "column": "emial"},
            [
                "newValue: is missing: the new type",
                "why: must not be empty",
                "column: ",
                "date: must be in the future, at most three years ahead",
            ],
        ),
        ({"kind": "type", "column": None}, ["column: is missing: the column that gets", "newValue: is missing"]),
        ({"newValue": "x"}, ["newValue: is for kinds type and rename, kind removal has none"]),
    ],
)
def test_all_mistakes_of_an_announcement_are_told_at_once_each_with_its_field(
    administrator: httpx.Client, orders: Json, fields: Json, message: list[str]
) -> None:
    answer = administrator.post("/changes", json=announcement(orders, **fields))
    mistakes = answer.json()["message"].split("; ")
    for begin in message:
        assert any(one.startswith(begin) for one in mistakes), mistakes


def test_what_an_answer_needs_is_said_of_its_field(administrator: httpx.Client, world: dict[str, Json]) -> None:
    announce(administrator, world["orders"])
    for answer, message in (
        ({"answer": "objects"}, "comment: is missing: say why you object"),
        ({"answer": "needsTime"}, "until: is missing: until when you need time"),
        ({"answer": "ready", "until": 1}, "until: is for needsTime, ready has none"),
    ):
        refusal = world["as_ann"].put("/changes/CR-1/answer", json=answer)
        assert (refusal.status_code, refusal.json()["message"]) == (400, message)


def test_what_one_may_not_see_is_counted_and_not_named(
    administrator: httpx.Client, world: dict[str, Json], person: Person
) -> None:
    announce(administrator, world["orders"])
    bob = world["as_bob"]
    secret = "secret reason"
    assert bob.put("/changes/CR-1/answer", json={"answer": "objects", "comment": secret}).is_success
    for name in ("sales", "orders"):
        tag = [{"op": "add", "path": "/tags", "value": [{"tagFQN": "PII.Sensitive"}]}]
        assert send_patch(administrator, f"/tables/{world[name]['id']}", *tag).is_success
        mallory_id, mallory = person(f"mallory_{name}")
        denial = {"effect": "deny", "resources": ["table"], "condition": "matchAnyTag('PII.Sensitive')"}
        restrict(administrator, mallory_id, denial)
        if name == "sales":
            request = mallory.get("/changes/CR-1").json()
            assert (request["answers"]["total"], request["consumers"]["hidden"]) == (2, 1)
            assert list(consumers(mallory)) == ["clean"]
            timeline = mallory.get("/changes/CR-1/timeline").text
            assert (secret in timeline, "bob" in timeline, "answered" in timeline) == (False, False, True)
    assert mallory.get("/changes").json()["data"] == []
    assert mallory.get("/changes/CR-1").status_code == 404


def test_requests_are_filtered_and_paged(administrator: httpx.Client, world: dict[str, Json]) -> None:
    announce(administrator, world["orders"])
    announce(administrator, world["clean"], column=None, kind="deprecation")
    announce(administrator, world["sales"])
    assert administrator.put("/changes/CR-3/withdraw").is_success

    def names(**query: str) -> list[str]:
        return [one["name"] for one in administrator.get("/changes", params=query).json()["data"]]

    assert names() == ["CR-3", "CR-2", "CR-1"]
    assert names(status="announced") == ["CR-2", "CR-1"]
    assert names(status="withdrawn") == ["CR-3"]
    assert names(status="due") == names(author=str(uuid4())) == []
    for query, message in (
        ({"author": "nobody"}, "user nobody not found"),
        ({"author": "admim"}, "user admim not found; did you mean admin?"),
        ({"asset": "analysts"}, "analysts not found"),
        ({"asset": "warehouse.shop.public.order"}, "did you mean warehouse.shop.public.orders?"),
    ):
        answer = administrator.get("/changes", params=query)
        assert (answer.status_code, message in answer.json()["message"]) == (404, True), answer.text
    assert administrator.get("/changes?type=tabel").status_code == 400
    assert names(asset=world["clean"]["fullyQualifiedName"]) == names(asset=world["clean"]["id"]) == ["CR-2"]
    assert names(author="admin") == ["CR-3", "CR-2", "CR-1"]
    first = administrator.get("/changes?limit=2").json()
    second = administrator.get("/changes", params={"after": first["paging"]["after"]}).json()
    assert [one["name"] for one in second["data"]] == ["CR-1"]
    page = administrator.get("/changes/CR-1/consumers?limit=1").json()
    after = page["paging"]["after"]
    assert list(consumers(administrator, after=after)) == ["sales"]


def test_owners_are_those_of_now_and_a_deleted_consumer_is_asked_no_more(
    administrator: httpx.Client, world: dict[str, Json]
) -> None:
    announce(administrator, world["orders"])
    bob = world["as_bob"]
    owners = {"op": "replace", "path": "/owners", "value": [{"type": "user", "id": world["bob"]}]}
    assert send_patch(administrator, f"/tables/{world['clean']['id']}", owners).is_success
    assert bob.get("/changes/CR-1").json()["consumers"]["yours"] == 2
    assert world["as_ann"].put("/changes/CR-1/answer", json={"answer": "ready"}).status_code == 403
    assert administrator.delete(f"/tables/{world['sales']['id']}?hardDelete=true").is_success
    assert list(consumers(administrator)) == ["clean"]
    assert administrator.delete(f"/tables/{world['orders']['id']}?hardDelete=true").is_success
    request = administrator.get("/changes/CR-1").json()
    assert (request["entity"]["name"], request["answers"]["total"]) == ("orders", 1)


def test_a_column_removed_early_is_told_in_events_history_and_the_request(
    administrator: httpx.Client, world: dict[str, Json]
) -> None:
    orders = world["orders"]
    announce(administrator, orders)
    columns = [one for one in orders["columns"] if one["name"] != "email"]
    send_patch(administrator, f"/tables/{orders['id']}", {"op": "replace", "path": "/columns", "value": columns})
    event = administrator.get("/events?entityUpdated=table&format=tocsin&breaking=true").json()["data"][0]
    assert event["announcements"] == [
        {
            **{"request": "CR-1", "outcome": "early", "field": "columns.email", "openAnswers": 2},
            "text": "earlier than CR-1 announced",
        }
    ]
    request = administrator.get("/changes/CR-1").json()
    assert (request["status"], request["outcome"], request["doneAt"]) == ("done", "early", event["timestamp"])
    assert administrator.get("/changes?status=done").json()["data"][0]["name"] == "CR-1"
    assert administrator.get("/changes/CR-1/timeline").json()["data"][-1]["kind"] == "done"
    history = administrator.get(f"/tables/{orders['id']}/versions?words=true").json()
    assert len(history["breaking"][0]) == 1
    assert administrator.put("/changes/CR-1/withdraw", json={}).status_code == 409


def test_a_column_renamed_early_is_renamed_in_history_and_in_the_parts_of_the_change(
    administrator: httpx.Client, world: dict[str, Json]
) -> None:
    orders = world["orders"]
    announce(administrator, orders, kind="rename", newValue="mail")
    at = [one["name"] for one in orders["columns"]].index("email")
    renaming = {**orders["columns"][at], "name": "mail"}
    columns = [*orders["columns"][:at], renaming, *orders["columns"][at + 1 :]]
    change = {"op": "replace", "path": "/columns", "value": columns}
    assert send_patch(administrator, f"/tables/{orders['id']}", change).is_success
    event = administrator.get("/events?entityUpdated=table&format=tocsin&breaking=true").json()["data"][0]
    assert "renamed to mail" in event["title"]
    texts = {(one["operation"], one["target"]): one["text"] for one in event["semanticChanges"]}
    assert texts["remove", "columns.email"] == "column email renamed to mail"
    assert texts["add", "columns.mail"] == texts["remove", "columns.email"], "one wording"
    activities = administrator.get(f"/activity/entity/table/{orders['id']}").json()["data"]
    renames = [one for one in activities if "renamed" in one["summary"]]
    assert [one["summary"] for one in renames] == [event["title"]], "one activity, not a removal and an addition"
    assert ("email" in renames[0]["oldValue"], "mail" in renames[0]["newValue"]) == (True, True)
    history = administrator.get(f"/tables/{orders['id']}/versions?words=true").json()
    assert history["words"][0] == ["breaking, earlier than CR-1 announced: column email renamed to mail"]
    assert len(history["breaking"][0]) == 1
    rename = {"field": "columns.email", "to": "mail", "request": "CR-1"}
    assert administrator.get(f"/tables/{orders['id']}/diff").json()["renames"] == [rename]
    newest = f"{event['currentVersion']:.1f}"
    assert administrator.get(f"/tables/{orders['id']}/diff?from={newest}&to=0.1").json()["renames"] == []
    now = administrator.get(f"/tables/{orders['id']}").json()
    announce(administrator, now, column="mail", kind="rename", newValue="contact")
    again = {"op": "replace", "path": f"/columns/{at}", "value": renaming | {"name": "contact"}}
    assert send_patch(administrator, f"/tables/{orders['id']}", again).is_success
    difference = administrator.get(f"/tables/{orders['id']}/diff?from=0.1").json()
    assert difference["renames"] == [rename | {"to": "contact"}], "the first came early, too"
    assert [one["text"] for one in difference["announcements"]] == ["earlier than CR-1 announced"]
    words = administrator.get(f"/tables/{orders['id']}/versions?words=true").json()["words"]
    assert words[0] == ["breaking, earlier than CR-2 announced: column mail renamed to contact"], words


def test_a_difference_names_what_went_as_announced_among_no_reasons_but_what_changed_again_since(
    administrator: httpx.Client, world: dict[str, Json], sqlite_engine: Engine
) -> None:
    orders = world["orders"]
    path = f"/tables/{orders['id']}"
    at = [one["name"] for one in orders["columns"]].index("email")
    announce(administrator, orders, kind="type", newValue="INT")
    with sqlite_engine.begin() as connection:
        connection.execute(update(change_request).values(due_at_ms=1))

    def retype(data_type: str) -> Json:
        change = {"op": "replace", "path": f"/columns/{at}/dataType", "value": data_type}
        assert send_patch(administrator, path, change).is_success
        return administrator.get(f"{path}/diff?from=0.1").json()

    difference = retype("INT")
    assert (difference["breaking"], difference["breakingReasons"]) == (False, [])
    texts = [(one["field"], one["text"]) for one in difference["announcements"]]
    assert texts == [("columns.email", "as announced by CR-1")]
    difference = retype("BOOLEAN")
    assert [one["outcome"] for one in difference["announcements"]] == ["otherwise"]
    assert difference["breaking"], "the later type was not announced"


def test_a_difference_does_not_call_breaking_a_column_removed_as_announced(
    administrator: httpx.Client, world: dict[str, Json], sqlite_engine: Engine
) -> None:
    orders = world["orders"]
    path = f"/tables/{orders['id']}"
    announce(administrator, orders)
    with sqlite_engine.begin() as connection:
        connection.execute(update(change_request).values(due_at_ms=1))
    columns = [one for one in orders["columns"] if one["name"] != "email"]
    assert send_patch(administrator, path, {"op": "replace", "path": "/columns", "value": columns}).is_success
    difference = administrator.get(f"{path}/diff").json()
    assert (difference["breaking"], difference["breakingReasons"]) == (False, [])
    announcement = {"request": "CR-1", "outcome": "asAnnounced", "field": "columns.email", "openAnswers": 0}
    assert difference["announcements"] == [announcement | {"text": "as announced by CR-1"}]
    assert send_patch(administrator, path, {"op": "replace", "path": "/columns", "value": columns[1:]}).is_success
    reasons = administrator.get(f"{path}/diff?from=0.1").json()["breakingReasons"]
    assert [one["field"] for one in reasons] == [f"columns.{columns[0]['name']}"], "that was not announced"


def test_events_in_words_have_times_in_the_zone_of_their_reader(
    administrator: httpx.Client, world: dict[str, Json], person: Person
) -> None:
    announce(administrator, world["orders"])
    yuki_id, yuki = person("yuki")
    _, joan = person("joan")
    assert yuki.put(f"/users/{yuki_id}/preferences", json={"timezone": "Asia/Tokyo"}).is_success
    for reader, zone in ((yuki, " JST"), (joan, " UTC")):
        page = reader.get("/events?eventType=changeRequestUpdated&format=tocsin").json()["data"]
        assert zone in page[0]["title"]
        assert zone in reader.get("/events?eventType=changeRequestUpdated&format=csv").text
        assert reader.get(f"/events/{page[0]['id']}?format=tocsin").json()["title"] == page[0]["title"]


def test_history_says_how_the_rename_of_an_asset_that_nothing_reads_was_announced(
    administrator: httpx.Client, sqlite_engine: Engine
) -> None:
    depot = create_entity(administrator, "/domains", name="Depot", domainType="Aggregate", description="Halls.")
    subject = {"type": "domain", "id": depot["id"]}
    announce(administrator, depot, entity=subject, kind="rename", column=None, newValue="Store")
    with sqlite_engine.begin() as connection:
        connection.execute(update(change_request).values(due_at_ms=1))
    renaming = {"op": "replace", "path": "/name", "value": "Store"}
    assert send_patch(administrator, f"/domains/{depot['id']}", renaming).is_success

    def newest_words() -> Json:
        return administrator.get(f"/domains/{depot['id']}/versions?words=true").json()["words"][0]

    words = ["as announced by CR-1: renamed Depot → Store"]
    assert newest_words() == words
    with sqlite_engine.begin() as connection:
        connection.execute(delete(change_event))
    assert newest_words() == words, "the request says so when the event is removed"


def test_history_says_what_was_done_otherwise_than_announced_and_what_was_not_announced(
    administrator: httpx.Client, world: dict[str, Json]
) -> None:
    orders = world["orders"]
    announce(administrator, orders, kind="type", newValue="BIGINT")
    path = f"/tables/{orders['id']}"
    by_name = {one["name"]: at for at, one in enumerate(orders["columns"])}
    narrowing = {"op": "replace", "path": f"/columns/{by_name['email']}/dataType", "value": "INT"}
    assert send_patch(administrator, path, narrowing).is_success
    dropped_column = next(name for name in by_name if name != "email")
    assert send_patch(administrator, path, {"op": "remove", "path": f"/columns/{by_name[dropped_column]}"}).is_success
    removal_lines, type_lines = administrator.get(f"{path}/versions?words=true").json()["words"][:2]
    assert [line for line in removal_lines if line.startswith("breaking, not announced: ")] == removal_lines[:1]
    assert len([line for line in removal_lines if f"column {dropped_column}" in line]) == 1, removal_lines
    assert type_lines[0].startswith("breaking, otherwise than CR-1 announced: column email ")
    assert len(type_lines) == 1, type_lines


def test_a_table_removed_early_is_explained_with_all_that_reads_it(
    administrator: httpx.Client, world: dict[str, Json]
) -> None:
    orders = world["orders"]
    announce(administrator, orders, column=None)
    assert administrator.delete(f"/tables/{orders['id']}").is_success
    event = administrator.get("/events?eventType=entitySoftDeleted&format=tocsin").json()["data"][0]
    explanation = administrator.get(f"/events/{event['id']}/explain")
    assert explanation.status_code == 200, explanation.text
    assert {one["name"] for one in explanation.json()["readers"]["data"]} == {"clean", "counts"}


def test_who_answers_for_a_consumer_is_told_once_and_nobody_who_may_not_see_the_asset(
    administrator: httpx.Client, world: dict[str, Json], sqlite_engine: Engine
) -> None:
    announce(administrator, world["orders"])
    notify_all(sqlite_engine)
    assert why_asked(world, "ann") == "you own clean, which reads orders.email (alert ChangeRequests)"
    through_team = "you own sales through team analysts, which reads orders (alert ChangeRequests)"
    assert why_asked(world, "bob") == through_team


def why_asked(world: dict[str, Json], name: str) -> str:
    """Return why the alert about change requests has told somebody of the newest event about one."""
    inbox = world[f"as_{name}"].get(f"/users/{world[name]}/notifications").json()["data"]
    entry = next(one for one in inbox if one["eventType"] == "changeRequestUpdated")
    (sentence,) = (one["sentence"] for one in entry["reasons"] if one["subscriptionName"] == "ChangeRequests")
    return str(sentence)


def test_many_consumers_of_one_person_are_counted_and_hidden_ones_are_not_named(
    administrator: httpx.Client, world: dict[str, Json], sqlite_engine: Engine
) -> None:
    owners = [{"type": "user", "id": world["ann"]}]
    for at in range(4):
        feed(administrator, world["orders"], table(administrator, f"copy{at}", owners=owners), "email")
    assert administrator.put(f"/tables/{world['orders']['id']}/followers/{world['ann']}").is_success
    announce(administrator, world["orders"])
    notify_all(sqlite_engine)
    about = "which read orders.email (alert ChangeRequests)"
    assert why_asked(world, "ann") == f"you follow it and you own clean, copy0, copy1 and 2 more, {about}"
    (event,) = administrator.get("/events?eventType=changeRequestUpdated").json()["data"]
    explanation = world["as_ann"].get(f"/events/{event['id']}/explain", params={"user": "ann"}).json()["answer"]
    assert f"because you follow it and you own clean, copy0, copy1 and 2 more, {about}" in explanation
    hide(administrator, world["ann"], world["clean"])
    assert why_asked(world, "ann") == f"you follow it and you own copy0, copy1, copy2 and 1 more, {about}"


def test_a_permanent_deletion_ends_a_request_and_tells_once_who_was_asked(
    administrator: httpx.Client, world: dict[str, Json], sqlite_engine: Engine
) -> None:
    announce(administrator, world["orders"])
    notify_all(sqlite_engine)
    assert administrator.delete(f"/tables/{world['orders']['id']}?hardDelete=true").is_success
    notify_all(sqlite_engine)
    request = administrator.get("/changes/CR-1").json()
    assert (request["status"], request["outcome"]) == ("done", "otherwise")
    for name in ("ann", "bob"):
        inbox = world[f"as_{name}"].get(f"/users/{world[name]}/notifications").json()["data"]
        titles = [one["title"] for one in inbox if one["eventType"] == "changeRequestUpdated"]
        assert ["ended, as the asset is deleted permanently" in title for title in titles] == [True, False]


def test_requests_of_a_deleted_asset_are_listed_by_its_name_to_who_may_view_it(
    administrator: httpx.Client, world: dict[str, Json]
) -> None:
    fqn, ann = world["orders"]["fullyQualifiedName"], world["as_ann"]
    announce(administrator, world["orders"])
    announce(administrator, world["counts"], column=None)

    def names_of(client: httpx.Client, **query: str) -> list[str]:
        answer = client.get("/changes", params={"asset": fqn, **query})
        assert answer.is_success, answer.text
        return [one["name"] for one in answer.json()["data"]]

    for deletion in ("", "?hardDelete=true"):
        assert administrator.delete(f"/tables/{world['orders']['id']}{deletion}").is_success
        for client in (administrator, ann):
            assert names_of(client) == names_of(client, type="table") == ["CR-1"], deletion
        assert administrator.get("/changes", params={"asset": fqn, "type": "topic"}).status_code == 404
    restrict(
        administrator, world["ann"], {"effect": "deny", "resources": ["table"], "operations": ["ViewAll", "ViewBasic"]}
    )
    refusal = ann.get("/changes", params={"asset": fqn})
    assert (refusal.status_code, refusal.json()["message"]) == (404, f"asset {fqn} not found")
    assert names_of(administrator) == ["CR-1"]


def test_a_table_made_anew_under_the_same_name_has_none_of_the_requests_of_the_former(
    administrator: httpx.Client, world: dict[str, Json]
) -> None:
    announce(administrator, world["orders"])
    assert administrator.delete(f"/tables/{world['orders']['id']}?hardDelete=true").is_success
    orders = table(administrator, "orders")
    assert orders["fullyQualifiedName"] == world["orders"]["fullyQualifiedName"]
    by_name = {"asset": orders["fullyQualifiedName"], "type": "table"}
    assert administrator.get("/changes", params=by_name).json()["data"] == []
    at = [one["name"] for one in orders["columns"]].index("email")
    removal = send_patch(administrator, f"/tables/{orders['id']}", {"op": "remove", "path": f"/columns/{at}"})
    assert removal.is_success, removal.text
    former = administrator.get("/changes/CR-1").json()
    assert (former["status"], former["entity"]["id"]) == ("done", world["orders"]["id"])
    (event,) = administrator.get("/events", params={"entityId": orders["id"], "eventType": "entityUpdated"}).json()[
        "data"
    ]
    assert "CR-1" not in str(event)


def test_a_bot_may_announce_and_nobody_hears_of_the_answers(
    served: Served, administrator: httpx.Client, world: dict[str, Json], sqlite_engine: Engine
) -> None:
    with bot(served) as connector:
        assert announce(connector, world["orders"])["author"]["name"] == "connector"
    assert world["as_ann"].put("/changes/CR-1/answer", json={"answer": "ready"}).is_success
    notify_all(sqlite_engine)
    for who in ("ann", "bob"):
        inbox = world[f"as_{who}"].get(f"/users/{world[who]}/notifications").json()["data"]
        assert [one["eventType"] for one in inbox if "changeRequest" in one["eventType"]] == ["changeRequestUpdated"]
    assert administrator.put("/changes/CR-1/withdraw").json()["status"] == "withdrawn"


def test_assets_show_what_is_announced_of_them_where_asked(
    administrator: httpx.Client, world: dict[str, Json], person: Person
) -> None:
    orders, sales = world["orders"], world["sales"]
    path = f"/tables/{orders['id']}"
    assert administrator.get(path, params={"fields": "changeRequests"}).json()["changeRequests"] == []
    announce(administrator, orders)
    announce(administrator, orders, column="id")
    announce(administrator, sales, column=None)
    administrator.put("/changes/CR-2/withdraw", json={})
    query = {"fields": "changeRequests"}
    (request,) = administrator.get(path, params=query).json()["changeRequests"]
    listed_request = administrator.get("/changes", params={"asset": orders["id"], "status": "announced"}).json()["data"]
    assert without_addresses(request) == without_addresses(listed_request[0])
    by_name = administrator.get(f"/tables/name/{orders['fullyQualifiedName']}", params=query).json()
    assert by_name["changeRequests"] == [request]
    assets = administrator.get("/tables", params=query | {"limit": 50}).json()["data"]
    names = {one["name"]: [each["name"] for each in one["changeRequests"]] for one in assets}
    assert (names["orders"], names["sales"], names["clean"]) == (["CR-1"], ["CR-3"], [])
    for fields in ("", "*", "owners"):
        assert "changeRequests" not in administrator.get(path, params={"fields": fields}).json()
    assert (
        "changeRequests"
        not in send_patch(administrator, path, {"op": "add", "path": "/description", "value": "changed"}).json()
    )
    for name in ("jsonld", "turtle"):
        assert administrator.get(path, params=query | {"format": name}).status_code == 200
    assert administrator.get("/teams", params=query).status_code == 400, "nobody announces changes of teams"
    user_id, carl = person("carl")
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    label = {"op": "add", "path": "/tags", "value": [{"tagFQN": "PII.Sensitive"}]}
    assert send_patch(administrator, f"/tables/{sales['id']}", label).is_success
    seen_assets = carl.get("/tables", params=query | {"limit": 50}).json()["data"]
    assert [one["name"] for one in seen_assets if one["changeRequests"]] == ["orders"]


def test_requests_of_a_page_of_assets_are_read_together(
    administrator: httpx.Client, world: dict[str, Json], sqlite_engine: Engine
) -> None:
    def statement_count() -> int:
        """Return the fewest statements of three requests: some also read anew what is known for a while."""
        return min(statements_of_a_request() for _ in range(3))

    def statements_of_a_request() -> int:
        statements: list[str] = []

        def note(*arguments: Json) -> None:
            statements.append(arguments[2])

        statement_events.listen(sqlite_engine, "before_cursor_execute", note)
        try:
            assert administrator.get("/tables", params={"fields": "changeRequests"}).is_success
        finally:
            statement_events.remove(sqlite_engine, "before_cursor_execute", note)
        return len(statements)

    announce(administrator, world["orders"])
    of_one = statement_count()
    announce(administrator, world["orders"], column="id")
    announce(administrator, world["sales"], column=None)
    assert statement_count() == of_one


def without_addresses(request: Json) -> Json:
    """Return a request without what an answer adds to references."""
    plain = {key: value for key, value in request.items() if key not in ("entity", "author")}
    return {**plain, **{key: request[key]["id"] for key in ("entity", "author")}}
