"""Tests of what is logged of what cannot be reminded of."""

from __future__ import annotations

from structlog.testing import capture_logs

from tocsin.jobs.reminder_failures import ReminderFailure, ReminderFailures


def test_a_failure_is_logged_once_for_each_cause_and_when_it_is_over() -> None:
    failures = ReminderFailures()
    damage_failure, absent = (ReminderFailure("one", cause, "Traceback") for cause in ("damaged", "absent"))
    second_failure = ReminderFailure("two", "damaged", "Traceback")

    def log_lines(*present: ReminderFailure) -> list[tuple[object, ...]]:
        with capture_logs() as logs:
            failures.note(present)
        return [(line["event"], line["subject"], line["cause"], line.get("count")) for line in logs]

    assert log_lines(damage_failure) == [("reminder_failed", "one", "damaged", None)]
    assert log_lines(damage_failure) == []
    assert log_lines(damage_failure, second_failure) == [("reminder_failed", "two", "damaged", None)]
    assert log_lines(absent, second_failure) == [
        ("reminder_failure_over", "one", "damaged", 3),
        ("reminder_failed", "one", "absent", None),
    ]
    assert sorted(log_lines()) == [
        ("reminder_failure_over", "one", "absent", 1),
        ("reminder_failure_over", "two", "damaged", 2),
    ]
    assert log_lines() == []
