"""Tests of whose time the templates of one message take: no alert takes the words of another one away."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from tests.unit.delivery.events import change_event, dispatch

from tocsin.delivery.dispatch import Dispatch, RenderingAccount
from tocsin.delivery.templates.accounts import MinuteLimits, TemplateAccounts
from tocsin.delivery.templates.message_text import ChosenTemplate, MessagePlace, with_texts
from tocsin.model.message import Entry
from tocsin.model.template import Template

PLACE = MessagePlace("Email", "https://tocsin.example.com")
TEMPLATE = Template("Sample", "x", "<p>{{entity.name}}</p>")
ANN, EVE = RenderingAccount("a", "ann"), RenderingAccount("e", "eve")
TAKES_S = 1.5


def accounts(*, alert_s: float = 100) -> TemplateAccounts:
    """Return accounts by which each rendering takes a fixed time."""
    worked_s = itertools.count(0, TAKES_S)
    return TemplateAccounts(MinuteLimits(alert_s, 100), steady=lambda: 600.0, worked_s=lambda: next(worked_s))


def worded_entries(payers: Sequence[Sequence[RenderingAccount]], charged: TemplateAccounts) -> list[bool]:
    """Return which notifications of a message templates have worded, each in the time of one of its payers."""
    entry = dispatch(change_event()).first
    names = [str(at) for at in range(len(payers))]
    entries = tuple(replace(entry, notification_id=name) for name in names)
    message: Dispatch = replace(dispatch(change_event()), entries=entries)

    def template_of(notified_entry: Entry) -> ChosenTemplate:
        return ChosenTemplate(TEMPLATE, payers[int(notified_entry.notification_id)])

    in_template, _ = with_texts(message, template_of, PLACE, entries=entries, accounts=charged)
    return [name in in_template.texts for name in names]


def test_an_alert_that_has_used_its_minute_leaves_the_words_to_the_others_that_agree() -> None:
    charged = accounts(alert_s=1)
    assert worded_entries([[EVE], [EVE, ANN], [EVE]], charged) == [True, True, False]
    assert charged.used_s("e") == charged.used_s("a") == TAKES_S


def test_slow_templates_of_one_alert_leave_others_their_time_in_a_message() -> None:
    assert worded_entries([[ANN], [EVE], [EVE], [EVE], [EVE], [ANN]], accounts()) == [
        True,
        True,
        True,
        True,
        False,
        True,
    ]


def test_an_alert_that_has_used_its_time_in_a_message_leaves_the_words_to_the_others_that_agree() -> None:
    assert worded_entries([[EVE], [EVE], [EVE], [EVE, ANN], [EVE]], accounts()) == [True, True, True, True, False]
