"""Tests of the time that templates may take in a minute: of each alert and of each person, and nobody else's."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tocsin.delivery.dispatch import RenderingAccount
from tocsin.delivery.templates.accounts import MinuteLimits, TemplateAccounts
from tocsin.errors import InvalidTemplate

ANN, ANNS_OTHER, BEN = RenderingAccount("a", "ann"), RenderingAccount("b", "ann"), RenderingAccount("c", "ben")
TOCSINS = RenderingAccount("d")


@dataclass
class Work:
    """Accounts, and clocks that stand still unless somebody works."""

    at_s: float = 600.0
    worked_s: float = 0.0

    def __post_init__(self) -> None:
        limits = MinuteLimits(alert_s=2, person_s=3)
        self.accounts = TemplateAccounts(limits, steady=lambda: self.at_s, worked_s=lambda: self.worked_s)

    def render(self, payer: RenderingAccount, took_s: float) -> None:
        with self.accounts.charge(payer):
            self.worked_s += took_s


def test_an_alert_has_so_much_time_in_a_minute_and_again_in_the_next() -> None:
    work = Work()
    work.render(ANN, 1.5)
    work.render(ANN, 1.5)
    with pytest.raises(InvalidTemplate, match="this alert have taken 2 s of this minute"):
        work.render(ANN, 0.1)
    work.at_s += 60
    work.render(ANN, 0.1)


def test_a_person_has_no_more_with_many_alerts() -> None:
    work = Work()
    work.render(ANN, 1.9)
    work.render(ANNS_OTHER, 1.9)
    with pytest.raises(InvalidTemplate, match="all alerts of this alert's creator have taken 3 s"):
        work.render(ANNS_OTHER, 0.1)


def test_what_one_takes_others_have_all_the_same() -> None:
    work = Work()
    work.render(ANN, 10)
    work.render(BEN, 0.5)
    work.render(TOCSINS, 0.5)
    assert (work.accounts.used_s("ann"), work.accounts.used_s("ben"), work.accounts.used_s("d")) == (10, 0.5, 0.5)


def test_what_fails_is_charged_as_well() -> None:
    work = Work()
    with pytest.raises(InvalidTemplate, match="of its own"), work.accounts.charge(ANN):
        work.worked_s += 2
        raise InvalidTemplate("of its own")
    with pytest.raises(InvalidTemplate, match="this minute"):
        work.render(ANN, 0.1)
