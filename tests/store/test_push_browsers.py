"""Tests of browsers that take push messages, on both stores: each counts as long as its session, and is sealed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import Engine, select
from tests.store.catalogues import company

from tocsin.model.push_browser import PushBrowser
from tocsin.store.catalogue.access.revision import PeopleRevision
from tocsin.store.catalogue.people.identities import People
from tocsin.store.catalogue.people.push_browsers import PushBrowsers
from tocsin.store.catalogue.people.tokens import IssuedToken, IssuedTokens, TokenKind
from tocsin.store.database.engine import reading
from tocsin.store.database.people_tables import push_browser

NOW_MS, LATER_MS = 1_000, 5_000


@pytest.fixture
def user_id(store_engine: Engine) -> str:
    company(store_engine)
    person = People(store_engine).by_name("jane")
    assert person is not None
    return person.id


def begin_session(engine: Engine, user_id: str, session_id: str) -> PushBrowser:
    token = IssuedToken(session_id, user_id, TokenKind.BROWSER, "Firefox", 0, LATER_MS)
    IssuedTokens(engine, PeopleRevision()).add(token)
    return PushBrowser(session_id, user_id, f"https://push.example.net/{session_id}", "p256dh", "auth", NOW_MS)


def test_a_browser_takes_messages_until_its_session_ends(store_engine: Engine, user_id: str) -> None:
    browsers, tokens = PushBrowsers(store_engine), IssuedTokens(store_engine, PeopleRevision())
    first, second = (begin_session(store_engine, user_id, one) for one in ("s1", "s2"))
    for browser in (first, second, replace(first, auth="another")):
        browsers.put(browser)
    assert set(browsers.of([user_id, "x"], NOW_MS)[user_id]) == {replace(first, auth="another"), second}
    tokens.revoke(["s1"], user_id)
    assert browsers.of([user_id], NOW_MS) == {user_id: [second]}
    assert browsers.of([user_id], LATER_MS) == {}
    assert [browsers.remove("s2"), browsers.remove("s2")] == [True, False]


def test_an_endpoint_that_is_gone_does_not_take_away_the_one_that_its_browser_has_since(
    store_engine: Engine, user_id: str
) -> None:
    browsers, before = PushBrowsers(store_engine), begin_session(store_engine, user_id, "s1")
    browsers.put(before)
    after = replace(before, endpoint="https://push.example.net/anew")
    browsers.put(after)
    assert not browsers.forget(before)
    assert browsers.of([user_id], NOW_MS) == {user_id: [after]}
    assert [browsers.forget(after), browsers.forget(after)] == [True, False]


def test_what_is_stored_is_sealed_and_goes_with_the_next_browser_once_its_session_has_ended(
    store_engine: Engine, user_id: str
) -> None:
    browsers = PushBrowsers(store_engine)
    browsers.put(begin_session(store_engine, user_id, "s1"))
    with reading(store_engine) as connection:
        (sealed_text,) = connection.scalars(select(push_browser.c.sealed))
    assert "push.example.net" not in sealed_text
    IssuedTokens(store_engine, PeopleRevision()).revoke_all(user_id)
    browsers.put(begin_session(store_engine, user_id, "s2"))
    with reading(store_engine) as connection:
        assert connection.scalars(select(push_browser.c.session_id)).all() == ["s2"]


def test_a_browser_is_no_other_persons_by_the_id_of_its_session(store_engine: Engine, user_id: str) -> None:
    browsers = PushBrowsers(store_engine)
    browsers.put(replace(begin_session(store_engine, user_id, "s1"), user_id="somebody-else"))
    assert browsers.of([user_id, "somebody-else"], NOW_MS) == {}
