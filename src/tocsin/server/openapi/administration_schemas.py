"""Shapes and schemas of what administrators read: settings of the server, quotas, and how long notifications took.

Next: ``server/routes/system/server_settings.py``, ``server/routes/system/lag.py``.
"""

from __future__ import annotations

from tocsin.model.entity import Document
from tocsin.model.shown_settings import SettingOrigin, ShownSetting
from tocsin.server.http.answer_shapes import Shape, schema_of
from tocsin.server.http.json_schema import (
    COUNT,
    FLAG,
    ID,
    NUMBER,
    TEXT,
    TIME,
    array,
    either,
    exact_object,
    nullable,
)
from tocsin.store.catalogue.access.quotas import QuotaUse
from tocsin.store.outbox.delay_history import DelayPeriod
from tocsin.store.outbox.destination_figures import DestinationFigures

SERVER_SETTING: Shape[ShownSetting] = {
    "name": (TEXT, lambda setting: setting.name),
    "variable": (TEXT, lambda setting: setting.variable),
    "value": ({"description": "Any JSON; stars for a secret."}, lambda setting: setting.value),
    "origin": (either(*SettingOrigin), lambda setting: setting.origin.value),
    "default": ({"description": "Any JSON."}, lambda setting: setting.default),
    "description": (TEXT, lambda setting: setting.description),
    "isSecret": (FLAG, lambda setting: setting.is_secret),
}
"""A setting of the server."""

QUOTA_USE: Shape[QuotaUse] = {
    "userId": (ID, lambda use: use.user_id),
    "fullyQualifiedName": (nullable(TEXT), lambda use: use.user_fqn),
    "used": (COUNT, lambda use: use.used),
}
"""How much of a quota a person has used; ``fullyQualifiedName`` is null where they are gone."""

DELAY_PERIOD: Shape[DelayPeriod] = {
    "begins": (TIME, lambda period: period.begins_ms),
    "events": ({**COUNT, "description": "At most so many: offsets have gaps."}, lambda period: period.event_count),
    "notifications": (
        {**COUNT, "description": "Notifications of which the times were read, the first ones."},
        lambda period: period.notification_count,
    ),
    "medianSeconds": (nullable(NUMBER), lambda period: period.median_s),
    "p95Seconds": (nullable(NUMBER), lambda period: period.p95_s),
    "deadLetters": (
        {**COUNT, "description": "Messages that were given up in the period."},
        lambda period: period.given_up_count,
    ),
}
"""A period, and how long its notifications took from the event to the bell."""

DESTINATION_FIGURES: Shape[DestinationFigures] = {
    "destinationId": (ID, lambda figures: figures.destination_id),
    "sent": (COUNT, lambda figures: figures.sent_count),
    "waiting": (COUNT, lambda figures: figures.waiting_count),
    "p95Seconds": (nullable(NUMBER), lambda figures: figures.p95_s),
}
"""How a destination of an alert fares; the seconds count from the event, or from when it was planned to go."""

ADMINISTRATION_ANSWERS: dict[str, Document] = {
    "ServerSetting": schema_of(SERVER_SETTING),
    "Quotas": exact_object(
        {
            "renewedAt": TIME,
            "quotas": array(
                exact_object({"quota": TEXT, "isHourly": FLAG, "limit": COUNT, "uses": array(schema_of(QUOTA_USE))})
            ),
        }
    ),
    "DestinationFigures": exact_object({"data": array(schema_of(DESTINATION_FIGURES))}),
    "ForgottenMessages": exact_object({"forgotten": COUNT}),
    "LagHistory": exact_object({"measuredAt": TIME, "lengthMs": COUNT, "periods": array(schema_of(DELAY_PERIOD))}),
}
"""What administrators are answered."""
