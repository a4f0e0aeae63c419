"""Tests of the commands against a real server and store."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
import yaml
from tests.acceptance.cli.conftest import WITHIN_S, Shell, shell_in
from tests.prestarted import Prestarted

from tocsin.client import Client
from tocsin.errors import Unavailable

EMAIL = "ada@example.com"
STATES: list[tuple[str, str, dict[str, object]]] = [
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


@pytest.fixture(scope="module")
def logged_in(tmp_path_factory: pytest.TempPathFactory, prestarted: Prestarted) -> Iterator[Shell]:
    """A server that runs, an administrator who has logged in, and a small history in the store, for all tests."""
    shell = shell_in(tmp_path_factory.mktemp("server"), prestarted)
    password = shell.json("admin", "create-user", "ada", "--email", EMAIL, "--admin")["password"]
    history = shell.folder / "states.jsonl"
    history.write_text("".join(line(number, *state) for number, state in enumerate(STATES)))
    assert shell.json("replay", str(history)) == {"file": str(history), "lines": 5, "events": 5}
    with shell.start("serve") as server:
        try:
            wait_for(shell)
            token = shell.run("login", EMAIL, "--password-stdin", input_text=f"{password}\n").stdout.strip()
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
    printed_lines = [line for line, _, _ in lines]
    assert len({UUID(event_id) for _, _, event_id in lines}) == len(lines)
    assert "table shop.sales.public.orders  created  by user_001" in printed_lines
    assert "table shop.sales.public.orders  column id INT → BIGINT  by user_001" in printed_lines
    assert printed_lines[-1] == "table shop.sales.public.orders  follower ada added  by ada"

    (answer,) = logged_in.json("follow", "shop.sales.public.orders", "shop.sales.public")
    assert [one["message"] for one in answer["successRequest"]] == ["already followed", "followed"]
    fqns = [one["asset"]["fullyQualifiedName"] for one in logged_in.json("follows", "--type", "table")]
    assert fqns == ["shop.sales.public.orders"]
    (answer,) = logged_in.json("unfollow", "shop.sales.public", "--dry-run")
    assert (answer["dryRun"], answer["followCount"]) == (True, 1)

    alerts = tmp_path / "alerts.toml"
    alerts.write_text(ALERT)
    assert [row["outcome"] for row in logged_in.json("alerts", "apply", str(alerts))] == ["created"]
    assert [row["outcome"] for row in logged_in.json("alerts", "apply", str(alerts))] == ["unchanged"]
    alerts.write_text(ALERT.replace('"include"', '"exclude"'))
    assert [row["outcome"] for row in logged_in.json("alerts", "apply", str(alerts))] == ["updated"]
    assert "OwnersOfTables" in {row["name"] for row in logged_in.json("alerts", "list")}
    (destination,) = logged_in.json("alerts", "status", "OwnersOfTables")["data"]
    assert destination["statusDetails"]["status"] == "active"

    logged_in.json("alerts", "apply", "-", input_text=MORE)
    exported = logged_in.run("alerts", "export", "OwnersOfTables", "Hook", "--json").stdout
    assert "s3cret" not in exported
    _, hook = json.loads(exported)
    assert (hook["displayName"], hook["owners"]) == ("To a webhook", [{"type": "user", "name": "ada"}])
    assert [label["tagFQN"] for label in hook["tags"]] == ["PII.Sensitive"]
    applied = logged_in.json("alerts", "apply", "-", input_text=exported)
    assert [row["outcome"] for row in applied] == ["unchanged", "unchanged"]
    everything = logged_in.run("alerts", "export").stdout
    assert {"OwnersOfTables", "Hook"} <= {one["name"] for one in yaml.safe_load(everything)["alerts"]}
    assert {row["outcome"] for row in logged_in.json("alerts", "apply", "-", input_text=everything)} == {"unchanged"}
    assert logged_in.run("alerts", "export", "Hok").returncode == 3

    wrong = logged_in.run("alerts", "apply", "-", input_text=ALERT.replace("fieldChanged", "fieldChangde"))
    assert wrong.returncode == 2
    assert "fieldChanged" in wrong.stderr


FILED = """
- name: Tests
  alertType: Observability
  filteringRules:
    resources: [testCase]
    rules:
      - {effect: include, condition: "testStatus == 'Failed'"}
  destinations:
    - {category: Owners, type: Email}
- name: Hooked
  alertType: Notification
  description: |
    costs ${HOME}, told
    at once
  filteringRules: {resources: [table]}
  destinations:
    - category: External
      type: Webhook
      config: {endpoint: "http://127.0.0.1:9/hook", secretKey: "${TOCSIN_ALERT_HOOK}", headers: {X-Key: "a $${b}"}}
"""


def test_alerts_are_kept_as_code(logged_in: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "alerts"
    folder.mkdir()
    (folder / "ours.yaml").write_text(FILED)
    secret = logged_in.beside(TOCSIN_ALERT_HOOK="s3cret")
    assert "environment variable TOCSIN_ALERT_HOOK is not set" in logged_in.run("alerts", "plan", str(folder)).stderr

    planned = secret.run("alerts", "plan", str(folder), "--detailed-exitcode")
    assert (planned.returncode, "+ create Tests" in planned.stdout, "2 to create" in planned.stdout) == (8, True, True)
    assert "s3cret" not in planned.stdout
    assert secret.run("alerts", "status", "Tests").returncode == 3, "a plan creates nothing"
    assert {row["outcome"] for row in secret.json("alerts", "apply", str(folder))} == {"created"}

    events = logged_in.run("events", "tail", "--since", "start", "--once").stdout
    again = secret.run("alerts", "apply", str(folder))
    assert (again.returncode, again.stdout) == (0, "0 to create, 0 to update, 0 to delete, 2 unchanged.\n")
    assert logged_in.run("events", "tail", "--since", "start", "--once").stdout == events, "it makes no event"

    exported = folder / "exported.yaml"
    exported.write_text(logged_in.run("alerts", "export").stdout)
    (folder / "ours.yaml").unlink()
    no_changes = logged_in.run("alerts", "plan", str(folder), "--prune", "--detailed-exitcode")
    assert (no_changes.returncode, "0 to create, 0 to update, 0 to delete" in no_changes.stdout) == (0, True)

    exported.unlink()
    rotated = logged_in.beside(TOCSIN_ALERT_HOOK="an0ther")
    hooked = FILED[FILED.index("- name: Hooked") :].replace("Notification", "Notification\n  retries: 5")
    (folder / "hooked.yaml").write_text(hooked)
    planned = rotated.run("alerts", "plan", str(folder), "--prune")
    assert planned.stdout.splitlines()[:3] == [
        f"~ update Hooked  ({folder}/hooked.yaml:1)",
        "    retries: 3 → 5",
        "    destinations[0].config.secretKey: ********* → ********* (another secret)",
    ]
    assert "- delete Tests" in planned.stdout
    outcomes = {row["name"]: row["outcome"] for row in rotated.json("alerts", "apply", str(folder), "--prune", "--yes")}
    assert outcomes.items() >= {"Hooked": "updated", "Tests": "deleted"}.items()
    assert logged_in.run("alerts", "status", "Tests").returncode == 3

    (folder / "hooked.yaml").write_text(FILED.replace("testStatus", "testStatos"))
    refused = rotated.run("alerts", "apply", str(folder))
    column = FILED.splitlines()[6].index("testStatus") + 1
    first_line, _, caret = refused.stderr.splitlines()
    assert refused.returncode == 2
    assert first_line.startswith(
        f"tocsin: {folder}/hooked.yaml:7:{column}: Tests: filteringRules.rules[0].condition: unknown"
    )
    assert caret.index("^") == 2 + column - 1


def test_people_and_bots_are_made_beside_the_server(logged_in: Shell) -> None:
    again = logged_in.run("admin", "create-user", "ada", "--email", EMAIL)
    assert (again.returncode, again.stdout) == (5, "")
    first = logged_in.json("admin", "create-user", "eve", "--email", "eve@example.org", "--admin")["password"]
    eve = logged_in.with_token(
        logged_in.run("login", "eve@example.org", "--password-stdin", input_text=first).stdout.strip()
    )
    assert eve.run("alerts", "list").returncode == 0
    new = logged_in.json("admin", "reset-password", "eve")["password"]
    assert eve.run("alerts", "list").returncode == 4, "whoever held a token of hers is out"
    assert logged_in.run("login", "eve@example.org", "--password-stdin", input_text=f"{first}\n").returncode == 4
    assert logged_in.run("login", "eve@example.org", "--password-stdin", input_text=new).returncode == 0
    assert logged_in.run("admin", "reset-password", "nobody").returncode == 3
    token = logged_in.run("admin", "token", "ingestion").stdout.strip()
    bot = logged_in.with_token(token)
    assert bot.run("follow", "shop.sales.public").returncode == 2, "only people follow"
    assert bot.json("follow", "shop.sales.public", "--as", "ada")["user"] == "ada"
    password = logged_in.json("admin", "create-user", "ben", "--email", "ben@example.org")["password"]
    ben = logged_in.run("login", "ben@example.org", "--password-stdin", input_text=password).stdout.strip()
    assert logged_in.with_token(ben).run("follow", "shop.sales.public", "--as", "ada").returncode == 4
