"""Sentences about kinds of change read as English for every kind and category."""

from __future__ import annotations

import shlex
from functools import cache
from typing import Any

import pytest
from typer.main import get_command

from tocsin.cli.app import app_of
from tocsin.conditions.changes import KNOWN_CATEGORIES
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.change_kinds import CHANGE_KINDS, Frequency
from tocsin.model.kind_words import follow_text, frequency_text, refusal_text, subject_text
from tocsin.model.notification import Followed, Reason, ReasonKind, followed_mark
from tocsin.model.preferences import FrequencyChoice, Layer

NAMES = ("", *dict.fromkeys((*CHANGE_KINDS, *KNOWN_CATEGORIES)))


@pytest.mark.parametrize("name", NAMES[1:])
def test_every_kind_and_category_has_words_of_its_own(name: str) -> None:
    subject = subject_text(name)
    assert "of kind" not in subject
    assert [word for word in subject.split() if word[1:] != word[1:].lower()] in ([], ["SLAs"], ["PII", "PersonalData"])


def test_no_two_kinds_are_called_alike() -> None:
    subjects = [subject_text(name) for name in NAMES[1:]]
    assert len(set(subjects)) == len(subjects)


@cache
def command_line() -> Any:  # Any: Click's classes, which Typer hides
    """Return all commands; to make them takes longer than all else here."""
    return get_command(app_of())


@pytest.mark.parametrize("name", NAMES)
def test_who_keeps_something_back_is_said_with_the_command_that_changes_it(name: str) -> None:
    by_person = refusal_text(FrequencyChoice(Frequency.NEVER, name, Layer.OWN), "you never want")
    subject = subject_text(name) if name else "anything"
    assert by_person.startswith(f"you never want to hear of {subject} (to change that: tocsin ")
    by_server = refusal_text(FrequencyChoice(Frequency.NEVER, name, Layer.SERVER), "you never want")
    assert by_server.startswith(f"by the server's defaults nobody hears of {subject} (to change that: tocsin ")
    _, *words = shlex.split(by_person.partition("that: ")[2].rstrip(")"))
    command_line().commands[words[0]].make_context("tocsin", words[1:])


def test_how_often_something_comes_says_whose_choice_that_is() -> None:
    daily = FrequencyChoice(Frequency.DAILY, "description", Layer.OWN)
    assert frequency_text(daily, "you prefer") == "you prefer changed descriptions daily"
    by_server = daily._replace(layer=Layer.SERVER)
    assert frequency_text(by_server, "you prefer") == "the server's defaults send changed descriptions daily"
    by_team = daily._replace(layer=Layer.TEAM, team_id="t")
    assert frequency_text(by_team, "you prefer") == "the defaults of a team send changed descriptions daily"
    at_once = daily._replace(frequency=Frequency.IMMEDIATE, layer=Layer.MANDATORY)
    expected = "the server, for which this is mandatory, sends changed descriptions at once"
    assert frequency_text(at_once, "you prefer") == expected


def test_what_a_team_keeps_back_says_so() -> None:
    by_team = FrequencyChoice(Frequency.NEVER, "vote", Layer.TEAM, "t")
    assert refusal_text(by_team, "you never want").startswith("by the defaults of a team nobody hears of votes (")


@pytest.mark.parametrize(
    ("key", "name"), [("orders", "shop.orders"), ("orders/email", "shop.orders.email"), ("orders/id", None)]
)
def test_the_follow_that_decided_is_named_of_a_table_and_its_columns(key: str, name: str | None) -> None:
    change = ChangeEvent(
        id="change",
        event_type=EventType.ENTITY_UPDATED,
        entity_type="table",
        entity_id="orders",
        entity_fully_qualified_name="shop.orders",
        user_name="dia",
        timestamp=1,
    )
    alert = {"subscription_id": "alert", "subscription_name": "All", "destination_id": "mail"}
    column = Followed(type="table", id="orders", fully_qualified_name="shop.orders.email", relation="column")
    hidden_column = Followed(type="table", relation="column")
    reasons = [
        Reason(kind=ReasonKind.FOLLOWER, **alert),
        Reason(kind=ReasonKind.FOLLOWER, through=column, follow="orders/email", **alert),
        Reason(kind=ReasonKind.FOLLOWER, through=hidden_column, **alert),
    ]
    choice = FrequencyChoice(Frequency.NEVER, "", Layer.FOLLOW, follow_id=followed_mark(key))
    assert follow_text(choice, reasons, change, "your") == (f"your follow of {name}" if name else "your follow")
