"""Preview of a person's health summary: the week until now, composed as a worker composes what it sends.

Next: ``store/outbox/health_summaries.py``, ``delivery/wording/health.py``.
"""

from __future__ import annotations

from tocsin.delivery.rich_text import RichText
from tocsin.delivery.wording.health import health_text
from tocsin.flow.schedule.health_times import DAY_MS, next_due_ms
from tocsin.model.entity import Document
from tocsin.model.health_summary import HealthPreview
from tocsin.model.preferences import Layer, Preferences, times_of, zone_of
from tocsin.server.request import Caller


def health_preview(user_id: str, caller: Caller) -> HealthPreview:
    """Return what a person would be told of the seven days until now."""
    stores, now_ms = caller.parts.alert_stores, caller.parts.clock.now_ms()
    layers = stores.preferences.layers_of(user_id)
    preferences = times_of(layers) if layers and layers[0][0] is Layer.OWN else Preferences()
    summary = stores.health_summaries.of(user_id, now_ms - 7 * DAY_MS, now_ms)
    base_url = caller.parts.settings.base_url()
    text = health_text(summary, zone=zone_of(layers) or "UTC", base_url=base_url)
    return HealthPreview(
        due_at=next_due_ms(preferences, now_ms),
        summary=summary,
        message=None if summary.is_empty else _message(text),
    )


def _message(text: RichText) -> Document:
    from tocsin.delivery.templates.html_text import to_html, to_text  # as of mails, which no start needs

    return {"subject": text.subject, "text": to_text(text.body), "html": str(to_html(text.body))}
