"""A day at the sample company: what happens before the pictures of the web application are taken.

Results of tests, failed and late runs, a breaking change, a nightly run, edits, announced changes, a task and
conversations, written through the API as the people and bots of the company would. Next: ``web_pictures.py``.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass

import httpx

API = "/api/v1"
MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS
SHOP = "postgres_prod.ecommerce.public"
ORDERS = f"{SHOP}.orders"
MARTS = "snowflake_dwh.warehouse.marts"
TOTALS = f"{ORDERS}.total_cents.total_is_not_negative"
EMAILS = f"{SHOP}.customers.email.email_is_present"
STAGED = "snowflake_dwh.warehouse.staging.stg_orders.order_id.staged_order_id_is_unique"
MATCHES = f"{MARTS}.fct_orders.orders_match_the_shop"
REVENUE = f"{MARTS}.mart_daily_revenue.net_cents.revenue_is_plausible"
JSON_PATCH = {"Content-Type": "application/json-patch+json"}
ACTORS = ("dana.whitlock", "priya.raman", "tomas.ferreira", "kwame.boateng", "jonas.lindqvist")
"""People of the company who log in on this day."""


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

    def bot(self, name: str) -> Person:
        """Return a bot, with a new token that this administrator creates."""
        bot_id = self.send("GET", f"/users/name/{name}")["id"]
        answer = self.send("PUT", f"/users/generateToken/{bot_id}", {"JWTTokenExpiry": "1"})
        return Person(self.url, str(answer["JWTToken"]))

    def send(self, method: str, path: str, body: object = None, **headers: str) -> dict[str, object]:
        """Return the answer to a request; raise for one that is refused."""
        sent_headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **headers}
        content = None if body is None else json.dumps(body)
        request = {"headers": sent_headers, "content": content, "trust_env": False, "timeout": 60}
        answer = httpx.request(method, self.url + API + path, **request)  # type: ignore[arg-type]
        if answer.is_error:
            raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text[:300]}")
        document: dict[str, object] = answer.json() if answer.content else {}
        return document

    def patch(self, path: str, *operations: Mapping[str, object], why: str = "") -> None:
        """Change an entity."""
        self.send("PATCH", path, operations, **JSON_PATCH, **({"X-Tocsin-Why": why} if why else {}))

    def describe(self, table: str, description: str, why: str = "") -> None:
        """Give a table a description."""
        table_id = self.send("GET", f"/tables/name/{table}")["id"]
        self.patch(f"/tables/{table_id}", {"op": "add", "path": "/description", "value": description}, why=why)


def play_the_day(administrator: Person, people: Mapping[str, Person]) -> None:
    """Let the day happen; ``people`` are those of ``ACTORS``."""
    now_ms = int(time.time() * 1000)
    for name in ("snowflake_dwh.warehouse.staging.stg_orders", f"{MARTS}.mart_daily_revenue"):
        _follow(people["dana.whitlock"], name)
    _report_weeks(administrator.bot("quality-bot"), now_ms)
    _report_runs(administrator.bot("airflow-bot"))
    _run_at_night(administrator.bot("ingestion-bot"))
    _edit_prices(people["priya.raman"])
    _announce_changes(people, now_ms)
    _break_orders(people["priya.raman"])
    _ask_dana(people)
    _make_own_alert(people["dana.whitlock"], now_ms)
    _report_failures(administrator.bot("quality-bot"))


def take_up_incident(priya: Person) -> None:
    """Let the owner of orders acknowledge its failure and say why the test fails."""
    incidents = priya.send("GET", f"/incidents?status=open&asset={TOTALS}")["data"]
    assert isinstance(incidents, list)
    comment = {"comment": "The tills write refunds as orders; I correct it."}
    priya.send("PUT", f"/incidents/{incidents[0]['name']}/acknowledge", comment)


def _follow(person: Person, table: str) -> None:
    me, table_id = (person.send("GET", path)["id"] for path in ("/users/loggedInUser", f"/tables/name/{table}"))
    person.send("PUT", f"/tables/{table_id}/followers/{me}")


def _report_weeks(quality: Person, now_ms: int) -> None:
    failed_days = {EMAILS: (7, 8), MATCHES: (5,), TOTALS: (11,)}
    for test in (TOTALS, EMAILS, STAGED, MATCHES, REVENUE):
        for day in range(14, 0, -1):
            failure = "3 rows failed" if day in failed_days.get(test, ()) else ""
            _report(quality, test, now_ms - day * DAY_MS, failure)


def _report_failures(quality: Person) -> None:
    """Report failures of this moment: alerts of a new company watch no result that is older than they are."""
    for test, failure, row_count in (
        (STAGED, "Found 14,310 rows whose order_id is there twice; 0 are allowed", 14_310),
        (REVENUE, "Sunday has 184,220,000; at most 90,000,000 are plausible", 1),
        (TOTALS, "12 rows have a total below 0", 12),
    ):
        _report(quality, test, int(time.time() * 1000), failure, row_count)


def _report(quality: Person, test: str, timestamp_ms: int, failure: str, row_count: int = 3) -> None:
    result: dict[str, object] = {"timestamp": timestamp_ms, "testCaseStatus": "Failed" if failure else "Success"}
    if failure:
        result |= {"result": failure, "failedRows": row_count, "passedRows": 41_208}
    quality.send("POST", f"/dataQuality/testCases/testCaseResults/{test}", result)


def _report_runs(airflow: Person) -> None:
    for status in ("Failed", "Successful"):
        run = {"timestamp": int(time.time() * 1000), "executionStatus": status}
        tasks = [{"name": "build_revenue", "executionStatus": status}]
        airflow.send("PUT", "/pipelines/airflow.revenue_build/status", {**run, "taskStatus": tasks})


def _run_at_night(ingestion: Person) -> None:
    """Describe and extend what a nightly run has built, under one reason: the inbox has one row for it."""
    facts = ("fct_carts", "fct_sessions", "fct_rentals", "fct_refunds", "fct_payments", "fct_order_lines")
    for name in facts:
        ingestion.describe(f"{MARTS}.{name}", f"Facts of {name[4:]}, one row per day and shop.", why="dbt run 1841")
    for name in facts[:4]:
        table = ingestion.send("GET", f"/tables/name/{MARTS}.{name}?fields=columns")
        column = {"name": "loaded_at", "dataType": "TIMESTAMP", "description": "When the row was loaded; UTC."}
        operation = {"op": "add", "path": "/columns/-", "value": column}
        ingestion.patch(f"/tables/{table['id']}", operation, why="dbt run 1841")


def _edit_prices(priya: Person) -> None:
    descriptions = {
        "price_lists": "Prices by market, net of tax.",
        "prices": "One price of one variant in one list.",
        "promotions": "What is cheaper, where and until when.",
    }
    for name, description in descriptions.items():
        priya.describe(f"{SHOP}.{name}", description)


def _break_orders(priya: Person) -> None:
    orders = priya.send("GET", f"/tables/name/{ORDERS}?fields=columns")
    columns = orders["columns"]
    assert isinstance(columns, list)
    at = {column["name"]: index for index, column in enumerate(columns)}
    description = "Every order placed in the shop, from checkout to delivery. Test accounts are left out."
    priya.patch(
        f"/tables/{orders['id']}",
        {"op": "replace", "path": "/description", "value": description},
        {"op": "replace", "path": f"/columns/{at['status']}/dataType", "value": "INT"},
        {"op": "remove", "path": f"/columns/{at['gift_note_text']}"},
        why="The new checkout writes states as numbers.",
    )


def _announce_changes(people: Mapping[str, Person], now_ms: int) -> None:
    removal = {
        "entity": {"type": "table", "fullyQualifiedName": ORDERS},
        "kind": "removal",
        "column": "cart_id",
        "date": now_ms + 14 * DAY_MS,
        "why": "Carts move to the session service.",
        "replacement": "sessions.cart_key",
    }
    people["priya.raman"].send("POST", "/changes", removal)
    deprecation = {
        "entity": {"type": "table", "fullyQualifiedName": f"{MARTS}.fct_shop_receipts"},
        "kind": "deprecation",
        "date": now_ms + 30 * DAY_MS,
        "why": "Tills write orders of their own from January.",
        "replacement": f"{MARTS}.fct_orders",
    }
    people["tomas.ferreira"].send("POST", "/changes", deprecation)


def _ask_dana(people: Mapping[str, Person]) -> None:
    text = "<#E::user::dana.whitlock> can the **status** of orders be an integer for your model?"
    question = {"message": text, "about": f"<#E::table::{ORDERS}>", "type": "Conversation"}
    thread = people["kwame.boateng"].send("POST", "/feed", question)
    answer = "I keep the old words in a view until Friday."
    people["priya.raman"].send("POST", f"/feed/{thread['id']}/posts", {"message": answer})
    dana_id = people["dana.whitlock"].send("GET", "/users/loggedInUser")["id"]
    details = {"type": "RequestDescription", "assignees": [{"id": dana_id, "type": "user"}], "oldValue": ""}
    task = {
        "message": "Please describe total_cents.",
        "about": f"<#E::table::{ORDERS}::columns::total_cents::description>",
        "type": "Task",
        "taskDetails": {**details, "suggestion": "Total of the order in cents, after discounts."},
    }
    people["jonas.lindqvist"].send("POST", "/feed", task)


def _make_own_alert(dana: Person, now_ms: int) -> None:
    me = dana.send("GET", "/users/loggedInUser")
    alert = {
        "name": "CartMigration",
        "displayName": "Cart migration",
        "description": "Every change of columns while carts move.",
        "alertType": "Notification",
        "owners": [{"id": me["id"], "type": "user"}],
        "expires": now_ms + 12 * DAY_MS,
        "trigger": {"triggerType": "RealTime"},
        "filteringRules": {
            "resources": ["table"],
            "rules": [{"name": "columns", "effect": "include", "condition": "fieldChanged == 'columns'"}],
        },
        "destinations": [
            {"category": "Users", "type": "ActivityFeed", "config": {"receivers": ["dana.whitlock"]}},
        ],
    }
    dana.send("POST", "/events/subscriptions", alert)
