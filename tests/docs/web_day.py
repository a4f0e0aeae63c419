"""A day at the sample company: what happens before the pictures of the web application are taken.

Results of tests, a failed run, a breaking change, edits, a request of a change, a task and a conversation, written
through the API as the people and bots of the company would.
"""

from __future__ import annotations

import base64
import json
import time
from dataclasses import dataclass

import httpx

API = "/api/v1"
HOUR_MS = 3_600_000
ORDERS = "postgres_prod.ecommerce.public.orders"
MARTS = "snowflake_dwh.warehouse.marts"
TOTALS = f"{ORDERS}.total_cents.total_is_not_negative"
EMAILS = "postgres_prod.ecommerce.public.customers.email.email_is_present"
MATCHES = f"{MARTS}.fct_orders.orders_match_the_shop"
JSON_PATCH = {"Content-Type": "application/json-patch+json"}


@dataclass(frozen=True)
class Person:
    """Who acts, by a token of their own."""

    url: str
    token: str

    @classmethod
    def log_in(cls, url: str, email: str, password: str) -> Person:
        """Return a person who has logged in."""
        body = {"email": email, "password": base64.b64encode(password.encode()).decode()}
        answer = httpx.post(f"{url}{API}/users/login", json=body, trust_env=False, timeout=30).raise_for_status()
        return cls(url, answer.json()["accessToken"])

    def send(self, method: str, path: str, body: object = None, **headers: str) -> dict[str, object]:
        """Return the answer to a request; raise for one that is refused."""
        sent_headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **headers}
        content = None if body is None else json.dumps(body)
        request = {"headers": sent_headers, "content": content, "trust_env": False, "timeout": 60}
        answer = httpx.request(method, self.url + API + path, **request)  # type: ignore[arg-type]
        document: dict[str, object] = answer.raise_for_status().json()
        return document

    def patch(self, path: str, *operations: dict[str, object]) -> None:
        """Change an entity."""
        self.send("PATCH", path, operations, **JSON_PATCH)


def play_the_day(administrator: Person, dana: Person) -> None:
    """Let the day happen."""
    now_ms = int(time.time() * 1000)
    _report_results(administrator, now_ms)
    runs = {"timestamp": now_ms - HOUR_MS, "executionStatus": "Failed"}
    tasks = [{"name": "build_revenue", "executionStatus": "Failed"}]
    administrator.send("PUT", "/pipelines/airflow.revenue_build/status", {**runs, "taskStatus": tasks})
    _change_assets(administrator)
    _announce_changes(administrator, now_ms)
    about = f"<#E::table::{ORDERS}>"
    text = "<#E::user::dana.whitlock> can the **status** of orders be an integer for your model?"
    administrator.send("POST", "/feed", {"message": text, "about": about, "type": "Conversation"})
    dana_id = dana.send("GET", "/users/loggedInUser")["id"]
    details = {"type": "RequestDescription", "assignees": [{"id": dana_id, "type": "user"}], "oldValue": ""}
    task = {
        "message": "Please describe total_cents.",
        "about": f"<#E::table::{ORDERS}::columns::total_cents::description>",
        "type": "Task",
        "taskDetails": {**details, "suggestion": "Total of the order in cents, after discounts."},
    }
    administrator.send("POST", "/feed", task)


def _report_results(administrator: Person, now_ms: int) -> None:
    results = "/dataQuality/testCases/testCaseResults"
    for test in (TOTALS, EMAILS, MATCHES):
        for day in range(12, 0, -1):
            has_failed = (test == EMAILS and day in (7, 8)) or (test == MATCHES and day == 5)
            result = {
                "timestamp": now_ms - day * 24 * HOUR_MS,
                "testCaseStatus": "Failed" if has_failed else "Success",
                "result": "3 rows without an e-mail address" if has_failed else "",
            }
            administrator.send("POST", f"{results}/{test}", result)
    failures = ((TOTALS, "12 rows have a total below 0", 12), (MATCHES, "shop 41 220 rows, warehouse 41 208", 12))
    for hours, (test, text, row_count) in enumerate(failures, start=1):
        result = {"timestamp": now_ms - hours * HOUR_MS, "testCaseStatus": "Failed", "result": text}
        administrator.send("POST", f"{results}/{test}", {**result, "failedRows": row_count, "passedRows": 41_208})


def _change_assets(administrator: Person) -> None:
    orders = administrator.send("GET", f"/tables/name/{ORDERS}?fields=columns")
    columns = orders["columns"]
    assert isinstance(columns, list)
    at = {column["name"]: index for index, column in enumerate(columns)}
    administrator.patch(
        f"/tables/{orders['id']}",
        {"op": "replace", "path": f"/columns/{at['status']}/dataType", "value": "INT"},
        {"op": "remove", "path": f"/columns/{at['gift_note_text']}"},
    )
    for name in ("fct_carts", "fct_sessions", "fct_rentals"):
        entity = administrator.send("GET", f"/tables/name/{MARTS}.{name}")
        description = f"Facts of {name[4:]}, one row per day and shop."
        administrator.patch(f"/tables/{entity['id']}", {"op": "add", "path": "/description", "value": description})


def _announce_changes(administrator: Person, now_ms: int) -> None:
    removal = {
        "entity": {"type": "table", "fullyQualifiedName": ORDERS},
        "kind": "removal",
        "column": "cart_id",
        "date": now_ms + 14 * 24 * HOUR_MS,
        "why": "Carts move to the session service.",
        "replacement": "sessions.cart_key",
    }
    administrator.send("POST", "/changes", removal)
