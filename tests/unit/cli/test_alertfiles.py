"""Tests of files of alerts: variables, folders, names that occur twice, and places in errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.commandline import Run
from tests.unit.small_server import SmallServer

from tocsin.alerts.expiry import expiry_ms
from tocsin.cli.alertfiles import exported_alert, parse_alerts, read_alerts, with_escapes
from tocsin.errors import InvalidInput

HOOK = """
- name: hook
  description: costs ${NOT_A_VARIABLE}
  destinations:
    - category: External
      type: Webhook
      config:
        endpoint: https://example.org/${TOCSIN_ALERT_PART}/hook
        headers: {X-Key: "$${TOCSIN_ALERT_PART} $TOCSIN_ALERT_PART"}
"""


def test_variables_in_destinations_get_their_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOCSIN_ALERT_PART", "one: 'two'")
    (alert,) = parse_alerts(HOOK, "a.yaml")
    config = alert.document["destinations"][0]["config"]
    assert config == {
        "endpoint": "https://example.org/one: 'two'/hook",
        "headers": {"X-Key": "${TOCSIN_ALERT_PART} $TOCSIN_ALERT_PART"},
    }
    assert alert.document["description"] == "costs ${NOT_A_VARIABLE}"


@pytest.mark.parametrize("form", ["yaml", "toml"])
@pytest.mark.parametrize("value", [None, ""])
def test_a_variable_that_is_not_set_is_refused_with_its_place(
    monkeypatch: pytest.MonkeyPatch, value: str | None, form: str
) -> None:
    monkeypatch.delenv("TOCSIN_ALERT_PART", raising=False)
    if value is not None:
        monkeypatch.setenv("TOCSIN_ALERT_PART", value)
    toml = '[[alerts]]\nname = "hook"\n[[alerts.destinations]]\nconfig.endpoint = "${TOCSIN_ALERT_PART}"\n'
    with pytest.raises(InvalidInput) as refused:
        parse_alerts(HOOK if form == "yaml" else toml, f"a.{form}")
    place = "a.yaml:8:9" if form == "yaml" else "a.toml"
    message = "hook: destinations[0].config.endpoint: environment variable TOCSIN_ALERT_PART is not set"
    assert refused.value.message == f"{place}: {message}"


@pytest.mark.parametrize("wrong", ["${}", "${a-b}", "${TOCSIN_ALERT_PART", "${TOCSIN_ALERT_PART:-x}"])
def test_what_is_no_variable_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidInput, match=r"is a literal \$\{"):
        parse_alerts(HOOK.replace("${TOCSIN_ALERT_PART}", wrong), "a.yaml")


def test_a_variable_that_nobody_allowed_is_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOCSIN_TOKEN", "a secret")
    text = HOOK.replace("TOCSIN_ALERT_PART", "TOCSIN_TOKEN")
    with pytest.raises(InvalidInput) as refused:
        parse_alerts(text, "a.yaml")
    message = "alert files may not use environment variable TOCSIN_TOKEN"
    assert message in refused.value.message
    assert refused.value.message.endswith("call it TOCSIN_ALERT_TOKEN, or add --env TOCSIN_TOKEN")
    (alert,) = parse_alerts(text, "a.yaml", ["TOCSIN_TOKEN"])
    assert alert.document["destinations"][0]["config"]["endpoint"] == "https://example.org/a secret/hook"


def test_what_is_exported_has_no_variables() -> None:
    alert = {"name": "a", "destinations": [{"config": {"headers": {"X-Key": "${HOME}"}}}]}
    escaped = with_escapes(alert)
    assert escaped["destinations"] == [{"config": {"headers": {"X-Key": "$${HOME}"}}}]
    assert [one.document for one in parse_alerts(str(escaped).replace("'", '"'), "a.json")] == [alert]
    assert with_escapes({"name": "a"}) == {"name": "a"}


def test_an_exported_alert_names_its_template() -> None:
    template = {"id": "t1", "type": "notificationTemplate", "name": "Short", "fullyQualifiedName": "Short"}
    assert exported_alert({"name": "a", "notificationTemplate": template}) == {
        "name": "a",
        "notificationTemplate": {"type": "notificationTemplate", "name": "Short"},
    }


@pytest.mark.parametrize(
    ("expires_ms", "text"),
    [
        (1_798_675_200_000, "2026-12-31"),
        (1_798_736_400_000, "2026-12-31T17:00:00Z"),
        (1_798_736_400_250, "2026-12-31T17:00:00.250Z"),
    ],
)
def test_an_exported_alert_expires_at_a_date_as_its_file_says(expires_ms: int, text: str) -> None:
    assert exported_alert({"name": "a", "expires": expires_ms}) == {"name": "a", "expires": text}
    assert expiry_ms(text) == expires_ms


def test_folders_are_read_with_all_below_them_but_hidden_files(tmp_path: Path) -> None:
    (tmp_path / "more/.git").mkdir(parents=True)
    for path in ("b.yaml", "a.json", "more/c.yml", ".hidden.yaml", "more/.git/d.yaml", "notes.txt"):
        name = Path(path).stem
        (tmp_path / path).write_text(f'{{"name": "{name}"}}')
    places = [(alert.name, alert.where) for alert in read_alerts([str(tmp_path)])]
    assert places == [
        (name, f"{tmp_path}/{file}:1") for name, file in (("a", "a.json"), ("b", "b.yaml"), ("c", "more/c.yml"))
    ]


def test_a_name_may_occur_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: twice\n")
    (tmp_path / "b.yaml").write_text("- name: once\n- name: twice\n")
    with pytest.raises(InvalidInput) as refused:
        read_alerts([str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")])
    assert refused.value.message == f"{tmp_path}/b.yaml:2: alert twice is in {tmp_path}/a.yaml:1, too."


def test_what_keeps_several_files_from_being_read_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("TOCSIN_ALERT_PART", raising=False)
    (tmp_path / "a.yaml").write_text(f"{HOOK}- alertType: Custom\n{HOOK.replace('hook', 'other')}")
    (tmp_path / "b.yaml").write_text("- name: once\n- name: once\n")
    (tmp_path / "c.yaml").write_text("7\n")
    with pytest.raises(InvalidInput) as refusal:
        read_alerts([str(tmp_path)])
    lines = "\n".join([refusal.value.message, *refusal.value.__notes__]).replace(f"{tmp_path}/", "").splitlines()
    unset = "destinations[0].config.endpoint: environment variable TOCSIN_ALERT_PART is not set"
    assert lines == [
        f"a.yaml:8:9: hook: {unset}",
        "a.yaml:10: alert 2 has no name.",
        f"a.yaml:18:9: other: {unset}",
        "b.yaml:2: alert once is in b.yaml:1, too.",
        "c.yaml contains no alerts.",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: a\nname: b\n", "2:1: key name is already in line 1."),
        ('name: a\ncondition: "tags == "a""\n', "Within double quotes, write the quotes of a condition as '."),
        ("name: a\ncondition: 'a' == b\n", "Put the condition between double quotes, and write the quotes in it as '."),
        ("- alertType: Custom\n", "1: alert 1 has no name."),
        ("alert:\n- name: a\n", " contains no alerts: unknown key alert; did you mean alerts?"),
        ("7\n", " contains no alerts."),
        ("", " contains no alerts."),
    ],
)
def test_a_yaml_file_without_alerts_is_refused_with_a_reason(text: str, says: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_alerts(text, "a.yaml")
    assert refused.value.message.startswith("a.yaml")
    assert refused.value.message.endswith(says)


def test_errors_of_all_alerts_are_shown_with_line_and_column_and_nothing_is_written(
    run: Run, small_server: SmallServer, tmp_path: Path
) -> None:
    path = "/api/v1/events/subscriptions"
    messages = [
        "filteringRules.rules[0].condition: Line 1, column 3: unknown field 'b'",
        "destinations[1].typ: unknown key; did you mean type?; destinations[0].type: must be 'Email' or 'Slack'",
        "retries: must be between 0 and 100; alertType: warning: No alert is of the type 'Custom'",
    ]
    small_server.answer("PUT", path, *({"code": 400, "message": one} for one in messages), status=400)
    (tmp_path / "a.yaml").write_text(
        "- name: one\n"
        "  filteringRules:\n"
        "    rules:\n"
        "      - condition: |\n"
        "          ! b\n"
        "- name: two\n"
        "  destinations:\n"
        "    - type: Email\n"
        "    - typ: Email\n"
        "- name: three\n"
        "  alertType: Custom\n"
    )
    result = run("alerts", "apply", "a.yaml")
    assert result.code == 2
    assert result.err.splitlines() == [
        "tocsin: 3 alerts are refused, so nothing was written:",
        "a.yaml:5:13: one: filteringRules.rules[0].condition: unknown field 'b'",
        "            ! b",
        "              ^",
        "a.yaml:8:7: two: destinations[0].type: must be 'Email' or 'Slack'",
        "a.yaml:9:7: two: destinations[1].typ: unknown key; did you mean type?",
        "a.yaml:10:3: three: retries: must be between 0 and 100",
        "a.yaml:11:3: warning: three: alertType: No alert is of the type 'Custom'",
    ]
    assert {asked.query.get("dryRun") for asked in small_server.requests if asked.method == "PUT"} == {"true"}


def test_mistakes_of_one_alert_have_a_line_each(run: Run, small_server: SmallServer, tmp_path: Path) -> None:
    message = (
        "retries: must be between 0 and 100; filteringRules.rules[0].condition: Line 1, column 1: unknown field 'b';"
        " destinations[0].config.receivers[0]: unknown user 'x'"
    )
    small_server.answer("PUT", "/api/v1/events/subscriptions", {"code": 400, "message": message}, status=400)
    (tmp_path / "b.yaml").write_text(
        "name: two\nretries: -1\nfilteringRules:\n  rules:\n    - condition: b\n"
        "destinations:\n  - config:\n      receivers: [x]\n"
    )
    refusal = run("alerts", "plan", "b.yaml")
    assert (refusal.code, refusal.err.splitlines()) == (
        2,
        [
            "tocsin: b.yaml:2:1: two: retries: must be between 0 and 100",
            "b.yaml:5:18: two: filteringRules.rules[0].condition: unknown field 'b'",
            "      - condition: b",
            "                   ^",
            "b.yaml:8:19: two: destinations[0].config.receivers[0]: unknown user 'x'",
        ],
    )


def test_a_file_of_another_kind_is_refused_by_its_name() -> None:
    with pytest.raises(InvalidInput, match=r"notes\.txt is no file of alerts: their names end in \.yaml, \.yml"):
        parse_alerts("just text", "notes.txt")
