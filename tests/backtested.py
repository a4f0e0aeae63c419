"""Sample backtest result for tests that display one."""

from __future__ import annotations

from tocsin.model.entity import Document

RESULT: Document = {
    "events": 1200,
    "matched": 30,
    "notifiedNobody": 4,
    "perDay": [{"date": "2026-03-01", "matched": 10}, {"date": "2026-03-03", "matched": 20}],
    "assetCount": 1,
    "assets": [{"id": "t", "type": "table", "fullyQualifiedName": "pg.store.orders", "matched": 30}],
    "notified": 60,
    "merged": 5,
    "recipientCount": 2,
    "channels": [{"channel": "Email", "notified": 60, "recipients": 2}],
    "heldBack": 3,
    "triggered": [{"id": "s", "name": "OnCall", "notified": 20, "heldBack": 2}, {"notified": 1, "heldBack": 0}],
    "recipients": [
        {"channel": "Email", "notified": 40, "because": ["owner"], "alerts": ["a"], "id": "u", "name": "ana"},
        {"channel": "Email", "notified": 20, "because": ["follower"], "alerts": []},
        {
            **{"channel": "Slack", "notified": 10, "because": ["external"], "alerts": ["a"]},
            **{"target": "https://hooks.slack.com/*********", "destinations": ["#data-alerts"]},
        },
    ],
    "samples": [{"timestamp": 0, "eventType": "entityUpdated", "entityFullyQualifiedName": "pg.store.orders"}],
    "compared": 30,
    "overlaps": [{"id": "o", "name": "Tier1SchemaChanges", "matched": 12}],
    "people": "Owners, followers, team members and lineage as of each event; permissions as of today.",
}
