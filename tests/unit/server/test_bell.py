"""Tests of inbox entries of threads: text and link."""

from __future__ import annotations

from tests.unit.delivery.events import addition_of, change_event

from tocsin.model.change import EventType
from tocsin.model.notification import Reason, ReasonKind
from tocsin.server.alerts.event_shape import entry_json
from tocsin.store.outbox.inbox import InboxEntry

MENTIONED = Reason(kind=ReasonKind.MENTION, subscription_id="s", subscription_name="Bell", destination_id="d")
ORDERS = {"id": "o-1", "type": "table", "name": "orders"}


def test_an_entry_of_a_thread_speaks_to_its_reader_and_leads_to_the_asset() -> None:
    thread = {
        "type": "Conversation",
        "message": "Hi <#E::user::ann>",
        "entityRef": ORDERS,
        "about": "<#E::table::orders>",
    }
    event = change_event(None, event_type=EventType.THREAD_CREATED, entity_type="thread", entity=thread)
    entry = entry_json(InboxEntry("n", "g", 1, "u", event, (MENTIONED,), read=False), event)
    assert entry["title"] == "jane.smith mentioned you in a conversation about orders: Hi @ann"
    assert (entry["changes"], entry["about"]) == ([], ORDERS), "the title says it"
    assert entry["reasons"][0]["sentence"] == "you were mentioned (alert Bell)"


def test_an_entry_of_an_asset_is_about_nothing_else() -> None:
    event = change_event()
    assert "about" not in entry_json(InboxEntry("n", "g", 1, "u", event, (MENTIONED,), read=False), event)


def test_an_entry_says_what_each_change_means() -> None:
    event = change_event(addition_of("columns.email.tags", [{"tagFQN": "PII.Sensitive"}]))
    entry = entry_json(InboxEntry("n", "g", 1, "u", event, (MENTIONED,), read=False), event)
    (change,) = entry["semanticChanges"]
    assert change["text"] == "tag PII.Sensitive added to column email"
    assert entry["title"] == f"orders: {change['text']}"
