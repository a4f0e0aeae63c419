"""The author of a change request is told why a consumer objects: in plain text, and only as far as they may see it."""

from __future__ import annotations

import json
from dataclasses import replace

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import restrict, send_patch
from tests.contract.test_changes import announce, world
from tests.contract.test_explain import Person, assign_owners, person
from tests.notifying import notify_all
from tests.serving import Json
from tests.unit.delivery.channels import samples
from tests.unit.delivery.channels.kinds import KINDS
from tests.unit.delivery.events import dispatch

from tocsin.delivery.channels.previews import PREVIEWS
from tocsin.delivery.wording.change_requests import objection_line
from tocsin.model.change_request import AskedFor, ObjectionReason
from tocsin.model.subscription import Channel

__all__ = ["person", "world"]  # fixtures

REASON = "finance reads it\nuntil <b>June</b>"


def changes_in_bell(client: httpx.Client, user_id: str) -> list[str]:
    entries = client.get(f"/users/{user_id}/notifications?limit=100").json()["data"]
    (answer,) = [one for one in entries if "objects" in one["title"]]
    texts: list[str] = answer["changes"]
    return texts


def test_the_bell_quotes_an_objection_to_the_author_who_may_see_the_consumer(
    administrator: httpx.Client,
    world: dict[str, Json],
    person: Person,
    sqlite_engine: Engine,
) -> None:
    zoe_id, zoe = person("zoe")
    assign_owners(administrator, world["orders"], zoe_id)
    announce(zoe, administrator.get(f"/tables/{world['orders']['id']}").json())
    body = {"answer": "objects", "comment": REASON}
    assert world["as_ann"].put("/changes/CR-1/answer", json=body).is_success
    notify_all(sqlite_engine)
    assert changes_in_bell(zoe, zoe_id)[0] == "objection of clean: “finance reads it until <b>June</b>”"
    assert objection_line(ObjectionReason('"dana.w"', "no", "Dana W")).labelled_text == "objection of Dana W: “no”"
    events = administrator.get("/events?eventType=changeRequestAnswered").text
    assert "finance" not in events, "who may see the asset may not see every consumer"
    tag = {"op": "add", "path": "/tags", "value": [{"tagFQN": "PII.Sensitive"}]}
    assert send_patch(administrator, f"/tables/{world['clean']['id']}", tag).is_success
    restrict(
        administrator, zoe_id, {"effect": "deny", "resources": ["table"], "condition": "matchAnyTag('PII.Sensitive')"}
    )
    assert "finance" not in json.dumps(changes_in_bell(zoe, zoe_id))


@pytest.mark.parametrize("channel", PREVIEWS)
def test_messages_quote_an_objection_as_plain_text(channel: Channel) -> None:
    message = dispatch(KINDS["change_answered"])
    message = replace(message, message=replace(message.message, channel=channel.value))
    objection = ObjectionReason("a.revenue", f"{samples.HOSTILE}\r\nBcc: all@example.com {'x' * 5_000}")
    answerable = {message.first.notification_id: AskedFor(objection=objection)}
    preview = PREVIEWS[channel](replace(message, answerable=answerable), samples.HOME)
    text = preview["html"] if channel is Channel.EMAIL else json.dumps(preview, ensure_ascii=False)
    assert "bjection of revenue" in text
    assert "x" * 600 not in text
    marks = ("<!channel>", "<users/all>", "<b>x</b>", "<at>all</at>", "<https://evil", 'href="https://evil')
    assert not [mark for mark in marks if mark in text]
