"""Tests of log-in by OpenID Connect, against a provider on loopback."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc.jwk import ECKey, OctKey
from sqlalchemy import Engine, select, update
from tests.openidprovider import Provider, provider, settings
from tests.serving import Served, running_server
from tests.startedstore import StartedStore

from tocsin.store.database.people_tables import issued_token

__all__ = ["provider"]


@pytest.fixture
def company(sqlite_engine: Engine, started_store: StartedStore, provider: Provider) -> Iterator[Served]:
    with running_server(sqlite_engine, settings(provider), password=started_store.password) as served:
        yield served


def log_in(served: Served, provider: Provider, **instead: str) -> httpx.Response:
    """Take a browser there and back again; ``instead`` changes what it comes back with.

    Return what it comes to in the end: the token, or the first refusal.
    """
    with served.client() as browser:
        back = come_back(browser, provider, **instead)
        return exchange(browser, back) if back.status_code == 302 else back


def come_back(browser: httpx.Client, provider: Provider, **instead: str) -> httpx.Response:
    away = browser.get("/auth/login")
    assert away.status_code == 302
    return browser.get("/auth/callback", params={**provider.consent(away.headers["Location"]), **instead})


def exchange(browser: httpx.Client, back: httpx.Response) -> httpx.Response:
    before, _, code = back.headers["Location"].partition("#login=")
    assert (before, bool(code)) == ("/", True)
    return browser.post("/auth/token", json={"code": code})


def test_a_log_in_page_knows_whether_there_is_a_provider(company: Served, served: Served) -> None:
    """Before any log-in, and nothing else about the provider."""
    for where, provider_kind in ((company, "custom-oidc"), (served, "basic")):
        with where.client() as browser:
            assert browser.get("/system/config/auth").json() == {"provider": provider_kind, "enableSelfSignup": False}


def test_the_first_log_in_makes_a_user_and_the_next_one_finds_them(company: Served, provider: Provider) -> None:
    ids = set()
    for _ in range(2):
        back = log_in(company, provider)
        assert (back.status_code, provider.posted["grant_type"]) == (200, "authorization_code")
        assert back.json()["tokenType"] == "Bearer"
        with company.client(back.json()["accessToken"]) as alice:
            me = alice.get("/users/loggedInUser").json()
        assert (me["name"], me["email"], me["displayName"]) == ("alice", "alice@example.org", "Alice Liddell")
        assert not me.get("isAdmin")
        ids.add(me["id"])
    assert len(ids) == 1


def test_the_browser_is_sent_there_with_all_it_takes(company: Served, provider: Provider) -> None:
    with company.client() as browser:
        away = browser.get("/auth/login")
    parameters = {key: values[0] for key, values in parse_qs(urlsplit(away.headers["Location"]).query).items()}
    assert away.headers["Location"].startswith(f"{provider.url}/authorize?")
    assert (parameters["client_id"], parameters["response_type"], parameters["code_challenge_method"]) == (
        "tocsin",
        "code",
        "S256",
    )
    assert parameters["redirect_uri"] == f"{company.url}/api/v1/auth/callback"
    assert "HttpOnly" in away.headers["Set-Cookie"]


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"aud": "somebody-else"},
        {"iss": "http://evil.example.org"},
        {"exp": 1},
        {"iat": 32_503_680_000},
        {"exp": None},
        {"sub": None},
        {"sub": ""},
    ],
    ids=str,
)
def test_an_identity_that_cannot_be_believed_lets_nobody_in(
    company: Served, provider: Provider, claims: dict[str, Any]
) -> None:
    provider.claims = claims
    if claims == {"exp": None}:
        provider.claims = {"exp": "never"}
    assert log_in(company, provider).status_code == 401


def test_a_forged_signature_lets_nobody_in(company: Served, provider: Provider) -> None:
    provider.forged = True
    assert log_in(company, provider).status_code == 401


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")  # the provider forges with 'none'
def test_a_signature_that_others_could_make_lets_nobody_in(company: Served, provider: Provider) -> None:
    provider.header = {"kid": "another"}
    assert log_in(company, provider).status_code == 401
    provider.header = {"alg": "none"}
    assert log_in(company, provider).status_code == 401
    provider.forged, provider.header = True, {"alg": "HS256", "kid": "k2"}
    provider.foreign_key = OctKey.generate_key(256, {"kid": "k2"})
    provider.more_keys = [provider.foreign_key.as_dict(private=True)]
    assert log_in(company, provider).status_code == 401


def test_keys_of_other_kinds_stand_beside_the_one_that_signed(company: Served, provider: Provider) -> None:
    provider.key = ECKey.generate_key("P-256", {"kid": "k1"})
    provider.header = {"alg": "ES256"}
    provider.more_keys = [
        {"kty": "AKP", "kid": "k0", "pub": "AAAA"},
        {"kty": "EC", "kid": "k0", "crv": "P-unknown", "x": "AA", "y": "AA"},
        {"kty": "RSA", "kid": "k0"},
        {"no": "key"},
    ]
    assert log_in(company, provider).status_code == 200


def test_only_the_browser_that_began_comes_in(company: Served, provider: Provider) -> None:
    assert log_in(company, provider, state="guessed").status_code == 401
    assert log_in(company, provider, code="guessed").status_code == 401
    assert log_in(company, provider, error="access_denied").status_code == 401
    with company.client() as victim, company.client() as attacker:
        location = attacker.get("/auth/login").headers["Location"]
        assert victim.get("/auth/callback", params=provider.consent(location)).status_code == 401


def test_an_address_logs_nobody_in(company: Served, provider: Provider) -> None:
    with company.client() as attacker, company.client() as victim, company.client() as stranger:
        back = come_back(attacker, provider)
        assert "token" not in back.headers["Location"]
        victim.get("/auth/login")
        for browser in (victim, stranger):
            refused = exchange(browser, back)
            assert (refused.status_code, set(refused.json())) == (401, {"code", "message"})
        assert exchange(attacker, back).status_code == 200, "what others tried does not use the code up"


def test_a_code_works_once_and_for_a_minute(sqlite_engine: Engine, company: Served, provider: Provider) -> None:
    with company.client() as browser:
        back = come_back(browser, provider)
        cookies = dict(browser.cookies)
        assert exchange(browser, back).status_code == 200
        assert not browser.cookies, "the log-in is over"
        browser.cookies.update(cookies)
        assert exchange(browser, back).status_code == 401
    with company.client() as browser:
        late = come_back(browser, provider)
        with sqlite_engine.begin() as connection:
            connection.execute(update(issued_token).where(issued_token.c.kind == "logIn").values(expires_at_ms=1))
        assert exchange(browser, late).status_code == 401


def test_a_code_of_somebody_deleted_meanwhile_lets_nobody_in(company: Served, provider: Provider) -> None:
    user_id = str(company.person("alice")[0])
    with company.client() as browser, company.administrator() as administrator:
        back = come_back(browser, provider)
        assert administrator.delete(f"/users/{user_id}").status_code == 200
        assert exchange(browser, back).status_code == 401


def test_a_code_is_no_token_and_not_in_the_store(sqlite_engine: Engine, company: Served, provider: Provider) -> None:
    with company.client() as browser:
        code = come_back(browser, provider).headers["Location"].partition("#login=")[2]
        with company.client(code) as client:
            assert client.get("/users/loggedInUser").status_code == 401
        with sqlite_engine.connect() as connection:
            (row,) = connection.execute(select(issued_token).where(issued_token.c.kind == "logIn"))
        assert code not in str(row)
        for body in ({}, {"code": 5}, {"code": ""}, {"code": "\ud800"}, {"code": "x" * 10_000}):
            assert browser.post("/auth/token", content=json.dumps(body)).status_code in (400, 401), body
    with company.client() as stranger:
        assert stranger.post("/auth/token", json={"code": code}).status_code == 401


def test_a_code_of_the_provider_is_exchanged_by_who_has_the_verifier_alone(company: Served, provider: Provider) -> None:
    with company.client() as browser, company.client() as thief:
        stolen = provider.consent(browser.get("/auth/login").headers["Location"])
        own_consent = provider.consent(thief.get("/auth/login").headers["Location"])
        assert thief.get("/auth/callback", params={**own_consent, "code": stolen["code"]}).status_code == 401
        assert browser.get("/auth/callback", params=stolen).status_code == 401, "the provider gave it away"


@pytest.mark.parametrize("claims", [{"email": None}, {"email_verified": False}, {"email": "no address"}])
def test_who_has_no_verified_address_is_nobody(company: Served, provider: Provider, claims: dict[str, Any]) -> None:
    provider.claims = claims
    assert log_in(company, provider).status_code == 403


def test_a_log_in_makes_nobody_a_user_where_that_is_off(
    sqlite_engine: Engine, started_store: StartedStore, provider: Provider
) -> None:
    off = settings(provider, oidc_create_users=False)
    with running_server(sqlite_engine, off, password=started_store.password) as served:
        assert log_in(served, provider).status_code == 403
        served.person("alice")
        assert log_in(served, provider).status_code == 200


def test_a_bot_and_the_deleted_do_not_come_in_this_way(company: Served, provider: Provider) -> None:
    user_id, client = company.person("alice")
    client.close()
    with company.administrator() as administrator:
        assert administrator.delete(f"/users/{user_id}").status_code == 200
        bot = {"name": "bot", "email": "bot@example.org", "isBot": True}
        assert administrator.post("/users", json=bot).status_code == 201
    for email in ("alice@example.org", "bot@example.org"):
        provider.email = email
        assert log_in(company, provider).status_code == 403


def test_an_identity_stays_with_the_user_of_its_first_log_in(company: Served, provider: Provider) -> None:
    def who() -> str:
        with company.client(log_in(company, provider).json()["accessToken"]) as client:
            return str(client.get("/users/loggedInUser").json()["id"])

    first = who()
    boss_id, boss = company.person("boss", isAdmin=True)
    boss.close()
    provider.email = "boss@example.org"
    assert who() == first != boss_id
    with company.administrator() as administrator:
        email_operations = [{"op": "replace", "path": "/email", "value": "moved@example.org"}]
        headers = {"Content-Type": "application/json-patch+json"}
        assert administrator.patch(f"/users/{first}", json=email_operations, headers=headers).status_code == 200
    assert who() == first


def test_another_identity_with_the_same_address_lets_nobody_in(company: Served, provider: Provider) -> None:
    assert log_in(company, provider).status_code == 200
    provider.claims = {"sub": "43"}
    refused = log_in(company, provider)
    assert (refused.status_code, "forget-identity alice" in refused.json()["message"]) == (403, True)
    people = company.app.state.parts.people
    assert people.forget_identities(people.by_name("alice").id) == 1
    assert log_in(company, provider).status_code == 200


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({"azp": "another"}, 401),
        ({"aud": ["tocsin", "another"]}, 401),
        ({"aud": ["tocsin", "another"], "azp": "tocsin"}, 200),
        ({"email_verified": "false"}, 403),
    ],
)
def test_an_identity_token_for_another_application_lets_nobody_in(
    company: Served, provider: Provider, claims: dict[str, Any], status: int
) -> None:
    provider.claims = claims
    assert log_in(company, provider).status_code == status


def test_without_a_provider_there_is_nothing_to_log_in_at(served: Served) -> None:
    with served.client() as browser:
        assert browser.get("/auth/login").status_code == 503
        assert browser.get("/auth/callback?code=x&state=y").status_code == 401


def test_an_identity_that_cannot_be_kept_is_refused(company: Served, provider: Provider) -> None:
    for claims in (
        {"sub": "s" * 300},
        {"sub": "\ud800"},
        {"nonce": "\ud800"},
        {"email": "\ud800@example.org"},
        {"email": f"{'a' * 5_000}@example.org"},
        {"name": "\ud800"},
    ):
        provider.claims = claims
        back = log_in(company, provider)
        assert (back.status_code in (401, 403), set(back.json())) == (True, {"code", "message"}), claims


def test_a_provider_that_answers_something_else_is_no_fault_of_ours(company: Served, provider: Provider) -> None:
    with company.client() as browser:
        for answer in (b'{"x":"' + b"y" * 5_000_000, b"[" * 100_000, b"\xff", b"5"):
            provider.instead = answer
            refused = browser.get("/auth/login")
            assert (refused.status_code in (401, 503), set(refused.json())) == (True, {"code", "message"}), answer[:9]


def test_a_provider_that_does_not_answer_keeps_nobody_else_waiting(company: Served, provider: Provider) -> None:
    provider.answers.clear()
    address = urlsplit(company.url)
    with ExitStack() as stack:
        for _ in range(60):
            connection = stack.enter_context(
                closing(socket.create_connection((address.hostname, address.port), timeout=20))
            )
            connection.sendall(b"GET /api/v1/auth/login HTTP/1.1\r\nHost: x\r\n\r\n")
        with company.administrator() as client:
            assert client.get("/tables", timeout=5).status_code == 200
        provider.answers.set()


@pytest.mark.parametrize("verified", [False, "false", "False", "no", 0, None, "", {}])
def test_an_address_that_is_not_verified_logs_nobody_in(company: Served, provider: Provider, verified: Any) -> None:
    company.person("bob")
    provider.email, provider.claims = "bob@example.org", {"email_verified": verified}
    assert log_in(company, provider).status_code == 403


@pytest.mark.parametrize(("is_trusted", "status"), [(False, 403), (True, 200)])
def test_an_address_of_which_the_provider_says_nothing_counts_only_where_it_is_trusted(
    sqlite_engine: Engine, started_store: StartedStore, provider: Provider, *, is_trusted: bool, status: int
) -> None:
    trusting = settings(provider, oidc_trust_email=is_trusted)
    with running_server(sqlite_engine, trusting, password=started_store.password) as served:
        served.person("bob")
        provider.email, provider.without = "bob@example.org", ("email_verified",)
        back = log_in(served, provider)
    assert back.status_code == status
    assert ("oidc_trust_email" in back.text) == (not is_trusted)


@pytest.mark.parametrize("email", ["\u212aim@example.org", "kim@wor\u212a.example"])
def test_an_address_is_not_that_of_somebody_else_because_lower_case_makes_it_so(
    company: Served, provider: Provider, email: str
) -> None:
    company.person("kim")
    company.person("ann", email="kim@work.example")
    provider.email = email
    assert log_in(company, provider).status_code == 403
