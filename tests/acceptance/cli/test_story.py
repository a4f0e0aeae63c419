"""Tests of the whole product: one change reaches the follower's inbox, the owner's mail and the webhook, once each.

Real processes, each killed midway.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.request import ProxyHandler, build_opener

import pytest
from tests.acceptance.cli.conftest import Shell
from tests.acceptance.cli.test_up import READY_WITHIN_S, Printed, children_of, up
from tests.quickspark import QUICK_JAVA
from tests.waiting import until

from tocsin.client import Client
from tocsin.errors import TocsinError

__all__ = ["up"]

CHANGES = 18
KILLS = {4: "pipeline", 9: "deliver", 14: "serve"}

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]


class StorySetup:
    """A running Tocsin with one table: owned by ana, followed by ben, its changes mailed and posted."""

    def __init__(self, shell: Shell, printed_text: str) -> None:
        password = shell.json("admin", "reset-password", "admin")["password"]
        mailbox = re.search(r"(http://\S+)/received", printed_text)
        assert mailbox
        self.mailbox = mailbox.group(1)
        self.client = Client(shell.environment["TOCSIN_SERVER"])
        self.client.login("admin@tocsin.example.org", password)
        put = self.client.create_or_update
        self.people = {
            name: str(put("user", {"name": name, "email": f"{name}@example.com"}).id) for name in ("ana", "ben")
        }
        put("databaseService", {"name": "pg", "serviceType": "Postgres"})
        put("database", {"name": "store", "service": "pg"})
        put("databaseSchema", {"name": "public", "database": "pg.store"})
        columns = [{"name": "id", "dataType": "INT"}]
        table = {"name": "orders", "databaseSchema": "pg.store.public", "columns": columns}
        self.table = str(put("table", {**table, "owners": [{"type": "user", "name": "ana"}]}).id)
        self.client.add_follower("table", self.table, self.people["ben"])
        hook = {"category": "External", "type": "Webhook", "config": {"endpoint": f"{self.mailbox}/hook"}}
        self.client.create_subscription(
            {
                "name": "orders",
                "alertType": "Notification",
                "filteringRules": {
                    "resources": ["table"],
                    "rules": [{"effect": "include", "condition": "fieldChanged == 'description'"}],
                },
                "pollInterval": 0,  # each change is a mail
                "destinations": [{"category": "Owners", "type": "Email"}, hook],
            }
        )

    def describe(self, text: str) -> None:
        """Change the description; while the server is down, ask again: a change made twice is one change."""
        patch = [{"op": "add", "path": "/description", "value": text}]

        def is_patched() -> bool:
            try:
                self.client.patch("table", self.table, patch)
            except TocsinError:
                return False
            return True

        until(is_patched, within_s=90, every_s=0.3)

    def bells(self, name: str) -> list[Any]:
        return list(self.client.notifications(self.people[name]))

    def arrivals(self, kind: str) -> list[dict[str, Any]]:
        opener = build_opener(ProxyHandler({}))
        with opener.open(f"{self.mailbox}/received", timeout=10) as answer:
            return [one for one in json.load(answer)["received"] if one["kind"] == kind]


@pytest.fixture
def shell(shell: Shell) -> Shell:
    """A shell whose Spark compiles its queries, as in production."""
    conf = json.dumps({"spark.driver.extraJavaOptions": QUICK_JAVA})
    return shell.beside(TOCSIN_SPARK_CONF=conf)


@pytest.fixture
def house(shell: Shell, up: tuple[subprocess.Popen[str], Printed]) -> Iterator[StorySetup]:
    _process, printed = up
    story = StorySetup(shell, printed.wait_for("Tocsin is ready", READY_WITHIN_S))
    yield story
    story.client.close()


@pytest.mark.soak
def test_each_is_notified_once_whatever_is_killed(
    house: StorySetup,
    up: tuple[subprocess.Popen[str], Printed],
) -> None:
    process, _output = up
    for number in range(CHANGES):
        house.describe(f"text {number}")
        if part := KILLS.get(number):
            until(lambda part=part: part in children_of(process.pid), within_s=60)  # type: ignore[misc]
            os.kill(children_of(process.pid)[part], signal.SIGKILL)
    until(lambda: len({one["webhook_id"] for one in house.arrivals("webhook")}) == CHANGES, within_s=180)
    until(lambda: len({one["message_id"] for one in house.arrivals("mail")}) == CHANGES, within_s=60)
    until(lambda: len(house.bells("ben")) >= CHANGES, within_s=60)

    webhook_texts = {one["webhook_id"]: one["event"]["entity"]["description"] for one in house.arrivals("webhook")}
    assert Counter(webhook_texts.values()) == Counter(f"text {number}" for number in range(CHANGES))
    assert {tuple(one["to"]) for one in house.arrivals("mail")} == {("ana@example.com",)}
    assert {one["because"] for one in house.arrivals("mail")} == {"you own it (alert orders)"}
    bell_entries = house.bells("ben")
    assert [one.title for one in bell_entries] == ["orders: description changed"] * (CHANGES - 1) + [
        "orders: description added"
    ]
    assert {reason for one in bell_entries for reason in one.reasons} == {"you follow it (alert ActivityFeedAlert)"}
    assert len({one.id for one in bell_entries}) == CHANGES
