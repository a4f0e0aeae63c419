"""Tests of links in mails that let a follower follow an asset no longer, or again."""

from __future__ import annotations

import httpx
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, send_patch
from tests.contract.test_alert_incidents import report_result
from tests.contract.test_explain import alert, describe, explanation_of
from tests.contract.test_feed import hide
from tests.contract.test_mutes import BROWSER
from tests.notifying import notify_all
from tests.serving import Json, Served

from tocsin.delivery.lines import moment_text
from tocsin.delivery.links import mute as mute_links
from tocsin.delivery.links.follow import FollowLink, token_of
from tocsin.delivery.links.mute import MuteLink

CASES = "/dataQuality/testCases"
MAIL = [{"category": "Followers", "type": "Email"}]
DAY_MS = 86_400_000


def follow(client: httpx.Client, asset: Json, user_id: str) -> None:
    assert client.put(f"/tables/{asset['id']}/followers", json=user_id).status_code == 200


def followers(client: httpx.Client, asset: Json) -> list[str]:
    return [one["name"] for one in client.get(f"/tables/{asset['id']}/followers").json()["data"]]


def mail_to(user: str, client: httpx.Client, event_id: str) -> str:
    """Return the id of the notification of that user by mail."""
    notified = explanation_of(client, event_id, subscription="Mail", user=user)["notified"]["data"]
    return str(notified[0]["id"])


def test_a_follower_unfollows_by_link_and_follows_again(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    ann, client = served.person("ann")
    send_patch(administrator, f"/users/{ann}", {"op": "add", "path": "/displayName", "value": "Ann <Lee>"})
    follow(administrator, orders, ann)
    alert(administrator, "Mail", destinations=MAIL)
    event = describe(administrator, orders, "one")
    notify_all(sqlite_engine)
    parts = served.app.state.parts
    key, until_ms = parts.alert_stores.unsubscribe_key, parts.clock.now_ms() + DAY_MS
    link = FollowLink(mail_to("ann", administrator, event), follows=False, until_ms=until_ms)
    unfollow = token_of(link, key)
    with client, served.client() as nobody:
        client.put(f"/users/{ann}/preferences", json={"timezone": "Asia/Kolkata"})
        page = nobody.get(f"/follow/{unfollow}")
        assert (page.status_code, "You are about to unfollow orders, as Ann &lt;Lee&gt;." in page.text) == (200, True)
        assert "You will no longer be told of its changes as a follower." in page.text
        undo = f"You can undo it by the link on the next page until {moment_text(until_ms, 'Asia/Kolkata')}, and"
        assert undo in page.text
        assert followers(client, orders) == ["ann"]
        for _ in range(2):
            answer = nobody.post(f"/follow/{unfollow}")
            assert (answer.status_code, answer.json()) == (200, {"follows": False})
            assert followers(client, orders) == []
        page = nobody.post(f"/follow/{unfollow}", headers=BROWSER)
        again = token_of(link._replace(follows=True), key)
        assert "You no longer follow orders, as Ann &lt;Lee&gt;." in page.text
        assert f'<a href="{again}">Follow it</a>' in page.text
        assert "<form" not in page.text
        assert "You are about to follow orders, as Ann &lt;Lee&gt;." in nobody.get(f"/follow/{again}").text
        assert nobody.post(f"/follow/{again}").json() == {"follows": True}
        assert followers(client, orders) == ["ann"]
        muting = mute_links.token_of(MuteLink(link.notification_id, until_ms), key)
        for wrong in (token_of(link._replace(until_ms=1), key), unfollow[:-1], f"{again}x", "x", "x.y.z", muting):
            assert nobody.get(f"/follow/{wrong}").status_code == 404, wrong
            assert nobody.post(f"/follow/{wrong}").status_code == 404, wrong
        assert nobody.get(f"/mute/{unfollow}").status_code == 404
    assert followers(administrator, orders) == ["ann"]


def test_a_link_neither_names_nor_changes_an_asset_that_its_reader_may_not_view(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    ann, client = served.person("ann")
    follow(administrator, orders, ann)
    alert(administrator, "Mail", destinations=MAIL)
    event = describe(administrator, orders, "one")
    notify_all(sqlite_engine)
    parts = served.app.state.parts
    link = FollowLink(mail_to("ann", administrator, event), False, parts.clock.now_ms() + DAY_MS)
    token = token_of(link, parts.alert_stores.unsubscribe_key)
    hide(administrator, ann, orders)
    with client, served.client() as nobody:
        for answer in (nobody.get(f"/follow/{token}"), nobody.post(f"/follow/{token}")):
            assert (answer.status_code, "orders" in answer.text) == (404, False)
    assert followers(administrator, orders) == ["ann"]


def test_a_link_unfollows_the_column_that_its_mail_is_about_and_ends_with_that(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    ann, client = served.person("ann")
    column = orders["columns"][0]["name"]
    assert administrator.put(f"/tables/{orders['id']}/followers/{ann}", params={"column": column}).is_success
    alert(administrator, "Mail", destinations=MAIL)
    change = [{"op": "add", "path": "/columns/0/description", "value": "one"}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert administrator.patch(f"/tables/{orders['id']}", json=change, headers=headers).is_success
    event_id = administrator.get("/events?entityType=table&limit=1000").json()["data"][-1]["id"]
    notify_all(sqlite_engine)
    parts = served.app.state.parts
    link = FollowLink(mail_to("ann", administrator, event_id), False, parts.clock.now_ms() + DAY_MS)
    key = parts.alert_stores.unsubscribe_key
    unfollow, again = (token_of(link._replace(follows=follows), key) for follows in (False, True))

    def followed_columns() -> list[str]:
        return [one["column"] for one in client.get(f"/users/{ann}/following").json()["data"]]

    with client, served.client() as nobody:
        page = nobody.get(f"/follow/{unfollow}").text
        assert f"You are about to unfollow the column {column} of orders, as ann." in page
        assert nobody.post(f"/follow/{unfollow}").json() == {"follows": False}
        assert followed_columns() == []
        assert nobody.post(f"/follow/{again}").json() == {"follows": True}
        assert followed_columns() == [column]
        removal = [{"op": "remove", "path": "/columns/0"}]
        assert administrator.patch(f"/tables/{orders['id']}", json=removal, headers=headers).is_success
        assert (followed_columns(), nobody.post(f"/follow/{again}").status_code) == ([], 404)
        hide(administrator, ann, orders)
        assert nobody.get(f"/follow/{unfollow}").status_code == 404


def test_a_link_about_a_test_means_its_table_and_ends_with_that(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    ann, client = served.person("ann")
    follow(administrator, orders, ann)
    rules = {"resources": ["testCase"], "rules": [{"effect": "include", "condition": "testStatus == 'Failed'"}]}
    alert(administrator, "Mail", destinations=MAIL, alertType="Observability", filteringRules=rules)
    about = f"<#E::table::{orders['fullyQualifiedName']}>"
    case = create_entity(
        administrator, CASES, name="not_empty", entityLink=about, testDefinition="tableRowCountToBeBetween"
    )
    report_result(administrator, case["fullyQualifiedName"], "Failed", int(case["updatedAt"]))
    notify_all(sqlite_engine)
    case_events = administrator.get("/events?entityType=testCase&limit=1000").json()["data"]
    parts = served.app.state.parts
    mail_id = mail_to("ann", administrator, case_events[-1]["id"])
    link = FollowLink(mail_id, False, parts.clock.now_ms() + DAY_MS)
    token = token_of(link, parts.alert_stores.unsubscribe_key)
    with client, served.client() as nobody:
        assert "You are about to unfollow orders, as ann." in nobody.get(f"/follow/{token}").text
        assert administrator.delete(
            f"/tables/{orders['id']}", params={"hardDelete": "true", "recursive": "true"}
        ).is_success
        answer = nobody.post(f"/follow/{token}")
        assert (answer.status_code, "invalid or expired" in answer.text) == (404, True)
