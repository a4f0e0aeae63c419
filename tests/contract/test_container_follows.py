"""Tests of what is said to people, and about them, who follow what an asset belongs to."""

from __future__ import annotations

import httpx
from sqlalchemy import Engine
from tests.contract.test_access import restrict
from tests.contract.test_explain import alert, alert_in, describe, explanation_of
from tests.notifying import notify_all
from tests.serving import Json, Served

from tocsin.delivery.links.follow import FollowLink, token_of

BELL_AND_MAIL = [{"category": "Followers", "type": "ActivityFeed"}, {"category": "Followers", "type": "Email"}]
DAY_MS = 86_400_000


def follow_schema(client: httpx.Client, orders: Json, user_id: str) -> str:
    schema = str(orders["databaseSchema"]["id"])
    assert client.put(f"/databaseSchemas/{schema}/followers", json=user_id).status_code == 200
    return schema


def hide_schemas(administrator: httpx.Client, user_id: str) -> None:
    restrict(administrator, user_id, {"effect": "deny", "resources": ["databaseSchema"], "operations": ["ViewAll"]})


def inbox(client: httpx.Client, user_id: str) -> list[Json]:
    data: list[Json] = client.get(f"/users/{user_id}/notifications").json()["data"]
    return data


def test_the_inbox_and_the_explanation_say_through_what_a_person_follows(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    ann, client = served.person("ann")
    schema = follow_schema(administrator, orders, ann)
    alert(administrator, "Watch", destinations=BELL_AND_MAIL)
    event = describe(administrator, orders, "one")
    notify_all(sqlite_engine)
    name = orders["databaseSchema"]["fullyQualifiedName"]
    sentence = f"you follow the database schema {name}, which contains it (alert Watch)"
    with client:
        (entry,) = inbox(client, ann)
        (reason,) = [one for one in entry["reasons"] if one["subscriptionName"] == "Watch"]
        assert reason["sentence"] == sentence
        assert reason["through"] == {"type": "databaseSchema", "id": schema, "fullyQualifiedName": name}
        answer = explanation_of(client, event, user="ann", subscription="Watch")
        ways = [way for one in alert_in(answer, "Watch")["reached"]["data"] for way in one["ways"]]
        assert [(way["reason"]["through"]["id"], way["stoppedBy"]) for way in ways] == [(schema, None)] * 2
        assert answer["disagreements"] == []


def test_a_hidden_schema_stops_its_follower_and_is_not_named_any_more(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    ann, client = served.person("ann")
    follow_schema(administrator, orders, ann)
    alert(administrator, "Watch", destinations=BELL_AND_MAIL)
    describe(administrator, orders, "one")
    notify_all(sqlite_engine)
    hide_schemas(administrator, ann)
    event = describe(administrator, orders, "two")
    notify_all(sqlite_engine)
    answer = explanation_of(administrator, event, user="ann", subscription="Watch")
    stops = [way["stoppedBy"] for one in alert_in(answer, "Watch")["reached"]["data"] for way in one["ways"]]
    says = "ann may not view what they follow and the asset belongs to"
    assert stops == [{"kind": "mayNotView", "says": says}] * 2
    assert answer["disagreements"] == []
    with client:
        (entry,) = inbox(client, ann)
        (reason,) = [one for one in entry["reasons"] if one["subscriptionName"] == "Watch"]
        assert reason["through"] == {"type": "databaseSchema"}
        assert reason["sentence"] == "you follow the database schema, which contains it (alert Watch)"


def test_the_link_in_a_mail_unfollows_the_schema(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    ann, client = served.person("ann")
    schema = follow_schema(administrator, orders, ann)
    alert(administrator, "Watch", destinations=BELL_AND_MAIL[1:])
    event = describe(administrator, orders, "one")
    notify_all(sqlite_engine)
    (mail,) = explanation_of(administrator, event, subscription="Watch", user="ann")["notified"]["data"]
    parts = served.app.state.parts
    link = FollowLink(mail["id"], follows=False, until_ms=parts.clock.now_ms() + DAY_MS)
    token = token_of(link, parts.alert_stores.unsubscribe_key)
    with client, served.client() as nobody:
        page = nobody.get(f"/follow/{token}").text
        name = orders["databaseSchema"]["name"]
        assert f"You are about to unfollow {name}, as ann." in page
        assert nobody.post(f"/follow/{token}").json() == {"follows": False}
        assert client.get(f"/databaseSchemas/{schema}/followers").json()["data"] == []


def test_whom_the_alerts_of_a_table_tell_includes_who_follows_its_schema(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    ann, client = served.person("ann")
    client.close()
    follow_schema(administrator, orders, ann)
    alert(administrator, "Watch", destinations=BELL_AND_MAIL[:1])
    watching = administrator.get(f"/tables/{orders['id']}/alerts").json()["data"]
    (watch,) = [one for one in watching if one["name"] == "Watch"]
    (telling,) = watch["tells"]
    assert [one["name"] for one in telling["people"]] == ["ann"]
    assert administrator.get(f"/tables/{orders['id']}/followers").json()["data"] == []


def test_whom_the_alerts_of_a_table_tell_leaves_out_who_may_not_view_the_schema_they_follow(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    people = {name: served.person(name) for name in ("ann", "ben", "cem")}
    for name, (user_id, client) in people.items():
        client.close()
        follow_schema(administrator, orders, user_id)
        if name != "cem":
            hide_schemas(administrator, user_id)
    assert administrator.put(f"/tables/{orders['id']}/followers", json=people["ben"][0]).status_code == 200
    alert(administrator, "Watch", destinations=BELL_AND_MAIL[:1])
    watching = administrator.get(f"/tables/{orders['id']}/alerts").json()["data"]
    (telling,) = next(one["tells"] for one in watching if one["name"] == "Watch")
    assert [one["name"] for one in telling["people"]] == ["ben", "cem"]
    assert telling["total"] == 2
