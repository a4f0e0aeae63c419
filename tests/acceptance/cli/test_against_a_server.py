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
def shell_of_ada(tmp_path_factory: pytest.TempPathFactory, prestarted_process: Prestarted) -> Iterator[Shell]:
    """A server that runs, an administrator who has logged in, and a small history in the store, for all tests."""
    shell = shell_in(tmp_path_factory.mktemp("server"), prestarted_process)
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
            output = server.communicate(timeout=WITHIN_S)[0]
    assert server.returncode in (0, -signal.SIGTERM), output  # it stops in order, then ends by the signal it got
    assert "Traceback" not in output


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


def test_a_newcomer_follows_watches_and_keeps_alerts(shell_of_ada: Shell, tmp_path: Path) -> None:
    follow_answer = shell_of_ada.json("follow", "shop.sales.public.orders")
    assert follow_answer == {"user": "ada", "asset": "shop.sales.public.orders", "type": "table", "follows": True}

    tail = shell_of_ada.run("events", "tail", "--since", "start", "--once")
    lines = [one.partition("  ")[2].rpartition("  ") for one in tail.stdout.splitlines()]
    printed_lines = [line for line, _, _ in lines]
    assert len({UUID(event_id) for _, _, event_id in lines}) == len(lines)
    assert "table shop.sales.public.orders  created  by user_001" in printed_lines
    assert "table shop.sales.public.orders  column id INT → BIGINT  by user_001" in printed_lines
    assert printed_lines[-1] == "table shop.sales.public.orders  follower ada added  by you"

    (answer,) = shell_of_ada.json("follow", "shop.sales.public.orders", "shop.sales.public")
    assert [one["message"] for one in answer["successRequest"]] == ["already followed", "followed"]
    fqns = [one["asset"]["fullyQualifiedName"] for one in shell_of_ada.json("follows", "--type", "table")]
    assert fqns == ["shop.sales.public.orders"]
    (answer,) = shell_of_ada.json("unfollow", "shop.sales.public", "--dry-run")
    assert (answer["dryRun"], answer["followCount"]) == (True, 1)

    alerts = tmp_path / "alerts.toml"
    alerts.write_text(ALERT)
    assert [row["outcome"] for row in shell_of_ada.json("alerts", "apply", str(alerts))] == ["created"]
    assert [row["outcome"] for row in shell_of_ada.json("alerts", "apply", str(alerts))] == ["unchanged"]
    alerts.write_text(ALERT.replace('"include"', '"exclude"'))
    assert [row["outcome"] for row in shell_of_ada.json("alerts", "apply", str(alerts))] == ["updated"]
    assert "OwnersOfTables" in {row["name"] for row in shell_of_ada.json("alerts", "list")}
    (destination,) = shell_of_ada.json("alerts", "status", "OwnersOfTables")["data"]
    assert destination["statusDetails"]["status"] == "active"

    shell_of_ada.json("alerts", "apply", "-", input_text=MORE)
    export_text = shell_of_ada.run("alerts", "export", "OwnersOfTables", "Hook", "--json").stdout
    assert "s3cret" not in export_text
    _, hook = json.loads(export_text)
    assert (hook["displayName"], hook["owners"]) == ("To a webhook", [{"type": "user", "name": "ada"}])
    assert [label["tagFQN"] for label in hook["tags"]] == ["PII.Sensitive"]
    results = shell_of_ada.json("alerts", "apply", "-", input_text=export_text)
    assert [row["outcome"] for row in results] == ["unchanged", "unchanged"]
    everything = shell_of_ada.run("alerts", "export").stdout
    assert {"OwnersOfTables", "Hook"} <= {one["name"] for one in yaml.safe_load(everything)["alerts"]}
    assert {row["outcome"] for row in shell_of_ada.json("alerts", "apply", "-", input_text=everything)} == {"unchanged"}
    assert shell_of_ada.run("alerts", "export", "Hok").returncode == 3

    wrong = shell_of_ada.run("alerts", "apply", "-", input_text=ALERT.replace("fieldChanged", "fieldChangde"))
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


def test_alerts_are_kept_as_code(shell_of_ada: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "alerts"
    folder.mkdir()
    (folder / "ours.yaml").write_text(FILED)
    secret = shell_of_ada.beside(TOCSIN_ALERT_HOOK="s3cret")
    assert "environment variable TOCSIN_ALERT_HOOK is not set" in shell_of_ada.run("alerts", "plan", str(folder)).stderr

    plan = secret.run("alerts", "plan", str(folder), "--detailed-exitcode")
    assert (plan.returncode, "+ create Tests" in plan.stdout, "2 to create" in plan.stdout) == (8, True, True)
    assert "s3cret" not in plan.stdout
    assert secret.run("alerts", "status", "Tests").returncode == 3, "a plan creates nothing"
    assert {row["outcome"] for row in secret.json("alerts", "apply", str(folder))} == {"created"}

    events = shell_of_ada.run("events", "tail", "--since", "start", "--once").stdout
    again = secret.run("alerts", "apply", str(folder))
    assert (again.returncode, again.stdout) == (0, "0 to create, 0 to update, 0 to delete, 2 unchanged.\n")
    assert shell_of_ada.run("events", "tail", "--since", "start", "--once").stdout == events, "it makes no event"

    export_file = folder / "exported.yaml"
    export_file.write_text(shell_of_ada.run("alerts", "export").stdout)
    (folder / "ours.yaml").unlink()
    no_changes = shell_of_ada.run("alerts", "plan", str(folder), "--prune", "--detailed-exitcode")
    assert (no_changes.returncode, "0 to create, 0 to update, 0 to delete" in no_changes.stdout) == (0, True)

    export_file.unlink()
    rotated_shell = shell_of_ada.beside(TOCSIN_ALERT_HOOK="an0ther")
    hook_yaml = FILED[FILED.index("- name: Hooked") :].replace("Notification", "Notification\n  retries: 5")
    (folder / "hooked.yaml").write_text(hook_yaml)
    plan = rotated_shell.run("alerts", "plan", str(folder), "--prune")
    assert plan.stdout.splitlines()[:3] == [
        f"~ update Hooked  ({folder}/hooked.yaml:1)",
        "    retries: 3 → 5",
        "    destinations[0].config.secretKey: ********* → ********* (another secret)",
    ]
    assert "- delete Tests" in plan.stdout
    outcomes = {
        row["name"]: row["outcome"] for row in rotated_shell.json("alerts", "apply", str(folder), "--prune", "--yes")
    }
    assert outcomes.items() >= {"Hooked": "updated", "Tests": "deleted"}.items()
    assert shell_of_ada.run("alerts", "status", "Tests").returncode == 3

    (folder / "hooked.yaml").write_text(FILED.replace("testStatus", "testStatos"))
    refusal = rotated_shell.run("alerts", "apply", str(folder))
    column = FILED.splitlines()[6].index("testStatus") + 1
    first_line, _, caret = refusal.stderr.splitlines()
    assert refusal.returncode == 2
    assert first_line.startswith(
        f"tocsin: {folder}/hooked.yaml:7:{column}: Tests: filteringRules.rules[0].condition: unknown"
    )
    assert caret.index("^") == 2 + column - 1


def test_people_and_bots_are_made_beside_the_server(shell_of_ada: Shell) -> None:
    again = shell_of_ada.run("admin", "create-user", "ada", "--email", EMAIL)
    assert (again.returncode, again.stdout) == (5, "")
    first = shell_of_ada.json("admin", "create-user", "eve", "--email", "eve@example.org", "--admin")["password"]
    eve = shell_of_ada.with_token(
        shell_of_ada.run("login", "eve@example.org", "--password-stdin", input_text=first).stdout.strip()
    )
    assert eve.run("alerts", "list").returncode == 0
    new = shell_of_ada.json("admin", "reset-password", "eve")["password"]
    assert eve.run("alerts", "list").returncode == 4, "whoever held a token of hers is out"
    assert shell_of_ada.run("login", "eve@example.org", "--password-stdin", input_text=f"{first}\n").returncode == 4
    assert shell_of_ada.run("login", "eve@example.org", "--password-stdin", input_text=new).returncode == 0
    assert shell_of_ada.run("admin", "reset-password", "nobody").returncode == 3
    token = shell_of_ada.run("admin", "token", "ingestion").stdout.strip()
    bot = shell_of_ada.with_token(token)
    assert bot.run("follow", "shop.sales.public").returncode == 2, "only people follow"
    for command in ("follow", "unfollow"):  # as it was, for the other tests
        assert bot.json(command, "shop.sales.public", "--as", "ada")["user"] == "ada"
    password = shell_of_ada.json("admin", "create-user", "ben", "--email", "ben@example.org")["password"]
    ben = shell_of_ada.run("login", "ben@example.org", "--password-stdin", input_text=password).stdout.strip()
    assert shell_of_ada.with_token(ben).run("follow", "shop.sales.public", "--as", "ada").returncode == 4
