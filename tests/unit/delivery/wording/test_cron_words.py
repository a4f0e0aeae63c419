"""Tests of words for cron expressions."""

from __future__ import annotations

import pytest

from tocsin.delivery.wording.cron_words import cron_text


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
    assert cron_text(expression) == words


@pytest.mark.parametrize(
    "expression",
    [
        *("0 8 1 * 1", "*/20 8-17 * * *", "0 8 * 1 *", "0 8 31 * *", "0 8 * * 1-5/2", "0 8 0 * *", "0 8,9 * * *"),
        *("0 0 8 ? * 6#3", "0 0 8 L * ?", "30 0 8 * * ?", "0 0 8 ? * 0", "0 0 8 * * ? 2027", "0 99 * * *", "", "²"),
        *("15 * * * 1-5", "0 8 * * 6-7", "0 8 * * -", "0 8 * * 1-5-6"),
    ],
)
def test_what_has_no_words_is_shown_as_it_is(expression: str) -> None:
    assert cron_text(expression) == f"at {expression}"
