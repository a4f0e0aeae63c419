"""Tests of the commands against a real server and store."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from tests.acceptance.cli.conftest import WITHIN_S, Shell

from tocsin.client import Client
from tocsin.errors import Unavailable

EMAIL = "ada@example.com"
STATES = [
    ("databaseService", "shop", {"name": "shop"}),
    ("database", "shop.sales", {"name": "sales"}),
    ("databaseSchema", "shop.sales.public", {"name": "public"}),
    ("table", "shop.sales.public.orders", {"name": "orders", "columns": [{"name": "id", "dataType": "INT"}]}),
    ("table", "shop.sales.public.orders", {"name": "orders", "columns": [{"name": "id", "dataType": "BIGINT"}]}),
]
ALERT = """
[[alerts]]
name = "OwnersOfTables"
alertType = "Notification"
filteringRules.resources = ["table"]

[[alerts.filteringRules.rules]]
effect = "include"
condition = "fieldChanged == 'columns'"

[[alerts.destinations]]
category = "Owners"
type = "Email"
config.sendToOwners = true
"""
MORE = """
[[alerts]]
name = "Hook"
displayName = "To a webhook"
alertType = "Notification"
resources = ["table"]
owners = [{type = "user", name = "ada"}]
tags = [{tagFQN = "PII.Sensitive"}]

[[alerts.destinations]]
category = "External"
type = "Webhook"
config.endpoint = "http://127.0.0.1:9/secret/path"
config.secretKey = "s3cret"
"""


@pytest.fixture
def logged_in(shell: Shell) -> Iterator[Shell]:
    """A server that runs, an administrator who has logged in, and a small history in the store."""
    password = shell.json("admin", "create-user", "ada", "--email", EMAIL, "--admin")["password"]
    history = shell.folder / "states.jsonl"
    history.write_text("".join(line(number, *state) for number, state in enumerate(STATES)))
    assert shell.json("replay", str(history)) == {"file": str(history), "lines": 5, "events": 5}
    with shell.start("serve") as server:
        try:
            wait_for(shell)
            token = shell.run("login", EMAIL, "--password-stdin", given=f"{password}\n").stdout.strip()
            yield shell.with_token(token)
        finally:
            server.terminate()
            printed = server.communicate(timeout=WITHIN_S)[0]
    assert server.returncode in (0, -signal.SIGTERM), printed  # it stops in order, then ends by the signal it got
    assert "Traceback" not in printed


def line(number: int, entity_type: str, fqn: str, entity: dict[str, object]) -> str:
    row = {"seq": number, "timestamp": 1_700_000_000_000 + number, "commit": "c1", "user": "user_001", "op": "put"}
    return json.dumps({**row, "entityType": entity_type, "fullyQualifiedName": fqn, "entity": entity}) + "\n"


def wait_for(shell: Shell) -> None:
    deadline = time.monotonic() + WITHIN_S
    with Client(shell.environment["TOCSIN_SERVER"]) as client:
        while True:
            try:
                client.server_version()
                return
            except Unavailable:
                assert time.monotonic() < deadline, "the server does not answer"
                time.sleep(0.05)


def test_a_newcomer_follows_watches_and_keeps_alerts(logged_in: Shell, tmp_path: Path) -> None:
    followed = logged_in.json("follow", "shop.sales.public.orders")
    assert followed == {"user": "ada", "asset": "shop.sales.public.orders", "type": "table", "follows": True}

    tail = logged_in.run("events", "tail", "--since", "start", "--once")
    lines = [one.partition("  ")[2].rpartition("  ") for one in tail.stdout.splitlines()]
    shown = [line for line, _, _ in lines]
    assert len({UUID(event_id) for _, _, event_id in lines}) == len(lines)
    assert "table shop.sales.public.orders  created  by user_001" in shown
    assert "table shop.sales.public.orders  columns.id.dataType updated  by user_001" in shown
    assert shown[-1] == "table shop.sales.public.orders  follower ada added  by ada"

    alerts = tmp_path / "alerts.toml"
    alerts.write_text(ALERT)
    assert [row["outcome"] for row in logged_in.json("alerts", "apply", str(alerts))] == ["created"]
    assert [row["outcome"] for row in logged_in.json("alerts", "apply", str(alerts))] == ["unchanged"]
    alerts.write_text(ALERT.replace('"include"', '"exclude"'))
    assert [row["outcome"] for row in logged_in.json("alerts", "apply", str(alerts))] == ["updated"]
    assert "OwnersOfTables" in {row["name"] for row in logged_in.json("alerts", "list")}
    (destination,) = logged_in.json("alerts", "status", "OwnersOfTables")["data"]
    assert destination["statusDetails"]["status"] == "active"

    logged_in.json("alerts", "apply", "-", given=MORE)
    exported = logged_in.run("alerts", "export", "OwnersOfTables", "Hook").stdout
    assert "s3cret" not in exported
    _, hook = json.loads(exported)
    assert (hook["displayName"], hook["owners"]) == ("To a webhook", [{"type": "user", "name": "ada"}])
    assert [label["tagFQN"] for label in hook["tags"]] == ["PII.Sensitive"]
    applied = logged_in.json("alerts", "apply", "-", given=exported)
    assert [row["outcome"] for row in applied] == ["unchanged", "unchanged"]
    everything = logged_in.run("alerts", "export").stdout
    assert {"OwnersOfTables", "Hook"} <= {one["name"] for one in json.loads(everything)}
    assert {row["outcome"] for row in logged_in.json("alerts", "apply", "-", given=everything)} == {"unchanged"}
    assert logged_in.run("alerts", "export", "Hok").returncode == 3

    wrong = logged_in.run("alerts", "apply", "-", given=ALERT.replace("fieldChanged", "fieldChangde"))
    assert wrong.returncode == 2
    assert "fieldChanged" in wrong.stderr


def test_people_and_bots_are_made_beside_the_server(logged_in: Shell) -> None:
    again = logged_in.run("admin", "create-user", "ada", "--email", EMAIL)
    assert (again.returncode, again.stdout) == (5, "")
    assert logged_in.run("alerts", "list").returncode == 0
    new = logged_in.json("admin", "reset-password", "ada")["password"]
    assert logged_in.run("alerts", "list").returncode == 4, "whoever held a token of hers is out"
    assert logged_in.run("login", EMAIL, "--password-stdin", given="wrong\n").returncode == 4
    assert logged_in.run("login", EMAIL, "--password-stdin", given=new).returncode == 0
    assert logged_in.run("admin", "reset-password", "nobody").returncode == 3
    token = logged_in.run("admin", "token", "ingestion").stdout.strip()
    bot = logged_in.with_token(token)
    assert bot.json("follow", "shop.sales.public.orders")["user"] == "ingestion"
    assert bot.json("follow", "shop.sales.public.orders", "--as", "ada")["user"] == "ada"
    password = logged_in.json("admin", "create-user", "ben", "--email", "ben@example.org")["password"]
    ben = logged_in.run("login", "ben@example.org", "--password-stdin", given=password).stdout.strip()
    assert logged_in.with_token(ben).run("follow", "shop.sales.public.orders", "--as", "ada").returncode == 4
