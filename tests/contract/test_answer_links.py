"""Tests of answering a change request by the link in a mail: what its page shows, what it takes, and from whom."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

import httpx
import pytest
from sqlalchemy import Engine, update
from tests.contract.test_access import create_entity, restrict, send_patch
from tests.contract.test_changes import announce, leave_one_post
from tests.contract.test_explain import Person, person
from tests.contract.test_impact import feed
from tests.serving import Json, Served, table

from tocsin.delivery.links.acknowledge import AcknowledgeLink
from tocsin.delivery.links.acknowledge import token_of as acknowledge_token_of
from tocsin.delivery.links.answer import AnswerLink, token_of
from tocsin.store.database.change_tables import change_request
from tocsin.store.database.engine import writing

__all__ = ["person"]  # a fixture

_DAY_MS = 86_400_000


@dataclass
class Asked:
    """CR-1 removes orders.email, which clean of ann and sales of a team of bob's read."""

    served: Served
    administrator: httpx.Client
    entities: dict[str, Json]
    ann: str
    bob: str
    request: Json

    def __post_init__(self) -> None:
        self.nobody = self.served.client()
        self.parts = self.served.app.state.parts

    def link(self, person_id: str, *, key: bytes | None = None, request_id: str = "") -> str:
        """Return the path of a link."""
        token = token_of(
            AnswerLink(person_id, request_id or self.request["id"]), key or self.parts.alert_stores.unsubscribe_key
        )
        return f"/answer/{token}"

    def answers(self) -> dict[str, Json]:
        """Return what was answered, by the names of the consumers."""
        entries = self.administrator.get("/changes/CR-1/consumers").json()["data"]
        return {one["entity"]["name"]: one["answer"] and one["answer"]["answer"] for one in entries}

    def steps(self) -> list[tuple[str, str | None]]:
        """Return what was done, and in which way."""
        steps = self.administrator.get("/changes/CR-1/timeline").json()["data"]
        return [(f"{one['kind']} {one.get('answer', '')}".strip(), one.get("way")) for one in steps]


@pytest.fixture
def world(served: Served, administrator: httpx.Client, orders: Json, person: Person) -> Iterator[Asked]:
    (ann, _), (bob, _) = person("ann"), person("bob")
    team = create_entity(administrator, "/teams", name="analysts", teamType="Group", users=[bob])
    clean = table(administrator, "clean", owners=[{"type": "user", "id": ann}])
    sales = table(administrator, "sales", owners=[{"type": "team", "id": team["id"]}])
    feed(administrator, orders, clean, "email")
    feed(administrator, clean, sales)
    why = "it belongs to <b>the customer</b> & nobody else"
    request = announce(administrator, orders, why=why, replacement="customers.email")
    entities = {"orders": orders, "clean": clean, "sales": sales}
    setup = Asked(served, administrator, entities, ann, bob, request)
    with setup.nobody:
        yield setup


def test_following_the_link_shows_what_is_asked_and_changes_nothing(world: Asked) -> None:
    for _ in range(3):
        page = world.nobody.get(world.link(world.ann))
        assert page.status_code == 200, page.text
        for text in (
            "<title>Tocsin: answer CR-1</title>",
            "<h1>Answer CR-1</h1>",
            "CR-1: column email is to be removed on ",
            f"Asset: {world.entities['orders']['fullyQualifiedName']} (table)",
            "Why: it belongs to &lt;b&gt;the customer&lt;/b&gt; &amp; nobody else",
            "Instead: customers.email",
            f"You answer for: {world.entities['clean']['fullyQualifiedName']}<br>",
            "You answer as: ann<br>",
            "Your answer now: open",
            "2 of 2 consumers open",
            'value="ready"',
            'value="notAffected"',
            'value="needsTime"',
            'value="objects"',
        ):
            assert text in page.text, text
        assert "<script" not in page.text
        (style,) = re.findall("<style>(.*?)</style>", page.text)
        digest = b64encode(sha256(style.encode()).digest()).decode()
        assert f"style-src 'sha256-{digest}'" in page.headers["content-security-policy"]
        assert page.headers["referrer-policy"] == "no-referrer"
    assert world.nobody.head(world.link(world.ann)).status_code in {200, 405}
    assert (world.answers(), world.steps()) == ({"clean": None, "sales": None}, [("announced", None)])


def test_the_page_and_the_timeline_call_people_by_their_display_names(world: Asked) -> None:
    for user_id, name in ((world.ann, "Ann <i>Berg</i>"), (world.bob, "Bob Uhl")):
        patch = {"op": "add", "path": "/displayName", "value": name}
        assert send_patch(world.administrator, f"/users/{user_id}", patch).is_success
    page = world.nobody.get(world.link(world.ann)).text
    assert "You answer as: Ann &lt;i&gt;Berg&lt;/i&gt;<br>" in page
    assert "Announced by: Administrator<br>" in page
    assert world.nobody.post(world.link(world.bob), data={"answer": "ready"}).is_success
    steps = world.administrator.get("/changes/CR-1/timeline").json()["data"]
    assert [(one["user"]["name"], one["user"]["displayName"]) for one in steps] == [
        ("admin", "Administrator"),
        ("bob", "Bob Uhl"),
    ]
    consumers = world.administrator.get("/changes/CR-1/consumers").json()["data"]
    (sales,) = [one for one in consumers if one["entity"]["name"] == "sales"]
    assert sales["answer"]["user"]["displayName"] == "Bob Uhl"
    assert world.administrator.get("/changes/CR-1").json()["author"]["displayName"] == "Administrator"


def test_the_form_answers_as_the_person_of_the_mail_until_the_date_and_the_last_answer_counts(world: Asked) -> None:
    answer = world.nobody.post(world.link(world.ann), data={"answer": "ready", "until": "", "comment": ""})
    assert (answer.status_code, "your answer is recorded" in answer.text, "<form" in answer.text) == (200, True, False)
    assert "Your answer now: We are ready (you)" in answer.text
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    for _ in range(2):
        again = {"answer": "needsTime", "until": "2999-12-16", "comment": "one\r\n<i>week</i>"}
        assert world.nobody.post(world.link(world.ann), data=again).status_code == 200
    assert "1 of 2 consumers open" in world.nobody.get(world.link(world.bob)).text
    objection = {"answer": "objects", "comment": "We read <it> ☃", "until": "2026-12-16"}
    page = world.nobody.post(world.link(world.bob), data=objection)
    assert page.status_code == 200
    assert "Your answer now: We object (you): We read &lt;it&gt; ☃<br>" in page.text
    assert "you can change your answer by this link until then" in page.text
    assert world.answers() == {"clean": "needsTime", "sales": "objects"}
    assert world.steps() == [
        ("announced", None),
        ("answered ready", "link"),
        ("answered needsTime", "link"),
        ("answered objects", "link"),
    ]
    step = world.administrator.get("/changes/CR-1/timeline").json()["data"][2]
    assert (step["user"]["name"], step["comment"], step["until"]) == ("ann", "one\n<i>week</i>", 32_502_297_600_000)


def test_the_day_until_which_somebody_needs_time_begins_in_their_zone(world: Asked) -> None:
    zone = {"timezone": "Asia/Kolkata"}
    assert world.administrator.put(f"/users/{world.ann}/preferences", json=zone).is_success
    form = {"answer": "needsTime", "until": "2999-12-16"}
    sent = world.nobody.post(world.link(world.ann), data=form)
    assert "Your answer now: We need time until 2999-12-16 00:00 IST (you)" in sent.text
    step = world.administrator.get("/changes/CR-1/timeline").json()["data"][1]
    assert step["until"] == 32_502_297_600_000 - 19_800_000


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({}, "Choose an answer."),
        ({"answer": "maybe"}, "Choose an answer."),
        ({"answer": "needsTime", "until": "soon"}, "Say until which day"),
        ({"answer": "objects", "comment": "  "}, "Write why you object."),
        ({"answer": "ready", "comment": "x" * 4_001}, "comment"),
        ({"answer": "ready", "comment": "a\0b"}, "NUL"),
        ({"answer": "needsTime", "until": "0001-01-01"}, "until"),
    ],
)
def test_a_form_that_is_no_answer_is_shown_again_with_words(world: Asked, form: dict[str, str], says: str) -> None:
    sent = world.nobody.post(world.link(world.ann), data=form)
    assert (sent.status_code, says in sent.text) == (400, True), sent.text
    assert world.answers() == {"clean": None, "sales": None}


def test_a_body_that_is_no_form_is_refused(world: Asked) -> None:
    for body in (b"\xff", b"answer=%ff", b"&".join(b"a%d=1" % at for at in range(20)), b'{"answer":"ready"}'):
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        sent = world.nobody.post(world.link(world.ann), content=body, headers=headers)
        assert (sent.status_code, "text/html" in sent.headers["content-type"]) == (400, True), body


def test_a_forged_or_misused_token_is_refused(world: Asked) -> None:
    link, key = world.link(world.ann), world.parts.alert_stores.unsubscribe_key
    for wrong in (
        world.link(world.ann, key=b"other"),
        world.link("0b7f2f5c-38a5-5d3c-9a0e-4f1f1c9f6d11"),
        world.link(world.ann, request_id="0b7f2f5c-38a5-5d3c-9a0e-4f1f1c9f6d11"),
        f"/answer/{acknowledge_token_of(AcknowledgeLink(world.ann, 1, 9_999_999_999_999), key)}",
        link[:-1],
        f"{link}x",
        link.replace(world.ann, world.bob),
        "/answer/x",
        "/answer/a.b.c",
        "/answer/%C3%BC",
    ):
        for reply in (world.nobody.get(wrong), world.nobody.post(wrong, data={"answer": "ready"})):
            assert (reply.status_code, "<form" in reply.text) == (404, False), wrong
    assert world.nobody.get(link.replace("/answer/", "/mute/")).status_code == 404
    assert world.nobody.get(f"/answer/{'x' * 201}").status_code == 400
    assert world.steps() == [("announced", None)]


def test_who_no_longer_owns_a_consumer_or_may_not_see_the_asset_or_is_gone_is_told_so(world: Asked) -> None:
    def refusals(person_id: str) -> list[tuple[int, bool]]:
        link = world.link(person_id)
        replies = (world.nobody.get(link), world.nobody.post(link, data={"answer": "ready"}))
        texts = ("You answer for no consumer of CR-1", "not found", "invalid or expired")
        assert all("<form" not in one.text and any(text in one.text for text in texts) for one in replies)
        return [(one.status_code, "html" in one.headers["content-type"]) for one in replies]

    owners = {"op": "replace", "path": "/owners", "value": [{"type": "user", "id": world.bob}]}
    assert send_patch(world.administrator, f"/tables/{world.entities['clean']['id']}", owners).is_success
    assert refusals(world.ann) == [(403, True)] * 2
    assert "clean" in world.nobody.get(world.link(world.bob)).text
    restrict(world.administrator, world.bob, {"effect": "deny", "resources": ["table"]})
    assert refusals(world.bob) == [(404, True)] * 2
    assert world.administrator.delete(f"/users/{world.ann}").is_success
    assert refusals(world.ann) == [(404, True)] * 2
    assert world.steps() == [("announced", None)]


def test_a_renamed_team_answers_under_its_new_name_and_who_leaves_it_no_more(world: Asked) -> None:
    path = f"/teams/{world.administrator.get('/teams/name/analysts').json()['id']}"
    renamed = send_patch(world.administrator, path, {"op": "replace", "path": "/name", "value": "insights"})
    assert renamed.is_success, renamed.text
    entries = world.administrator.get("/changes/CR-1/consumers").json()["data"]
    assert [one["answeredBy"][0]["name"] for one in entries] == ["ann", "insights"]
    assert world.nobody.post(world.link(world.bob), data={"answer": "ready"}).status_code == 200
    assert send_patch(world.administrator, path, {"op": "remove", "path": "/users/0"}).is_success
    assert world.nobody.post(world.link(world.bob), data={"answer": "notAffected"}).status_code == 403
    assert world.answers() == {"clean": None, "sales": "ready"}


def test_the_same_answer_by_a_link_again_is_no_post(world: Asked) -> None:
    leave_one_post(world.served, world.ann)
    statuses = [
        world.nobody.post(world.link(world.ann), data={"answer": answer}).status_code
        for answer in ("ready", "ready", "notAffected")
    ]
    assert statuses == [200, 200, 429]


def test_what_the_person_may_not_see_is_counted_and_neither_named_nor_answered(world: Asked) -> None:
    owners = {"op": "replace", "path": "/owners", "value": [{"type": "user", "id": world.ann}]}
    tag = {"op": "add", "path": "/tags", "value": [{"tagFQN": "PII.Sensitive"}]}
    assert send_patch(world.administrator, f"/tables/{world.entities['sales']['id']}", owners, tag).is_success
    denial = {"effect": "deny", "resources": ["table"], "condition": "matchAnyTag('PII.Sensitive')"}
    restrict(world.administrator, world.ann, denial)
    page = world.nobody.get(world.link(world.ann)).text
    assert ("clean" in page, "sales" in page, "2 of 2 consumers open" in page) == (True, False, True)
    sent = world.nobody.post(world.link(world.ann), data={"answer": "ready"})
    assert (sent.status_code, "sales" in sent.text) == (200, False)
    assert world.answers() == {"clean": "ready", "sales": None}


def test_a_request_that_is_withdrawn_says_so(world: Asked) -> None:
    assert world.administrator.put("/changes/CR-1/withdraw").is_success
    for reply in (world.nobody.get(world.link(world.ann)), world.nobody.post(world.link(world.ann))):
        says = "CR-1 is withdrawn: answers are final"
        assert (reply.status_code, says in reply.text, "<form" in reply.text) == (409, True, False)


def test_a_link_ends_on_the_date_and_works_again_when_that_is_moved(world: Asked, sqlite_engine: Engine) -> None:
    link = world.link(world.ann)
    with writing(sqlite_engine) as connection:
        connection.execute(update(change_request).values(due_at_ms=1))
    for reply in (world.nobody.get(link), world.nobody.post(link, data={"answer": "ready"})):
        says = "CR-1 is due: answers are final"
        assert (reply.status_code, says in reply.text, "<form" in reply.text) == (409, True, False)
    date = world.request["date"] + _DAY_MS
    assert world.administrator.put("/changes/CR-1/move", json={"date": date}).is_success
    assert world.nobody.post(link, data={"answer": "ready"}).status_code == 200
    assert world.answers() == {"clean": "ready", "sales": None}
