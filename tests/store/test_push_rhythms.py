"""Tests of when push messages come, on both stores: quiet hours, limits and rhythms hold as for mails."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.push_reader import push_browser
from tests.store.test_hourly_limits import change, limit, work
from tests.store.test_preferences import HOUR_MS, MORNING_MS, NIGHT, NIGHT_MS, company_of, due
from tests.store.test_quiet_times import EVENING_MS, Sending

from tocsin.clock import LATEST_MS
from tocsin.model.change_kinds import Frequency
from tocsin.model.preferences import Preferences
from tocsin.store.catalogue.access.revision import PeopleRevision
from tocsin.store.catalogue.people.push_browsers import PushBrowsers
from tocsin.store.catalogue.people.tokens import IssuedToken, IssuedTokens, TokenKind
from tocsin.store.outbox.preferences import SqlPreferences

OWNERS = [{"category": "Owners", "type": "Push"}, {"category": "Owners", "type": "Email"}]
ANA = "ana@example.com"


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    """Owners hear of everything by mail, and ana in a browser."""
    company = company_of(store_engine)
    company.alert("all", OWNERS, poll_interval_s=0)
    notify_all(store_engine, now_ms=EVENING_MS)
    ana_id = company.ids["ana"]
    token = IssuedToken("laptop", ana_id, TokenKind.BROWSER, "Firefox", 0, LATEST_MS)
    IssuedTokens(store_engine, PeopleRevision()).add(token)
    key = generate_private_key(SECP256R1())
    browser = push_browser("https://push.example.net/a", key, user_id=ana_id, session_id="laptop")
    PushBrowsers(store_engine).put(browser)
    return company


def prefer(company: SmallCompany, choice: Preferences) -> None:
    SqlPreferences(company.engine).put(company.ids["ana"], choice, now_ms=1)


def test_what_falls_into_quiet_hours_is_one_push_message_after_them(company: SmallCompany) -> None:
    prefer(company, NIGHT)
    change(company, 2)
    assert due(company.engine)[company.ids["ana"]] == [(MORNING_MS, 2)]


def test_a_push_message_that_is_late_waits_for_the_end_of_quiet_hours(company: SmallCompany) -> None:
    prefer(company, NIGHT)
    change(company, 1, now_ms=EVENING_MS)
    Sending(company.engine).run(NIGHT_MS)
    assert due(company.engine)[company.ids["ana"]] == [(MORNING_MS, 1)]


def test_more_than_so_many_an_hour_are_one_push_message_in_the_next(company: SmallCompany) -> None:
    limit(company, 2)
    change(company, 5)
    ana_id = company.ids["ana"]
    assert work(company.engine, NIGHT_MS, target=ana_id) == [1, 1]
    assert work(company.engine, NIGHT_MS + HOUR_MS, target=ana_id) == [3]


def test_a_rhythm_holds_for_the_browser_alone(company: SmallCompany) -> None:
    prefer(company, Preferences(kinds={"description": {"Push": Frequency.DAILY}}))
    change(company, 2)
    assert due(company.engine)[company.ids["ana"]] == [(MORNING_MS + HOUR_MS, 2)]
    assert len(due(company.engine)[ANA]) == 2


def test_how_often_mails_come_does_not_concern_push_messages(company: SmallCompany) -> None:
    prefer(company, Preferences(frequency=Frequency.WEEKLY))
    change(company, 2)
    assert due(company.engine)[company.ids["ana"]] == [(NIGHT_MS, 1), (NIGHT_MS, 1)]
