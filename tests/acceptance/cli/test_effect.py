"""Tests of how soon a created, changed or disabled alert takes effect: two seconds later, without a restart.

Real processes. The promise concerns the events that the new rules apply to: those written two seconds after the change.
The delay of the notification itself is not tested here.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator

import pytest
from tests.acceptance.cli.conftest import Shell
from tests.acceptance.cli.test_up import READY_WITHIN_S, Printed, children_of, up
from tests.waiting import until

from tocsin.client import Client

__all__ = ["up"]

EFFECT_WITHIN_S = 2.0
TOLD_WITHIN_S = 120
BELL, EFFECT = "you own it (alert ActivityFeedAlert)", "you own it (alert Effect)"

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]


class Watched:
    """A table that ana owns, with in-app notifications of every change, and an alert whose rules are changed."""

    def __init__(self, client: Client) -> None:
        self._client = client
        put = client.create_or_update
        self._ana = str(put("user", {"name": "ana", "email": "ana@example.com"}).id)
        put("databaseService", {"name": "pg", "serviceType": "Postgres"})
        put("database", {"name": "store", "service": "pg"})
        put("databaseSchema", {"name": "public", "database": "pg.store"})
        table = {"name": "orders", "databaseSchema": "pg.store.public", "columns": [{"name": "id", "dataType": "INT"}]}
        self._table = str(put("table", {**table, "owners": [{"type": "user", "name": "ana"}]}).id)
        until(lambda: len(self._told()) == 1, within_s=TOLD_WITHIN_S)

    def alert(self, condition: str, *, enabled: bool = True) -> None:
        """Make or change the alert, and let the time pass after which it counts."""
        rules = [{"effect": "include", "condition": condition}]
        document = {
            "name": "Effect",
            "alertType": "Notification",
            "enabled": enabled,
            "filteringRules": {"resources": ["table"], "rules": rules},
            "destinations": [{"category": "Owners", "type": "ActivityFeed"}],
        }
        self._client.create_or_update("eventsubscription", document)
        time.sleep(EFFECT_WITHIN_S)

    def change(self, field: str, text: str) -> set[str]:
        """Change the table and return the reasons of ana's notification."""
        before = len(self._told())
        self._client.patch("table", self._table, [{"op": "add", "path": f"/{field}", "value": text}])
        until(lambda: len(self._told()) == before + 1, within_s=TOLD_WITHIN_S)
        return set(self._told()[0])

    def _told(self) -> list[tuple[str, ...]]:
        return [one.reasons for one in self._client.notifications(self._ana)]


@pytest.fixture
def watched(shell: Shell, up: tuple[subprocess.Popen[str], Printed]) -> Iterator[Watched]:
    _process, printed = up
    printed.wait_for("Tocsin is ready", READY_WITHIN_S)
    password = shell.json("admin", "reset-password", "admin")["password"]
    with Client(shell.environment["TOCSIN_SERVER"]) as client:
        client.login("admin@tocsin.example.org", password)
        yield Watched(client)


def test_an_alert_counts_two_seconds_after_it_was_made_changed_or_switched_off(
    watched: Watched, up: tuple[subprocess.Popen[str], Printed]
) -> None:
    process, _printed = up
    parts = children_of(process.pid)
    assert watched.change("description", "before there is an alert") == {BELL}
    watched.alert("fieldChanged == 'description'")
    assert watched.change("description", "it was made") == {BELL, EFFECT}
    watched.alert("fieldChanged == 'displayName'")
    assert watched.change("description", "it asks for something else") == {BELL}
    assert watched.change("displayName", "Orders") == {BELL, EFFECT}
    watched.alert("fieldChanged == 'displayName'", enabled=False)
    assert watched.change("displayName", "All orders") == {BELL}
    watched.alert("fieldChanged == 'displayName'")
    assert watched.change("displayName", "Every order") == {BELL, EFFECT}
    assert {"serve", "pipeline", "deliver"} <= parts.keys()
    assert parts.items() <= children_of(process.pid).items(), "a part was started again"
