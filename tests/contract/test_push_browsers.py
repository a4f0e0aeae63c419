"""Tests of the routes of web push: off by default, for the browser of one's own session alone, and not everywhere."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from joserfc.util import to_str, urlsafe_b64decode, urlsafe_b64encode
from sqlalchemy import Engine
from tests.contract.test_browser_sessions import browser, log_in
from tests.push_reader import push_browser
from tests.serving import Json, Served, running_server, server_settings
from tests.startedstore import StartedStore

from tocsin.store.catalogue.people.push_browsers import PushBrowsers

PATH = "/auth/session/pushBrowser"
ENDPOINT = "https://push.example.net/send/abc"


@pytest.fixture
def push_server(sqlite_engine: Engine, started_store: StartedStore) -> Iterator[Served]:
    settings = server_settings(web_push=True, egress_allow=())
    with running_server(sqlite_engine, settings, password=started_store.password, token=started_store.token) as server:
        server.person("alice")[1].close()
        yield server


def subscription(endpoint: str = ENDPOINT, **keys: str) -> Json:
    subscriber = push_browser(endpoint, generate_private_key(SECP256R1()))
    return {"endpoint": endpoint, "p256dh": subscriber.p256dh, "auth": subscriber.auth} | keys


def test_push_messages_are_off_by_default(served: Served) -> None:
    alice_id, bearer = served.person("alice")
    with browser(served) as client, bearer:
        log_in(client)
        assert client.get(PATH).json() == {"isOn": False, "publicKey": None, "since": None, "others": 0}
        assert client.put(PATH, json=subscription()).status_code == 403
        kinds = client.get(f"/users/{alice_id}/preferences/effective").json()["kinds"]
        assert not any("Push" in kind["channels"] for kind in kinds)
        alerts = bearer.get("/events/subscriptions", params={"limit": 100}).json()["data"]
        assert not any(one["type"] == "Push" for alert in alerts for one in alert["destinations"])
    assert httpx.get(f"{served.url}/service-worker.js").status_code == 404


def test_a_browser_subscribes_and_unsubscribes_for_its_own_session(push_server: Served, sqlite_engine: Engine) -> None:
    with browser(push_server) as first, browser(push_server) as second:
        user_id = log_in(first)["userId"]
        log_in(second)
        state = first.get(PATH).json()
        assert len(urlsafe_b64decode(state["publicKey"].encode())) == 65
        assert (state["isOn"], state["since"], state["others"]) == (True, None, 0)
        answer = first.put(PATH, json=subscription())
        assert answer.status_code == 200, answer.text
        assert answer.json()["since"] is not None and answer.json()["publicKey"] == state["publicKey"]
        assert ENDPOINT not in answer.text
        assert (second.get(PATH).json()["since"], second.get(PATH).json()["others"]) == (None, 1)
        assert second.delete(PATH).json()["others"] == 1, "it ends nothing of another session"
        assert first.delete(PATH).json()["since"] is None
        assert PushBrowsers(sqlite_engine).of([user_id], 0) == {}
        kinds = first.get(f"/users/{user_id}/preferences/effective").json()["kinds"]
        assert all("Push" in kind["channels"] for kind in kinds)


@pytest.mark.parametrize("how", ["a log-out", "a new password", "a deletion"])
def test_it_ends_with_its_session(push_server: Served, sqlite_engine: Engine, how: str) -> None:
    browsers = PushBrowsers(sqlite_engine)
    with browser(push_server) as client, push_server.administrator() as administrator:
        user_id = log_in(client)["userId"]
        assert client.put(PATH, json=subscription()).is_success
        assert browsers.holders([user_id], 0) == {user_id}
        if how == "a log-out":
            assert client.delete("/auth/session").is_success
        elif how == "a deletion":
            assert administrator.delete(f"/users/{user_id}").is_success
        else:
            body = {"username": "alice", "newPassword": "Another-password-1", "confirmPassword": "Another-password-1"}
            answer = administrator.put("/users/changePassword", json={**body, "requestType": "USER"})
            assert answer.is_success, answer.text
    assert browsers.holders([user_id], 0) == set()


def test_tokens_and_other_sites_subscribe_nobody(push_server: Served) -> None:
    token = push_server.log_in("alice@example.org", "alice-password")
    with push_server.client(token) as bearer:
        for answer in (bearer.get(PATH), bearer.put(PATH, json=subscription()), bearer.delete(PATH)):
            assert answer.status_code == 400, answer.text
    with browser(push_server) as client:
        log_in(client)
        client.headers["Origin"] = "https://evil.example"
        assert client.put(PATH, json=subscription()).status_code == 403


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("endpoint", "http://push.example.net/send"),
        ("endpoint", "https://127.0.0.1/send"),
        ("endpoint", "https://[::1]:8585/send"),
        ("endpoint", "https://[::ffff:127.0.0.1]/send"),
        ("endpoint", "https://[64:ff9b::7f00:1]/send"),
        ("endpoint", "https://[fe80::1%25eth0]/send"),
        ("endpoint", "https://10.0.0.8/send"),
        ("endpoint", "https://169.254.169.254/latest/meta-data"),
        ("endpoint", "https://metadata.google.internal/send"),
        ("endpoint", "https://user:word@push.example.net/send"),
        ("endpoint", "https://push.example.net/a\nb"),
        ("endpoint", "javascript:alert(1)"),
        ("endpoint", f"https://push.example.net/{'a' * 3_000}"),
        ("p256dh", "AAAA"),
        ("p256dh", to_str(urlsafe_b64encode(b"\x04" + b"\x01" * 64))),
        ("p256dh", "A" * 5_000),
        ("auth", to_str(urlsafe_b64encode(b"short"))),
        ("auth", "ä"),
        ("auth", ""),
    ],
)
def test_what_no_browser_says_is_refused(push_server: Served, field: str, value: str) -> None:
    with browser(push_server) as client:
        log_in(client)
        answer = client.put(PATH, json=subscription() | {field: value})
        assert answer.status_code == 400 and field in answer.text, answer.text
        assert client.get(PATH).json()["since"] is None


def test_a_test_goes_to_the_browser_of_the_session_by_the_rules_of_egress(
    push_server: Served, started_store: StartedStore
) -> None:
    push_server.stop_clock()
    with browser(push_server) as first, browser(push_server) as second:
        log_in(first)
        log_in(second)
        assert second.put(PATH, json=subscription("https://localhost:9/send/abc")).status_code == 200
        assert first.post(f"{PATH}/test").status_code == 404, "it takes none; the other one is not its own"
        answer = second.post(f"{PATH}/test")
        assert answer.status_code == 200, answer.text
        details = answer.json()["statusDetails"]
        assert (details["status"], details["reason"]) == ("Failed", "egressRefused")
        codes = [second.post(f"{PATH}/test").status_code for _ in range(20)]
        assert codes[-1] == 429
    with push_server.client(started_store.token) as bearer:
        assert bearer.post(f"{PATH}/test").status_code == 400
