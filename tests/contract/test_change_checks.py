"""Tests of checks of proposed changes by HTTP: what breaks, who reads it, who would be told, and what nobody learns."""

from __future__ import annotations

import httpx
import pytest
from sqlalchemy import Engine, func, select
from tests.contract.test_access import create_entity
from tests.contract.test_changes import announce, person, world
from tests.contract.test_explain import Person
from tests.contract.test_feed import hide
from tests.contract.test_queue import create_alert
from tests.serving import Json

from tocsin.store.database.tables import change_event, entity

__all__ = ["person", "world"]  # fixtures

OF_TABLES = {"resources": ["table"]}
DROP = {"removedColumns": ["EMAIL"]}


def check(client: httpx.Client, *changes: Json, **fields: Json) -> Json:
    answer = client.post("/changes/check", json={"changes": list(changes), **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


def change_of(asset: Json, **change: Json) -> Json:
    return {"entityType": "table", "fullyQualifiedName": asset["fullyQualifiedName"], **change}


def stored_counts(engine: Engine) -> list[int]:
    with engine.connect() as connection:
        return [connection.scalar(select(func.count()).select_from(one)) or 0 for one in (change_event, entity)]


def test_a_column_that_goes_breaks_who_reads_it_and_nothing_is_kept(
    administrator: httpx.Client, world: dict[str, Json], sqlite_engine: Engine
) -> None:
    before = stored_counts(sqlite_engine)
    answer = check(
        administrator, change_of(world["orders"], **DROP), conditions=["breaking()", "matchAnySource('topic')"]
    )
    (orders_change,) = answer["data"]
    assert orders_change["headline"] == "orders: breaking, not announced: column email VARCHAR(200) removed"
    (reason,) = orders_change["breakingReasons"]
    assert (reason["kind"], reason["text"], reason["announcement"]) == (
        *("fieldRemoved", "column email VARCHAR(200) removed", "not announced"),
    )
    assert [(one["entity"]["name"], one["isCertain"]) for one in orders_change["readers"]["data"]] == [
        ("clean", True),
        ("sales", False),
    ]
    assert orders_change["conditions"] == [True, False] and not orders_change["isAnnounced"]
    assert "owners" not in orders_change["readers"]["data"][0] and "data" not in answer["recipients"], "people if asked"
    assert stored_counts(sqlite_engine) == before
    assert administrator.get(f"/tables/{world['orders']['id']}").json()["version"] == world["orders"]["version"]


def test_each_kind_of_proposal(administrator: httpx.Client, world: dict[str, Json]) -> None:
    small_id = {"name": "Id", "dataType": "SMALLINT"}
    answers = check(
        administrator,
        change_of(world["orders"], columns=[small_id]),
        change_of(world["orders"], columns=[{"name": "note", "dataType": "STRING"}], removedColumns=["nothing.here"]),
        change_of(world["orders"], columns=[{"name": "id", "constraint": "NOT_NULL"}]),
        change_of(world["orders"], columns=[{"name": "gone", "constraint": "NOT_NULL"}]),
        change_of(world["clean"], deleted=True),
        change_of({"fullyQualifiedName": "warehouse.nobody.knows.this"}, deleted=True),
    )["data"]
    texts = [[reason["text"] for reason in one["breakingReasons"]] for one in answers]
    assert texts[0] and "column id" in texts[0][0] and texts[0][0].endswith("→ SMALLINT")
    assert [one["entity"]["name"] for one in answers[0]["readers"]["data"]] == ["counts"]
    assert (texts[1], answers[1]["missingColumns"]) == ([], ["nothing.here"])
    assert answers[1]["headline"] == "orders: column note STRING added"
    assert texts[2] == ["column id made NOT NULL"]
    assert (answers[3]["headline"], answers[3]["missingColumns"]) == ("", ["gone"])
    assert texts[4] == ["deleted while something reads it"]
    assert answers[4]["readers"]["data"][0]["isCertain"], "all of it goes"
    assert (answers[5]["entity"], answers[5]["headline"], answers[5]["readers"]["total"]) == (None, "", 0)


def test_a_topic_gets_another_schema(administrator: httpx.Client) -> None:
    def schema(*fields: str) -> Json:
        text = ", ".join(f'{{"name": "{name}", "type": "string"}}' for name in fields)
        return {"schemaType": "Avro", "schemaText": f'{{"type": "record", "name": "r", "fields": [{text}]}}'}

    service = create_entity(administrator, "/services/messagingServices", name="kafka", serviceType="Kafka")
    topic = create_entity(
        *(administrator, "/topics"),
        name="orders",
        service=service["fullyQualifiedName"],
        partitions=1,
        messageSchema=schema("id"),
    )
    proposal = {"entityType": "topic", "fullyQualifiedName": topic["fullyQualifiedName"]}
    answers = check(
        administrator,
        {**proposal, "messageSchema": schema("id", "more")},
        {**proposal, "messageSchema": schema("other")},
    )["data"]
    assert [[one["kind"] for one in answer["breakingReasons"]] for answer in answers] == [
        [],
        ["schemaIncompatible"],
    ]


def test_what_is_announced_says_so_until_somebody_objects(administrator: httpx.Client, world: dict[str, Json]) -> None:
    announce(administrator, world["orders"])
    (checked,) = check(administrator, change_of(world["orders"], **DROP))["data"]
    assert [one["announcement"] for one in checked["breakingReasons"]] == ["announced by CR-1"]
    assert checked["isAnnounced"] and checked["announcements"][0]["request"] == "CR-1"
    (unannounced_change,) = check(administrator, change_of(world["orders"], removedColumns=["id"]))["data"]
    assert not unannounced_change["isAnnounced"]
    assert world["as_ann"].put("/changes/CR-1/answer", json={"answer": "objects", "comment": "no"}).is_success
    (checked,) = check(administrator, change_of(world["orders"], **DROP))["data"]
    assert [one["announcement"] for one in checked["breakingReasons"]] == ["despite an objection to CR-1"]
    assert not checked["isAnnounced"]


def test_people_are_named_if_asked_to_who_may_know(
    administrator: httpx.Client, world: dict[str, Json], person: Person
) -> None:
    zoe_id, _ = person("zoe")
    assert administrator.put(f"/tables/{world['orders']['id']}/followers/{zoe_id}").is_success
    answer = check(administrator, change_of(world["orders"], **DROP), people=True)
    assert answer["recipients"]["isComplete"]
    by_name = {one["user"]["name"]: one for one in answer["recipients"]["data"] if "user" in one}
    assert by_name["zoe"]["reasons"] == ["follower"] and by_name["zoe"]["alerts"]
    assert answer["data"][0]["readers"]["data"][0]["owners"][0]["name"] == "ann"
    assert by_name["zoe"]["channels"] == ["ActivityFeed"]
    of_ann = check(world["as_ann"], change_of(world["orders"], **DROP), people=True)["recipients"]
    assert of_ann == {"people": 0, "addresses": 0, "isComplete": False, "data": []}, "of others one knows nothing"


def test_channels_are_those_of_alerts_that_one_may_edit_whatever_people_prefer(
    administrator: httpx.Client, world: dict[str, Json], person: Person
) -> None:
    zoe_id, zoe = person("zoe")
    destination = {"category": "Users", "type": "Email", "config": {"receivers": ["zoe", "bob"]}}
    create_alert(
        administrator, name="Mails", alertType="Notification", filteringRules=OF_TABLES, destinations=[destination]
    )
    before = check(administrator, change_of(world["orders"], **DROP), people=True)["recipients"]
    by_name = {one["user"]["name"]: one for one in before["data"]}
    of_zoe = by_name["zoe"]
    assert by_name["bob"]["channels"] == ["Email"]
    assert of_zoe["channels"] == ["Email"] and of_zoe["alerts"] == ["Mails"]
    answer = zoe.put(f"/users/{zoe_id}/mutes", json={"kind": "everything"})
    assert answer.is_success, answer.text
    after = check(administrator, change_of(world["orders"], **DROP), people=True)["recipients"]
    assert after == before, "nobody learns what a person has muted"
    own_recipients = check(zoe, change_of(world["orders"], **DROP), people=True)["recipients"]
    assert own_recipients["data"] == [], "of an alert's other people one learns nothing; the change would be one's own"
    assert administrator.put(f"/tables/{world['orders']['id']}/followers/{zoe_id}").is_success
    followers = {"category": "Followers", "type": "Email"}
    create_alert(
        world["as_ann"], name="OfAnn", alertType="Notification", filteringRules=OF_TABLES, destinations=[followers]
    )
    of_zoe = {"alerts": ["OfAnn"], "reasons": ["follower"], "events": 1, "channels": ["Email"]}
    of_ann = check(world["as_ann"], change_of(world["orders"], **DROP), people=True)["recipients"]
    assert [{key: one[key] for key in of_zoe} for one in of_ann["data"]] == [of_zoe], (
        "of others' alerts one learns nothing"
    )


@pytest.mark.parametrize("kind", ["asset", "alert"])
def test_nobody_learns_which_of_several_alerts_a_person_has_muted(
    administrator: httpx.Client, world: dict[str, Json], person: Person, kind: str
) -> None:
    zoe_id, zoe = person("zoe")
    mails = {"category": "Users", "type": "Email", "config": {"receivers": ["zoe"]}}
    fields = {"alertType": "Notification", "filteringRules": OF_TABLES, "destinations": [mails]}
    create_alert(administrator, name="Others", **fields)
    alert = create_alert(administrator, name="Mails", **fields)
    before = check(administrator, change_of(world["orders"], **DROP), people=True)["recipients"]
    assert {one["user"]["name"]: one["alerts"] for one in before["data"]}["zoe"] == ["Mails", "Others"]
    subject = {"type": "table", "id": world["orders"]["id"]} if kind == "asset" else {"id": alert["id"]}
    assert zoe.put(f"/users/{zoe_id}/mutes", json={"kind": kind, **subject}).is_success
    assert check(administrator, change_of(world["orders"], **DROP), people=True)["recipients"] == before


def test_hidden_readers_are_counted_and_hidden_assets_are_not_there(
    administrator: httpx.Client, world: dict[str, Json], person: Person
) -> None:
    mallory_id, mallory = person("mallory")
    hide(administrator, mallory_id, world["clean"])
    answer = check(mallory, change_of(world["orders"], **DROP), change_of(world["clean"], deleted=True), people=True)
    readers = answer["data"][0]["readers"]
    assert [one["entity"]["name"] for one in readers["data"]] == ["sales"]
    assert (readers["total"], readers["hidden"]) == (2, 1)
    absent = check(mallory, change_of({"fullyQualifiedName": "warehouse.nobody.knows.this"}, deleted=True))["data"]
    assert {**answer["data"][1], "fullyQualifiedName": ""} == {**absent[0], "fullyQualifiedName": ""}
    assert "clean" not in str(answer["data"][0]) and "ann" not in str(answer["recipients"])


def test_what_the_change_adapts_reads_it_no_more_nor_what_is_made_from_that(
    administrator: httpx.Client, world: dict[str, Json], person: Person
) -> None:
    drop = change_of(world["orders"], **DROP, adapted=[world["clean"]["fullyQualifiedName"].upper()])
    (change,) = check(administrator, drop)["data"]
    assert (change["readers"]["total"], [one["name"] for one in change["adapted"]]) == (0, ["clean"])
    mallory_id, mallory = person("mallory")
    hide(administrator, mallory_id, world["clean"])
    (change,) = check(mallory, drop)["data"]
    assert (change["readers"]["total"], change["readers"]["hidden"], change["adapted"]) == (2, 1, []), "as without"


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({}, "changes"),
        ({"changes": []}, "changes"),
        ({"changes": [{"entityType": "table", "fullyQualifiedName": "a.b.c.d"}]}, "changes[0]"),
        ({"changes": [{"entityType": "databaseSchema", "fullyQualifiedName": "a.b.c", "deleted": True}]}, "no others"),
        (
            {"changes": [{"entityType": "user", "fullyQualifiedName": "admin", "deleted": True}]},
            "changes[0].entityType",
        ),
        ({"changes": [{"entityType": "table", "fullyQualifiedName": "a.b", "columns": [{}]}]}, "changes[0].columns"),
        (
            {"changes": [{"entityType": "table", "fullyQualifiedName": "a", "deleted": True}], "conditions": ["x("]},
            "cond",
        ),
    ],
)
def test_wrong_requests_name_their_place(administrator: httpx.Client, body: Json, place: str) -> None:
    answer = administrator.post("/changes/check", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, 400), answer.text
    assert place in answer.json()["message"], answer.text


def test_a_tag_cannot_be_proposed_so_that_a_hidden_one_is_not_guessed(
    administrator: httpx.Client, world: dict[str, Json]
) -> None:
    tag = {"tagFQN": "PII.Sensitive", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
    for column in (
        {"name": "id", "tags": [tag]},
        {"name": "id", "dataType": "STRUCT", "children": [{"name": "x", "dataType": "INT", "tags": [tag]}]},
    ):
        answer = administrator.post("/changes/check", json={"changes": [change_of(world["orders"], columns=[column])]})
        assert (answer.status_code, "tags cannot be proposed" in answer.text) == (400, True), answer.text


def test_a_malformed_column_is_refused_with_its_place(administrator: httpx.Client, world: dict[str, Json]) -> None:
    column = {"name": "note", "dataType": "NOTHING"}
    answer = administrator.post("/changes/check", json={"changes": [change_of(world["orders"], columns=[column])]})
    assert answer.status_code == 400 and "changes[0]" in answer.json()["message"], answer.text


_NAMES = ('"', "a..b", 'x."', "", " ", "\u202e", "email", "ID", "a" * 300, "children.zip", "'; drop table entity; --")
_VALUES: tuple[Json, ...] = (-1, "x", [], [{}], None, {"a": []})
_TYPES = ("INT", "ARRAY", "STRUCT", "nothing", 5, None, {"a": 1}, "DECIMAL")


def test_whatever_is_proposed_is_answered_or_refused(administrator: httpx.Client, world: dict[str, Json]) -> None:
    asset = world["orders"]
    proposals = [change_of(asset, removedColumns=[name]) for name in _NAMES]
    proposals += [change_of(asset, columns=[{"name": name, "dataType": kind}]) for name in _NAMES for kind in _TYPES]
    proposals += [
        change_of(asset, columns=[{"name": "id", key: value}])
        for key in ("dataLength", "precision", "children", "tags", "constraint", "fullyQualifiedName", "arrayDataType")
        for value in _VALUES
    ]
    proposals += [change_of(asset, messageSchema={"schemaText": text}) for text in ("{", "", 5)]
    proposals += [change_of({"fullyQualifiedName": name or "x"}, deleted=True, adapted=[name]) for name in _NAMES]
    for proposal in proposals:
        answer = administrator.post("/changes/check", json={"changes": [proposal]})
        assert answer.status_code in (200, 400), (proposal, answer.text)
