"""One wording: bell, mail, chats, command line, history and activity say the same of the same events."""

from __future__ import annotations

import json

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import send_patch
from tests.contract.test_explain import Person, person
from tests.notifying import notify_all
from tests.serving import Json, table
from tests.unit.delivery.channels import samples
from tests.unit.delivery.events import dispatch

from tocsin.alerts.explanations.reader import ANYBODY
from tocsin.cli.events import words_of
from tocsin.client import Change
from tocsin.delivery.channels.previews import PREVIEWS
from tocsin.model.change import ChangeEvent
from tocsin.model.subscription import Channel
from tocsin.store.eventlog.log import EventLog

__all__ = ["person"]  # a fixture

COLUMNS = [
    {"name": "id", "dataType": "INT"},
    {"name": "email", "dataType": "VARCHAR", "dataLength": 16},
    {"name": "phone", "dataType": "TEXT"},
]
RETYPED = {"name": "email", "dataType": "INT"}
PATCHES: dict[str, Json] = {
    "column phone TEXT removed": {"op": "remove", "path": "/columns/2"},
    "column email VARCHAR(16) → INT": {"op": "replace", "path": "/columns/1", "value": RETYPED},
    "description ": {"op": "add", "path": "/description", "value": "All orders."},
    "tag PII.Sensitive added to column email": {
        "op": "add",
        "path": "/columns/1/tags",
        "value": [{"tagFQN": "PII.Sensitive"}],
    },
    "tier Tier1 added": {"op": "add", "path": "/tags", "value": [{"tagFQN": "Tier.Tier1"}]},
}


def headline_of(channel: Channel, event: ChangeEvent) -> str:
    """Return what a mail or chat has as its headline."""
    message = PREVIEWS[channel](dispatch(event), samples.HOME)
    if channel is Channel.EMAIL:
        return str(message["subject"])
    texts = samples.texts_of(message)
    return next(text for text in texts if text.startswith("sold: "))


@pytest.fixture
def sold(administrator: httpx.Client, orders: Json, person: Person) -> tuple[Json, str, httpx.Client]:
    """Return a table that was changed in many ways, deleted and restored, with its follower."""
    ann_id, ann = person("ann")
    sold = table(administrator, "sold", columns=COLUMNS)
    path = f"/tables/{sold['id']}"
    assert administrator.put(f"{path}/followers/{ann_id}").is_success
    for operation in PATCHES.values():
        assert send_patch(administrator, path, operation).is_success
    assert administrator.delete(path).is_success
    assert administrator.put("/tables/restore", json={"id": sold["id"]}).is_success
    return sold, ann_id, ann


def test_the_same_events_are_told_in_the_same_words(
    administrator: httpx.Client,
    sold: tuple[Json, str, httpx.Client],
    sqlite_engine: Engine,
) -> None:
    entity, ann_id, ann = sold
    notify_all(sqlite_engine)
    query = {
        "entityId": entity["id"],
        "eventType": "entityUpdated,entitySoftDeleted,entityRestored",
        "format": "tocsin",
    }
    events = [one for one in administrator.get("/events", params=query).json()["data"] if "followers" not in str(one)]
    logged_events = {one.event.id: one.event for one in EventLog(sqlite_engine).read(0, 10_000)}
    inbox = ann.get(f"/users/{ann_id}/notifications?limit=100").json()["data"]
    bell = {one["eventId"]: one["title"] for one in inbox}
    activities = ann.get(f"/users/{ann_id}/activity?limit=100").json()["data"]
    activity = {one["event"]["id"]: one["title"] for one in activities}
    history = ann.get(f"/tables/{entity['id']}/versions?words=true").json()
    words_by_version = {
        json.loads(text)["version"]: words for text, words in zip(history["versions"], history["words"], strict=True)
    }
    summaries = []
    for event in events:
        title = bell[event["id"]]
        summary = title.removeprefix("sold: ")
        assert activity[event["id"]] == title
        assert [headline_of(channel, logged_events[event["id"]]) for channel in PREVIEWS] == [title] * len(PREVIEWS)
        assert words_of(Change(event), ANYBODY, lambda event: event)[0] == summary
        assert any(line.startswith(summary) for line in words_by_version[event["currentVersion"]]), words_by_version
        summaries.append(summary)
    wanted_texts = [*PATCHES, "deleted", "restored"]
    assert len(summaries) == len(wanted_texts)
    assert [text in summary for text, summary in zip(wanted_texts, summaries, strict=True)] == [True] * len(
        wanted_texts
    ), summaries
