"""Schemas of routes for an alert that a person is writing: requests and answers.

Next: ``server/routes/alerts/drafts.py``.
"""

from __future__ import annotations

from tocsin.delivery.wording.event_formats import EVENT_FORMATS
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.subscription import Category
from tocsin.server.alerts.message_previews import PREVIEWED
from tocsin.server.http.json_schema import ID, OPEN, TEXT, TIME, array, closed_object, either, exact_object

DRAFT_ANSWERS: dict[str, Document] = {
    "NextTimes": exact_object({"next": array(TIME)}),
    "MessagePreview": exact_object({"message": OPEN}),
}
"""What is answered about an alert that is not stored."""

DRAFT_REQUESTS: dict[str, Document] = {
    "TriggerRequest": closed_object({"trigger": OPEN}, required=["trigger"]),
    "MessagePreviewRequest": closed_object(
        {
            "alert": {
                **OPEN,
                "description": "Keys of an alert: its name, severity, runbook, template and time zone count.",
            },
            "channel": either(*PREVIEWED),
            "category": {**either(*Category), "description": "Whom the message tells; Owners by default."},
            "format": {**either(*EVENT_FORMATS), "description": "Of a webhook."},
            "eventId": ID,
            "resource": {**TEXT, "description": "A type of entity: the message is about a made-up event."},
            "eventType": either(*EventType),
        },
        required=["alert", "channel"],
    ),
}
"""What the routes of drafts read."""
