"""Tests of acknowledging an incident by the button in a message to one person, and of who may."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from typing import NamedTuple

import httpx
import pytest
from sqlalchemy import Engine, insert, select
from tests.contract.test_access import create_entity, restrict, send_patch
from tests.contract.test_alert_incidents import add_merged_incident, report_result
from tests.contract.test_explain import alert, assign_owners
from tests.notifying import notify_all
from tests.serving import Json, Served

from tocsin.delivery.lines import moment_text
from tocsin.delivery.links.acknowledge import AcknowledgeLink, token_of
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import notification

WEEK_MS = 7 * 86_400_000
BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


class Failing(NamedTuple):
    """A failed test of a table that Ann owns: of which she gets a mail with a button."""

    served: Served
    engine: Engine
    case: Json
    ann: str
    notification_id: str

    def link(self, *, number: int = 1, after_ms: int = WEEK_MS, key: bytes | None = None) -> str:
        """Return the path of a button."""
        parts = self.served.app.state.parts
        request = AcknowledgeLink(self.notification_id, number, parts.clock.now_ms() + after_ms)
        return f"/acknowledge/{token_of(request, key or parts.alert_stores.unsubscribe_key)}"

    def report(self, administrator: httpx.Client, status: str, at: int) -> None:
        """Report a result after the failure."""
        report_result(administrator, self.case["fullyQualifiedName"], status, int(self.case["updatedAt"]) + at)
        notify_all(self.engine)


@pytest.fixture
def failing(served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine) -> Failing:
    ann, client = served.person("ann")
    client.close()
    send_patch(administrator, f"/users/{ann}", {"op": "add", "path": "/displayName", "value": "Ann <Lee>"})
    assign_owners(administrator, orders, ann)
    rules = {"resources": ["testCase"], "rules": [{"effect": "include", "condition": "testStatus == 'Failed'"}]}
    to = [{"category": "Owners", "type": "Email"}]
    alert(administrator, "Quality", alertType="Observability", filteringRules=rules, destinations=to)
    link = f"<#E::table::{orders['fullyQualifiedName']}::columns::email>"
    cases = "/dataQuality/testCases"
    case = create_entity(
        administrator, cases, name="not_null", entityLink=link, testDefinition="columnValuesToBeNotNull"
    )
    report_result(administrator, case["fullyQualifiedName"], "Failed", int(case["updatedAt"]))
    notify_all(sqlite_engine)
    parts = served.app.state.parts
    result_offset = parts.log.readable_end() - 1  # the completed run of its suite follows
    records = parts.alert_stores.records.of_event(result_offset, limit=9)
    (mail,) = [one for one in records.values() if one.notification.channel == "Email"]
    return Failing(served, sqlite_engine, case, ann, mail.notification.id)


def tell_in_app(engine: Engine, notification_id: str, **people: str) -> None:
    """Tell people also in the app of what a notification is about: their ids by the ids of the new ones."""
    with writing(engine) as connection:
        original = select(notification).where(notification.c.id == notification_id)
        row = dict(connection.execute(original).mappings().one())
        in_app = row | {"channel": "ActivityFeed", "message_id": None}
        copies = [in_app | {"id": name, "recipient_id": person} for name, person in people.items()]
        connection.execute(insert(notification), copies)


def readers_in(engine: Engine) -> set[str | None]:
    """Return the ids of all people who have read anything."""
    is_read = notification.c.read_at_ms.is_not(None)
    with engine.connect() as connection:
        return set(connection.scalars(select(notification.c.recipient_id).where(is_read)))


def test_the_button_marks_what_the_inbox_of_its_recipient_has_of_it_and_following_the_link_does_not(
    failing: Failing,
) -> None:
    ben, client = failing.served.person("ben")
    client.close()
    tell_in_app(failing.engine, failing.notification_id, of_ann=failing.ann, of_ben=ben)
    with failing.served.client() as nobody:
        assert nobody.get(failing.link()).status_code == 200
        assert readers_in(failing.engine) == set()
        assert nobody.post(failing.link()).status_code == 200
    assert readers_in(failing.engine) == {failing.ann}


def steps(administrator: httpx.Client) -> list[tuple[str, str | None]]:
    timeline = administrator.get("/incidents/INC-1").json()["timeline"]
    return [(one["kind"], (one.get("user") or {}).get("name")) for one in timeline if one["kind"] != "message"]


def test_the_page_asks_and_the_button_acknowledges_as_the_recipient_once(
    failing: Failing, administrator: httpx.Client
) -> None:
    with failing.served.client() as nobody:
        for _ in range(3):
            page = nobody.get(failing.link())
            says = "You are about to acknowledge INC-1 (not_null of orders.email), as Ann &lt;Lee&gt;."
            assert (page.status_code, says in page.text) == (200, True)
            assert "keeps nobody&#x27;s first message back" in page.text, "what will happen"
            assert "It cannot be undone, but you can still assign or resolve it" in page.text
            (style,) = re.findall("<style>(.*?)</style>", page.text)
            digest = b64encode(sha256(style.encode()).digest()).decode()
            assert f"style-src 'sha256-{digest}'" in page.headers["content-security-policy"]
        assert steps(administrator) == [("opened", None)], "following the link changes nothing"
        click_answer = nobody.post(failing.link())
        confirmation = "You have acknowledged INC-1 (not_null of orders.email)."
        assert (click_answer.status_code, confirmation in click_answer.text) == (200, True)
        assert click_answer.headers["content-security-policy"].startswith("default-src 'none'")
        again = nobody.post(failing.link())
        already = "INC-1 (not_null of orders.email) is already acknowledged."
        assert (again.status_code, already in again.text) == (200, True)
        page = nobody.get(failing.link())
        assert (already in page.text, "<form" in page.text) == (True, False)
    assert steps(administrator) == [("opened", None), ("acknowledged", "ann")]
    (event,) = administrator.get("/events?eventType=alertIncidentUpdated&format=tocsin").json()["data"]
    assert (event["userName"], event["entityId"]) == ("ann", failing.case["id"])


def test_the_page_says_in_the_zone_of_the_recipient_since_when_it_is_open(
    failing: Failing, administrator: httpx.Client
) -> None:
    assert administrator.put(f"/users/{failing.ann}/preferences", json={"timezone": "Asia/Kolkata"}).is_success
    opened = moment_text(administrator.get("/incidents/INC-1").json()["openedAt"], "Asia/Kolkata")
    with failing.served.client() as nobody:
        assert f"It has been open since {opened}." in nobody.get(failing.link()).text


def merge_into_another(failing: Failing, administrator: httpx.Client) -> None:
    """Let a test of another table fail, INC-2, and make INC-1 part of that."""
    create_entity(administrator, "/tables", name="sales", databaseSchema="warehouse.shop.public", columns=[])
    link = "<#E::table::warehouse.shop.public.sales>"
    second_case = create_entity(
        administrator, "/dataQuality/testCases", name="rows", entityLink=link, testDefinition="tableRowCountToEqual"
    )
    report_result(administrator, second_case["fullyQualifiedName"], "Failed", int(second_case["updatedAt"]))
    notify_all(failing.engine)
    assert administrator.put("/incidents/INC-1/merge", json={"into": "INC-2"}).is_success


def test_the_button_of_a_part_acknowledges_what_it_is_part_of_for_who_may_and_else_the_part(
    failing: Failing, administrator: httpx.Client
) -> None:
    merge_into_another(failing, administrator)

    def statuses() -> list[str]:
        return [administrator.get(f"/incidents/INC-{number}").json()["status"] for number in (1, 2)]

    with failing.served.client() as nobody:
        assert "You are about to acknowledge INC-1 (not_null of orders.email)" in nobody.get(failing.link()).text
        assignee = {"assignee": {"type": "user", "id": failing.ann}}
        assert administrator.put("/incidents/INC-2/assign", json=assignee).is_success
        page = nobody.get(failing.link())
        says = "acknowledge INC-2, of which INC-1 (not_null of orders.email) is a part, as Ann &lt;Lee&gt;."
        assert f"You are about to {says}" in page.text
        assert "You have acknowledged INC-2" in nobody.post(failing.link()).text
    assert statuses() == ["acknowledged", "acknowledged"]


def test_the_button_of_a_part_acknowledges_the_part_for_who_may_not_change_the_other(
    failing: Failing, administrator: httpx.Client
) -> None:
    merge_into_another(failing, administrator)
    with failing.served.client() as nobody:
        assert "You have acknowledged INC-1" in nobody.post(failing.link()).text
    assert administrator.get("/incidents/INC-2").json()["status"] == "open"


def test_the_button_of_an_incident_that_was_merged_acknowledges_the_one_that_stands_for_it(
    failing: Failing, administrator: httpx.Client
) -> None:
    add_merged_incident(failing.engine, 2)
    with failing.served.client() as nobody:
        says = "You are about to acknowledge INC-2 (not_null of orders.email), as Ann &lt;Lee&gt;."
        assert says in nobody.get(failing.link(number=2)).text
        assert "You have acknowledged INC-2" in nobody.post(failing.link(number=2)).text
        assert "is already acknowledged." in nobody.post(failing.link()).text
    assert steps(administrator) == [("opened", None), ("acknowledged", "ann")]


def test_a_resolved_incident_says_so_and_stays_as_it_is(failing: Failing, administrator: httpx.Client) -> None:
    failing.report(administrator, "Success", 1)
    with failing.served.client() as nobody:
        for answer in (nobody.get(failing.link()), nobody.post(failing.link())):
            assert (answer.status_code, "is already resolved." in answer.text) == (200, True)
    assert steps(administrator) == [("opened", None), ("recovered", None)]


def test_a_forged_expired_or_misused_token_is_refused(failing: Failing, administrator: httpx.Client) -> None:
    failing.report(administrator, "Success", 1)
    failing.report(administrator, "Failed", 2)
    link = failing.link()
    with failing.served.client() as nobody:
        for wrong in (
            failing.link(key=b"other"),
            failing.link(after_ms=-1),
            failing.link(number=2),  # a later incident of the same test
            failing.link(number=3),
            link[:-1],
            f"{link}x",
            link.replace("/acknowledge/", "/mute/"),
            "/acknowledge/x",
            "/acknowledge/a.b.c.d",
            "/acknowledge/%C3%BC",
        ):
            for answer in (nobody.get(wrong), nobody.post(wrong)):
                assert (answer.status_code, answer.json().keys()) == (404, {"code", "message"}), wrong
        assert nobody.post(f"/acknowledge/{'x' * 201}").status_code == 400


def test_who_may_no_longer_see_the_asset_or_is_gone_cannot(failing: Failing, administrator: httpx.Client) -> None:
    restrict(administrator, failing.ann, {"effect": "deny", "resources": ["testCase"]})
    with failing.served.client() as nobody:
        for answer in (nobody.get(failing.link()), nobody.post(failing.link())):
            assert (answer.status_code, answer.json()["message"]) == (404, "incident INC-1 not found")
        assert administrator.delete(f"/users/{failing.ann}").is_success
        assert nobody.post(failing.link()).status_code == 404
    assert steps(administrator) == [("opened", None)]


def test_who_no_longer_owns_the_asset_cannot(failing: Failing, administrator: httpx.Client, orders: Json) -> None:
    assert send_patch(administrator, f"/tables/{orders['id']}", {"op": "remove", "path": "/owners"}).is_success
    with failing.served.client() as nobody:
        for answer in (nobody.get(failing.link()), nobody.post(failing.link())):
            assert (answer.status_code, "INC-1" in answer.json()["message"]) == (403, True)
    assert steps(administrator) == [("opened", None)]


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("verb", ["acknowledge", "answer", "follow", "mute", "unsubscribe"])
def test_a_browser_gets_a_page_for_a_damaged_link(served: Served, verb: str, method: str) -> None:
    with served.client() as nobody:
        for token in ("x", "a.b.c.d", "<b>", "x" * 201):
            page = nobody.request(method, f"/{verb}/{token}", headers=BROWSER)
            assert (page.status_code, page.headers["content-type"]) == (
                400 if len(token) > 200 else 404,
                "text/html; charset=utf-8",
            )
            assert f"<h1>{verb.capitalize()}</h1>" in page.text
            assert ("<form" in page.text, "<b>" in page.text) == (False, False)
            assert page.headers["content-security-policy"].startswith("default-src 'none'")


def test_a_browser_gets_a_page_if_its_person_may_not_acknowledge(
    failing: Failing, administrator: httpx.Client, orders: Json
) -> None:
    assert send_patch(administrator, f"/tables/{orders['id']}", {"op": "remove", "path": "/owners"}).is_success
    with failing.served.client() as nobody:
        for page in (nobody.get(failing.link(), headers=BROWSER), nobody.post(failing.link(), headers=BROWSER)):
            assert (page.status_code, "<h1>Acknowledge</h1>" in page.text, "INC-1" in page.text) == (403, True, True)


def test_only_links_answer_errors_by_pages(served: Served) -> None:
    with served.client() as nobody:
        for path in ("/incidents/INC-1", "/mutes", "/tables/x"):
            answer = nobody.get(path, headers=BROWSER)
            assert answer.json().keys() == {"code", "message"}
