"""Tests of what messages say of alerts that were written: no internal words."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.delivery.events import addition_of, change_event, update_of

from tocsin.delivery.wording.changes import event_text
from tocsin.delivery.wording.subjects import cron_text
from tocsin.model.change import ChangeDescription, EventType

RULES = {"resources": ["table"], "rules": [{"name": "x", "condition": "isBot()", "effect": "include"}]}
DAILY = {"triggerType": "Scheduled", "scheduleInfo": "Daily", "timezone": "Europe/Berlin"}
ALERT: dict[str, Any] = {
    "id": "a",
    "name": "Columns",
    "trigger": {"triggerType": "RealTime"},
    "input": {"filters": [{"name": "filterByX", "effect": "include"}]},
    "filteringRules": RULES,
    "destinations": [{"category": "Owners", "type": "Email"}],
    "severity": "Severity2",
    "batchSize": 10,
    "timeout": 10,
    "readTimeout": 12,
    "resources": ["table"],
}


def sentences_of(described: ChangeDescription, event_type: EventType = EventType.ENTITY_UPDATED) -> list[str]:
    event = change_event(described, event_type=event_type, entity_type="eventsubscription", entity=ALERT)
    return [line.sentence for line in event_text(event).lines]


def test_a_new_alert_says_whom_it_tells_of_what_and_when() -> None:
    fields = [addition_of(key, value).fields_added[0] for key, value in ALERT.items() if key != "id"]
    assert sentences_of(ChangeDescription(fields_added=tuple(fields)), EventType.ENTITY_CREATED) == [
        "severity added: 2 (high)",
        "tells: owners (Email)",
        "matches: tables where isBot()",
        "sends: at once",
    ]


@pytest.mark.parametrize(
    ("described", "sentence"),
    [
        (update_of("trigger", ALERT["trigger"], DAILY), "sends at once → daily (Europe/Berlin)"),
        (
            update_of("trigger", DAILY, {"triggerType": "Scheduled", "cronExpression": "0 8 * * *"}),
            "sends daily (Europe/Berlin) → every day at 08:00 (UTC, cron 0 8 * * *)",
        ),
        (update_of("severity", "Severity2", "Severity1"), "severity 2 (high) → 1 (critical)"),
        (update_of("enabled", True, False), "switched off"),
        (update_of("enabled", False, True), "switched on"),
        (update_of("trigger", {"type": "eventBased"}, {"type": "periodic"}), "trigger changed"),
    ],
)
def test_a_change_of_an_alert_is_said_as_a_person_would(described: ChangeDescription, sentence: str) -> None:
    first, *_ = sentences_of(described)
    assert first.startswith(sentence)


def test_new_conditions_are_told_once() -> None:
    changes = (
        *update_of("input", ALERT["input"], {}).fields_updated,
        *update_of("filteringRules", {"resources": ["topic"]}, RULES).fields_updated,
    )
    assert sentences_of(ChangeDescription(fields_updated=changes)) == [
        "matches topics → tables where isBot()",
        "tells: owners (Email)",
    ]


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("0 8 * * *", "every day at 08:00"),
        ("30 8 * * 1-5", "every weekday at 08:30"),
        ("30 8 * * mon-FRI", "every weekday at 08:30"),
        ("0 9 * * 7", "every Sunday at 09:00"),
        ("0 9 * * 0", "every Sunday at 09:00"),
        ("15 * * * *", "every hour at :15"),
        ("0 6 1 * *", "on day 1 of each month at 06:00"),
        ("0 0 8 * * ?", "every day at 08:00"),
        ("0 0 8 ? * 2-6", "every weekday at 08:00"),
        ("0 0 8 ? * 1", "every Sunday at 08:00"),
        ("0 0 8 ? * 7", "every Saturday at 08:00"),
        ("0 0 8 ? * MON", "every Monday at 08:00"),
    ],
)
def test_what_people_write_most_is_said_in_words(expression: str, words: str) -> None:
    assert cron_text(expression, "UTC") == f"{words} (UTC, cron {expression})"


@pytest.mark.parametrize(
    "expression",
    [
        *("0 8 1 * 1", "*/20 8-17 * * *", "0 8 * 1 *", "0 8 31 * *", "0 8 * * 1-5/2", "0 8 0 * *", "0 8,9 * * *"),
        *("0 0 8 ? * 6#3", "0 0 8 L * ?", "30 0 8 * * ?", "0 0 8 ? * 0", "0 0 8 * * ? 2027", "0 99 * * *", "", "²"),
        *("15 * * * 1-5", "0 8 * * 6-7", "0 8 * * -", "0 8 * * 1-5-6"),
    ],
)
def test_what_has_no_words_is_shown_as_it_is(expression: str) -> None:
    assert cron_text(expression, "UTC") == f"by cron {expression} (UTC)"
