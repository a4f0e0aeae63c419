"""Tests of mutes by HTTP, with log-in and by unsubscribe link."""

from __future__ import annotations

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import send_patch
from tests.contract.test_explain import alert, assign_owners, describe, explanation_of
from tests.notifying import notify_all
from tests.serving import Json, Served
from tests.store.test_hourly_limits import work

from tocsin.delivery.lines import moment_text
from tocsin.delivery.links import mute as mute_links
from tocsin.delivery.links.mute import MuteLink
from tocsin.delivery.links.tokens import UNSUBSCRIBE, sign_token

MAIL = [{"category": "Owners", "type": "Email"}, {"category": "Owners", "type": "ActivityFeed"}]


def test_the_mute_of_a_container_says_what_it_covers(served: Served, orders: Json) -> None:
    ann, client = served.person("ann")
    with client:
        for kind, is_container in (("databaseSchema", True), ("table", False)):
            subject = orders if kind == "table" else orders[kind]
            mute = client.put(f"/users/{ann}/mutes", json={"kind": "asset", "type": kind, "id": subject["id"]}).json()
            assert mute.get("covers") == ("all that is in it" if is_container else None)
            assert mute in client.get(f"/users/{ann}/mutes").json()["data"]


def test_an_asset_is_muted_listed_and_heard_again(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    ann, client = served.person("ann")
    assign_owners(administrator, orders, ann)
    with client:
        notify_all(sqlite_engine)
        mute = {"kind": "asset", "type": "table", "id": orders["id"], "until": 4_000_000_000_000}
        mute_row = client.put(f"/users/{ann}/mutes", json=mute).json()
        assert (mute_row["kind"], mute_row["name"], mute_row["until"], mute_row["channel"]) == (
            "asset",
            "orders",
            4_000_000_000_000,
            None,
        )
        assert client.get(f"/users/{ann}/mutes").json()["data"] == [mute_row]
        event = describe(administrator, orders, "quiet")
        notify_all(sqlite_engine)
        explanation = explanation_of(client, event, user="ann")
        assert "you muted the asset until" in explanation["answer"]
        assert {one["preference"]["from"] for one in explanation["notified"]["data"]} == {"mute"}
        assert explanation["disagreements"] == []
        inbox_page = client.get(f"/users/{ann}/notifications").json()["data"]
        assert event not in {one["eventId"] for one in inbox_page}
        assert client.delete(f"/users/{ann}/mutes/{orders['id']}").json() == {"id": orders["id"], "muted": False}
        assert client.delete(f"/users/{ann}/mutes/{orders['id']}").status_code == 404
        assert client.get(f"/users/{ann}/mutes").json() == {"data": [], "paging": {"total": 0}}
        describe(administrator, orders, "loud")
        assert notify_all(sqlite_engine) == 1


def test_kinds_actors_and_everything_are_muted_by_oneself_alone_and_explained(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    ann, client = served.person("ann")
    bob, client_of_bob = served.person("bob")
    assign_owners(administrator, orders, ann)
    alert(administrator, "Mail", destinations=MAIL)
    path = f"/users/{ann}/mutes"
    with client, client_of_bob:
        assert client_of_bob.put(path, json={"kind": "everything"}).status_code == 403
        for body in (
            {"kind": "kind"},
            {"kind": "actor"},
            {"kind": "everything", "id": ann},
            {"kind": "kind", "id": ann},
        ):
            assert client.put(path, json=body).status_code == 400, body
        assert "did you mean" in client.put(path, json={"kind": "kind", "name": "descripton"}).json()["message"]
        administrator.put("/system/preferences", json={"mandatory": ["deletion"]})
        answer = client.put(path, json={"kind": "kind", "name": "deletion"})
        assert (answer.status_code, "mandatory" in answer.json()["message"]) == (400, True)
        administrator.put("/system/preferences", json={})
        client.put(path, json={"kind": "kind", "name": "description"})
        client.put(path, json={"kind": "actor", "id": bob})
        everything = client.put(path, json={"kind": "everything", "until": 4_000_000_000_000}).json()
        assert (everything["id"], everything["until"]) == ("everything", 4_000_000_000_000)
        rows_by_name = {(one["kind"], one["id"], one["name"]) for one in client.get(path).json()["data"]}
        assert rows_by_name == {
            ("kind", "description", None),
            ("actor", bob, "bob"),
            ("everything", "everything", None),
        }
        event = describe(administrator, orders, "quiet")
        notify_all(sqlite_engine)
        explanation = explanation_of(client, event, subscription="Mail", user="ann")
        assert "not shown: you muted everything until" in explanation["answer"]
        of_app = next(one for one in explanation["notified"]["data"] if one["channel"] == "ActivityFeed")
        assert of_app["preference"] == {"kind": "everything", "frequency": "never", "from": "mute"}
        for subject in ("description", bob, "everything"):
            assert client_of_bob.delete(f"{path}/{subject}").status_code == 403
            assert client.delete(f"{path}/{subject}").json() == {"id": subject, "muted": False}
            assert client.delete(f"{path}/{subject}").status_code == 404
        assert client.get(path).json()["data"] == []


def test_an_explanation_says_what_will_become_of_a_mail_that_waits(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    ann, client = served.person("ann")
    assign_owners(administrator, orders, ann)
    alert(administrator, "Mail", destinations=MAIL)
    path, everything = f"/users/{ann}/mutes", {"kind": "everything"}
    with client:
        client.put(path, json=everything)
        muted_event = describe(administrator, orders, "quiet")
        notify_all(sqlite_engine)

        def answers(event: str) -> tuple[str, str]:
            """Return what Ann is told, and what the administrator is."""
            readers = (client, administrator)
            explanations = [explanation_of(reader, event, user="ann", subscription="Mail") for reader in readers]
            return str(explanations[0]["answer"]), str(explanations[1]["answer"])

        text, text_of_other = answers(muted_event)
        assert text.startswith(
            "No: you were not notified in the app (not shown: you muted everything permanently) or by"
        )
        assert "(will not be sent: you muted everything permanently), although you own it" in text
        assert "(will not be sent: the recipient muted everything permanently), although ann" in text_of_other
        client.delete(f"{path}/everything")
        text, _ = answers(muted_event)
        assert text.startswith("Yes: you were notified by mail at ") and "(not delivered yet, 0 attempts)" in text
        assert text.endswith("; but not in the app (not shown: you muted everything permanently).")
        loud_event = describe(administrator, orders, "loud")
        notify_all(sqlite_engine)
        assert "will not" not in answers(loud_event)[0]
        client.put(path, json=everything)
        text, _ = answers(loud_event)
        assert text.startswith("Yes: you were notified in the app at ") and "but not by mail at " in text
        assert text.endswith("(will not be sent: you muted everything permanently).")


def test_an_explanation_says_that_an_alert_was_switched_off_while_its_mail_waits(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    ann, client = served.person("ann")
    assign_owners(administrator, orders, ann)
    mail_alert = alert(administrator, "Mail", destinations=MAIL)
    with client:
        event = describe(administrator, orders, "late")
        notify_all(sqlite_engine)

        def answer() -> str:
            return str(explanation_of(client, event, user="ann", subscription="Mail")["answer"])

        assert "(not delivered yet, 0 attempts)" in answer()
        path, disable = f"/events/subscriptions/{mail_alert['id']}", {"op": "add", "path": "/enabled", "value": False}
        assert send_patch(administrator, path, disable).is_success
        assert "(will not be sent: the alert is disabled)" in answer()
        assert administrator.delete(path).is_success
        assert "will not be sent: the alert or its destination no longer exists" in str(
            explanation_of(client, event, user="ann")
        )


def test_one_click_in_a_mail_ends_such_mails_and_no_others(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    ann, client = served.person("ann")
    send_patch(administrator, f"/users/{ann}", {"op": "add", "path": "/displayName", "value": "Ann <Lee>"})
    assign_owners(administrator, orders, ann)
    alert(administrator, "Mail", destinations=MAIL)
    first = describe(administrator, orders, "one")
    notify_all(sqlite_engine)
    notifications = explanation_of(administrator, first, subscription="Mail", user="ann")["notified"]["data"]
    mail = next(one["id"] for one in notifications if one["channel"] == "Email")
    token = sign_token(UNSUBSCRIBE, mail, served.app.state.parts.alert_stores.unsubscribe_key)
    with client, served.client() as nobody:
        page = nobody.get(f"/unsubscribe/{token}")
        says = "You are about to end the mail from the alert Mail to ann@example.org, as Ann &lt;Lee&gt;."
        assert (page.status_code, says in page.text, "by tocsin unmute" in page.text) == (200, True, True)
        assert client.get(f"/users/{ann}/mutes").json()["data"] == []
        answer_of_click = nobody.post(f"/unsubscribe/{token}", content="List-Unsubscribe=One-Click")
        assert (answer_of_click.status_code, answer_of_click.json()) == (200, {"unsubscribed": ["Mail"]})
        (mute,) = client.get(f"/users/{ann}/mutes").json()["data"]
        assert (mute["kind"], mute["channel"], mute["unsubscribed"], mute["until"]) == ("alert", "Email", True, None)
        last_page = nobody.post(f"/unsubscribe/{token}", headers=BROWSER)
        assert "You have ended the mail from the alert Mail to ann@example.org." in last_page.text
        assert nobody.post(f"/unsubscribe/{mail}.forged").status_code == 404
        assert nobody.get("/unsubscribe/x").status_code == 404
    second = describe(administrator, orders, "two")
    notify_all(sqlite_engine)
    answer = explanation_of(administrator, second, subscription="Mail", user="ann")
    origins = {one["channel"]: (one["preference"] or {}).get("from") for one in answer["notified"]["data"]}
    assert origins == {"ActivityFeed": None, "Email": "mute"}
    obstacles = [way["stoppedBy"] for one in answer["alerts"][0]["reached"]["data"] for way in one["ways"]]
    assert [one["says"] for one in obstacles if one] == ["Ann <Lee> unsubscribed from this alert by a link in a mail"]


def test_the_page_of_a_mail_offers_its_asset_its_kind_and_everything(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    ann, client = served.person("ann")
    _, client_of_bob = served.person("bob")
    assign_owners(administrator, orders, ann)
    alert(administrator, "Mail", destinations=MAIL)
    administrator.put("/system/preferences", json={"mandatory": ["deletion"]})
    event = describe(administrator, orders, "one")
    notify_all(sqlite_engine)
    notifications = explanation_of(administrator, event, subscription="Mail", user="ann")["notified"]["data"]
    mail = next(one["id"] for one in notifications if one["channel"] == "Email")
    key = served.app.state.parts.alert_stores.unsubscribe_key
    path = f"/unsubscribe/{sign_token(UNSUBSCRIBE, mail, key)}"
    with client, client_of_bob, served.client() as nobody:
        page = nobody.get(path).text
        for scope, text in (("alerts", "the alert Mail"), ("asset", "orders"), ("kind", "descriptions")):
            assert f'value="{scope}"' in page and text in page
        assert client.get(f"/users/{ann}/mutes").json()["data"] == [], "a scanner that follows the link ends nothing"
        for wrong in ("from=others", "from=kind%00", b"\xff"):
            assert nobody.post(path, content=wrong).status_code == 400
        names_by_scope = {"asset": ["orders"], "kind": ["description"], "everything": ["everything"]}
        for scope, names in names_by_scope.items():
            for _ in range(2):  # replayed
                assert nobody.post(path, data={"from": scope}).json() == {"unsubscribed": names}
        mutes = client.get(f"/users/{ann}/mutes").json()["data"]
        assert {(one["kind"], one["channel"], one["unsubscribed"]) for one in mutes} == {
            (scope, "Email", True) for scope in names_by_scope
        }
        assert client_of_bob.get(f"/users/{ann}/mutes").status_code == 403
        last_page = nobody.post(path, data={"from": "everything"}, headers=BROWSER).text
        assert "You have ended the mail about everything to ann@example.org." in last_page
        assert "deletions" in last_page and "cannot be switched off" in last_page
        other_path = path.replace(mail, mail[::-1])
        assert nobody.post(other_path, data={"from": "everything"}).status_code == 404
    second = describe(administrator, orders, "two")
    notify_all(sqlite_engine)
    explanation = explanation_of(administrator, second, subscription="Mail", user="ann")
    assert "unsubscribed from the asset by a link in a mail" in str(explanation)


def test_the_page_of_a_mail_of_several_changes_offers_what_all_of_them_are_about(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    ann, client = served.person("ann")
    client.close()
    assign_owners(administrator, orders, ann)
    alert(administrator, "Mail", destinations=MAIL, pollInterval=600)
    key = served.app.state.parts.alert_stores.unsubscribe_key

    def scopes_after(event: str) -> set[str]:
        notify_all(sqlite_engine)
        notifications = explanation_of(administrator, event, subscription="Mail", user="ann")["notified"]["data"]
        mail = next(entry["id"] for entry in notifications if entry["channel"] == "Email")
        with served.client() as nobody:
            page = nobody.get(f"/unsubscribe/{sign_token(UNSUBSCRIBE, mail, key)}").text
        return {scope for scope in ("alerts", "asset", "kind", "everything") if f'value="{scope}"' in page}

    describe(administrator, orders, "one")
    assert scopes_after(describe(administrator, orders, "two")) == {"alerts", "asset", "kind", "everything"}
    rename = {"op": "add", "path": "/displayName", "value": "Orders"}
    assert send_patch(administrator, f"/tables/{orders['id']}", rename).is_success
    assert scopes_after(describe(administrator, orders, "three")) == {"alerts", "asset", "everything"}


def test_the_page_of_an_address_that_an_alert_names_says_what_a_person_could_undo_and_it_cannot(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    to_list = [{"category": "External", "type": "Email", "config": {"receivers": ["list@example.org"]}}]
    alert(administrator, "Mail", destinations=to_list)
    event = describe(administrator, orders, "one")
    notify_all(sqlite_engine)
    (mail,) = explanation_of(administrator, event, subscription="Mail")["notified"]["data"]
    token = sign_token(UNSUBSCRIBE, mail["id"], served.app.state.parts.alert_stores.unsubscribe_key)
    with served.client() as nobody:
        page = nobody.get(f"/unsubscribe/{token}").text
    assert "You are about to end the mail from the alert Mail to list@example.org." in page
    assert "It cannot be undone here" in page


def test_a_link_in_a_message_mutes_its_asset_for_a_day_and_no_longer(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    ann, client = served.person("ann")
    send_patch(administrator, f"/users/{ann}", {"op": "add", "path": "/displayName", "value": "Ann <Lee>"})
    assign_owners(administrator, orders, ann)
    alert(administrator, "Mail", destinations=MAIL)
    first = describe(administrator, orders, "one")
    notify_all(sqlite_engine)
    notifications = explanation_of(administrator, first, subscription="Mail", user="ann")["notified"]["data"]
    parts = served.app.state.parts
    now_ms, key = parts.clock.now_ms(), parts.alert_stores.unsubscribe_key
    link = mute_links.token_of(MuteLink(notifications[0]["id"], now_ms + 86_400_000), key)
    with client, served.client() as nobody:
        client.put(f"/users/{ann}/preferences", json={"timezone": "Asia/Kolkata"})
        page, until = nobody.get(f"/mute/{link}"), moment_text(now_ms + 86_400_000, "Asia/Kolkata")
        says = f"You are about to mute orders until {until}, as Ann &lt;Lee&gt;."
        assert (page.status_code, says in page.text, "by tocsin unmute" in page.text) == (200, True, True)
        assert client.get(f"/users/{ann}/mutes").json()["data"] == []
        for _ in range(2):
            answer = nobody.post(f"/mute/{link}")
            assert (answer.status_code, answer.json()) == (200, {"muted": True, "until": now_ms + 86_400_000})
            (mute,) = client.get(f"/users/{ann}/mutes").json()["data"]
            assert (mute["kind"], mute["id"], mute["channel"]) == ("asset", orders["id"], None)
            assert mute["until"] == now_ms + 86_400_000
        last_page = nobody.post(f"/mute/{link}", headers=BROWSER)
        assert "<h1>Muted</h1>" in last_page.text
        assert f"You will receive no notifications about orders until {until}, on any channel." in last_page.text
        assert "<form" not in last_page.text
        expired_link = mute_links.token_of(MuteLink(notifications[0]["id"], now_ms - 1), key)
        unsubscribing = sign_token(UNSUBSCRIBE, notifications[0]["id"], key)
        for wrong in (
            expired_link,
            link[:-1],
            f"{link}x",
            "x",
            "x.y.z",
            unsubscribing,
            link.replace(str(now_ms + 86_400_000), "9999999999999"),
        ):
            assert nobody.get(f"/mute/{wrong}").status_code == 404, wrong
            assert nobody.post(f"/mute/{wrong}").status_code == 404, wrong
        assert nobody.get(f"/unsubscribe/{link}").status_code == 404
    second = describe(administrator, orders, "two")
    notify_all(sqlite_engine)
    entries = explanation_of(administrator, second, subscription="Mail")["notified"]["data"]
    assert {one["preference"]["from"] for one in entries} == {"mute"}


def test_mutes_are_ones_own(served: Served, administrator: httpx.Client, orders: Json) -> None:
    ann, client = served.person("ann")
    _, client_of_ben = served.person("ben")
    mute = {"kind": "asset", "type": "table", "id": orders["id"]}
    with client, client_of_ben:
        assert client_of_ben.put(f"/users/{ann}/mutes", json=mute).status_code == 403
        assert client_of_ben.get(f"/users/{ann}/mutes").status_code == 403
        assert administrator.put(f"/users/{ann}/mutes", json=mute).status_code == 200


BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "team"},
        {"id": "x"},
        {"until": 5},
        {"until": "soon"},
        {"channel": "Webhook"},
        {"type": "spoon"},
        {"more": 1},
        {"id": None},
    ],
)
def test_a_broken_mute_is_refused(served: Served, administrator: httpx.Client, orders: Json, change: Json) -> None:
    me = administrator.get("/users/loggedInUser").json()["id"]
    mute = {"kind": "asset", "type": "table", "id": orders["id"], **change}
    answer = administrator.put(f"/users/{me}/mutes", json=mute)
    assert (answer.status_code, "code" in answer.json()) == (400, True)
    alert_mute = {"kind": "alert", "id": orders["id"]}
    assert administrator.put(f"/users/{me}/mutes", json=alert_mute).status_code == 404


def test_a_mute_ends_with_a_change_or_an_incident_and_says_so(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    ann, client = served.person("ann")
    assign_owners(administrator, orders, ann)
    path, asset = f"/users/{ann}/mutes", {"kind": "asset", "type": "table", "id": orders["id"]}
    with client:
        for wrong, says in (
            ({"kind": "everything", "ends": "changed"}, "is for an asset or an alert"),
            ({"kind": "everything", "ends": "resolved"}, "only an asset has its own"),
            ({**asset, "ends": "resolved"}, "has none that is not resolved"),
            ({**asset, "ends": "changed", "incident": "INC-1"}, "say ends: resolved"),
            ({**asset, "ends": "whenever"}, "ends"),
            ({**asset, "ends": "resolved", "incident": "😀" * 41}, "incident"),
        ):
            answer = client.put(path, json=wrong)
            assert (answer.status_code, says in answer.text) == (400, True), answer.text
        assert client.put(path, json={**asset, "ends": "resolved", "incident": "INC-9"}).status_code == 404
        row = client.put(path, json={**asset, "ends": "changed", "until": 4_000_000_000_000}).json()
        assert (row["ends"], row["incident"], row["until"]) == ("changed", None, 4_000_000_000_000)
        assert client.get(path).json()["data"] == [row]
        event = describe(administrator, orders, "told")
        notify_all(sqlite_engine)
        assert "you muted" not in explanation_of(client, event, user="ann")["answer"]
        assert client.get(path).json()["data"] == [], "it has ended"


def test_an_explanation_says_that_there_were_more_than_wanted_in_an_hour(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    ann, client = served.person("ann")
    assign_owners(administrator, orders, ann)
    alert(administrator, "Mail", destinations=MAIL, pollInterval=0)
    with client:
        client.put(f"/users/{ann}/preferences", json={"mostPerHour": 1})
        notify_all(sqlite_engine)
        work(sqlite_engine, served.app.state.parts.clock.now_ms() + 1, target="ann@example.org")
        events = [describe(administrator, orders, text) for text in ("one", "two")]
        notify_all(sqlite_engine)
        work(sqlite_engine, served.app.state.parts.clock.now_ms() + 1, target="ann@example.org")
        answers = [explanation_of(client, one, user="ann")["answer"] for one in events]
    assert any("because you want at most 1 an hour by mail" in one for one in answers), answers
