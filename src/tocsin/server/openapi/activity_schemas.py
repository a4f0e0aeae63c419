"""Schemas of activity events of OpenMetadata 2.

*Source:* OpenMetadata 2.0, ``entity/activity/activityEvent.json``. Next: ``model/activity_event.py``.
"""

from __future__ import annotations

from tocsin.model.activity_event import ActivityType
from tocsin.model.entity import Document
from tocsin.server.http.json_schema import COUNT, ID, OPEN, TEXT, TIME, array, either, exact_object, ref

ACTIVITY_ANSWERS: dict[str, Document] = {
    "ActivityEvent": exact_object(
        {"id": ID, "eventType": either(*ActivityType), "entity": OPEN, "timestamp": TIME},
        {
            "about": TEXT,
            "domains": array(OPEN),
            "actor": OPEN,
            "summary": TEXT,
            "fieldName": TEXT,
            "oldValue": TEXT,
            "newValue": TEXT,
        },
    ),
    "ActivityCount": COUNT,
    "FeedEntry": {"anyOf": [ref("Activity"), ref("ActivityDay")]},
    "ActivityDay": exact_object(
        {
            "day": {**TEXT, "format": "date"},
            "count": COUNT,
            "groups": array(exact_object({"entity": OPEN, "count": COUNT, "entries": array(ref("Activity"))})),
        }
    ),
}
"""An activity event, how many there are, and what a feed of Tocsin has: entries, or days with `groupBy=day`."""
