"""Tests of limits on bodies, headers and connections: one client cannot block others. By sockets."""

from __future__ import annotations

import json
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from pydantic import SecretStr
from sqlalchemy import Engine
from tests.contract.test_alert_incidents import report_result
from tests.contract.test_explain import alert, assign_owners
from tests.notifying import notify_all
from tests.serving import KEY, Json, Served, running_server, warehouse
from tests.startedstore import StartedStore

from tocsin.server.routes.entities.crud import OLDEST_LEFT_OUT
from tocsin.settings import Settings

LONGEST_S = 20
HEALTH = b"GET /api/v1/healthcheck HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


@pytest.fixture
def small(request: pytest.FixtureRequest, sqlite_engine: Engine, started_store: StartedStore) -> Iterator[Served]:
    """A server with the settings of this test."""
    overrides: dict[str, Any] = request.param
    settings = Settings(log_level="warning", secrets_key=SecretStr(KEY), **overrides)
    with running_server(sqlite_engine, settings, password=started_store.password, token=started_store.token) as served:
        yield served


def with_limits(**settings: Any) -> pytest.MarkDecorator:
    """Run a test over a server with these settings."""
    return pytest.mark.parametrize("small", [settings], indirect=True, ids=[""])


@contextmanager
def open_connection(served: Served) -> Iterator[socket.socket]:
    address = urlsplit(served.url)
    with closing(socket.create_connection((address.hostname, address.port), timeout=LONGEST_S)) as connection:
        yield connection


def answer_on(connection: socket.socket) -> bytes:
    """Return all that the server sends until it closes."""
    read = b""
    try:
        while chunk := connection.recv(65_536):
            read += chunk
    except ConnectionError:
        pass
    return read


def ready(waiting: list[socket.socket], count: int) -> list[socket.socket]:
    """Return those of the sockets on which something has come, as soon as it has on so many."""
    readable: list[socket.socket] = []
    while len(readable) < count:
        readable = select.select(waiting, [], [], LONGEST_S)[0]
        assert readable, "nothing came"
    return readable


def status_on(connection: socket.socket) -> int:
    answered = answer_on(connection)
    assert answered.startswith(b"HTTP/1.1 "), answered
    return int(answered.split(b" ", 2)[1])


def refusal_on(connection: socket.socket) -> int:
    """Return the status of a response that must have the shape of all errors."""
    answered = answer_on(connection)
    header, _, body = answered.partition(b"\r\n\r\n")
    status = int(header.split(b" ", 2)[1])
    assert b"content-type: application/json" in header
    assert (set(json.loads(body)), json.loads(body)["code"]) == ({"code", "message"}, status)
    return status


def head(served: Served, path: str, length: int, *, token: str = "", method: str = "POST") -> bytes:
    authorization = f"Authorization: Bearer {token}\r\n" if token else ""
    return f"{method} /api/v1{path} HTTP/1.1\r\nHost: x\r\n{authorization}Content-Length: {length}\r\n\r\n".encode()


def test_a_stranger_sends_little(served: Served) -> None:
    for path in ("/users/login",):
        with served.client() as client:
            answer = client.post(path, content=b'{"email": "' + b"x" * 70_000 + b'"}')
        assert (answer.status_code, answer.json()["code"]) == (413, 413)


def test_a_body_that_says_it_is_too_long_is_refused_before_it_is_sent(served: Served) -> None:
    with open_connection(served) as connection:
        connection.sendall(head(served, "/users/login", 15_000_000))
        assert b" 413 " in connection.recv(4096).splitlines()[0]


def test_the_rest_of_a_refused_body_is_no_header_of_the_next_request(served: Served) -> None:
    with open_connection(served) as connection:
        connection.sendall(head(served, "/users/login", 150_000))
        assert b" 413 " in connection.recv(4096).splitlines()[0]
        connection.sendall(b" " * 150_000)
        assert not select.select([connection], [], [], 0.3)[0], "the end of the body was taken for a header"
        connection.sendall(f"GET /api/v1/system/version HTTP/1.1\r\nHost: {served.url[7:]}\r\n\r\n".encode())
        assert b" 200 " in connection.recv(4096).splitlines()[0]


def test_a_body_of_unknown_length_is_read_no_further_than_it_may_be_long(served: Served) -> None:
    with open_connection(served) as connection:
        connection.sendall(b"POST /api/v1/users/login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        with pytest.raises(OSError, match=r".*"):
            for _ in range(1_000):
                connection.sendall(b"10000\r\n" + b" " * 65_536 + b"\r\n")
            raise AssertionError("64 MB were taken")


def test_who_is_not_logged_in_is_refused_before_the_body_is_sent(served: Served) -> None:
    with open_connection(served) as connection:
        connection.sendall(head(served, "/tables", 9_000_000, method="PUT"))
        assert b" 401 " in connection.recv(4096).splitlines()[0]


@with_limits(body_bytes=100_000, body_bytes_bulk=200_000)
def test_a_bulk_request_may_be_longer(small: Served) -> None:
    with small.administrator() as client:
        sent = b"[" + b" " * 150_000 + b"]"
        assert client.put("/tables", content=sent).status_code == 413
        assert client.put("/tables/bulk", content=sent).status_code != 413
        assert client.put("/tables/bulk", content=b" " * 200_001).status_code == 413


def test_a_body_of_nothing_but_brackets_is_refused(administrator: httpx.Client) -> None:
    answer = administrator.put("/tables", content=b"[" + b"[]," * 1_000_001 + b"[]]")
    assert (answer.status_code, "lists and objects" in answer.json()["message"]) == (400, True)


@with_limits(body_timeout_s=0.5)
def test_a_slow_body_is_not_waited_for(small: Served) -> None:
    with open_connection(small) as connection:
        connection.sendall(head(small, "/users/login", 1_000) + b'{"email"')
        assert status_on(connection) == 408


@with_limits(body_memory_bytes=50_000)
def test_bodies_are_bounded_together(small: Served) -> None:
    token = small.tokens["admin@tocsin.example.org"]
    with open_connection(small) as slow, small.administrator() as client:
        slow.sendall(head(small, "/tables", 60_000, token=token, method="PUT") + b" " * 40_000)
        for _ in range(200):
            answer = client.put("/tables", content=b" " * 20_000)
            if answer.status_code == 429:
                break
        assert (answer.status_code, answer.headers["Retry-After"]) == (429, "2")


@with_limits(connections=60, header_timeout_s=600)
def test_health_answers_while_hundreds_hold_half_a_header(small: Served) -> None:
    with ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(open_connection(small)).sendall(b"GET /api/v1/tables HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        for _ in range(5):
            with open_connection(small) as connection:
                connection.sendall(HEALTH)
                assert status_on(connection) == 200


@with_limits(header_timeout_s=0.5)
@pytest.mark.parametrize("sent", [b"", b"GET /api/v1/tables HTTP/1.1\r\nHost: x\r\nX-Slow: "])
def test_half_a_header_has_its_time(small: Served, sent: bytes) -> None:
    with open_connection(small) as connection:
        connection.sendall(sent)
        assert answer_on(connection) == b""


@with_limits(header_timeout_s=0.5)
def test_half_of_the_second_header_has_its_time_too(small: Served) -> None:
    with open_connection(small) as connection:
        connection.sendall(HEALTH.replace(b"Connection: close\r\n", b""))
        assert b" 200 " in connection.recv(4096)
        connection.sendall(b"GET /api/v1/tables HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        assert answer_on(connection) == b""


@with_limits(header_timeout_s=0.5)
def test_an_open_request_outlives_the_time_of_a_header(small: Served) -> None:
    user_id, alice = small.person("alice")
    alice.close()
    with open_connection(small) as connection:
        token = small.tokens["alice@example.org"]
        path = f"GET /api/v1/users/{user_id}/notifications/stream HTTP/1.1\r\nHost: x\r\n"
        connection.sendall(f"{path}Authorization: Bearer {token}\r\n\r\n".encode())
        assert b" 200 " in connection.recv(4096)
        connection.settimeout(1.5)
        with pytest.raises(TimeoutError):
            while connection.recv(4096):
                continue


@with_limits(header_bytes=2_000)
def test_a_long_header_is_refused(small: Served) -> None:
    with open_connection(small) as connection:
        connection.sendall(b"GET /api/v1/healthcheck HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * 3_000)
        assert refusal_on(connection) == 431


@with_limits()
@pytest.mark.parametrize(
    "sent",
    [
        b"GET /api/v1/" + b"a" * 66_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /api/v1/a b HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /api/v1/é HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
        b"GET /api/v1/tables HTTP/1.1\r\nHost: x\r\nno header\r\n\r\n",
        b"PUT /api/v1/tables HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n",
        b"Hello.\r\n\r\n",
    ],
)
def test_what_is_no_request_is_refused_in_the_shape_of_all_errors(small: Served, sent: bytes) -> None:
    with open_connection(small) as connection:
        connection.sendall(sent)
        assert refusal_on(connection) == 400


@with_limits(connections=20, connections_per_source=3, trusted_proxies=())
def test_one_source_has_so_many_connections_and_its_oldest_idle_one_makes_room(small: Served) -> None:
    with ExitStack() as stack:
        idle = [stack.enter_context(open_connection(small)) for _ in range(4)]
        assert idle[0].recv(1) == b""
        with open_connection(small) as connection:
            connection.sendall(HEALTH)
            assert status_on(connection) == 200


@with_limits(streams_per_person=20, connections_per_source=3, trusted_proxies=())
def test_where_nobody_idle_can_make_room_one_more_connection_is_refused(small: Served) -> None:
    user_id, alice = small.person("alice")
    alice.close()
    with ExitStack() as stack:
        token = small.tokens["alice@example.org"]
        path = f"GET /api/v1/users/{user_id}/notifications/stream HTTP/1.1\r\nHost: x\r\n"
        for _ in range(3):
            connection = stack.enter_context(open_connection(small))
            connection.sendall(f"{path}Authorization: Bearer {token}\r\n\r\n".encode())
            assert b" 200 " in connection.recv(4096)
        with open_connection(small) as connection:
            connection.sendall(HEALTH)
            assert refusal_on(connection) == 503


@with_limits(trusted_proxies=())
def test_a_header_does_not_say_where_a_log_in_comes_from(small: Served) -> None:
    guess = {"email": "nobody@example.org", "password": "guess"}
    with small.client() as client:
        for number in range(3):
            client.post("/users/login", json=guess, headers={"X-Forwarded-For": f"10.1.1.{number}"})
    attempts = small.app.state.parts.login.logins._attempts._engine
    with attempts.connect() as connection:
        keys = connection.exec_driver_sql("SELECT key FROM login_attempt WHERE key LIKE 'source:%'").scalars().all()
    assert list(keys) == ["source:127.0.0.1"]


@with_limits(requests_per_person=1, requests_waiting_per_person=1)
def test_one_person_has_so_many_requests_answered_at_once_and_nobody_else_waits(small: Served) -> None:
    (_, mallory), (_, alice) = small.person("mallory"), small.person("alice")
    token = small.tokens["mallory@example.org"]
    with mallory, alice, ExitStack() as stack:
        slow = [stack.enter_context(open_connection(small)) for _ in range(3)]
        for connection in slow:
            connection.sendall(head(small, "/tables", 60_000, token=token, method="PUT") + b"{")
        statuses = [made.recv(4096).split(b" ")[1] for made in ready(slow, 1)]
        assert (statuses, alice.get("/tables").status_code) == ([b"429"], 200)


@with_limits(requests_per_person=1, requests_waiting_per_person=0)
def test_a_stream_is_no_request_that_others_of_its_person_wait_for(small: Served) -> None:
    user_id, alice = small.person("alice")
    with alice, open_connection(small) as connection:
        path = f"GET /api/v1/users/{user_id}/notifications/stream HTTP/1.1\r\nHost: x\r\n"
        connection.sendall(f"{path}Authorization: Bearer {small.tokens['alice@example.org']}\r\n\r\n".encode())
        assert b" 200 " in connection.recv(4096)
        assert alice.get("/tables").status_code == 200


@with_limits(page_bytes=60_000)
def test_a_page_is_bounded_in_bytes_and_its_cursor_goes_on(small: Served) -> None:
    with small.administrator() as client:
        table = warehouse(client)
        for number in range(6):
            patch = [{"op": "add", "path": "/description", "value": f"{number}" + "x" * 7_000}]
            headers = {"Content-Type": "application/json-patch+json"}
            assert client.patch(f"/tables/{table['id']}", json=patch, headers=headers).status_code == 200
        for number in range(5):
            create = {"name": f"d{number}", "domainType": "Aggregate", "description": "x" * 25_000}
            assert client.post("/domains", json=create).status_code == 201

        version_page = client.get(f"/tables/{table['id']}/versions")
        assert (len(version_page.json()["versions"]), version_page.headers[OLDEST_LEFT_OUT]) == (2, "true")
        assert '"description":"5x' in version_page.json()["versions"][0]
        domains = pages(client, "/domains", {"limit": 1_000})
        assert [len(one) for one in domains] == [2, 2, 1]
        assert sorted(one["name"] for page in domains for one in page) == [f"d{number}" for number in range(5)]
        window = {"startTs": 0, "endTs": 9_000_000_000_000, "limit": 500}
        assert [len(one) for one in pages(client, "/tables/history", window)] == [2, 2, 3]
        events = pages(client, "/events", {"entityId": table["id"]})
        assert (max(map(len, events)) < 7, sum(map(len, events))) == (True, 7)


def pages(client: httpx.Client, path: str, query: dict[str, Any]) -> list[list[Any]]:
    """Return all pages of a list."""
    read: list[list[Any]] = []
    while len(read) < 20:
        answer = client.get(path, params=query)
        assert answer.status_code == 200, answer.text
        read.append(answer.json()["data"])
        if "after" not in answer.json()["paging"]:
            return read
        query = {**query, "after": answer.json()["paging"]["after"]}
    raise AssertionError("without end")


@with_limits(most_patch_operations=3, largest_document=20_000)
def test_an_alert_is_bounded_as_every_other_document(small: Served) -> None:
    with small.administrator() as client:
        alert: Json = {
            "name": "mine",
            "alertType": "Notification",
            "destinations": [],
            "filteringRules": {"resources": ["all"]},
        }
        alert |= {"destinations": [{"category": "Owners", "type": "Email", "config": {}}]}
        response = client.post("/events/subscriptions", json=alert)
        assert response.status_code == 201, response.text
        path, headers = (
            f"/events/subscriptions/{response.json()['id']}",
            {"Content-Type": "application/json-patch+json"},
        )
        operation = {"op": "add", "path": "/description", "value": "x"}
        assert client.patch(path, json=[operation] * 4, headers=headers).status_code == 413
        assert client.patch(path, json=[operation | {"value": "x" * 20_000}], headers=headers).status_code == 413
        assert client.put("/events/subscriptions", json=alert | {"description": "x" * 20_000}).status_code == 413
        assert (
            client.post("/events/subscriptions", json=alert | {"name": "n", "description": "x" * 20_000}).status_code
            == 413
        )
        assert client.get("/events/subscriptions/name/n").status_code == 404
        assert client.patch(path, json=[operation] * 3, headers=headers).status_code == 200


@with_limits(posts_per_hour=4, events_per_person_per_hour=5)
def test_one_person_posts_and_writes_so_much_in_an_hour(small: Served) -> None:
    small.stop_clock()
    with small.administrator() as administrator:
        orders = warehouse(administrator)
    (_, mallory), (_, alice) = small.person("mallory"), small.person("alice")
    about = {"about": "<#E::table::warehouse.shop.public.orders>"}
    with mallory, alice:
        assert (
            mallory.post("/feed", json={**about, "message": "<#E::user::alice> <#E::user::mallory>"}).status_code == 201
        )
        refusal = mallory.post("/feed", json={**about, "message": "<#E::user::alice>"})
        assert (refusal.status_code, "posts_per_hour" in refusal.json()["message"]) == (429, True)
        assert alice.post("/feed", json={**about, "message": "<#E::user::mallory>"}).status_code == 201

        headers = {"Content-Type": "application/json-patch+json"}
        patches = [[{"op": "add", "path": "/description", "value": f"{number}"}] for number in range(9)]
        path = f"/tables/{orders['id']}"
        statuses = [mallory.patch(path, json=one, headers=headers).status_code for one in patches]
        assert statuses == [200] * 4 + [429] * 5  # the thread was the first of five
        assert mallory.get(path).status_code == 200
        assert alice.patch(path, json=patches[0], headers=headers).status_code == 200


@with_limits(posts_per_hour=3)
def test_one_person_accepts_so_many_suggestions_in_an_hour_also_all_at_once(small: Served) -> None:
    small.stop_clock()
    mallory_id, mallory = small.person("mallory")
    with small.administrator() as administrator, mallory:
        orders = warehouse(administrator)
        owner_operations = [{"op": "add", "path": "/owners", "value": [{"type": "user", "id": mallory_id}]}]
        headers = {"Content-Type": "application/json-patch+json"}
        assert administrator.patch(f"/tables/{orders['id']}", json=owner_operations, headers=headers).is_success
        proposal = {"entityLink": "<#E::table::warehouse.shop.public.orders>", "type": "SuggestDescription"}
        for number in range(5):
            assert administrator.post("/suggestions", json={**proposal, "description": f"{number}"}).is_success
        admin_id = administrator.get("/users/loggedInUser").json()["id"]
        query = {"userId": admin_id, "entityFQN": orders["fullyQualifiedName"], "suggestionType": "SuggestDescription"}
        assert mallory.put("/suggestions/accept-all", params=query).status_code == 429
        open_suggestions = mallory.get("/suggestions", params={"status": "Open"}).json()["data"]
        assert len(open_suggestions) == 5, "all, or none"


@with_limits(posts_per_hour=5)
def test_one_person_announces_moves_and_withdraws_changes_so_often_in_an_hour(small: Served) -> None:
    small.stop_clock()
    (mallory_id, mallory) = small.person("mallory")
    with small.administrator() as administrator, mallory:
        orders = warehouse(administrator)
        owner_operations = [{"op": "add", "path": "/owners", "value": [{"type": "user", "id": mallory_id}]}]
        headers = {"Content-Type": "application/json-patch+json"}
        assert administrator.patch(f"/tables/{orders['id']}", json=owner_operations, headers=headers).is_success
        change = {"entity": {"type": "table", "id": orders["id"]}, "kind": "removal", "why": "unused"}
        day_ms, now_ms = 86_400_000, orders["updatedAt"]
        assert mallory.post("/changes", json={**change, "date": now_ms + day_ms}).status_code == 201
        earlier = {"date": now_ms + day_ms // 2}
        refusal_statuses = [mallory.put("/changes/CR-1/move", json=earlier).status_code for _ in range(6)]
        assert refusal_statuses == [400] * 6, "what is refused does not count"
        moves = [{"date": now_ms + (2 + number // 2) * day_ms, "comment": f"{number}"} for number in range(6)]
        statuses = [mallory.put("/changes/CR-1/move", json=move).status_code for move in moves]
        statuses += [mallory.put("/changes/CR-1/withdraw").status_code]
        assert statuses == [200] * 4 + [429] * 3
        kinds = [one["kind"] for one in administrator.get("/changes/CR-1/timeline").json()["data"]]
        assert kinds == ["announced", *["moved"] * 4]


@with_limits(posts_per_hour=3)
def test_one_person_assigns_so_many_tasks_in_an_hour_also_many_at_once(small: Served) -> None:
    small.stop_clock()
    _, mallory = small.person("mallory")
    with small.administrator() as administrator, mallory:
        warehouse(administrator)
        about = {"about": "<#E::table::warehouse.shop.public.orders>", "assignees": ["mallory"]}
        request = {**about, "category": "MetadataUpdate", "type": "DescriptionUpdate"}
        ids = [administrator.post("/tasks", json=request).json()["id"] for _ in range(5)]
        assignment = {"taskIds": ids, "operation": "Assign", "params": {"assignees": ["admin", "mallory"]}}
        result = mallory.post("/tasks/bulk", json=assignment).json()
        assert (result["successful"], result["failed"]) == (3, 2)
        assert "posts_per_hour" in result["results"][-1]["error"]


@with_limits(events_per_person_per_hour=20)
def test_one_person_handles_incidents_so_often_in_an_hour(small: Served, sqlite_engine: Engine) -> None:
    (mallory_id, mallory) = small.person("mallory")
    with small.administrator() as administrator, mallory:
        orders = warehouse(administrator)
        assign_owners(administrator, orders, mallory_id)
        failure_rule = {"name": "failed", "effect": "include", "condition": "testStatus == 'Failed'"}
        rules = {"resources": ["testCase"], "rules": [failure_rule]}
        alert(administrator, "Quality", alertType="Observability", filteringRules=rules)
        about = {"entityLink": f"<#E::table::{orders['fullyQualifiedName']}>", "testDefinition": "tableRowCountToEqual"}
        for name in ("first", "second"):
            case = administrator.post("/dataQuality/testCases", json={"name": name, **about}).json()
            report_result(administrator, case["fullyQualifiedName"], "Failed", case["updatedAt"])
        notify_all(sqlite_engine)
        statuses = []
        for number in range(8):
            statuses += [
                mallory.put("/incidents/INC-2/merge", json={"into": "INC-1"}).status_code,
                mallory.put("/incidents/INC-2/split", json={"comment": f"{number}"}).status_code,
                mallory.put("/incidents/INC-1/acknowledge", json={"comment": f"{number}"}).status_code,
            ]
        allowed_count = statuses.index(429)
        assert set(statuses[:allowed_count]) == {200} and set(statuses[allowed_count:]) == {429}
        assert 15 <= allowed_count <= 20, "some of these write more than one event"
        assert mallory.get("/incidents/INC-1").status_code == 200
        assert administrator.put("/incidents/INC-1/resolve").status_code == 200


@with_limits(events_per_person_per_hour=2)
def test_one_person_checks_so_many_changes_in_an_hour(small: Served) -> None:
    _, mallory = small.person("mallory")
    with small.administrator() as administrator, mallory:
        fqn = warehouse(administrator)["fullyQualifiedName"]
        proposal = {"entityType": "table", "fullyQualifiedName": fqn, "removedColumns": ["id"]}
        checks = [mallory.post("/changes/check", json={"changes": [proposal]}) for _ in range(3)]
        assert [check.status_code for check in checks] == [200, 200, 429]


def test_the_description_of_the_api_is_written_once(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    descriptions: list[Any] = []
    describe = served.app.openapi

    def count_and_describe() -> dict[str, Any]:
        descriptions.append(1)
        return describe()

    monkeypatch.setattr(served.app, "openapi", count_and_describe)
    with served.client() as client:
        answers = [client.get("/openapi.json") for _ in range(3)]
    assert [one.json()["info"]["title"] for one in answers] == ["Tocsin"] * 3
    assert len(descriptions) == 1
