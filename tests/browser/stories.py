"""Steps that stories of the browser share: log in, and be notified."""

from __future__ import annotations

import json

from playwright.sync_api import Page, expect
from sqlalchemy import Engine, insert
from tests.serving import Served, table

from tocsin.model.notification import ORDERED_IDS, Reason, ReasonKind
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import notification


def log_in(page: Page, email: str, password: str) -> None:
    page.get_by_label("E-mail or name").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def alice(served: Served, page: Page) -> str:
    """Create Alice and log in as her; return her id."""
    user_id, client = served.person("alice", displayName="Alice Smith")
    client.close()
    log_in(page, "alice@example.org", "alice-password")
    expect(page.get_by_role("button", name="You: Alice Smith")).to_be_visible()
    return user_id


def tell(served: Served, engine: Engine, user_id: str, name: str, *, whole_id: str | None = None) -> str:
    """Create a table and notify the user of it, as the pipeline does; return the event's id."""
    with served.administrator() as client:
        table(client, name)
    log = served.app.state.parts.log
    logged_event = log.read(log.readable_end() - 1, 1)[0]
    reason = Reason(
        kind=ReasonKind.OWNER, subscription_id="s", subscription_name="ActivityFeedAlert", destination_id="d"
    )
    row = {
        "id": ORDERED_IDS.of(logged_event.offset, logged_event.event.id, "ActivityFeed", user_id),
        "event_id": logged_event.event.id,
        "log_offset": logged_event.offset,
        "channel": "ActivityFeed",
        "recipient": user_id,
        "recipient_id": user_id,
        "reasons": json.dumps([reason.to_wire()]),
        "due_at_ms": logged_event.event.timestamp,
        "created_at_ms": logged_event.event.timestamp,
        "whole_id": whole_id,
    }
    with writing(engine) as connection:
        connection.execute(insert(notification), row)
    return str(logged_event.event.id)
