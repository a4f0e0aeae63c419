"""Tests of ``tocsin conditions check``: message, caret and exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tocsin.cli.app import app_of
from tocsin.cli.conditions import ConditionFinding, summary
from tocsin.cli.yaml_documents import to_yaml


def check(file: Path, text: str, *options: str) -> Result:
    file.write_text(text, encoding="utf-8")
    return CliRunner().invoke(app_of(), ["conditions", "check", str(file), *options])


def test_every_line_is_checked_with_place_and_caret(tmp_path: Path) -> None:
    file = tmp_path / "rules.txt"
    answer = check(file, "# ours\nisBot()\n\n  eventTipe == 'a'\ntags ==\ntier == 'Tier.a' && tier == 'Tier.b'\n")
    assert answer.exit_code == 2
    assert answer.output.splitlines() == [
        f"{file}:4:3: unknown field 'eventTipe'; did you mean eventType?",
        "    eventTipe == 'a'",
        "    ^",
        *answer.output.splitlines()[3:6],
        f"{file}:6:1: warning: This condition is never true",
    ]
    assert answer.output.splitlines()[3].startswith(f"{file}:5:8: ")


def test_what_is_right_is_passed_over_in_silence(tmp_path: Path) -> None:
    answer = check(tmp_path / "rules.txt", "isBot()\nuser.follows(entity) && tier == 'Tier.a'\n")
    assert (answer.exit_code, answer.output) == (0, "")


def alert_with_rule(name: str, condition: str) -> dict[str, object]:
    rules = {"resources": ["table"], "rules": [{"effect": "include", "condition": condition}]}
    notified = [{"category": "Owners", "type": "Email"}]
    return {"name": name, "alertType": "Custom", "filteringRules": rules, "destinations": notified}


def test_alerts_are_checked_as_they_would_be_saved(tmp_path: Path) -> None:
    right, wrong = alert_with_rule("right", "true"), alert_with_rule("wrong", "a == 1")
    chosen_input = {"filters": [{"name": "filterByFqn"}]}
    alert_with_input = {"name": "named", "alertType": "Custom", "resources": ["all"], "input": chosen_input}
    answer = check(tmp_path / "alerts.json", json.dumps([right, wrong, alert_with_input]), "--json")
    assert answer.exit_code == 2
    findings = json.loads(answer.output)["findings"]
    assert [one["error"] for one in findings] == [False, True, True]
    file_text = json.dumps([right, wrong, alert_with_input])
    assert findings[1]["place"].endswith(f"alerts.json:1:{file_text.index('a == 1') + 1}")
    assert findings[1]["message"].startswith("wrong: filteringRules.rules[0].condition: unknown field 'a'")
    assert "filterByFqn needs the argument fqnList" in findings[2]["message"]
    plain_result = check(tmp_path / "alerts.json", json.dumps([wrong]))
    column = json.dumps([wrong]).index("a == 1") + 1
    first_line, source, caret = plain_result.output.splitlines()
    assert (
        first_line
        == f"{tmp_path / 'alerts.json'}:1:{column}: wrong: filteringRules.rules[0].condition: unknown field 'a'"
    )
    assert source.startswith("  …") and source.endswith("…")
    assert source[caret.index("^") :].startswith("a == 1")


@pytest.mark.parametrize("text", ["{", "[]", '[{"name": 1}]', '{"name": "a", "filteringRules": {"resources": 1}}'])
def test_what_is_no_alert_is_refused(tmp_path: Path, text: str) -> None:
    assert check(tmp_path / "alerts.json", text).exit_code != 0


def with_destination(**destination: object) -> dict[str, object]:
    return {
        **alert_with_rule("hook", "isBot()"),
        "destinations": [{"category": "External", "type": "Webhook", **destination}],
    }


URL = {"endpoint": "https://example.org/hook"}


@pytest.mark.parametrize(
    ("alert", "says"),
    [
        (with_destination(config={"endpoint": "hooks.example"}), "config.endpoint: must be an http or https URL"),
        (
            with_destination(category="Mentions", config=URL),
            "destinations[0].config.endpoint: is for category External",
        ),
        (with_destination(config=URL, retires=1), "destinations[0].retires: unknown key"),
        (
            with_destination(config={**URL, "sendToOwner": True}),
            "sendToOwner: unknown key; did you mean sendTo",
        ),
        (with_destination(config={**URL, "sendToOwners": "yes"}), "config.sendToOwners: must be true or false"),
        ({**with_destination(config=URL), "retries": "5"}, "retries: must be an integer"),
        ({**with_destination(config=URL), "retries": 101}, "retries: must be between 0 and 100"),
        (
            {**with_destination(config=URL), "alertTyp": "Custom"},
            "alertTyp: unknown key; did you mean alertType?",
        ),
        ({**with_destination(config=URL), "alertType": "Custm"}, "alertType: must be 'Notification', 'Observability'"),
        ({**with_destination(config=URL), "alertType": "Notify"}, "; did you mean Notification?"),
        (
            {**alert_with_rule("typo", "true"), "filteringRules": {"rules": [{"conditon": "true"}]}},
            "did you mean condition?",
        ),
        (
            {**alert_with_rule("late", "true"), "trigger": {"triggerType": "Scheduled", "scheduleInfo": "Custom"}},
            "a Custom schedule needs one",
        ),
        ({**alert_with_rule("long", "true"), "name": "x" * 257}, "1 to 256 characters"),
    ],
)
def test_what_a_server_would_refuse_of_an_alert_is_said_without_one(
    tmp_path: Path, alert: dict[str, object], says: str
) -> None:
    answer = check(tmp_path / "alerts.json", json.dumps(alert))
    assert (answer.exit_code, says in answer.output) == (2, True), answer.output


def test_whom_only_the_server_knows_is_taken_to_be_there(tmp_path: Path) -> None:
    notified = {"category": "Users", "type": "Email", "config": {"receivers": ["jane", "jane@example.org"]}}
    alert = {**alert_with_rule("ours", "user.isMemberOf('Finance') && isBot()"), "destinations": [notified]}
    assert check(tmp_path / "alerts.json", json.dumps(alert)).exit_code == 0


ALERTS_AS_TOML = """# ours
[[alerts]]
name = "ours"
alertType = "Custom"
filteringRules.resources = ["table"]
[[alerts.filteringRules.rules]]
effect = "include"
condition = "isBt()"
"""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ALERTS_AS_TOML, "standard input: ours: filteringRules.rules[0].condition"),
        (
            json.dumps(alert_with_rule("ours", "isBt()")),
            "standard input:1:130: ours: filteringRules.rules[0].condition",
        ),
        (
            json.dumps([alert_with_rule("ours", "isBt()")]),
            "standard input:1:131: ours: filteringRules.rules[0].condition",
        ),
        (to_yaml(alert_with_rule("ours", "isBt()")), "standard input:8:16: ours: filteringRules.rules[0].condition"),
        ("- name: ours\n  alertTyp: Custom\n", "standard input:2:3: ours: alertTyp: unknown key"),
        ('name = "ours"\nalertType = "Custm"\n', "standard input: ours: alertType"),
        ("[filteringRules]\nresources = []\n", "standard input: alert 1 has no name"),
        ("tier = 'a'\n", "standard input:1:6: unexpected '='"),
        ("{'a'} == tgs\n", "standard input:1:10: unknown field 'tgs'"),
        ("[true] == isBt", "standard input:1:11: unknown field 'isBt'"),
    ],
)
def test_on_standard_input_alerts_are_distinguished_from_conditions(text: str, says: str) -> None:
    answer = CliRunner().invoke(app_of(), ["conditions", "check", "-"], input=text)
    assert says in answer.output + str(answer.exception), answer.output


def test_a_date_in_an_alert_is_refused_like_any_other_value(tmp_path: Path) -> None:
    answer = check(
        tmp_path / "alerts.toml", ALERTS_AS_TOML.replace("isBt", "isBot") + "name = 2026-01-01\nnme = 1979-05-27\n"
    )
    assert (answer.exit_code, "rules[0].nme: unknown key; did you mean name?" in answer.output) == (2, True)


def test_programs_get_kind_line_column_and_suggestion(tmp_path: Path) -> None:
    file = tmp_path / "rules.txt"
    answer = check(file, "# ours\nisBot() && evntType == 'a'\n!isBot()\n", "--json")
    error, remark = json.loads(answer.output)["findings"]
    assert error == {
        "place": f"{file}:2:12",
        "message": "unknown field 'evntType'; did you mean eventType?",
        "error": True,
        "kind": "invalidCondition",
        "line": 2,
        "column": 12,
        "suggestion": "eventType",
    }
    assert (remark["kind"], remark["line"], remark["error"]) == ("unindexed", 3, False)


def test_what_came_of_it_is_said_in_a_line() -> None:
    wrong, odd = ConditionFinding("a", "", "invalidAlert", is_error=True), ConditionFinding("a", "", "unindexed")
    assert summary(3, "condition", []) == "3 conditions checked, no errors"
    assert summary(1, "alert", [odd]) == "1 alert: 1 warning"
    assert summary(12, "alert", [wrong, wrong, odd, odd]) == "12 alerts: 2 wrong, 2 warnings"


def test_every_mistake_of_an_alert_has_a_line_of_its_own_with_its_place(tmp_path: Path) -> None:
    kinds = "name: One\nalertType: Notificatio\ndestinations:\n  - category: Owner\n    type: Emai\n"
    answer = check(tmp_path / "one.yaml", kinds)
    places = [line.split(": ")[:3] for line in answer.output.splitlines()]
    assert places == [
        [f"{tmp_path}/one.yaml:2:1", "One", "alertType"],
        [f"{tmp_path}/one.yaml:4:5", "One", "destinations[0].category"],
        [f"{tmp_path}/one.yaml:5:5", "One", "destinations[0].type"],
    ]
    two = alert_with_rule("two", "fieldChangd == 'a'")
    two["filteringRules"] = {
        "resources": ["table"],
        "rules": [{"effect": "include", "condition": one} for one in ("fieldChangd == 'a'", "tags ==")],
    }
    answer = check(tmp_path / "two.yaml", to_yaml(two))
    assert [f"rules[{index}].condition: " in answer.output for index in (0, 1)] == [True, True], answer.output
