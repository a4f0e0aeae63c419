"""Tests of alert requests with several mistakes: those of shape and those that only the store knows come together."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, event
from tests.contract.test_access import restrict
from tests.serving import Json, Served
from tests.soak import SOAK

from tocsin.cli.alert_plan import plan_alerts
from tocsin.cli.alertfiles import read_alerts
from tocsin.client import Client
from tocsin.errors import InvalidInput
from tocsin.model.validation_errors import MOST_TOLD

PATH = "/events/subscriptions"
TO_NOBODY = {"category": "Users", "type": "Email", "config": {"receivers": ["nobody"]}}
RIGHT_FILE = """\
- name: Right
  alertType: Notification
  enabled: true
  retries: 3
  batchSize: 10
  expires: "2099-01-01"
  runbook: https://example.org/runbook
  severity: Severity2
  trigger:
    triggerType: Scheduled
    scheduleInfo: Custom
    cronExpression: "0 8 * * *"
    timezone: Europe/Berlin
  filteringRules:
    resources:
      - table
      - dashboard
    rules:
      - effect: include
        condition: "isBot()"
      - effect: exclude
        condition: "fieldChanged == 'columns'"
  destinations:
    - category: Users
      type: Email
      config:
        receivers:
          - admin
    - category: External
      type: Webhook
      config:
        endpoint: http://127.0.0.1:9/hook
    - category: Owners
      type: ActivityFeed
"""
WRONG = {
    "alertType: Notification": "alertType: Notifcation",
    "enabled: true": 'enabled: "yes"',
    "retries: 3": "retries: -1",
    "batchSize: 10": "batchSize: 0",
    'expires: "2099-01-01"': 'expires: "2001-01-01"',
    "runbook: https://example.org/runbook": 'runbook: "\\x01"',
    "severity: Severity2": "severity: Severity9",
    '"0 8 * * *"': '"0 25 * * *"',
    "timezone: Europe/Berlin": "timezone: localtime",
    "- table": "- tabel",
    "- dashboard": "- dashbord",
    '"isBot()"': '"isBt()"',
    "effect: exclude": "effect: exclud",
    "fieldChanged": "fieldChangd",
    "- admin": "- nobody",
    "endpoint: http:": "endpoint: ftp:",
    "type: ActivityFeed": "type: ActvityFeed",
}
"""What is right in the file, and a mistake in its place that is independent of all others."""

MISSPELT = "matchAnyEntityFqn({'warehouse.shop.public.order'})"


def alert(condition: str, *destinations: Json, **fields: Json) -> Json:
    rules = {"resources": ["table"], "rules": [{"effect": "include", "condition": condition}]}
    kind = {"name": "One", "alertType": "Notification", "filteringRules": rules}
    return {**kind, "destinations": list(destinations), **fields}


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_a_refused_alert_names_its_mistakes_of_shape_names_and_values(
    administrator: httpx.Client, orders: Json, method: str
) -> None:
    assert orders["fullyQualifiedName"] == "warehouse.shop.public.orders"
    request = alert(MISSPELT, TO_NOBODY, retries=-1)
    refused = administrator.request(method, PATH, json=request)
    assert (refused.status_code, refused.json()["message"]) == (
        400,
        "retries: must be between 0 and 100; destinations[0].config.receivers[0]: unknown user 'nobody'; "
        "filteringRules.rules[0].condition: warning: Nothing that you may see is called 'warehouse.shop.public.order'; "
        "did you mean warehouse.shop.public.orders?",
    )


def test_a_word_that_no_event_has_is_a_warning_beside_mistakes_as_in_an_accepted_alert(
    administrator: httpx.Client,
) -> None:
    condition = "fieldChanged == 'colums'"
    message = administrator.post(PATH, json=alert(condition, retries=-1)).json()["message"]
    warning = "No event changes the field 'colums'; did you mean columns?"
    assert message == (f"retries: must be between 0 and 100; filteringRules.rules[0].condition: warning: {warning}")
    remarks = administrator.put(PATH, params={"dryRun": True}, json=alert(condition)).headers["X-Tocsin-Remarks"]
    assert warning in remarks


def test_every_unknown_name_and_every_wrong_condition_is_named(administrator: httpx.Client) -> None:
    request = alert("user.isMemberOf('nobodies')", TO_NOBODY, {**TO_NOBODY, "type": "ActivityFeed"})
    request["filteringRules"]["rules"].append({"effect": "include", "condition": "fieldChangd == 'a'"})
    message = administrator.post(PATH, json=request).json()["message"]
    for place in (
        "filteringRules.rules[0].condition: unknown team 'nobodies'",
        "filteringRules.rules[1].condition: ",
        "destinations[0].config.receivers[0]: unknown user 'nobody'",
        "destinations[1].config.receivers[0]: unknown user 'nobody'",
    ):
        assert message.count(place) == 1, message


def test_one_mistake_is_told_as_before(administrator: httpx.Client) -> None:
    message = administrator.post(PATH, json=alert("isBot()", TO_NOBODY)).json()["message"]
    assert message == "destinations[0].config.receivers[0]: unknown user or team 'nobody'"
    for broken in (
        {"name": "One", "filteringRules": [], "destinations": {}},
        {"name": "One", "filteringRules": {"rules": [{"condition": MISSPELT}], "resources": 5}},
        {"name": "One", "filteringRules": {"rules": [{"condition": MISSPELT}], "resources": [{}]}},
    ):
        assert administrator.post(PATH, json=broken).status_code == 400


def test_a_former_name_is_no_mistake(administrator: httpx.Client) -> None:
    team = administrator.post("/teams", json={"name": "former", "teamType": "Group"}).json()
    headers = {"Content-Type": "application/json-patch+json"}
    rename = [{"op": "replace", "path": "/name", "value": "current"}]
    assert administrator.patch(f"/teams/{team['id']}", json=rename, headers=headers).is_success
    to_team = {"category": "Teams", "type": "Email", "config": {"receivers": ["former"]}}
    refused = administrator.post(PATH, json=alert("user.isMemberOf('former')", to_team, retries=-1))
    assert refused.json()["message"] == "retries: must be between 0 and 100"


def test_a_name_that_one_may_not_see_is_not_suggested(
    administrator: httpx.Client, orders: Json, served: Served
) -> None:
    user_id, client = served.person("mallory")
    restrict(administrator, user_id, {"effect": "deny", "resources": ["table"]})
    with client:
        message = client.post(PATH, json=alert(MISSPELT, retries=-1)).json()["message"]
    assert orders["name"] not in message.replace("warehouse.shop.public.order'", "")


def test_warnings_of_other_alerts_of_a_file_are_told_beside_what_is_refused(
    served: Served, administrator: httpx.Client, orders: Json, tmp_path: Path
) -> None:
    assert orders["fullyQualifiedName"] == "warehouse.shop.public.orders"
    (tmp_path / "a.yaml").write_text(f'''- name: right
  alertType: Notification
  filteringRules:
    resources: [table]
    rules: [{{effect: include, condition: "{MISSPELT}"}}]
  destinations: [{{category: Owners, type: Email}}]
- name: wrong
  alertType: Notification
  retries: -1
  destinations: [{{category: Users, type: Email, config: {{receivers: [nobody]}}}}]
''')
    token = administrator.headers["Authorization"].removeprefix("Bearer ")
    with Client(served.url, token) as client, pytest.raises(InvalidInput) as refusal:
        plan_alerts(client, read_alerts([str(tmp_path / "a.yaml")]), prune=False)
    lines = [refusal.value.message, *"\n".join(refusal.value.__notes__).split("\n")]
    assert [line.replace(str(tmp_path), "").split(": ")[:2] for line in lines] == [
        ["1 alert is refused, so nothing was written:"],
        ["/a.yaml:5:31", "warning"],
        ["/a.yaml:9:3", "wrong"],
        ["/a.yaml:10:70", "wrong"],
    ]


def test_owners_and_domains_that_there_are_not_are_told_beside_a_mistake(
    administrator: httpx.Client, served: Served
) -> None:
    names = {"admim": "user", "nobodies": "team", "admin": "user"}
    owners = [{"type": kind, "name": name} for name, kind in names.items()]
    request = alert("isBot()", retries=-1, owners=owners, domains=["Sales"])
    message = administrator.post(PATH, json=request).json()["message"]
    assert message.split("; ")[1:] == [
        "owners[0]: user admim not found",
        "did you mean admin?",
        "owners[1]: team nobodies not found",
        "domains[0]: domain Sales not found",
    ]
    user_id, client = served.person("mallory")
    restrict(administrator, user_id, {"effect": "deny", "resources": ["user"]})
    with client:
        hidden_message = client.post(PATH, json=alert("isBot()", retries=-1, owners=owners[:1])).json()["message"]
    assert "did you mean" not in hidden_message


def test_many_owners_that_there_are_not_are_looked_up_together_and_counted(administrator: httpx.Client) -> None:
    statements: list[object] = []

    def note(*arguments: object) -> None:
        if "nobody" in str(arguments[3]):  # the server asks the store for other things meanwhile
            statements.append(arguments[2])

    def message_of(count: int) -> str:
        owners: list[Json] = [{"type": "user", "name": "admin"}]
        owners += [{"type": "user", "name": f"nobody{number}"} for number in range(count)]
        return str(administrator.post(PATH, json=alert("isBot()", retries=-1, owners=owners)).json()["message"])

    message_of(1)  # what the first request alone asks
    event.listen(Engine, "before_cursor_execute", note)
    few_message = message_of(MOST_TOLD)
    few_count = len(statements)
    many_message = message_of(300)
    event.remove(Engine, "before_cursor_execute", note)
    assert len(statements) == 2 * few_count > 0
    lines = [f"owners[{number + 1}]: user nobody{number} not found" for number in range(MOST_TOLD)]
    assert few_message.split("; ")[1:] == lines
    assert many_message.split("; ")[1:] == [*lines, "owners: 295 more not found"]


@given(planted=st.sets(st.sampled_from(sorted(WRONG)), min_size=1))
@example(planted=set(WRONG))
@settings(
    max_examples=200 if SOAK else 25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_every_mistake_of_a_file_is_told_in_one_go_with_its_line(
    served: Served, administrator: httpx.Client, tmp_path: Path, planted: set[str]
) -> None:
    lines = RIGHT_FILE.splitlines()
    places = {right: next(at for at, line in enumerate(lines) if right in line) for right in planted}
    for right, at in places.items():
        lines[at] = lines[at].replace(right, WRONG[right])
    file = tmp_path / "a.yaml"
    file.write_text("\n".join(lines))
    token = administrator.headers["Authorization"].removeprefix("Bearer ")
    with Client(served.url, token) as client, pytest.raises(InvalidInput) as refusal:
        plan_alerts(client, read_alerts([str(file)]), prune=False)
    output_lines = "\n".join([refusal.value.message, *getattr(refusal.value, "__notes__", ())]).splitlines()
    told_lines = [
        int(line.removeprefix(f"{file}:").split(":")[0]) for line in output_lines if line.startswith(str(file))
    ]
    assert sorted(told_lines) == sorted(1 + at for at in places.values()), output_lines


def test_a_file_without_mistakes_is_not_refused(served: Served, administrator: httpx.Client, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(RIGHT_FILE)
    token = administrator.headers["Authorization"].removeprefix("Bearer ")
    with Client(served.url, token) as client:
        (plan,) = plan_alerts(client, read_alerts([str(tmp_path / "a.yaml")]), prune=False)
    assert plan.step == "create"
